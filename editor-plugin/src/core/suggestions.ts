import type { Client } from './client.js';
import type { Completion } from './completion.js';
import { cursorAfter } from './cursor.js';
import type { Document, DocumentChange } from './document.js';
import { DocumentState } from './document_state.js';
import { DocumentSuggestions } from './document_suggestions.js';
import type { Environment } from './environment.js';
import { systemEnvironment } from './environment.js';
import { WarmlineError } from './errors.js';
import { Emitter } from './events.js';
import type { Disposable } from './events.js';
import { filterSuggestion } from './filters.js';
import type { TextStyle } from './filters.js';
import { Prefetch } from './prefetch.js';
import { completeLines, firstLine, inOneLine, isWorthShowing, withSelected } from './presentation.js';
import { Rejections } from './rejections.js';
import { SuggestionCache } from './suggestion_cache.js';
import type { SuggestionSource } from './suggestion_source.js';
import { floorOffset } from './text.js';
import { WhyLog } from './why.js';
import type { WhyCode } from './why.js';
import type { Sampling, TextEdit } from './wire.js';

export interface SuggestionSettings {
  /** Off: nothing is asked for, whatever triggers it. */
  readonly enabled: boolean;
  /** Suggestions come while typing; else by hand only. */
  readonly automatic: boolean;
  /** Milliseconds of quiet before a request leaves. */
  readonly requestDelay: number;
  /** Milliseconds of quiet before a suggestion is shown. */
  readonly showDelay: number;
  /** Milliseconds after which what has come by then is shown. */
  readonly showWithin: number;
  /** Wait longer after several suggestions that were dismissed. */
  readonly backOff: boolean;
  /** More than the rest of a line. */
  readonly multiline: boolean;
  /** Ask ahead for what follows a suggestion. */
  readonly prefetch: boolean;
  /** Characters to the right of the cursor above which none is offered unasked. */
  readonly mostRight: number;
  readonly sampling: Sampling;
  /** For tests, on servers that allow it. */
  readonly replay?: string | undefined;
}

export const DEFAULT_SETTINGS: SuggestionSettings = {
  enabled: true,
  automatic: true,
  requestDelay: 0,
  showDelay: 0,
  showWithin: 300,
  backOff: true,
  multiline: true,
  prefetch: true,
  mostRight: 8,
  sampling: { maxTokens: 128 },
};

export interface ProvideOptions {
  /** Asked for by hand: no delays, and also where suggestions don't come by themselves. */
  readonly explicit?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly style: TextStyle;
  /** The entry that is chosen in the editor's list of completions, and the range that it replaces. */
  readonly selected?: TextEdit | undefined;
}

/** What to show: `text` takes the place of [start, end), which lies in one line. */
export interface Suggestion extends TextEdit {
  readonly cursor: number;
  /** More may come than is shown. */
  readonly partial: boolean;
  /** The request it came from; undefined if it came from the cache. */
  readonly request: number | undefined;
}

/** Milliseconds: who types on before has not looked at the suggestion, and dismisses nothing. */
const LOOKED_AT = 750;
/** Characters of a suggestion that were taken, by typing or by words, so that leaving the rest dismisses nothing. */
const TAKEN = 3;
const ONE_KEY = 2; // an editor may close a bracket by itself
const WINDOW = 20_000;
/** Requests that one call makes, if what it asked for ends without a result, or turns out not to fit. */
const MOST_ASKED = 3;

/** The document is handed over anew after these, and the same may be asked again. */
const OUT_OF_STEP: ReadonlySet<string> = new Set(['stale_version', 'unknown_document', 'hash_mismatch']);

/** Decides when to ask for completions, and what of them to show. */
export class Suggestions implements Disposable {
  readonly why: WhyLog;
  private readonly cache = new SuggestionCache();
  /** Requests that have not ended. */
  private readonly alive = new Set<Completion>();
  private readonly states = new Map<Document, DocumentState>();
  private readonly rejections = new Rejections();
  private readonly grown = new Emitter<Document>();
  /** More of what is shown in part has come, and nothing was typed: asking again shows it. */
  readonly onGrown = this.grown.event;

  constructor(
    private readonly client: Client,
    private readonly settings: () => SuggestionSettings,
    private readonly environment: Environment = systemEnvironment(),
  ) {
    this.why = new WhyLog(() => environment.wallClock());
  }

