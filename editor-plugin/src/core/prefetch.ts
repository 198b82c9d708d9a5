import type { Client } from './client.js';
import type { Completion } from './completion.js';
import type { Document } from './document.js';
import { WarmlineError } from './errors.js';
import { cacheKey } from './suggestion_cache.js';
import type { SuggestionCache } from './suggestion_cache.js';
import type { Sampling, TextEdit } from './wire.js';

/** Above this size a second copy of a document costs more than it saves. */
const LARGEST = 200_000;

/**
 * Asks for the suggestion that follows the one that is shown, as if that had been accepted already.
 *
 * The server completes what it holds, so it is given a second document, which reads as the first one would. That is
 * kept by its differences, too. What comes goes into the cache, where the first document finds it by its content.
 */
export class Prefetch {
  private shadow: Document | undefined;
  private running: { readonly key: string; readonly completion: Completion } | undefined;

  constructor(
    private readonly client: Client,
    private readonly cache: SuggestionCache,
    /** All requests for suggestions that have not ended. What may never be of use does not run beside any of them. */
    private readonly alive: Set<Completion>,
  ) {}

  /** Ask for what follows once an edit of a document is made. */
  start(document: Document, edit: TextEdit, options: { sampling: Sampling; replay?: string | undefined }): void {
    this.cancel();
    if (document.length > LARGEST || !document.usable || this.alive.size > 0) {
      return;
    }
    const text = document.slice(0, edit.start) + edit.text + document.slice(edit.end, document.length);
    const position = edit.start + edit.text.length;
    try {
      const shadow = this.prepared(document, text);
      const key = cacheKey(shadow, position);
      if (this.cache.get(key) !== undefined) {
        return;
      }
      const completion = this.client.complete(shadow, position, { ...options, parallel: true });
      this.running = { key, completion };
      this.alive.add(completion);
      void completion.ended.then((outcome) => {
        this.alive.delete(completion);
        if (outcome.ok && (outcome.reason === 'stop' || outcome.reason === 'length')) {
          this.cache.set(key, { text: completion.text, replaces: completion.replaces });
        }
      });
    } catch (error) {
      if (!(error instanceof WarmlineError)) {
        throw error; // else there is nothing ahead of time, and no harm
      }
    }
  }

  /** What was typed is something else. */
  cancel(): void {
    this.running?.completion.cancel();
    this.running = undefined;
  }

  /** The request that runs ahead for a content and position, which is the caller's from now on. */
  take(key: string): Completion | undefined {
    const { running } = this;
    if (running?.key !== key || !running.completion.running) {
      return undefined;
    }
    this.running = undefined;
    return running.completion;
  }

  dispose(): void {
    this.cancel();
    this.shadow?.close();
    this.shadow = undefined;
  }

  private prepared(document: Document, text: string): Document {
    const name = `${document.uri.slice(0, 4000)}#after-acceptance`;
    if (this.shadow?.closed === false) {
      this.shadow.replace(text);
      return this.shadow;
    }
    return (this.shadow = this.client.open(name, document.language, text));
  }
}
