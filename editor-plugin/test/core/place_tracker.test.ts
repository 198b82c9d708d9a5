import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closes, mayClose } from '../../src/core/auto_closing.js';
import { PlaceTracker } from '../../src/core/place_tracker.js';
import { applyEdits } from '../../src/core/text_edits.js';
import type { TextEdit } from '../../src/core/wire.js';
import { vectors } from './support/vectors.js';

type Plain = [start: number, end: number, text: string];

interface PlaceVector {
  readonly kind: string;
  readonly text: string;
  readonly offset: number;
  readonly completion: string;
  readonly steps: {
    change: Plain[];
    cursor: number;
    then: {
      lost: boolean;
      start?: number;
      end?: number;
      text?: string;
      remaining: Plain | null;
      at_cursor: Plain | null;
      may_fit: string;
    };
  }[];
}

interface ClosingVector {
  readonly kind: string;
  readonly typed: string;
  readonly rest: string;
  readonly tail: string;
  readonly closes?: boolean;
  readonly may_close?: boolean;
}

function plain(edit: TextEdit | undefined): Plain | null {
  return edit === undefined ? null : [edit.start, edit.end, edit.text];
}

describe('the place of a completion', () => {
  it.each(
    vectors<PlaceVector>('operation_vectors')
      .filter(({ kind }) => kind === 'place')
      .map((vector, index) => [index, vector] as const),
  )('is where the server has it, and says what is left of the text, in document %i', (_, vector) => {
    const { completion } = vector;
    const place = new PlaceTracker(vector.offset);
    const beginnings = [...completion].map((_one, index, all) => all.slice(0, index).join(''));
    for (const { change, cursor, then } of vector.steps) {
      place.changed(change.map(([start, end, text]) => ({ start, end, text })));
      const state = place.lost ? {} : { start: place.start, end: place.end, text: place.text };
      expect({
        lost: place.lost,
        ...state,
        remaining: plain(place.remaining(completion)),
        at_cursor: plain(place.remaining(completion, cursor)),
        may_fit: [...beginnings, completion].map((text) => (place.mayFit(text) ? 'y' : 'n')).join(''),
      }).toEqual(then);
    }
  });

  it('gives what is left of a text, whatever of it was typed', () => {
    const suggestion = 'foo(bar)😀\n  baz';
    const ends = [...suggestion].map((_, index, all) => all.slice(0, index).join('').length);
    fc.assert(
      fc.property(fc.constantFrom(...ends), fc.string(), (length, before) => {
        const place = new PlaceTracker(before.length);
        const typed = suggestion.slice(0, length);
        for (const [index, character] of [...typed.split('')].entries()) {
          place.changed([{ start: before.length + index, end: before.length + index, text: character }]);
        }
        const cursor = before.length + length;
        expect(place.remaining(suggestion, cursor)).toEqual({ start: cursor, end: cursor, text: suggestion.slice(length) });
        const text = before + typed;
        expect(applyEdits(text, [place.remaining(suggestion)!])).toBe(before + suggestion);
      }),
    );
  });

  it('says nothing where the cursor is elsewhere, and nothing once it is lost', () => {
    const place = new PlaceTracker(3);
    expect(place.remaining('abc', 2)).toBeUndefined();
    place.changed([{ start: 2, end: 4, text: '' }]);
    expect([place.lost, place.remaining('abc'), place.mayFit('abc')]).toEqual([true, undefined, false]);
  });
});

describe('what an editor has closed', () => {
  it.each(vectors<ClosingVector>('operation_vectors').filter(({ kind, tail }) => kind === 'closes' && tail !== ''))(
    'is closed by a text as the server says: $tail',
    (vector) => {
      const { typed, rest, tail } = vector;
      expect([closes(typed, rest, tail), mayClose(typed, rest, tail)]).toEqual([vector.closes, vector.may_close]);
    },
  );

  it('is found in time for any text', () => {
    const marks = fc.string({ unit: fc.constantFrom('(', ')', '[', ']', '{', '}', '"', "'", '`', '\n', '#', '//', 'a', ' ', '\\') });
    fc.assert(
      fc.property(marks, marks, fc.constantFrom(')', '])', '"', "'''", '\n}'), (typed, rest, tail) => {
        if (closes(typed, rest, tail)) {
          expect(mayClose(typed, rest, tail)).toBe(true);
        }
      }),
    );
  });
});