  /**
   * The document was changed. Call it from the editor's change event, with what `Document.change` returned: the request
   * leaves here. `typed` is false for undo, redo, and what is no person's. Without a cursor it is guessed.
   */
  changed(document: Document, change: DocumentChange | undefined, typed = true, cursor?: number): void {
    if (change === undefined) {
      return;
    }
    const state = this.state(document);
    const settings = this.settings();
    const at = cursor ?? cursorAfter(change);
    state.changed(change);
    this.judge(state, change, typed ? at : undefined);
    if (!typed || change.applied !== null || at === undefined || this.obstacle(document, at, false, settings) !== undefined) {
      state.cancelScheduled();
      return;
    }
    const isKey = change.edits.length === 1 && (change.edits[0]?.text.length ?? 0) <= ONE_KEY;
    const backOff = this.backOff(settings);
    const held = backOff > 0 && state.all.serving(at) !== undefined ? 0 : backOff; // what is being typed stays
    state.schedule(settings.requestDelay + held, () => this.ensure(state, at, isKey));
  }

  /** What to show at a cursor. Joins the request that runs for it, or makes one. `why` says why there is nothing. */
  async provide(document: Document, cursor: number, options: ProvideOptions): Promise<Suggestion | undefined> {
    const explicit = options.explicit === true;
    const settings = this.settings();
    const reason = this.obstacle(document, cursor, explicit, settings);
    if (reason !== undefined) {
      this.why.record(document.uri, reason, reason === 'refused' ? document.refused?.message : '');
      return undefined;
    }
    const state = this.state(document);
    const { version } = document;
    const called = this.now();
    const showAt = explicit ? called : Math.max(state.lastKey + settings.showDelay, called);
    const deadline = Math.max(called + settings.showWithin, showAt);
    const held = state.pending && !explicit ? this.backOff(settings) : 0;
    let asked = 0;
    let joined: SuggestionSource | undefined;
    for (;;) {
      if (options.signal?.aborted === true || document.version !== version) {
        const waited = held > 0 && asked === 0 && joined === undefined;
        this.why.record(document.uri, waited ? 'backOff' : 'cancelled', waited ? `Now by ${held} ms.` : '');
        return undefined;
      }
      if (explicit) {
        state.now();
      }
      if (joined?.failed !== undefined && !OUT_OF_STEP.has(joined.failed.code)) {
        this.why.record(document.uri, 'failed', joined.failed.message);
        return undefined;
      }
      const source = state.pending ? undefined : (state.all.serving(cursor) ?? this.spent(state, cursor, asked > 0));
      joined = source;
      if (source === undefined && !state.pending) {
        if (++asked > MOST_ASKED) {
          this.why.record(document.uri, 'failed', 'The server has ended it.');
          return undefined;
        }
        if (!this.ensure(state, cursor, false)) {
          return undefined;
        }
        continue;
      }
      const now = this.now();
      const edit = source?.remaining(cursor);
      const ripe = edit !== undefined && (!source?.running || isWorthShowing(edit.text, settings.multiline, now >= deadline));
      if (source !== undefined && ripe && now >= showAt) {
        const shown = this.present(state, source, edit, cursor, options);
        this.why.record(document.uri, typeof shown === 'string' ? shown : 'shown');
        return typeof shown === 'string' ? undefined : shown;
      }
      await state.wait((now < showAt ? showAt : now < deadline ? deadline : now + 1000) - now, options.signal);
    }
  }

  /** The person dismissed what is shown in a document, as by Escape. */
  dismissed(document: Document): void {
    const state = this.states.get(document);
    if (state?.shown !== undefined) {
      state.shown = undefined;
      this.rejections.dismissed(this.now());
    }
  }

  /** The person accepted what is shown in a document. Typing all of it is found out without this. */
  accepted(document: Document): void {
    const state = this.states.get(document);
    if (state !== undefined) {
      state.shown = undefined;
    }
    this.rejections.accepted();
  }

  /** Forget what is offered in a document: the person dismissed it, or suggestions were turned off. */
  drop(document: Document): void {
    this.states.get(document)?.drop();
  }

  /** The document was closed. */
  forget(document: Document): void {
    this.states.get(document)?.dispose();
    this.states.delete(document);
  }

  dispose(): void {
    for (const state of this.states.values()) {
      state.dispose();
    }
    this.states.clear();
    this.grown.dispose();
  }

