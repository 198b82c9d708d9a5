/** What was asked for here, as a Python program that asks for the same with the SDK. */

import { replaceLoneSurrogates } from '../core/index.js';

export interface Asked {
  readonly url: string;
  /** Whether the server wants a key; the program takes it from the environment, and never has it in it. */
  readonly key: boolean;
  readonly uri: string;
  readonly language: string;
  readonly text: string;
  readonly speculation: boolean;
  readonly what:
    | { readonly kind: 'completion'; readonly position: number }
    | { readonly kind: 'edit'; readonly start: number; readonly end: number; readonly instruction: string };
}

export function sdkCode(asked: Asked): string {
  const { what, text } = asked;
  const off = asked.speculation ? '' : ', speculation="off"';
  const call =
    what.kind === 'completion'
      ? `session.complete(document, ${points(text, what.position)}, max_tokens=128${off})`
      : `session.edit(document, (${points(text, what.start)}, ${points(text, what.end)}), ${quoted(what.instruction)}${off})`;
  const rest =
    what.kind === 'completion'
      ? ['        async for piece in completion:', '            print(piece, end="", flush=True)', '        result = await completion.result()']
      : ['        result = await edit.result()', '        await document.apply(result)', '        print(document.text)'];
  const name = what.kind === 'completion' ? 'completion' : 'edit';
  const key = asked.key ? ', token=os.environ["WARMLINE_API_KEY"]' : '';
  return `${[
    'import asyncio',
    ...(asked.key ? ['import os'] : []),
    '',
    'from warmline.client import connect',
    '',
    `TEXT = ${lines(text)}`,
    '',
    '',
    'async def main():',
    `    async with connect(${quoted(asked.url)}${key}) as session:`,
    `        document = await session.open(${quoted(asked.uri)}, TEXT, language=${quoted(asked.language)})`,
    `        ${name} = ${call}`,
    ...rest,
    '        print()',
    '        print(result.reason, result.receipt, result.timing, sep="\\n")',
    '',
    '',
    'asyncio.run(main())',
  ].join('\n')}\n`;
}

/** A Python string: JSON's escapes are Python's, too, but for halves of characters, which are replaced. */
function quoted(text: string): string {
  return JSON.stringify(replaceLoneSurrogates(text));
}

/** One string a line, as people write longer ones. */
function lines(text: string): string {
  const parts = text.split(/(?<=\n)/);
  return parts.length < 2 ? quoted(text) : `(\n${parts.map((part) => `    ${quoted(part)}\n`).join('')})`;
}

/** The SDK counts characters as Python does. */
function points(text: string, offset: number): number {
  return [...text.slice(0, offset)].length;
}
