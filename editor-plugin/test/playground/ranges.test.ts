import { describe, expect, it } from 'vitest';
import { editRange } from '../../src/playground/ranges.js';
import { nextWord, wholeWords } from '../../src/playground/words.js';

const CODE = `import os


def one(a):
    if a:

        return a
    return 0


const two = (b) => {
  return b;
};
last`;

function ranged(anchor: string, head = anchor, offset = 0): string {
  const { start, end } = editRange(CODE, CODE.indexOf(anchor) + offset, CODE.indexOf(head) + offset);
  return CODE.slice(start, end);
}

describe('the range of an instruction', () => {
  it('is the block around the cursor, blank lines within it and its last line end included', () => {
    const one = 'def one(a):\n    if a:\n\n        return a\n    return 0\n';
    expect(ranged('return a')).toBe(one);
    expect(ranged('def one')).toBe(one);
    expect(ranged('return 0', 'return 0', 8)).toBe(one);
  });

  it('ends with the bracket that closes the block', () => {
    expect(ranged('return b')).toBe('const two = (b) => {\n  return b;\n};\n');
  });

  it('is one line where nothing is indented', () => {
    expect(ranged('import')).toBe('import os\n');
    expect(ranged('last')).toBe('last');
  });

  it('is an empty line on an empty line', () => {
    const at = CODE.indexOf('\n\n\ndef') + 1;
    expect(editRange(CODE, at, at)).toEqual({ start: at, end: at + 1 });
  });

  it('is the whole lines of a selection, in either direction', () => {
    const lines = '    if a:\n\n        return a\n';
    expect(ranged('if a', 'return a', 2)).toBe(lines);
    expect(ranged('return a', 'if a', 2)).toBe(lines);
  });

  it('leaves out a line of which nothing is selected', () => {
    const start = CODE.indexOf('import');
    expect(editRange(CODE, start, start + 'import os\n'.length)).toEqual({ start, end: start + 'import os\n'.length });
  });

  it('does not take a block as a whole that is too long', () => {
    const long = `def f():\n${'    x = 1\n'.repeat(200)}`;
    expect(editRange(long, 12, 12)).toEqual({ start: 9, end: 19 });
  });

  it('of an empty text is empty', () => {
    expect(editRange('', 0, 0)).toEqual({ start: 0, end: 0 });
  });
});

describe('a word of a suggestion', () => {
  it.each([
    ['return x', 'return'],
    [' x + 1', ' x'],
    ['\n    for y', '\n    for'],
    ['(a, b)', '('],
    ['größe_2 = 3', 'größe_2'],
    ['   ', '   '],
  ])('of %j is %j', (text, word) => {
    expect(nextWord(text)).toBe(word);
  });

  it('by word is all of it in the end', () => {
    const text = 'def f(a):\n    return a[0] + "ü"  # x\n';
    let rest = text;
    let count = 0;
    for (; rest !== ''; count++) {
      rest = rest.slice(nextWord(rest).length);
    }
    expect(count).toBeLessThan(text.length);
    expect(count).toBeGreaterThan(5);
  });
});

describe('the marks of an edit', () => {
  const text = 'a subtotal = x';
  it.each([
    [[[2, 3], [5, 6]], [[2, 10]]], // two pieces of one word
    [[[11, 12]], [[11, 12]]],
    [[[10, 13]], [[10, 13]]], // whole signs stay as they are
    [[[0, 1], [1, 2], [2, 4]], [[0, 10]]], // what touches is one
    [[[4, 4]], []],
    [[[9, 14]], [[2, 14]]],
  ])('%j are of whole words: %j', (spans, whole) => {
    const given = spans.map(([start, end]) => ({ start: start ?? 0, end: end ?? 0 }));
    expect(wholeWords(text, given).map(({ start, end }) => [start, end])).toEqual(whole);
  });
});