  private state(document: Document): DocumentState {
    let state = this.states.get(document);
    if (state === undefined) {
      const prefetch = new Prefetch(this.client, this.cache, this.alive);
      const request = (): SuggestionSettings => this.settings();
      const all = new DocumentSuggestions(document, this.client, this.cache, prefetch, this.alive, request);
      state = new DocumentState(all, prefetch, this.environment);
      this.states.set(document, state);
    }
    return state;
  }

  private now(): number {
    return this.environment.now() / 1000;
  }

  private backOff(settings: SuggestionSettings): number {
    return settings.backOff ? this.rejections.delay(this.now()) : 0;
  }

  /** What a change says of the suggestion that is shown: that it is wanted, or not, or nothing. No cursor: nothing. */
  private judge(state: DocumentState, change: DocumentChange, cursor: number | undefined): void {
    const { shown } = state;
    if (shown === undefined) {
      return;
    }
    if (cursor !== undefined && change.applied === null && shown.source.fits(cursor)) {
      shown.left = shown.source.remaining(cursor)?.text.length ?? shown.left;
      if (shown.left > 0) {
        return; // it is being typed, or accepted word by word
      }
      this.rejections.accepted();
    } else if (cursor !== undefined && change.applied === null) {
      const typed = change.edits.some(({ text }) => text !== '');
      if (typed && this.now() - shown.since >= LOOKED_AT && shown.length - shown.left < TAKEN) {
        this.rejections.dismissed(this.now());
      }
    }
    state.shown = undefined;
  }

  /** Make a request unless something serves the cursor. Returns false, with the reason recorded, if none can be. */
  private ensure(state: DocumentState, cursor: number, typo: boolean): boolean {
    const { document } = state.all;
    const around = document.slice(cursor - 1, cursor + 1);
    const at = cursor > 0 && floorOffset(around, 1) === 0 ? cursor - 1 : cursor;
    try {
      state.all.ensure(at, typo);
      return true;
    } catch (error) {
      if (!(error instanceof WarmlineError)) {
        throw error;
      }
      this.why.record(document.uri, 'failed', error.message);
      return false;
    }
  }

  /** One that was asked for during this call, and has ended without anything for the cursor. */
  private spent(state: DocumentState, cursor: number, asked: boolean): SuggestionSource | undefined {
    const { last } = state.all;
    return asked && last?.running === false && last.fits(cursor) ? last : undefined;
  }

  private obstacle(
    document: Document,
    cursor: number,
    explicit: boolean,
    settings: SuggestionSettings,
  ): WhyCode | undefined {
    if (!settings.enabled) {
      return 'disabled';
    }
    if (!settings.automatic && !explicit) {
      return 'manual';
    }
    if (!this.client.ready) {
      return 'disconnected';
    }
    if (document.refused !== undefined) {
      return 'refused';
    }
    const right = firstLine(document.slice(cursor, cursor + 1000));
    return !explicit && right.trim().length > settings.mostRight ? 'right' : undefined;
  }

  /** What to show, or why there is nothing. */
  private present(
    state: DocumentState,
    source: SuggestionSource,
    edit: TextEdit,
    cursor: number,
    options: ProvideOptions,
  ): Suggestion | WhyCode {
    const { document } = state.all;
    const settings = this.settings();
    const placed = inOneLine(document, edit);
    if (placed === undefined) {
      return 'tail';
    }
    const after = document.slice(placed.end, placed.end + WINDOW);
    const before = document.slice(cursor - WINDOW, cursor);
    const oneLine = !settings.multiline || firstLine(after).trim() !== '';
    const wanted = oneLine ? firstLine(placed.text) : placed.text;
    const text = source.running && !oneLine ? completeLines(wanted) : wanted;
    const filtered = filterSuggestion(text, { before, after }, options.style, state.all.deletions.deletedAt(cursor));
    if ('dropped' in filtered) {
      return filtered.dropped;
    }
    const shown = withSelected(document, { ...placed, text: filtered.text }, cursor, options.selected);
    if (shown === undefined) {
      return 'widget';
    }
    if (source.running) {
      state.watchGrowth(cursor, () => this.grown.fire(document));
    } else if (settings.prefetch) {
      state.prefetch.start(document, shown, { sampling: settings.sampling, replay: settings.replay });
    }
    if (state.shown?.source !== source) {
      const { length } = edit.text;
      state.shown = { source, since: this.now(), length, left: length };
    }
    return { ...shown, cursor, partial: source.running, request: source.completion?.id };
  }
}
