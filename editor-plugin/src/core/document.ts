import { ChunkedText } from './chunked_text.js';
import { WarmlineError } from './errors.js';
import { Emitter } from './events.js';
import type { PlaceTracker } from './place_tracker.js';
import { commonPrefix, commonSuffix, isHighSurrogate, isLowSurrogate, replaceLoneSurrogates } from './text.js';
import { extent, growth, placesOf } from './text_edits.js';
import type { Applied, ClientMessage, TextEdit } from './wire.js';

/** One change in this many carries a content hash. */
const HASH_EVERY = 16;
/** Edits in one change above which the range that they lie in is cheaper to send. */
const MAX_EDITS = 1024;
const MAX_UNORDERED = 256;

/** A change of a document as it was made: edits in order, and which of our operations they apply, if any. */
export interface DocumentChange {
  readonly edits: readonly TextEdit[];
  /** The text that each of them removed. */
  readonly removed: readonly string[];
  readonly applied: Applied | null;
}

/** What follows the range of an edit, and knows what it has asked an editor to put in. */
export interface RangeFollower {
  /** Take a change if it puts in operations of ours, and say which; do nothing otherwise. */
  claim(edits: readonly TextEdit[]): Applied | null;
  /** Take anybody else's change. */
  changed(edits: readonly TextEdit[]): void;
}

/** Where a document belongs. */
export interface DocumentOwner {
  /** Throws a WarmlineError if there is nobody to tell. */
  send(message: ClientMessage): void;
  closed(document: Document): void;
  /** It was too large and has become smaller: hand it over. */
  shrunk(document: Document): void;
}

/**
 * A document as the editor holds it, kept the same on the server: handed over once, then by its changes. Offsets are
 * UTF-16 units of the editor's text.
 */
export class Document {
  /** The number of changes so far. */
  version = 1;
  /** Why the server would not take it when it was handed over last. */
  refused: WarmlineError | undefined;
  /** What is told of each change: the ranges of edits, beside the places of completions. */
  readonly ranges = new Set<RangeFollower>();
  private readonly content: ChunkedText;
  private readonly changes = new Emitter<DocumentChange>();
  readonly onChange = this.changes.event;
  private readonly places = new Set<WeakRef<PlaceTracker>>();
  private isClosed = false;
  private held = false; // by the server, as far as we know
  private largest = Infinity; // what the server takes, in bytes
  private opening: number | undefined; // the version of an `open` that is not answered yet

  /** Made by `Client.open`. */
  constructor(
    readonly uri: string,
    readonly language: string,
    text: string,
    private readonly owner: DocumentOwner,
  ) {
    this.content = new ChunkedText(text);
  }

  get closed(): boolean {
    return this.isClosed;
  }

  get length(): number {
    return this.content.length;
  }

  /** Whether requests can be made: the server has it, or it is on the way there. */
  get usable(): boolean {
    return this.held && this.refused === undefined && !this.isClosed;
  }

  toString(): string {
    return this.content.toString();
  }

  slice(start: number, end: number): string {
    return this.content.slice(Math.max(start, 0), Math.min(end, this.length));
  }

  /** The content hash, in time of what has changed. */
  hash(): number {
    return this.content.hash();
  }

  /**
   * Take a change that the editor has made: edits in order, each counted in the result of the one before. (VS Code's
   * `contentChanges` are in descending order, which is that.) An empty one is none.
   */
  change(edits: readonly TextEdit[]): DocumentChange | undefined {
    if (this.isClosed) {
      throw new WarmlineError('document_closed', `${this.uri} is closed; open it again`);
    }
    const own = this.bounded(edits.filter((edit) => edit.text !== '' || edit.end > edit.start));
    if (own.length === 0) {
      return undefined;
    }
    const removed: string[] = [];
    const made = own.map((edit) => this.put(edit, removed));
    const { edits: sent, applied } = this.tellRanges(made, removed);
    this.tellPlaces(sent);
    const base = this.version++;
    if (this.held && this.refused === undefined) {
      const hash = applied !== null || this.version % HASH_EVERY === 0 ? this.hash() : null;
      this.tell({
        type: 'change',
        document: this.uri,
        base,
        version: this.version,
        edits: sent,
        applied,
        length: this.length,
        hash,
      });
    }
    if (this.refused?.code === 'document_too_large' && this.tooLarge(this.largest) === undefined) {
      this.owner.shrunk(this);
    }
    const change = { edits: sent, removed: removed.map((text, index) => cut(text, made[index], sent[index])), applied };
    this.changes.fire(change);
    return change;
  }

  /** Take a whole new text, as when the editor has read the file again. Only what differs is a change. */
  replace(text: string): DocumentChange | undefined {
    const old = this.toString();
    if (old === text) {
      return undefined;
    }
    const most = Math.min(old.length, text.length);
    let start = 0;
    while (start < most && old.charCodeAt(start) === text.charCodeAt(start)) {
      start++;
    }
    let same = 0;
    while (same < most - start && old.charCodeAt(old.length - 1 - same) === text.charCodeAt(text.length - 1 - same)) {
      same++;
    }
    return this.change([{ start, end: old.length - same, text: text.slice(start, text.length - same) }]);
  }

  /** Say where the next request will probably be: a completion at `position`, or an edit of [position, end). */
  warm(position: number, end: number | null = null): void {
    if (this.usable) {
      this.tell({ type: 'warm', document: this.uri, version: this.version, position, end });
    }
  }

