/**
 * Where the range of an edit is while a person goes on changing the document, and which of its operations stand.
 *
 * Operations count over the range as it was when the edit was asked for, and nothing sent is ever rewritten. So both
 * ends keep a tracker for each edit, and give it the same changes of the document in the same order. The idea is that
 * of operational transformation with a server in the middle (Nichols et al., "High-latency, low-bandwidth windowing in
 * the Jupiter collaboration system", UIST 1995), and simpler: one side makes the changes, the other the operations.
 */

import { applyEdits, editsNear, extent } from './text_edits.js';
import type { Near } from './text_edits.js';
import type { Applied, Operation, TextEdit } from './wire.js';

/** A person who changes more places of what is not applied has changed all that lies between them. */
const MAX_MARKS = 64;

/** What a person did to the part that is not applied: units [at, end) of the original became `inserted` units. */
interface Mark {
  at: number;
  end: number;
  inserted: number;
}

/** The edits that apply some operations, the units of the applied part after them, and those of the range. */
interface Walk {
  readonly edits: TextEdit[];
  readonly written: number;
  readonly size: number;
}

/**
 * Follows the range of one edit.
 *
 * The range has two parts. In the first, whose operations are *applied*, the document already reads as they say, and
 * what a person changes there is merged. The second is the original with marks where a person changed it: a kept unit
 * passes over them, and an operation that deletes or inserts *conflicts* with a mark that overlaps or touches it. A
 * change before or after the range, or an insertion exactly at one of its ends, is outside.
 */
export class RangeTracker {
  /** How many operations are in the document. */
  applied = 0;
  private size: number;
  private written = 0; // units of the applied part
  private current: string;
  protected readonly originalLength: number;
  private readonly ops: Operation[] = [];
  protected readonly ends: number[] = [0]; // original units that the first n operations walk over
  private marks: Mark[] = []; // one stays when its text is taken back: whether an operation meets it must not depend on when that arrives
  private firstConflict: number | undefined; // the first operation that meets a mark
  protected stop: number | undefined; // operations from here on are void

  /** `start` is where the range, which reads `original`, begins in the document. */
  constructor(
    readonly request: number,
    public start: number,
    original: string,
  ) {
    this.current = original;
    this.originalLength = this.size = original.length;
  }

  get end(): number {
    return this.start + this.size;
  }

  /** The range in the current document. */
  get text(): string {
    return this.current;
  }

  /** How many operations there are. */
  get known(): number {
    return this.ops.length;
  }

  /** How many operations stand, applied ones included. */
  get standing(): number {
    return Math.max(Math.min(this.firstConflict ?? Infinity, this.stop ?? Infinity, this.known), this.applied);
  }

  /** Whether a person's change and an operation exclude each other, so that the edit is over. */
  get conflict(): boolean {
    return this.firstConflict !== undefined || this.stop !== undefined;
  }

  /** Take the next operations. Throws a RangeError if they reach past the range; those before were taken. */
  operations(operations: readonly Operation[]): void {
    for (const operation of operations) {
      const start = this.ends[this.known] as number;
      const end = start + (typeof operation === 'string' ? 0 : Math.abs(operation));
      if (end > this.originalLength) {
        throw new RangeError(`an operation reaches unit ${end} of a range of ${this.originalLength}`);
      }
      this.ops.push(operation);
      this.ends.push(end);
      const meets = !keeps(operation) && this.marks.some((mark) => mark.end >= start && mark.at <= end);
      if (meets && this.firstConflict === undefined) {
        this.firstConflict = this.known - 1;
      }
    }
  }

  /** Forget the operations after the first so many: others follow there. */
  void(operations: number): void {
    if (operations < this.applied || operations > this.known) {
      throw new RangeError(`${operations} of ${this.known} operations can't remain where ${this.applied} are applied`);
    }
    this.ops.length = operations;
    this.ends.length = operations + 1;
    this.firstConflict = undefined;
    for (const mark of this.marks) {
      this.meet(mark);
    }
  }

