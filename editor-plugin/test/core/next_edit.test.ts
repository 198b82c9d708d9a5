import { describe, expect, it } from 'vitest';
import type { Document } from '../../src/core/document.js';
import { NextEdits } from '../../src/core/next_edit.js';
import { applyEdits } from '../../src/core/text_edits.js';
import { connected } from './support/connected.js';

interface Editing {
  readonly document: Document;
  readonly edits: NextEdits;
  /** Replace the first occurrence of a text, and type the new one key by key. */
  retype(old: string, text: string): void;
  /** The text with all places changed. */
  all(): string;
}

async function editing(text: string): Promise<Editing> {
  const { client } = await connected();
  const document = client.open('file:///a', 'any', text);
  const edits = new NextEdits(document);
  const change = (start: number, end: number, typed: string): void => {
    const made = document.change([{ start, end, text: typed }]);
    if (made !== undefined) {
      edits.changed(made);
    }
  };
  return {
    document,
    edits,
    retype(old, typed) {
      const at = document.toString().indexOf(old);
      change(at, at + old.length, typed.charAt(0));
      [...typed].slice(1).forEach((key, index) => change(at + 1 + index, at + 1 + index, key));
    },
    all: () => applyEdits(document.toString(), [...edits.places()].sort((one, other) => other.start - one.start)),
  };
}

const PYTHON = 'def area(width, height):\n    return width * height\n\nprint(area(1, 2))\narea(f(1, 2), "a, b")\nareas = 1\n';

describe('the next edit', () => {
  it('is each other use of a name that is changed, whichever way it is typed', async () => {
    const editor = await editing(PYTHON);
    editor.retype('width', 'w');
    expect(editor.edits.places()).toEqual([{ start: 32, end: 37, text: 'w', kind: 'rename' }]);
    expect(editor.all()).toContain('def area(w, height):\n    return w * height');
  });

  it('follows a name through deletion and typing anew', async () => {
    const editor = await editing('total = 1\nprint(total, totals, subtotal)\n');
    for (let at = 5; at > 0; at--) {
      editor.edits.changed(editor.document.change([{ start: at - 1, end: at, text: '' }])!);
    }
    expect(editor.edits.places()).toEqual([]);
    for (const [at, key] of [...'sum'].entries()) {
      editor.edits.changed(editor.document.change([{ start: at, end: at, text: key }])!);
    }
    expect(editor.all()).toBe('sum = 1\nprint(sum, totals, subtotal)\n');
  });

  it('offers those behind the cursor first', async () => {
    const editor = await editing('a1 a1 a1 a1');
    editor.edits.changed(editor.document.change([{ start: 3, end: 5, text: 'b2' }])!);
    expect(editor.edits.places(5).map(({ start }) => start)).toEqual([6, 9, 0]);
  });

  it('is not offered for keywords, numbers, new words and pasted text', async () => {
    const editor = await editing('if x:\n    pass\nif y: 12\n');
    editor.retype('if', 'while');
    expect(editor.edits.places()).toEqual([]);
    editor.retype('12', '13');
    expect(editor.edits.places()).toEqual([]);
    editor.edits.changed(editor.document.change([{ start: 0, end: 0, text: 'new ' }])!);
    expect(editor.edits.places()).toEqual([]);
    const several = editor.document.change([
      { start: 5, end: 5, text: 'a' },
      { start: 0, end: 0, text: 'b' },
    ])!;
    editor.edits.changed(several);
    expect(editor.edits.places()).toEqual([]);
  });

  it('gives the calls of a function the parameter that it has got', async () => {
    const editor = await editing(PYTHON);
    editor.retype('height)', 'height, depth)');
    expect(editor.all()).toContain('print(area(1, 2, depth))\narea(f(1, 2), "a, b", depth)\nareas = 1');
    expect(editor.edits.places().every(({ kind }) => kind === 'signature')).toBe(true);
  });

  it('takes from the calls the argument that has gone, wherever it stands', async () => {
    for (const [old, now, expected] of [
      ['(width, height)', '(height)', 'area(2)'],
      ['(width, height)', '(width)', 'area(1)'],
    ] as const) {
      const editor = await editing(PYTHON);
      const at = PYTHON.indexOf(old);
      editor.edits.changed(editor.document.change([{ start: at, end: at + old.length, text: now }])!);
      expect(editor.all()).toContain(`print(${expected})`);
    }
  });

  it('leaves calls alone that have another number of arguments, and parameters with a default', async () => {
    const editor = await editing('function f(a) {}\nf(1)\nf(1, 2)\nf()\ng.f(3)\n');
    editor.retype('(a)', '(a, b)');
    expect(editor.all()).toBe('function f(a, b) {}\nf(1, b)\nf(1, 2)\nf()\ng.f(3, b)\n');
    const optional = await editing('def f(a):\n    pass\nf(1)\n');
    optional.retype('(a)', '(a, b=2)');
    expect(optional.edits.places()).toEqual([]);
  });

  it('does not count the receiver of a method', async () => {
    const editor = await editing('    def move(self, x):\n        pass\n\nshape.move(1)\n');
    editor.retype('(self, x)', '(self, x, y)');
    expect(editor.all()).toContain('shape.move(1, y)');
  });

  it('is forgotten when it was declined', async () => {
    const editor = await editing(PYTHON);
    editor.retype('width', 'w');
    editor.edits.forget();
    expect(editor.edits.places()).toEqual([]);
  });
});
