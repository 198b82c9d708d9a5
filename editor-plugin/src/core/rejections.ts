/**
 * How much longer to wait before the next suggestion, after several that nobody wanted.
 *
 * What was dismissed counts less as it gets older, and not at all once one was accepted. The first few cost nothing;
 * from then on each doubles the wait. (Copilot's next edits wait between 50 ms and 3 s by such a history.)
 */
export class Rejections {
  private weight = 0; // of what was dismissed, as it was at `at`
  private at = 0;

  /** A suggestion was dismissed. Times are milliseconds of one monotonic clock. */
  dismissed(now: number): void {
    this.weight = Math.min(this.weightAt(now) + 1, HEAVIEST);
    this.at = now;
  }

  accepted(): void {
    this.weight = 0;
  }

  /** Milliseconds to wait in addition. */
  delay(now: number): number {
    const more = Math.round(this.weightAt(now) * 100) / 100 - FREE;
    return more <= 0 ? 0 : Math.min(Math.round(FIRST * 2 ** (more - 1)), LONGEST);
  }

  private weightAt(now: number): number {
    return this.weight * 2 ** (-(now - this.at) / HALF_LIFE);
  }
}

/** So many may be dismissed before it costs time. */
const FREE = 2;
const FIRST = 200;
const LONGEST = 3000;
const HALF_LIFE = 120_000;
/** What brings the longest wait: however many more there were, it is over as soon. */
const HEAVIEST = FREE + 1 + Math.log2(LONGEST / FIRST);