  /** No more operations come. Of an edit that ended with `conflict`, so many stand. */
  finish(operations: number | null = null): void {
    if (operations !== null) {
      this.stop = Math.min(this.stop ?? Infinity, operations);
    }
  }

  /**
   * Take a change of the document: edits in order, each counted in the result of the one before. Returns whether it
   * applied our operations and nothing else: `applied` says so, and the range then reads as they say. What such a
   * change looks like is free. Anything else is a person's.
   */
  changed(edits: readonly TextEdit[], applied: Applied | null = null): boolean {
    if (applied?.request === this.request && this.take(edits, applied.operations)) {
      return true;
    }
    let near = editsNear(edits, this.start, this.end);
    if (near === undefined) {
      this.stop = this.applied;
      near = { moved: 0, edits } satisfies Near;
    }
    for (const edit of near.edits) {
      this.insert(edit.start, edit.text);
      this.delete(edit.start + edit.text.length, edit.end + edit.text.length);
    }
    this.start += near.moved;
    return false;
  }

  /**
   * The edits of the current document that apply the operations up to so many; of all that stand by default. They
   * apply in order, each to the result of the one before. Deletions and insertions that touch are one edit.
   */
  edits(operations = this.standing): TextEdit[] {
    if (operations < this.applied || operations > this.standing) {
      throw new RangeError(
        `${operations} operations can't be applied: ${this.applied} are, and ${this.standing} stand`,
      );
    }
    return this.walk(operations).edits;
  }

  /** Take a change if it applies the first so many operations; do nothing and return false if it doesn't. */
  take(edits: readonly TextEdit[], count: number): boolean {
    if (count < this.applied || count > this.standing) {
      return false;
    }
    const { edits: ours, written, size } = this.walk(count);
    const result = applyEdits(this.current, shifted(ours, -this.start));
    if (this.effectOf(edits) !== result) {
      return false;
    }
    this.current = result;
    this.written = written;
    this.size = size;
    this.applied = count;
    const at = this.ends[count] as number;
    this.marks = this.marks
      .filter((mark) => mark.end >= at) // one that ends here may meet the next operation
      .map((mark) => ({ ...mark, at: Math.max(mark.at, at) }));
    return true;
  }

  // Our operations -------------------------------------------------------------------------------------------------

  /** What edits make of the range; undefined if they reach out of it. */
  private effectOf(edits: readonly TextEdit[]): string | undefined {
    if (edits.length === 0) {
      return this.current;
    }
    const [start, end] = extent(edits);
    return start >= this.start && end <= this.end ? applyEdits(this.current, shifted(edits, -this.start)) : undefined;
  }

  private walk(count: number): Walk {
    const edits: TextEdit[] = [];
    let at = this.start + this.written;
    let passed = 0;
    let grown = 0;
    let deleted = 0;
    let inserted = '';
    for (let index = this.applied; index < count; index++) {
      const operation = this.ops[index] as Operation;
      if (typeof operation === 'string') {
        inserted += operation;
      } else if (operation < 0) {
        deleted -= operation;
      }
      if (deleted > 0 || inserted !== '') {
        if (index + 1 < count && !keeps(this.ops[index + 1] as Operation)) {
          continue;
        }
        edits.push({ start: at, end: at + deleted, text: inserted });
        at += inserted.length;
        grown += inserted.length - deleted;
        deleted = 0;
        inserted = '';
        continue;
      }
      const start = this.ends[index] as number;
      const end = this.ends[index + 1] as number;
      at += end - start;
      // A mark that ends beyond is passed in part: its text comes after us.
      for (let mark = this.marks[passed]; mark !== undefined && mark.at < end; mark = this.marks[++passed]) {
        at -= Math.min(mark.end, end) - Math.max(mark.at, start);
        if (mark.end >= end) {
          break;
        }
        at += mark.inserted;
      }
    }
    return { edits, written: at - this.start, size: this.size + grown };
  }

