import type { EditorView } from '@codemirror/view';
import type { Disposable, EditSession } from '../core/index.js';
import { specOf } from './changes.js';
import { asEdit, markEdit } from './edit_view.js';
import { wholeWords } from './words.js';

/** One edit in the editor: puts its operations in as they come, a frame's worth at a time, while whoever types goes on. */
export class InPlaceEdit implements Disposable {
  private frame: number | undefined;
  private over = false;

  /** `changed` is called whenever there is something else to show. */
  constructor(
    private readonly view: EditorView,
    readonly session: EditSession,
    private readonly changed: () => void,
  ) {
    session.onProgress(() => this.wake());
    void session.ended.then(() => this.wake());
    this.mark();
  }

  /** Whether more of it may come. */
  get running(): boolean {
    return !this.over && (this.session.running || !this.session.settled);
  }

  /** Whether it has put anything in, whatever became of that. */
  didChange = false;

  /** Whether anything of it is in the document. */
  get hasChanged(): boolean {
    return !this.session.own.empty;
  }

  /** How many lines have something that it put in. */
  get lines(): number {
    const { doc } = this.view.state;
    const numbers = new Set<number>();
    for (const { start, end } of this.session.own.inserted) {
      for (let line = doc.lineAt(start).number; line <= doc.lineAt(Math.max(end - 1, start)).number; line++) {
        numbers.add(line);
      }
    }
    return Math.max(numbers.size, 1); // what was only deleted was in one
  }

  /** Why nothing more comes of it, where somebody took it back. */
  fate: 'undone' | 'taken back' | undefined;

  /** Whether it may be taken back: its text is in the document, and followed. */
  get revertible(): boolean {
    return !this.over && this.hasChanged;
  }

  /** Something came: put it in with the next frame; at once where the page is not shown, which has no frames. */
  wake(): void {
    if (document.hidden) {
      this.put();
    } else {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = undefined;
        this.put();
      });
    }
  }

  /** Stop the model and keep what is there. */
  stop(): void {
    this.session.interrupt();
  }

  /** Take ours back and leave what the person wrote. */
  takeBack(): void {
    this.session.cancel();
    const { state } = this.view;
    this.view.dispatch({ changes: specOf(this.session.reverting()), annotations: asEdit(state, -this.session.id) });
    this.fate = 'taken back';
    this.finish();
  }

  /** A person's undo reached it: half an edit is of no use, so the rest of it is not put in. */
  undone(): void {
    this.fate = 'undone';
    this.finish();
  }

  dispose(): void {
    this.finish();
  }

  /** Draw its marks as they are now. */
  mark(): void {
    const { own, tracker } = this.session;
    const inserted = this.over ? [] : wholeWords(this.view.state.doc.toString(), own.inserted);
    const pending = this.running && !tracker.conflict ? { start: tracker.start, end: tracker.end } : undefined;
    this.view.dispatch({ effects: markEdit.of({ inserted, pending }) });
  }

  private put(): void {
    if (this.over || this.session.document.closed) {
      return;
    }
    for (let plan = this.session.plan(); plan !== undefined; plan = this.session.plan()) {
      const { state } = this.view;
      this.view.dispatch({ changes: specOf(plan.edits), annotations: asEdit(state, this.session.id) });
      if (this.session.applied < plan.operations) {
        this.session.rejected(); // it was not recognised as ours, so it is a person's
        break;
      }
      this.didChange = true;
    }
    this.mark();
    this.changed();
  }

  private finish(): void {
    if (this.over) {
      return;
    }
    this.over = true;
    if (this.frame !== undefined) {
      cancelAnimationFrame(this.frame);
    }
    this.session.forget();
    this.mark();
    this.changed();
  }
}
