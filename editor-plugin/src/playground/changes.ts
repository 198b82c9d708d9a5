/** CodeMirror's changes and the wire's edits are two ways to say the same. */
import type { ChangeSet, ChangeSpec } from '@codemirror/state';
import type { TextEdit } from '../core/index.js';

/** Edits in descending order: each counts in the result of the one before, which has not moved what stands before it. */
export function editsOf(changes: ChangeSet): TextEdit[] {
  const edits: TextEdit[] = [];
  changes.iterChanges((start, end, _from, _to, inserted) => edits.push({ start, end, text: inserted.toString() }), true);
  return edits.reverse();
}

/** Places in the text as it is, which CodeMirror takes all at once. */
export function specOf(edits: readonly TextEdit[]): ChangeSpec[] {
  return edits.map(({ start, end, text }) => ({ from: start, to: end, insert: text }));
}