  // A person's changes ---------------------------------------------------------------------------------------------

  private insert(position: number, text: string): void {
    const at = position - this.start;
    if (at <= 0) {
      this.start += text.length;
    } else if (at < this.size && text !== '') {
      this.current = this.current.slice(0, at) + text + this.current.slice(at);
      this.size += text.length;
      if (at < this.written) {
        this.written += text.length;
      } else {
        this.insertUnapplied(at - this.written, text.length);
      }
    }
  }

  private delete(from: number, to: number): void {
    const before = Math.max(Math.min(to - this.start, 0) - (from - this.start), 0);
    const start = Math.max(from - this.start, 0);
    const end = Math.min(to - this.start, this.size);
    if (start < end) {
      this.current = this.current.slice(0, start) + this.current.slice(end);
      this.size -= end - start;
      if (end > this.written) {
        this.deleteUnapplied(Math.max(start - this.written, 0), end - this.written);
      }
      this.written -= Math.max(Math.min(end, this.written) - start, 0);
    }
    this.start -= before;
  }

  private insertUnapplied(offset: number, length: number): void {
    const { index, at, within } = this.place(offset);
    if (within === undefined) {
      this.marks.splice(index, 0, { at, end: at, inserted: 0 });
    }
    (this.marks[index] as Mark).inserted += length;
    this.marked(index);
  }

  /** What is deleted, and the marks that it touches, become one mark. */
  private deleteUnapplied(start: number, end: number): void {
    const first = this.place(start);
    const last = this.place(end);
    let right = last.at;
    let inserted = first.within ?? 0;
    let behind = last.index;
    if (last.within !== undefined) {
      const mark = this.marks[last.index] as Mark;
      right = mark.end;
      inserted += mark.inserted - last.within;
      behind++;
    }
    this.marks.splice(first.index, behind - first.index, { at: first.at, end: right, inserted });
    this.marked(first.index);
  }

  /**
   * Where an offset into the part that is not applied lies: the number of marks before it, its unit of the original,
   * and, if it lies in or beside the text of a mark (the next one), how far into that.
   */
  private place(offset: number): { index: number; at: number; within: number | undefined } {
    let position = 0;
    let at = this.ends[this.applied] as number;
    for (const [index, mark] of this.marks.entries()) {
      const text = position + mark.at - at;
      if (offset < text) {
        return { index, at: at + offset - position, within: undefined };
      }
      if (offset <= text + mark.inserted) {
        return { index, at: mark.at, within: offset - text };
      }
      position = text + mark.inserted;
      at = mark.end;
    }
    return { index: this.marks.length, at: at + offset - position, within: undefined };
  }

  /** A mark was made or has grown. */
  private marked(index: number): void {
    const first = this.marks[0] as Mark;
    const last = this.marks.at(-1) as Mark;
    if (this.marks.length <= MAX_MARKS) {
      this.meet(this.marks[index] as Mark);
      return;
    }
    const grown = this.marks.reduce((sum, mark) => sum + mark.inserted - (mark.end - mark.at), 0);
    const one = { at: first.at, end: last.end, inserted: last.end - first.at + grown };
    this.marks = [one];
    this.meet(one);
  }

  /** Look whether a mark meets an operation. */
  protected meet(mark: Mark): void {
    const stop = this.firstConflict ?? this.known;
    for (let index = this.applied; index < stop && (this.ends[index] as number) <= mark.end; index++) {
      if ((this.ends[index + 1] as number) >= mark.at && !keeps(this.ops[index] as Operation)) {
        this.firstConflict = index;
        return;
      }
    }
  }
}

function keeps(operation: Operation): boolean {
  return typeof operation === 'number' && operation >= 0;
}

function shifted(edits: readonly TextEdit[], by: number): TextEdit[] {
  return edits.map((edit) => ({ start: edit.start + by, end: edit.end + by, text: edit.text }));
}
