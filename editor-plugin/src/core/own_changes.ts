/** What one edit has put into a document and taken out of it, followed through whatever is changed later. */

import { growth } from './text_edits.js';
import type { TextEdit } from './wire.js';

/** Of a word that is cut, no more than this is looked at to each side. */
const LONGEST_WORD = 256;

/**
 * `length` units at `at` are ours and stand, with the other pieces of their group, in the place of `removed`, which the
 * first of these has.
 */
interface Piece {
  readonly at: number;
  readonly length: number;
  readonly removed: string;
  /** Pieces that somebody wrote between have the same. */
  readonly group: number;
  /** Whether lines were replaced, not just a part of one. */
  readonly lines: boolean;
  /** Not grown to whole words yet. */
  readonly fresh: boolean;
}

/** Units [start, end) of the document. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Knows how to take an edit back when others have changed the document since: `inverse` removes what is left of our
 * text, puts back what we took out, and keeps what others wrote, also in the midst of it.
 *
 * What we took out comes back in whole words, and only where what we put there still stands: who has deleted or retyped
 * all of that, or some of it within a line, has decided what is to be there. So has who deletes around a place where we
 * have deleted.
 */
export class OwnChanges {
  private pieces: readonly Piece[] = [];
  private groups = 0;

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

  /** We made an edit; `replaced` is what [start, end) read before. `whole` is to follow. */
  own(edit: TextEdit, replaced: string): void {
    const { start, end } = edit;
    const before: Piece[] = [];
    const touched: Piece[] = [];
    const after: Piece[] = [];
    for (const piece of this.pieces) {
      if (piece.at + piece.length < start) {
        before.push(piece);
      } else if (piece.at > end) {
        after.push(moved(piece, growth(edit)));
      } else {
        touched.push(piece);
      }
    }
    let removed = '';
    let at = start;
    for (const piece of touched) {
      removed += replaced.slice(at - start, Math.max(piece.at - start, 0)) + piece.removed;
      at = Math.min(Math.max(at, piece.at + piece.length), end);
    }
    removed += replaced.slice(at - start);
    const first = Math.min(start, touched[0]?.at ?? start);
    const stop = Math.max(end, ...touched.map((piece) => piece.at + piece.length)) + growth(edit);
    const lines = `${edit.text}${removed}`.includes('\n') || touched.some((piece) => piece.lines);
    const made = { at: first, length: stop - first, removed, group: this.groups++, lines, fresh: true };
    this.keep(this.joined([...before, made, ...after], made.group, touched));
  }

  /** Those edits of ours are all made: what they cut of words belongs to them. `slice` reads the document. */
  whole(slice: (start: number, end: number) => string): void {
    let pieces: Piece[] = [];
    this.pieces.forEach((piece, index) => {
      const grown = piece.fresh ? this.grown(piece, index, pieces.at(-1), slice) : piece;
      const last = pieces.at(-1);
      if (last !== undefined && last.at + last.length === grown.at) {
        const [length, removed] = [last.length + grown.length, last.removed + grown.removed];
        pieces = this.joined([...pieces.slice(0, -1), { ...last, length, removed, lines: last.lines || grown.lines }], last.group, [grown]);
      } else {
        pieces.push(grown);
      }
    });
    this.keep(pieces);
  }

  /** Somebody else made an edit. */
  other(edit: TextEdit): void {
    const { start, end } = edit;
    const pieces: Piece[] = [];
    const theirs = new Set<number>(); // groups that are no longer ours
    const orphaned = new Map<number, string>(); // what a piece that is gone had removed, by its group
    for (const one of this.pieces) {
      const piece = { ...one, removed: (orphaned.get(one.group) ?? '') + one.removed };
      const stop = piece.at + piece.length;
      const place = piece.length === 0;
      if (place && start < end && start <= piece.at && piece.at <= end && (!piece.lines || (start < piece.at && piece.at < end))) {
        theirs.add(piece.group);
      } else if (piece.at >= end && (!place || piece.at > start)) {
        pieces.push(moved(piece, growth(edit)));
      } else if (stop <= start) {
        pieces.push(piece);
      } else if (start <= piece.at && end >= stop) {
        orphaned.set(piece.group, piece.removed);
        continue;
      } else if (start < end && piece.removed !== '' && !piece.lines) {
        theirs.add(piece.group);
      } else {
        const left = Math.max(start - piece.at, 0);
        const right = Math.max(stop - end, 0);
        if (left > 0) {
          pieces.push({ ...piece, length: left });
        }
        if (right > 0) {
          pieces.push({ ...piece, at: start + edit.text.length, length: right, removed: left > 0 ? '' : piece.removed });
        }
      }
      orphaned.delete(piece.group);
    }
    this.keep(pieces.filter((piece) => !theirs.has(piece.group)));
  }

  /** The edits that take ours back, from the last to the first, all counted in the document as it is. */
  inverse(): TextEdit[] {
    return this.pieces.map(({ at, length, removed }) => ({ start: at, end: at + length, text: removed })).reverse();
  }

  /** A piece and what it cuts of words to both sides, as far as there is no other piece. */
  private grown(piece: Piece, index: number, last: Piece | undefined, slice: (start: number, end: number) => string): Piece {
    const { at, length, removed } = piece;
    const stop = at + length;
    const next = this.pieces[index + 1]?.at ?? Infinity;
    const left = endingWord(slice(Math.max(last === undefined ? 0 : last.at + last.length, at - LONGEST_WORD), at));
    const right = beginningWord(slice(stop, Math.min(next, stop + LONGEST_WORD)));
    const texts = [slice(at, stop), removed];
    // Two units may be one character.
    const before = texts.some((text) => beginningWord((text + right).slice(0, 2)) !== '') ? left : '';
    const after = texts.some((text) => endingWord((left + text).slice(-2)) !== '') ? right : '';
    return { ...piece, at: at - before.length, length: before.length + length + after.length, removed: before + removed + after, fresh: false };
  }

  /** The pieces, those of the groups of `others` being of this one now. */
  private joined(pieces: readonly Piece[], group: number, others: readonly Piece[]): Piece[] {
    const old = new Set(others.map((other) => other.group));
    return pieces.map((piece) => (old.has(piece.group) ? { ...piece, group } : piece));
  }

  private keep(pieces: readonly Piece[]): void {
    this.pieces = pieces.filter((piece) => piece.length > 0 || piece.removed !== '');
  }
}

function endingWord(text: string): string {
  return /[\p{L}\p{M}\p{N}_$]*$/u.exec(text)?.[0] ?? '';
}

function beginningWord(text: string): string {
  return /^[\p{L}\p{M}\p{N}_$]*/u.exec(text)?.[0] ?? '';
}

function moved(piece: Piece, by: number): Piece {
  return { ...piece, at: piece.at + by };
}
