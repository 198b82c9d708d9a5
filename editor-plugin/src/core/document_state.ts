import type { DocumentChange } from './document.js';
import type { DocumentSuggestions } from './document_suggestions.js';
import type { Environment } from './environment.js';
import type { Disposable } from './events.js';
import type { Prefetch } from './prefetch.js';
import type { SuggestionSource } from './suggestion_source.js';

/** A suggestion that is shown: since when, how much it said then, and how much of that is left. */
export interface Shown {
  readonly source: SuggestionSource;
  readonly since: number;
  readonly length: number;
  left: number;
}

/** What `Suggestions` knows of one document beside its suggestions: timers, and who waits. */
export class DocumentState implements Disposable {
  /** On the monotonic clock, in milliseconds. */
  lastKey = -Infinity;
  /** What is shown, until something is known of how it was received. */
  shown: Shown | undefined;
  private timer: unknown;
  private due: (() => void) | undefined;
  private growth: Disposable | undefined;

  constructor(
    readonly all: DocumentSuggestions,
    readonly prefetch: Prefetch,
    private readonly environment: Environment,
  ) {}

  /** Whether a request is due that has not left yet. */
  get pending(): boolean {
    return this.due !== undefined;
  }

  changed(change: DocumentChange): void {
    this.lastKey = this.environment.now() / 1000;
    this.growth?.dispose();
    this.all.changed(change);
  }

  schedule(delay: number, then: () => void): void {
    this.environment.clearTimer(this.timer);
    this.due = then;
    if (delay <= 0) {
      this.now();
    } else {
      this.timer = this.environment.setTimer(() => this.now(), delay);
    }
  }

  cancelScheduled(): void {
    this.environment.clearTimer(this.timer);
    this.due = undefined;
  }

  /** Let what is due happen. */
  now(): void {
    this.environment.clearTimer(this.timer);
    const { due } = this;
    this.due = undefined;
    due?.();
  }

  /** Wait for progress, or so many milliseconds, or the signal. */
  wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        subscription.dispose();
        this.environment.clearTimer(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const subscription = this.all.onProgress(end);
      const timer = this.environment.setTimer(end, Math.max(milliseconds, 1));
      signal?.addEventListener('abort', end);
    });
  }

  /** Call `then` once the suggestion at a cursor is whole, if nothing is typed before. */
  watchGrowth(cursor: number, then: () => void): void {
    this.growth?.dispose();
    const subscription = this.all.onProgress(() => {
      if (this.all.serving(cursor)?.running !== true) {
        subscription.dispose();
        then();
      }
    });
    this.growth = subscription;
  }

  drop(): void {
    this.cancelScheduled();
    this.shown = undefined;
    this.growth?.dispose();
    this.prefetch.cancel();
    this.all.drop();
  }

  dispose(): void {
    this.drop();
    this.prefetch.dispose();
    this.all.dispose();
  }
}
