import type { Completion, EditSession, Outcome } from '../core/index.js';
import type { Timed } from './recorder.js';

/** What of a request was painted, and when, in microseconds of the client's clock from its call. */
export class Watching {
  private first: number | undefined;
  private last: number | undefined;

  constructor(
    readonly request: Completion | EditSession,
    private readonly now: () => number,
  ) {}

  /** Some of it was painted just now. */
  painted(): void {
    const at = this.now() - this.request.called;
    this.first ??= at;
    this.last = at;
  }

  get kind(): Timed['kind'] {
    return 'instruction' in this.request ? 'edit' : 'completion';
  }

  /** When the first of it was painted; undefined before. */
  get visible(): number | undefined {
    return this.first;
  }

  timed(): Timed | undefined {
    return timedOf(this.kind, this.request.outcome, this.first, this.last);
  }
}

/** Undefined for one that failed, or that was given up for another. */
export function timedOf(kind: Timed['kind'], outcome: Outcome | undefined, visible?: number, last?: number): Timed | undefined {
  if (outcome?.ok !== true || outcome.reason === 'cancel' || outcome.reason === 'superseded') {
    return undefined;
  }
  const { reason, hops, receipt, ttft } = outcome;
  return { kind, reason, hops, receipt, first: ttft, visible, last };
}
