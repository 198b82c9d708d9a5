import type { Client } from './client.js';
import type { Completion } from './completion.js';
import { Deletions } from './deletions.js';
import type { Document, DocumentChange } from './document.js';
import { Emitter } from './events.js';
import type { Disposable } from './events.js';
import type { Prefetch } from './prefetch.js';
import { PlaceTracker } from './place_tracker.js';
import { cacheKey } from './suggestion_cache.js';
import type { SuggestionCache } from './suggestion_cache.js';
import { CachedSource, RequestedSource } from './suggestion_source.js';
import type { SuggestionSource } from './suggestion_source.js';
import type { Sampling } from './wire.js';

/** How a request for a suggestion is made. */
export interface SuggestionRequest {
  readonly sampling: Sampling;
  readonly replay?: string | undefined;
}

/**
 * The suggestions of one document: the one that is current, and the one before it while that is only a typo away. So
 * at most two requests run.
 */
export class DocumentSuggestions implements Disposable {
  readonly deletions = new Deletions();
  private current: SuggestionSource | undefined;
  private strayed: SuggestionSource | undefined;
  private readonly progress = new Emitter<void>();
  /** Something of the current suggestion came, or another one is current. */
  readonly onProgress = this.progress.event;

  constructor(
    readonly document: Document,
    private readonly client: Client,
    private readonly cache: SuggestionCache,
    private readonly prefetch: Prefetch,
    private readonly alive: Set<Completion>,
    private readonly request: () => SuggestionRequest,
  ) {}

  /** What serves a cursor now: a suggestion that fits there and is not used up, or one whose text is on its way. */
  serving(cursor: number): SuggestionSource | undefined {
    for (const source of [this.current, this.strayed]) {
      if (source !== undefined && source.fits(cursor) && !isUsedUp(source, cursor)) {
        this.makeCurrent(source);
        return source;
      }
    }
    return undefined;
  }

  /** The current one, also if it has failed or says nothing. */
  get last(): SuggestionSource | undefined {
    return this.current;
  }

  changed(change: DocumentChange): void {
    this.deletions.changed(change);
  }

  /**
   * See to it that something serves a cursor. `typo` says that only a character was typed, so that what stops to fit
   * by it may fit again.
   */
  ensure(cursor: number, typo = false): SuggestionSource {
    const serving = this.serving(cursor);
    // Before there is any text nobody knows whether it will fit, and the server waits best for a request that does:
    // it goes on with the earlier one's text, or starts afresh as soon as that says something else.
    if (serving !== undefined && !(serving.running && serving.text === '' && serving.typedSince(cursor))) {
      return serving;
    }
    const key = cacheKey(this.document, cursor);
    const cached = this.cache.get(key);
    if (cached !== undefined) {
      this.drop();
      return this.become(new CachedSource(this.document, cursor, cached), undefined);
    }
    const ahead = this.prefetch.take(key);
    if (ahead !== undefined) {
      this.drop();
      const place = new PlaceTracker(cursor);
      this.document.follow(place);
      return this.become(this.followed(new RequestedSource(ahead, key, place)), undefined);
    }
    return this.ask(cursor, key, typo);
  }

  /** Nobody wants any: end what runs. */
  drop(): void {
    this.current?.drop();
    this.strayed?.drop();
    this.current = this.strayed = undefined;
    this.progress.fire();
  }

  dispose(): void {
    this.drop();
    this.progress.dispose();
  }

  private ask(cursor: number, key: string, typo: boolean): SuggestionSource {
    this.prefetch.cancel();
    const before = this.current;
    const mayReturn = typo && before?.running === true && before.text !== '' && this.isAlone(before);
    if (!mayReturn) {
      this.strayed?.drop();
    }
    const kept = mayReturn || before?.running === false ? before : undefined;
    // One that is not parallel ends those before it on the server, or goes on with them.
    const completion = this.client.complete(this.document, cursor, { ...this.request(), parallel: mayReturn });
    if (completion.running) {
      this.alive.add(completion);
    }
    return this.become(this.followed(new RequestedSource(completion, key)), kept);
  }

  /** Whether no other request runs, not even one that was told to stop and has not said that it did. */
  private isAlone(source: SuggestionSource): boolean {
    return [...this.alive].every((completion) => completion === source.completion);
  }

  private followed(source: RequestedSource): RequestedSource {
    source.completion.onProgress(() => {
      if (!source.completion.running) {
        this.alive.delete(source.completion);
      }
      if (source.whole !== undefined) {
        this.cache.set(source.key, source.whole);
      }
      if (source === this.current || source === this.strayed) {
        this.progress.fire();
      }
    });
    return source;
  }

  private become(source: SuggestionSource, before: SuggestionSource | undefined): SuggestionSource {
    this.current = source;
    this.strayed = before;
    this.progress.fire();
    return source;
  }

  /** One that was left for a typo fits again: what was asked for instead is of no use. */
  private makeCurrent(source: SuggestionSource): void {
    if (source === this.strayed) {
      this.current?.drop();
      this.current = source;
      this.strayed = undefined;
    }
  }
}

function isUsedUp(source: SuggestionSource, cursor: number): boolean {
  return !source.running && source.text !== '' && source.remaining(cursor)?.text === '';
}
