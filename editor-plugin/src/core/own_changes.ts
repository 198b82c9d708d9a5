/** What one edit has put into a document and taken out of it, followed through whatever is changed later. */

import { growth } from './text_edits.js';
import type { TextEdit } from './wire.js';

/** `length` units at `at` are ours and stand in the place of `removed`. */
interface Piece {
  readonly at: number;
  readonly length: number;
  readonly removed: string;
}

/** Units [start, end) of the document. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Knows how to take an edit back when others have changed the document since: `inverse` removes what is left of our
 * text, puts back what we took out, and keeps what others wrote, also in the midst of it.
 */
export class OwnChanges {
  private pieces: readonly Piece[] = [];

  get empty(): boolean {
    return this.pieces.length === 0;
  }

  /** What is left of our text. */
  get inserted(): Span[] {
    return this.pieces.filter((piece) => piece.length > 0).map(({ at, length }) => ({ start: at, end: at + length }));
  }

  /** Everything we have touched lies in these units. */
  get extent(): Span | undefined {
    const [first, last] = [this.pieces[0], this.pieces.at(-1)];
    return first && last && { start: first.at, end: last.at + last.length };
  }

  /** We made an edit; `replaced` is what [start, end) read before. */
  own(edit: TextEdit, replaced: string): void {
    const { start, end } = edit;
    const before: Piece[] = [];
    const after: Piece[] = [];
    let removed = '';
    let at = start;
    for (const piece of this.pieces) {
      const stop = piece.at + piece.length;
      if (stop < start) {
        before.push(piece);
      } else if (piece.at > end) {
        after.push(moved(piece, growth(edit)));
      } else {
        if (piece.at < start) {
          before.push({ ...piece, length: start - piece.at });
        } else {
          removed += replaced.slice(at - start, piece.at - start) + piece.removed;
        }
        if (stop > end) {
          after.push({ at: end + growth(edit), length: stop - end, removed: '' });
        }
        at = Math.min(Math.max(at, stop), end);
      }
    }
    removed += replaced.slice(at - start);
    this.keep([...before, { at: start, length: edit.text.length, removed }, ...after]);
  }

  /** Somebody else made an edit. */
  other(edit: TextEdit): void {
    const pieces: Piece[] = [];
    for (const piece of this.pieces) {
      const stop = piece.at + piece.length;
      if (piece.at >= edit.end && (piece.length > 0 || piece.at > edit.start)) {
        pieces.push(moved(piece, growth(edit)));
      } else if (stop <= edit.start) {
        pieces.push(piece);
      } else {
        const left = Math.max(edit.start - piece.at, 0);
        const right = Math.max(stop - edit.end, 0);
        pieces.push(
          { at: Math.min(piece.at, edit.start), length: left, removed: piece.removed },
          { at: edit.start + edit.text.length, length: right, removed: '' },
        );
      }
    }
    this.keep(pieces);
  }

  /** The edits that take ours back, from the last to the first, all counted in the document as it is. */
  inverse(): TextEdit[] {
    return this.pieces.map(({ at, length, removed }) => ({ start: at, end: at + length, text: removed })).reverse();
  }

  private keep(pieces: readonly Piece[]): void {
    this.pieces = pieces.filter((piece) => piece.length > 0 || piece.removed !== '');
  }
}

function moved(piece: Piece, by: number): Piece {
  return { ...piece, at: piece.at + by };
}
