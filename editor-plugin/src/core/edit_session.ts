import type { Document, DocumentChange, RangeFollower } from './document.js';
import { WarmlineError } from './errors.js';
import type { Disposable } from './events.js';
import type { Hops } from './hops.js';
import { applyOperations } from './operations.js';
import { OwnChanges } from './own_changes.js';
import { RangeTracker } from './range_tracker.js';
import { Request } from './request.js';
import type { RequestLink, RequestOptions } from './request.js';
import { placesOf } from './text_edits.js';
import type { Applied, Done, Operation, TextEdit } from './wire.js';

export interface EditOptions extends RequestOptions {
  /** What the new text begins with: the model goes on after it, and the operations say it, too. */
  readonly accepted?: string | undefined;
}

/** What to put into the document now: places in it as it is, in order, none over another. */
export interface EditPlan {
  readonly edits: readonly TextEdit[];
  /** How many operations the document has then. */
  readonly operations: number;
}

/** What an edit asks of the connection beside stopping. */
export interface EditLink extends RequestLink {
  steer(session: EditSession, instruction: string, operations: number | undefined): Promise<void>;
}

/**
 * An edit of a range in flight: its operations as they come, and where they belong while the person goes on typing.
 *
 * Whoever owns the editor asks for a `plan`, puts it in as one edit, and lets the document's change event reach
 * `Document.change` as any other; the change is recognised as ours there. If the editor would not take it (it was
 * changed in between), `rejected` says so, and the next plan is made for the document as it is then.
 */
export class EditSession extends Request implements RangeFollower {
  /** The range's text when it was asked for. */
  readonly original: string;
  readonly tracker: RangeTracker;
  /** What was put into the document and taken out of it, through all that was changed later. */
  readonly own = new OwnChanges();
  private operations: Operation[] = [];
  private readonly steers: (number | undefined)[] = [];
  private planned: number[] = []; // operations up to which an editor was told to put them in
  private readonly subscription: Disposable;

  /** Made by `Client.edit`. */
  constructor(
    id: number,
    called: number,
    private readonly editLink: EditLink,
    readonly document: Document,
    readonly start: number,
    readonly end: number,
    readonly instruction: string,
  ) {
    super(id, called, editLink);
    this.original = document.slice(start, end);
    this.tracker = new RangeTracker(id, start, this.original);
    document.ranges.add(this);
    this.subscription = document.onChange((change) => this.follow(change));
  }

  /** The range as the model wants it so far: its operations applied to what was there, the rest as it was. */
  get text(): string {
    return applyOperations(this.original, this.operations);
  }

  /** How many operations came. */
  get known(): number {
    return this.operations.length;
  }

  /** How many are in the document. */
  get applied(): number {
    return this.tracker.applied;
  }

  /** How many could be in the document now: all that stand and that no steering under way gives up. */
  get ready(): number {
    const kept = this.steers.reduce<number>((least, count) => Math.min(least, count ?? Infinity), Infinity);
    return Math.min(kept, this.tracker.standing);
  }

  /** Whether a person's change and an operation exclude each other, so that the rest of it is given up. */
  get conflict(): boolean {
    return this.tracker.conflict;
  }

  /** Whether all that stands is in the document, and nothing more comes. */
  get settled(): boolean {
    return !this.running && this.tracker.edits(this.ready).length === 0;
  }

  /** What the editor should put in now; undefined if there is nothing. One may ask again before that is done. */
  plan(): EditPlan | undefined {
    const { ready } = this;
    if (ready <= this.applied || this.document.closed) {
      return undefined;
    }
    const edits = placesOf(this.tracker.edits(ready)) ?? [];
    if (edits.length === 0) {
      return undefined; // what only keeps goes in with the next that does not
    }
    this.planned = [...this.planned.filter((count) => count !== ready), ready];
    return { edits, operations: ready };
  }

  /** The editor did not take what was planned. */
  rejected(): void {
    this.planned = [];
  }

  /** Give it a further instruction while it runs; settles when it goes on under it, fails if it can't. */
  steer(instruction: string, operations?: number): Promise<void> {
    const least = Math.max(this.applied, ...this.planned);
    if (operations !== undefined && (operations < least || operations > this.known)) {
      const what = `${operations} operations can't stay: ${this.known} came, and ${least} are in the document`;
      return Promise.reject(new WarmlineError('invalid_parameter', what));
    }
    return this.editLink.steer(this, instruction, operations);
  }

  /** The edits of the document as it is now, as places in order, that take ours back and leave the person's. */
  reverting(): readonly TextEdit[] {
    return this.own.inverse().reverse();
  }

  /** Nobody follows the range any more: it was accepted or taken back. */
  forget(): void {
    this.cancel();
    this.document.ranges.delete(this);
    this.subscription.dispose();
  }

  // What documents and the client need -------------------------------------------------------------------------------

  claim(edits: readonly TextEdit[]): Applied | null {
    const count = this.planned.find((planned) => planned > this.applied && this.tracker.take(edits, planned));
    if (count === undefined) {
      return null;
    }
    this.planned = this.planned.filter((planned) => planned > count);
    return { request: this.id, operations: count };
  }

  changed(edits: readonly TextEdit[]): void {
    this.tracker.changed(edits);
  }

  /** Operations came. Throws a RangeError if they don't fit the range. */
  received(operations: readonly Operation[], at: number): void {
    this.tracker.operations(operations);
    this.operations = [...this.operations, ...operations];
    this.arrived(at);
  }

  steering(operations: number | undefined): void {
    this.steers.push(operations);
  }

  steered(): void {
    this.steers.shift();
    this.arrivals.fire();
  }

  /** It goes on behind its first so many operations. Throws a RangeError if it can't. */
  goOnBehind(operations: number): void {
    this.tracker.void(operations);
    this.operations.length = operations;
    this.arrivals.fire();
  }

  override done(message: Done, hops: Hops): void {
    this.tracker.finish(message.operations);
    if (message.operations !== null) {
      this.operations.length = Math.min(this.operations.length, this.tracker.standing);
    }
    this.steers.length = 0;
    super.done(message, hops);
  }

  override fail(error: WarmlineError): void {
    this.steers.length = 0;
    super.fail(error);
  }

  private follow(change: DocumentChange): void {
    const ours = change.applied?.request === this.id;
    change.edits.forEach((edit, index) => {
      if (ours) {
        this.own.own(edit, change.removed[index] ?? '');
      } else {
        this.own.other(edit);
      }
    });
    if (ours) {
      this.own.whole((start, end) => this.document.slice(start, end));
    }
  }
}
