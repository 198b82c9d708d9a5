import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { sdkCode } from '../../src/playground/sdk_code.js';
import type { Asked } from '../../src/playground/sdk_code.js';

const TEXT = 'a = "\u{1f600}\\n"\nb = \'\u2028\'\t# \u0007\n';
const asked: Asked = {
  url: 'ws://127.0.0.1:8765',
  key: false,
  uri: 'file:///a.py',
  language: 'python',
  text: TEXT,
  speculation: true,
  what: { kind: 'completion', position: TEXT.indexOf('b') },
};

/** What Python reads of a program: its text, and the arguments of its call. */
const READ = `
import ast, json, sys
tree = ast.parse(sys.stdin.read())
text = next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign))
call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") in ("complete", "edit"))
print(json.dumps([text, call.func.attr, [ast.unparse(a) for a in call.args], {k.arg: ast.literal_eval(k.value) for k in call.keywords}]))
`;

function read(code: string): unknown {
  return JSON.parse(execFileSync('python3', ['-c', READ], { input: code, encoding: 'utf8' }));
}

describe('the program for the SDK', () => {
  it('asks for the same completion: its text is the same, its position counted as Python counts', () => {
    expect(read(sdkCode(asked))).toEqual([
      TEXT,
      'complete',
      ['document', String([...TEXT.slice(0, TEXT.indexOf('b'))].length)],
      { max_tokens: 128 },
    ]);
  });

  it('asks for the same edit', () => {
    const what = { kind: 'edit', start: 0, end: TEXT.length, instruction: 'say "no"\nand \\' } as const;
    expect(read(sdkCode({ ...asked, what, speculation: false }))).toEqual([
      TEXT,
      'edit',
      ['document', `(0, ${String([...TEXT].length)})`, String.raw`'say "no"\nand \\'`],
      { speculation: 'off' },
    ]);
  });

  it('never has the key in it', () => {
    const code = sdkCode({ ...asked, key: true });
    expect(code).toContain('token=os.environ["WARMLINE_API_KEY"]');
    expect(code).toContain('import os\n');
    expect(sdkCode(asked)).not.toContain('environ');
  });

  it('replaces halves of characters, which no text of Python may have', () => {
    const code = sdkCode({ ...asked, text: 'a\ud800b', what: { kind: 'completion', position: 3 } });
    expect(read(code)).toEqual(['a\ufffdb', 'complete', ['document', '3'], { max_tokens: 128 }]);
  });
});
