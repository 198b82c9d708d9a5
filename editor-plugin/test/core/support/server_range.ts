import { RangeTracker } from '../../../src/core/range_tracker.js';

/**
 * The range as the side that makes the operations follows it: there a change of the part that no operation has reached
 * yet is a conflict, since what comes was made without it.
 */
export class ServerRange extends RangeTracker {
  /** Units of the original that the operations so far walk over. */
  get reached(): number {
    return this.ends.at(-1) ?? 0;
  }

  protected override meet(mark: { at: number; end: number; inserted: number }): void {
    super.meet(mark);
    const { reached } = this;
    if (this.stop === undefined && reached < this.originalLength && mark.end > reached) {
      this.stop = this.known;
    }
  }
}
