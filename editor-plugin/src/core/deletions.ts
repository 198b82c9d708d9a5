import type { DocumentChange } from './document.js';

/** What was deleted last, for as long as nothing was put in: a run of Backspace or Delete is one deletion. */
export class Deletions {
  private at = -1;
  private text = '';

  /** The text that was just deleted at a position; empty if none was. */
  deletedAt(position: number): string {
    return position === this.at ? this.text : '';
  }

  changed(change: DocumentChange): void {
    const [edit, another] = change.edits;
    const removed = change.removed[0] ?? '';
    if (edit === undefined || another !== undefined || edit.text !== '' || change.applied !== null) {
      this.at = -1;
      this.text = '';
    } else if (edit.end === this.at) {
      this.text = removed + this.text; // Backspace goes on
      this.at = edit.start;
    } else if (edit.start === this.at) {
      this.text += removed; // Delete goes on
    } else {
      this.text = removed;
      this.at = edit.start;
    }
  }
}
