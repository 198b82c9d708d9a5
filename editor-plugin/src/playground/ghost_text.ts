import { DocumentSuggestions, filterSuggestion, firstLine, inOneLine, Prefetch, SuggestionCache, WarmlineError } from '../core/index.js';
import type { Client, Completion, Disposable, Document, DocumentChange, Sampling, SuggestionSource, TextEdit } from '../core/index.js';

/** What is shown: `text` takes the place of [start, end), beside the cursor. */
export interface Ghost extends TextEdit {
  readonly cursor: number;
  /** More of it may come. */
  readonly running: boolean;
  /** The request it comes from; undefined where it was there before. */
  readonly request: Completion | undefined;
}

export interface GhostOptions {
  readonly automatic: () => boolean;
  readonly sampling: () => Sampling;
  /** Called with what is to be shown from now on; undefined is nothing, and `asked` says that the model had its say. */
  readonly show: (ghost: Ghost | undefined, asked: boolean) => void;
  /** A request could not be made. */
  readonly failed: (error: WarmlineError) => void;
}

const STYLE = { tabSize: 4, insertSpaces: true, eol: '\n' } as const;
const WINDOW = 20_000;
/** Characters right of the cursor above which nothing is offered unasked. */
const MOST_RIGHT = 8;

/**
 * The suggestion at the cursor of one document, as it streams: unlike in VS Code, each piece that comes is shown at
 * once. Requests leave with the change, typing what is suggested keeps it, and what follows is asked for ahead.
 */
export class GhostText implements Disposable {
  private readonly alive = new Set<Completion>();
  private readonly cache = new SuggestionCache();
  private readonly prefetch: Prefetch;
  private readonly all: DocumentSuggestions;
  private readonly progress: Disposable;
  private cursor: number | undefined; // that something is wanted for
  private explicit = false;
  private shown: Ghost | undefined;

  constructor(
    private readonly client: Client,
    private readonly document: Document,
    private readonly options: GhostOptions,
  ) {
    this.prefetch = new Prefetch(client, this.cache, this.alive);
    this.all = new DocumentSuggestions(document, client, this.cache, this.prefetch, this.alive, () => ({
      sampling: options.sampling(),
    }));
    this.progress = this.all.onProgress(() => this.update());
  }

  /** What is shown now. */
  get current(): Ghost | undefined {
    return this.shown;
  }

  /** The document was changed, and the cursor is there now. `typed` is false for undo and for what is no person's. */
  changed(change: DocumentChange, typed: boolean, cursor: number): void {
    this.all.changed(change);
    if (!typed) {
      this.dismiss();
    } else if (this.options.automatic() || this.explicit) {
      this.ask(cursor, change.edits.length === 1 && (change.edits[0]?.text.length ?? 0) <= 2);
    } else {
      this.dismiss();
    }
  }

  /** The cursor went elsewhere without a change. */
  moved(): void {
    this.dismiss();
  }

  /** Asked for by hand. */
  trigger(cursor: number): void {
    this.explicit = true;
    this.ask(cursor, false);
  }

  /** Nobody wants it any more. */
  dismiss(): void {
    this.cursor = undefined;
    this.explicit = false;
    this.prefetch.cancel();
    this.all.drop();
    this.update();
  }

  dispose(): void {
    this.progress.dispose();
    this.prefetch.dispose();
    this.all.dispose();
  }

  private ask(cursor: number, key: boolean): void {
    const right = firstLine(this.document.slice(cursor, cursor + 1000)).trim().length > MOST_RIGHT;
    if (!this.client.ready || (right && !this.explicit)) {
      this.dismiss();
      return;
    }
    this.cursor = cursor;
    try {
      this.all.ensure(cursor, key);
    } catch (error) {
      if (!(error instanceof WarmlineError)) {
        throw error;
      }
      this.options.failed(error);
    }
    this.update();
  }

  private update(): void {
    const before = this.shown;
    const ghost = this.cursor === undefined ? undefined : this.ghostAt(this.cursor);
    this.shown = ghost;
    const asked = this.cursor !== undefined && this.all.last?.running === false && this.all.last.failed === undefined;
    if (ghost !== undefined || before !== undefined || asked) {
      this.options.show(ghost, asked);
    }
    const ended = ghost !== undefined && !ghost.running && (before?.running !== false || before.text !== ghost.text);
    if (ended) {
      this.prefetch.start(this.document, ghost, { sampling: this.options.sampling() });
    }
  }

  private ghostAt(cursor: number): Ghost | undefined {
    const source = this.all.serving(cursor);
    const edit = source?.remaining(cursor);
    const placed = edit === undefined ? undefined : inOneLine(this.document, edit);
    if (source === undefined || placed === undefined) {
      return undefined;
    }
    const after = this.document.slice(placed.end, placed.end + WINDOW);
    const before = this.document.slice(cursor - WINDOW, cursor);
    const text = firstLine(after).trim() === '' ? placed.text : firstLine(placed.text);
    const filtered = filterSuggestion(text, { before, after }, STYLE, this.all.deletions.deletedAt(cursor));
    return 'dropped' in filtered ? undefined : { ...placed, text: filtered.text, cursor, ...origin(source) };
  }
}

function origin(source: SuggestionSource): Pick<Ghost, 'running' | 'request'> {
  return { running: source.running, request: source.completion };
}
