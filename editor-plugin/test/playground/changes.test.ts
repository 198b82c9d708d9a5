import { EditorState } from '@codemirror/state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits } from '../../src/core/index.js';
import { editsOf, specOf } from '../../src/playground/changes.js';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', ' ', '\u{1f600}'), maxLength: 30 });
const places = fc.array(fc.tuple(fc.nat(30), fc.nat(5), text), { maxLength: 4 });

describe('changes of the editor', () => {
  it('are, as edits one after the other, the same', () => {
    fc.assert(
      fc.property(text, places, (before, wanted) => {
        const state = EditorState.create({ doc: before });
        let at = 0;
        const edits = wanted
          .map(([gap, size, inserted]) => {
            const start = Math.min(at + gap, before.length);
            const end = Math.min(start + size, before.length);
            at = end;
            return { start, end, text: inserted };
          })
          .filter(({ start, end, text: inserted }) => end > start || inserted !== '');
        const { changes, newDoc } = state.update({ changes: specOf(edits) });
        expect(applyEdits(before, editsOf(changes))).toBe(newDoc.toString());
      }),
    );
  });

  it('come in descending order, so that none moves the next', () => {
    const { changes } = EditorState.create({ doc: 'one two' }).update({
      changes: [
        { from: 0, to: 3, insert: '1' },
        { from: 4, to: 7, insert: '2' },
      ],
    });
    expect(editsOf(changes)).toEqual([
      { start: 4, end: 7, text: '2' },
      { start: 0, end: 3, text: '1' },
    ]);
  });
});
