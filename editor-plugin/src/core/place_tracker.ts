import { closes, mayClose } from './auto_closing.js';
import { commonPrefix, splitsPair } from './text.js';
import { editsNear, growth } from './text_edits.js';
import type { TextEdit } from './wire.js';

/** Characters that count as an editor's closers behind the cursor, at most. */
export const MAX_TAIL = 64;

/** What was put at a place: `text` before the cursor, and a `tail` behind it. */
export class Typed {
  constructor(
    readonly text: string,
    readonly tail: string,
  ) {}

  /** What a suggestion for the place says behind the cursor, instead of the tail; undefined if it doesn't fit. */
  rest(suggestion: string): string | undefined {
    if (!suggestion.startsWith(this.text)) {
      return undefined;
    }
    const rest = suggestion.slice(this.text.length);
    return this.tail === '' || (this.isTail && closes(this.text, rest, this.tail)) ? rest : undefined;
  }

  /** Whether the suggestion may fit, once more of it is there. */
  mayFit(suggestion: string): boolean {
    if (!suggestion.startsWith(this.text) && !this.text.startsWith(suggestion)) {
      return false;
    }
    return this.tail === '' || (this.isTail && mayClose(this.text, suggestion.slice(this.text.length), this.tail));
  }

  private get isTail(): boolean {
    return this.tail.length <= MAX_TAIL;
  }
}

/**
 * Where a completion belongs while its document changes, and how much of it the person has typed meanwhile.
 *
 * The server follows each completion by the same rules, so both know what is left of its text and what that replaces.
 * What is inserted exactly at the place belongs to it, and so does what is changed within that. A change that ends
 * before the place shifts it, one that begins behind it leaves it. Any other leaves it `lost`.
 */
export class PlaceTracker {
  /** Where what was put at the place begins and ends in the current document. */
  start: number;
  end: number;
  /** What was put at the place: what was typed, and what the editor closed behind it. */
  text = '';
  /** What of that was typed before the completion was asked for, if it goes on with an earlier one. */
  passed = '';
  /** The same object for all that go on from one place. */
  origin: object = {};
  lost = false;

  constructor(offset: number) {
    this.start = this.end = offset;
  }

  /** What was put at the place before and behind a cursor; undefined if that is elsewhere, or the place is lost. */
  at(cursor: number): Typed | undefined {
    const index = cursor - this.start;
    if (this.lost || index < 0 || index > this.text.length || splitsPair(this.text, index)) {
      return undefined;
    }
    return new Typed(this.text.slice(0, index), this.text.slice(index));
  }

  /** Follow the place of an earlier completion, of whose text so much had been typed. */
  goOnFrom(before: PlaceTracker, passed: string): void {
    this.start = before.start;
    this.end = before.end;
    this.text = before.text;
    this.lost = before.lost;
    this.passed = passed;
    this.origin = before.origin;
  }

  /**
   * The edit of the current document that puts in what is left of a completion, and removes the tail for it. With the
   * cursor it inserts there; without, behind as much of the text as is typed already. Undefined if the completion
   * doesn't fit (yet: see `mayFit`).
   */
  remaining(completion: string, cursor?: number): TextEdit | undefined {
    const suggestion = this.passed + completion;
    for (const typed of this.divisions(suggestion, cursor)) {
      const rest = typed.rest(suggestion);
      if (rest !== undefined) {
        return { start: this.start + typed.text.length, end: this.end, text: rest };
      }
    }
    return undefined;
  }

  /** Whether a completion of which more is to come may fit then. */
  mayFit(completion: string, cursor?: number): boolean {
    const suggestion = this.passed + completion;
    if (this.lost) {
      return false;
    }
    if (cursor === undefined && this.text.startsWith(suggestion)) {
      return true;
    }
    return [...this.divisions(suggestion, cursor)].some((typed) => typed.mayFit(suggestion));
  }

  /** Take a change of the document: edits in order, each counted in the result of the one before. */
  changed(edits: readonly TextEdit[]): void {
    if (this.lost) {
      return;
    }
    const near = editsNear(edits, this.start, this.end);
    if (near === undefined) {
      this.lose();
      return;
    }
    for (const edit of near.edits) {
      this.take(edit);
    }
    this.start += near.moved;
    this.end += near.moved;
  }

  /** The place is gone: another text was put in for the whole document. */
  lose(): void {
    this.text = '';
    this.lost = true;
  }

  private take(edit: TextEdit): void {
    if (this.lost || edit.start > this.end) {
      return;
    }
    if (edit.end < this.start) {
      this.start += growth(edit);
      this.end += growth(edit);
    } else if (edit.start === this.end) {
      this.text += edit.text; // what it removes stood behind the place
      this.end += edit.text.length;
    } else if (edit.start >= this.start && edit.end <= this.end) {
      this.text =
        this.text.slice(0, edit.start - this.start) + edit.text + this.text.slice(edit.end - this.start);
      this.end += growth(edit);
    } else {
      this.lost = true;
    }
  }

  /** What was put at the place, divided where the cursor is or may be; the largest beginning first. */
  private *divisions(suggestion: string, cursor?: number): Generator<Typed> {
    if (cursor !== undefined) {
      const typed = this.at(cursor);
      if (typed !== undefined) {
        yield typed;
      }
      return;
    }
    if (!this.lost) {
      const least = Math.max(this.text.length - MAX_TAIL, 0);
      for (let index = commonPrefix(this.text, suggestion); index >= least; index--) {
        if (!splitsPair(this.text, index)) {
          yield new Typed(this.text.slice(0, index), this.text.slice(index));
        }
      }
    }
  }
}
