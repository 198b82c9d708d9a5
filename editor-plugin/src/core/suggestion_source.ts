import type { CachedText } from './suggestion_cache.js';
import type { Document } from './document.js';
import type { WarmlineError } from './errors.js';
import type { Completion } from './completion.js';
import { PlaceTracker } from './place_tracker.js';
import type { TextEdit } from './wire.js';

/** Where the text of a suggestion comes from: a request, or the cache. */
export interface SuggestionSource {
  /** The request it came from, if there was one. */
  readonly completion: Completion | undefined;
  /** More may come. */
  readonly running: boolean;
  readonly failed: WarmlineError | undefined;
  readonly text: string;
  /** The edit that puts in what is left of it at a cursor; undefined if it doesn't fit there (yet). */
  remaining(cursor: number): TextEdit | undefined;
  /** Whether it fits there, or may when more of it has come. */
  fits(cursor: number): boolean;
  /** Whether the person has typed at its place since it was asked for. */
  typedSince(cursor: number): boolean;
  /** Nobody wants it any more. */
  drop(): void;
}

/** A request's text. `key` is where it goes in the cache; `place` is where it goes in the document. */
export class RequestedSource implements SuggestionSource {
  constructor(
    readonly completion: Completion,
    readonly key: string,
    private readonly place: PlaceTracker = completion.place,
  ) {}

  get running(): boolean {
    return this.completion.running && !this.completion.cancelled;
  }

  get failed(): WarmlineError | undefined {
    const { outcome } = this.completion;
    return outcome?.ok === false ? outcome.error : undefined;
  }

  get text(): string {
    return this.completion.text;
  }

  /** What the cache should keep, once all of it is there; undefined if it was cut. */
  get whole(): CachedText | undefined {
    const { outcome, text, replaces } = this.completion;
    return outcome?.ok === true && (outcome.reason === 'stop' || outcome.reason === 'length') ? { text, replaces } : undefined;
  }

  remaining(cursor: number): TextEdit | undefined {
    return this.place.remaining(this.text, cursor);
  }

  /** One that was cut does not: where it ends has no meaning. */
  fits(cursor: number): boolean {
    if (this.running) {
      return this.remaining(cursor) !== undefined || this.place.mayFit(this.text, cursor);
    }
    return this.whole !== undefined && this.remaining(cursor) !== undefined;
  }

  typedSince(cursor: number): boolean {
    const typed = this.place.at(cursor);
    return typed !== undefined && typed.text !== this.place.passed;
  }

  drop(): void {
    this.completion.cancel();
  }
}

/** A text that was there before. */
export class CachedSource implements SuggestionSource {
  readonly completion = undefined;
  readonly running = false;
  readonly failed = undefined;
  readonly text: string;
  private readonly place: PlaceTracker;

  constructor(document: Document, position: number, cached: CachedText) {
    this.text = cached.text;
    this.place = new PlaceTracker(position);
    this.place.end = position + cached.replaces;
    this.place.text = document.slice(position, this.place.end);
    document.follow(this.place);
  }

  remaining(cursor: number): TextEdit | undefined {
    return this.place.remaining(this.text, cursor);
  }

  fits(cursor: number): boolean {
    return this.remaining(cursor) !== undefined;
  }

  typedSince(cursor: number): boolean {
    return this.place.at(cursor)?.text !== '';
  }

  drop(): void {
    // nothing runs
  }
}
