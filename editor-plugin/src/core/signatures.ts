/** Changes of a function's parameters, and what its calls have to say then. Knows no language: brackets and commas. */

import type { TextEdit } from './wire.js';

/** One parameter that came or went. */
export interface ParameterChange {
  readonly name: string;
  /** The name of the parameter, as a call may say it, too. */
  readonly parameter: string;
  readonly index: number;
  readonly kind: 'added' | 'removed';
  /** How many there were before. */
  readonly count: number;
}

const DEFINITION = /(?:\b(?:def|function|func|fn|fun|sub)\s+)([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:<[^>(]*>)?\(/u;

/** What has changed between two versions of the line of a definition; undefined unless one parameter came or went. */
export function changedParameters(before: string, after: string): ParameterChange | undefined {
  const [old, now] = [parametersOf(before), parametersOf(after)];
  if (old === undefined || old.name !== now?.name) {
    return undefined;
  }
  const [shorter, longer, kind] =
    now.parameters.length === old.parameters.length + 1
      ? [old.parameters, now.parameters, 'added' as const]
      : [now.parameters, old.parameters, 'removed' as const];
  if (longer.length !== shorter.length + 1) {
    return undefined;
  }
  let index = 0;
  while (index < shorter.length && shorter[index] === longer[index]) {
    index++;
  }
  const rest = longer.slice(index + 1);
  const parameter = parameterName(longer[index] ?? '');
  const optional = (longer[index] ?? '').includes('=') && kind === 'added';
  if (parameter === undefined || optional || rest.some((one, at) => one !== shorter[index + at])) {
    return undefined; // with a default value nobody has to pass it
  }
  const receiver = isReceiver(old.parameters[0]) ? 1 : 0;
  return index < receiver
    ? undefined
    : { name: old.name, parameter, index: index - receiver, kind, count: old.parameters.length - receiver };
}

/** The edits, as places in the text, that make each call with the old number of arguments one with the new number. */
export function callSites(text: string, change: ParameterChange): TextEdit[] {
  const edits: TextEdit[] = [];
  const call = new RegExp(`(?<![\\p{L}\\p{N}_$])${change.name.replaceAll('$', '\\$')}\\(`, 'gu');
  for (const found of text.matchAll(call)) {
    const open = found.index + found[0].length;
    const parts = splitArguments(text, open);
    if (parts?.spans.length !== change.count || isDefinition(text, found.index)) {
      continue;
    }
    edits.push(change.kind === 'added' ? insertion(parts, change) : removal(parts, change));
  }
  return edits;
}

interface Parts {
  /** Where each argument begins and ends, white space around it left out. */
  readonly spans: readonly { readonly start: number; readonly end: number }[];
  readonly close: number;
}

function insertion({ spans, close }: Parts, { index, parameter }: ParameterChange): TextEdit {
  const next = spans[index];
  if (next !== undefined) {
    return { start: next.start, end: next.start, text: `${parameter}, ` };
  }
  const last = spans.at(-1);
  const at = last?.end ?? close;
  return { start: at, end: at, text: last === undefined ? parameter : `, ${parameter}` };
}

function removal({ spans }: Parts, { index }: ParameterChange): TextEdit {
  const [before, own, next] = [spans[index - 1], spans[index], spans[index + 1]];
  const start = next === undefined && before !== undefined ? before.end : (own?.start ?? 0);
  return { start, end: next?.start ?? own?.end ?? start, text: '' };
}

function isDefinition(text: string, at: number): boolean {
  return /\b(?:def|function|func|fn|fun|sub)\s+$/.test(text.slice(Math.max(at - 20, 0), at));
}

function parametersOf(line: string): { name: string; parameters: string[] } | undefined {
  const found = DEFINITION.exec(line);
  const name = found?.[1];
  if (found === null || name === undefined) {
    return undefined;
  }
  const parts = splitArguments(line, found.index + found[0].length);
  return parts && { name, parameters: parts.spans.map(({ start, end }) => line.slice(start, end)) };
}

/** A parameter's own name: before its type or default, or behind its type. */
function parameterName(parameter: string): string | undefined {
  const bare = (parameter.split('=')[0] ?? '').trim();
  const words = bare.replace(/^[*&.\s]+/, '').match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [];
  const name = bare.includes(':') || !/^\w+[\s*&]+\w+$/.test(bare) ? words[0] : words.at(-1);
  return name === 'mut' ? words[1] : name;
}

function isReceiver(parameter: string | undefined): boolean {
  return parameter !== undefined && /^(?:self|cls|&self|&mut self|this)\b/.test(parameter);
}

/** The arguments from behind an opening bracket to the one that closes it; undefined if none does. */
function splitArguments(text: string, open: number): Parts | undefined {
  const spans: { start: number; end: number }[] = [];
  let depth = 0;
  let from = open;
  const marks = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[()[\]{},]/g;
  marks.lastIndex = open;
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const mark = found[0];
    if ('([{'.includes(mark)) {
      depth++;
    } else if (depth > 0 && ')]}'.includes(mark)) {
      depth--;
    } else if (depth === 0 && (mark === ',' || mark === ')')) {
      const part = text.slice(from, found.index);
      const start = from + part.length - part.trimStart().length;
      if (part.trim() !== '') {
        spans.push({ start, end: start + part.trim().length });
      }
      from = found.index + 1;
      if (mark === ')') {
        return { spans, close: found.index };
      }
    }
  }
  return undefined;
}
