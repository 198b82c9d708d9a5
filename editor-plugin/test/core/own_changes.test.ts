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
    return this.change({ start, end, text });
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

  it('gives back what it deleted where somebody deleted around it', () => {
    const document = new Edited('abcdef').own(2, 4, '').other(1, 3, '');
    expect(document.text).toBe('af');
    expect(document.rejected).toBe('acdf');
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
});