  /** Let the server forget it; its running requests end. */
  close(): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    if (this.held) {
      this.tell({ type: 'close', document: this.uri });
    }
    this.held = false;
    this.owner.closed(this);
    this.changes.dispose();
  }

  private tellPlaces(edits: readonly TextEdit[]): void {
    for (const reference of this.places) {
      const place = reference.deref();
      place?.changed(edits);
      if (place === undefined || place.lost) {
        this.places.delete(reference);
      }
    }
  }

  /** Who follows a range knows its own change, also one that replaces a unit beside it by the same. */
  private tellRanges(made: readonly TextEdit[], removed: readonly string[]): Pick<DocumentChange, 'edits' | 'applied'> {
    const ranges = [...this.ranges];
    for (const edits of [made, made.map((edit, index) => minimal(edit, removed[index] ?? ''))]) {
      for (const range of ranges) {
        const applied = range.claim(edits);
        if (applied !== null) {
          ranges.filter((other) => other !== range).forEach((other) => other.changed(edits));
          return { edits, applied };
        }
      }
    }
    ranges.forEach((range) => range.changed(made));
    return { edits: made, applied: null };
  }

  /** Tell a place of all changes from now on, for as long as somebody else holds it. */
  follow(place: PlaceTracker): void {
    this.places.add(new WeakRef(place));
  }

  // What the client needs ------------------------------------------------------------------------------------------

  /** Hand over the whole text. `probe` is asked for an answer that comes after the server's to this. */
  handOver(largest: number, probe: (answered: () => void) => void): void {
    this.largest = largest;
    this.refused = this.tooLarge(largest);
    this.held = true;
    if (this.refused !== undefined) {
      return;
    }
    const opening = (this.opening = this.version);
    this.tell({
      type: 'open',
      document: this.uri,
      version: this.version,
      language: this.language.slice(0, 64),
      text: replaceLoneSurrogates(this.toString()),
    });
    probe(() => {
      if (this.opening === opening) {
        this.opening = undefined;
      }
    });
  }

  /** The connection is gone, and what the server held with it. */
  lost(): void {
    this.held = false;
    this.opening = undefined;
    this.refused = undefined;
  }

  /** The server refused something. Returns whether the document has to be handed over anew. */
  nacked(held: number | null, code: string, message: string): boolean {
    if (this.opening !== undefined && (code === 'document_too_large' || code === 'too_many_documents')) {
      this.refused = new WarmlineError(code, message);
      return false;
    }
    if (this.opening !== undefined && (held === null || held < this.opening)) {
      return false; // of a change before the text that is on its way
    }
    this.version = Math.max(this.version, (held ?? 0) + 1);
    return true;
  }

  // ----------------------------------------------------------------------------------------------------------------

  private tell(message: ClientMessage): void {
    try {
      this.owner.send(message);
    } catch (error) {
      if (!(error instanceof WarmlineError)) {
        throw error;
      }
      this.held = false; // it is handed over when there is a connection again
    }
  }

  private tooLarge(largest: number): WarmlineError | undefined {
    if (3 * this.length <= largest) {
      return undefined; // a unit has three bytes at most
    }
    const size = new TextEncoder().encode(this.toString()).length;
    return size <= largest
      ? undefined
      : new WarmlineError('document_too_large', `${this.uri} has ${size} bytes; the server takes ${largest}`);
  }

  /** Many edits become one: that of all between the first and the last. */
  private bounded(edits: readonly TextEdit[]): readonly TextEdit[] {
    const most = edits.length > MAX_UNORDERED && placesOf(edits) === undefined ? MAX_UNORDERED : MAX_EDITS;
    if (edits.length <= most) {
      return edits;
    }
    const [start, end] = extent(edits);
    const copy = new ChunkedText(this.slice(start, end));
    for (const edit of edits) {
      copy.replace(edit.start - start, edit.end - start, edit.text);
    }
    return [{ start, end, text: copy.toString() }];
  }

  /**
   * Make an edit. Returns it as it is of the text that the server has, where each lone surrogate is U+FFFD: where an
   * edit joins or parts the halves of a character, the halves beside it change there, too.
   */
  private put(edit: TextEdit, removed: string[]): TextEdit {
    if (edit.start < 0 || edit.start > edit.end || edit.end > this.length) {
      throw new RangeError(`the range ${edit.start}..${edit.end} is not within a text of ${this.length} units`);
    }
    const left = isHighSurrogate(this.content.unitAt(edit.start - 1)) ? 1 : 0;
    const right = isLowSurrogate(this.content.unitAt(edit.end)) ? 1 : 0;
    const start = edit.start - left;
    const end = edit.end + right;
    const text = this.slice(start, edit.start) + edit.text + this.slice(edit.end, end);
    removed.push(this.slice(start, end));
    this.content.replace(edit.start, edit.end, edit.text);
    return { start, end, text: replaceLoneSurrogates(text) };
  }
}

/** An edit without the units at its ends that stay the same. */
function minimal(edit: TextEdit, removed: string): TextEdit {
  const before = commonPrefix(edit.text, removed);
  const behind = commonSuffix(edit.text, removed, Math.min(edit.text.length, removed.length) - before);
  return {
    start: edit.start + before,
    end: edit.end - behind,
    text: edit.text.slice(before, edit.text.length - behind),
  };
}

/** What an edit removed, of the text that a larger one did. */
function cut(text: string, larger: TextEdit | undefined, edit: TextEdit | undefined): string {
  const before = (edit?.start ?? 0) - (larger?.start ?? 0);
  return text.slice(before, before + (edit?.end ?? 0) - (edit?.start ?? 0));
}

/** By how many units a change has moved what stands behind it. */
export function shiftOf(change: DocumentChange): number {
  return change.edits.reduce((sum, edit) => sum + growth(edit), 0);
}
