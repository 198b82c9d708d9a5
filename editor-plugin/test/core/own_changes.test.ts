import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnChanges } from '../../src/core/own_changes.js';
import { applyEdits } from '../../src/core/text_edits.js';
import type { TextEdit } from '../../src/core/wire.js';

/** A document with an edit's changes in it. */
class Edited {
  readonly ours = new OwnChanges();

  constructor(public text: string) {}

  own(start: number, end: number, text: string): this {
    this.ours.own({ start, end, text }, this.text.slice(start, end));
    this.change({ start, end, text });
    this.ours.whole((from, to) => this.text.slice(from, to));
    return this;
  }

  other(start: number, end: number, text: string): this {
    this.ours.other({ start, end, text });
    return this.change({ start, end, text });
  }

  get rejected(): string {
    return applyEdits(this.text, this.ours.inverse());
  }

  get marked(): string[] {
    return this.ours.inserted.map(({ start, end }) => this.text.slice(start, end));
  }

  private change(edit: TextEdit): this {
    this.text = applyEdits(this.text, [edit]);
    return this;
  }
}

describe('what an edit has put into a document', () => {
  it('is taken back as a whole when nobody else wrote', () => {
    const document = new Edited('a = 1\nb = 2\n').own(4, 5, '10').own(11, 12, '');
    expect(document.text).toBe('a = 10\nb = \n');
    expect(document.rejected).toBe('a = 1\nb = 2\n');
  });

  it('moves with what is written before it', () => {
    const document = new Edited('one two').own(4, 7, 'three').other(0, 0, 'zero ');
    expect(document.marked).toEqual(['three']);
    expect(document.rejected).toBe('zero one two');
  });

  it('leaves what somebody wrote in the midst of it', () => {
    const document = new Edited('f()').own(2, 2, 'x, y').other(4, 4, 'MINE');
    expect(document.text).toBe('f(x,MINE y)');
    expect(document.marked).toEqual(['x,', ' y']);
    expect(document.rejected).toBe('f(MINE)');
  });

  /** A name is changed by what differs of it, as it is streamed: `amount` to `subtotal`. */
  const renamed = (): Edited => new Edited('amount = 0\nreturn amount\n').own(0, 5, 'sub').own(4, 4, 'otal');

  it('comes back in whole words, however little of them was changed', () => {
    const document = renamed();
    expect(document.text).toBe('subtotal = 0\nreturn amount\n');
    expect(document.marked).toEqual(['subtotal']);
    expect(document.rejected).toBe('amount = 0\nreturn amount\n');
    expect(document.other(8, 8, 's').rejected).toBe('amounts = 0\nreturn amount\n');
  });

  it.each<[string, (document: Edited) => Edited, string]>([
    ['the line', (document) => document.other(0, 13, ''), 'return amount\n'],
    ['the word, to type another', (document) => document.other(0, 8, 'g').other(1, 1, 'rand'), 'grand = 0\nreturn amount\n'],
    ['a part of the word', (document) => document.other(3, 8, '').other(3, 3, 'way'), 'subway = 0\nreturn amount\n'],
    ['it key by key', (document) => [7, 6, 5, 4, 3, 2, 1, 0].reduce((one, at) => one.other(at, at + 1, ''), document), ' = 0\nreturn amount\n'],
  ])('is not taken back where somebody deleted %s', (_, change, left) => {
    const document = change(renamed());
    expect(document.text).toBe(left);
    expect(document.rejected).toBe(left);
    expect(document.ours.empty).toBe(true);
  });

  it('comes back as a whole where some of its lines were deleted or written between, and not once all are gone', () => {
    const document = new Edited('a()\nb()\n').own(0, 8, 'one()\ntwo()\nthree()\n').other(6, 6, 'MINE\n').other(0, 6, '');
    expect(document.text).toBe('MINE\ntwo()\nthree()\n');
    expect(document.rejected).toBe('MINE\na()\nb()\n');
    expect(document.other(5, 19, '').rejected).toBe('MINE\n');
    expect(document.ours.empty).toBe(true);
  });

  it('gives back what it deleted, and not where somebody deleted around it', () => {
    const calls = (): Edited => new Edited('f(a, b)\n').own(3, 6, '');
    expect(calls().text).toBe('f(a)\n');
    expect(calls().other(0, 1, 'g').rejected).toBe('g(a, b)\n');
    expect(calls().other(2, 3, '').rejected).toBe('f()\n');
    expect(calls().other(0, 5, '').rejected).toBe('');
    const lines = (): Edited => new Edited('a\nb\nc\n').own(2, 4, '');
    expect(lines().other(2, 4, '').rejected).toBe('a\nb\n');
    expect(lines().other(1, 3, '').rejected).toBe('a\n');
  });

  it('is empty when others deleted all of it and nothing was replaced', () => {
    const document = new Edited('ab').own(1, 1, 'xyz').other(0, 5, '');
    expect(document.ours.empty).toBe(true);
  });

  const edits = fc.array(
    fc.record({
      ours: fc.boolean(),
      at: fc.nat(),
      length: fc.nat(4),
      text: fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 4 }),
    }),
    { maxLength: 12 },
  );

  it('is taken back exactly, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), edits, (text, list) => {
        const document = new Edited(text);
        for (const { at, length, text: put } of list) {
          const start = at % (document.text.length + 1);
          document.own(start, Math.min(start + length, document.text.length), put);
        }
        expect(document.rejected).toBe(text);
      }),
    );
  });

  it('is taken back exactly between whatever others wrote, which stays', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('x', 'y', '\n'), maxLength: 20 }), edits, (text, list) => {
        const document = new Edited(text);
        let written = 0;
        for (const { ours, at, length, text: put } of list) {
          const start = at % (document.text.length + 1);
          if (ours) {
            document.own(start, Math.min(start + length, document.text.length), put);
          } else {
            document.other(start, start, 'MINE'[written++ % 4] ?? '');
          }
        }
        expect(document.rejected.replace(/[A-Z]/g, '')).toBe(text);
        expect(document.rejected.replace(/[^A-Z]/g, '')).toHaveLength(written);
      }),
    );
  });

  it('is taken back in each word that nobody has touched, and in no other, and keeps all that was written', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 6 });
    const part = fc.record({ at: fc.nat(), length: fc.nat(4), text: word });
    const hand = fc.constantFrom('none', 'beside', 'retype', 'delete', 'cut', 'key by key');
    const cell = fc.record({ word, ours: fc.array(part, { maxLength: 3 }), hand });
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 6 }), fc.constantFrom(' ', '\n', '(', ', '), (cells, between) => {
        const document = new Edited(cells.map((one) => one.word).join(between));
        const words = cells.map((one) => one.word);
        const startOf = (index: number): number => words.slice(0, index).join(between).length + (index > 0 ? between.length : 0);
        const put = (index: number, who: 'own' | 'other', start: number, end: number, text: string): void => {
          const word = words[index] ?? '';
          document[who](startOf(index) + start, startOf(index) + end, text);
          words[index] = word.slice(0, start) + text + word.slice(end);
        };
        cells.forEach(({ ours }, index) => {
          for (const { at, length, text } of ours) {
            const word = words[index] ?? '';
            const start = at % (word.length + 1);
            put(index, 'own', start, Math.min(start + length, word.length), text);
          }
        });
        const expected = cells.map(({ word, ours, hand: how }, index) => {
          const now = words[index] ?? '';
          switch (how) {
            case 'beside':
              put(index, 'other', now.length, now.length, 'X');
              return `${word}X`;
            case 'retype':
              put(index, 'other', 0, now.length, 'MINE');
              return 'MINE';
            case 'delete':
              put(index, 'other', 0, now.length, '');
              return '';
            case 'cut':
              put(index, 'other', 0, 1, 'Y');
              return words[index];
            case 'key by key':
              for (let at = now.length - 1; at >= 0; at--) {
                put(index, 'other', at, at + 1, '');
              }
              return '';
            default:
              return ours.length > 0 ? word : now;
          }
        });
        expect(document.rejected).toBe(expected.join(between));
      }),
    );
  });

  it('keeps all that others wrote, whatever they delete and replace', () => {
    const made = fc.array(fc.record({ ours: fc.boolean(), at: fc.nat(), length: fc.nat(6), text: fc.nat(3) }), { maxLength: 16 });
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 30 }), made, (text, list) => {
        const document = new Edited(text);
        let written = 0;
        for (const { ours, at, length, text: count } of [...list.filter((one) => one.ours), ...list.filter((one) => !one.ours)]) {
          const start = at % (document.text.length + 1);
          const end = Math.min(start + length, document.text.length);
          if (ours) {
            document.own(start, end, 'ab \n'.slice(0, count));
          } else {
            document.other(start, end, String.fromCharCode(0x4e00 + written++).repeat(count));
          }
        }
        const theirs = (all: string): string => all.replace(/[^\u4e00-\u9fff]/g, '');
        expect(theirs(document.rejected)).toBe(theirs(document.text));
      }),
    );
  });
});
