/** An edit in CodeMirror: marks of what it has put in and may still reach, and one step of undo for all of it. */
import { history } from '@codemirror/commands';
import { Annotation, StateEffect, StateField, Transaction } from '@codemirror/state';
import type { EditorState, Extension, Range } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';

/** Says that a change is an edit's, and which one's. */
export const byEdit = Annotation.define<number>();

/** Where an edit stands, in the document as it is. */
export interface EditMarks {
  readonly inserted: readonly { readonly start: number; readonly end: number }[];
  /** What it may still change. */
  readonly pending: { readonly start: number; readonly end: number } | undefined;
}

export const markEdit = StateEffect.define<EditMarks>();

const insertedMark = Decoration.mark({ class: 'inserted' });
const pendingLine = Decoration.line({ class: 'pending' });

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    let result = set.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(markEdit)) {
        const { inserted, pending } = effect.value;
        const ranges: Range<Decoration>[] = inserted
          .filter(({ start, end }) => end > start)
          .map(({ start, end }) => insertedMark.range(start, end));
        if (pending !== undefined) {
          const { doc } = transaction.state;
          for (let at = pending.start; at < pending.end; at = doc.lineAt(at).to + 1) {
            ranges.push(pendingLine.range(doc.lineAt(at).from));
          }
        }
        result = Decoration.set(ranges, true);
      }
    }
    return result;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** Which edit made the newest change of the document; undefined if a person did. */
const newest = StateField.define<number | undefined>({
  create: () => undefined,
  update: (value, transaction) => (transaction.docChanged ? transaction.annotation(byEdit) : value),
});

/** The annotations of a change that an edit makes. All of one edit's are one step of undo, if nobody wrote in between. */
export function asEdit(state: EditorState, id: number): Annotation<unknown>[] {
  // CodeMirror joins what an input method composes to the step before, however long that took; nothing else it does so.
  const userEvent = state.field(newest) === id ? 'input.type.compose' : 'warmline.edit';
  return [byEdit.of(id), Transaction.userEvent.of(userEvent)];
}

export const editView: Extension = [
  newest,
  marks,
  history({ joinToEvent: (transaction, adjacent) => adjacent && transaction.startState.field(newest) === undefined }),
];
