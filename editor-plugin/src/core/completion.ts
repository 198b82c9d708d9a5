import type { Document } from './document.js';
import type { Earlier } from './earlier.js';
import type { WarmlineError } from './errors.js';
import type { Hops } from './hops.js';
import { PlaceTracker } from './place_tracker.js';
import type { RequestLink, RequestOptions } from './request.js';
import { TextRequest } from './text_request.js';
import type { Continued, Done, TextEdit } from './wire.js';

export interface CompletionOptions extends RequestOptions {
  /** Leave running completions of the document alone. */
  readonly parallel?: boolean | undefined;
}

/** A running or ended completion. */
export class Completion extends TextRequest {
  /** The document's version that it was asked for. */
  readonly version: number;
  /** Follows the place that its text belongs to. */
  readonly place: PlaceTracker;
  /** Those that it may go on with, until the server has said whether it does. */
  earlier: Earlier | undefined;
  /** The request whose text it goes on with, since the person typed what that one suggested. */
  continued: Continued | undefined;

  /** Made by `Client.complete`. */
  constructor(
    id: number,
    called: number,
    link: RequestLink,
    readonly document: Document,
    readonly position: number,
  ) {
    super(id, called, link);
    this.version = document.version;
    this.place = new PlaceTracker(position);
    document.follow(this.place);
  }

  /** UTF-16 units behind the position that the text takes the place of. */
  get replaces(): number {
    return this.continued?.replaces ?? 0;
  }

  /**
   * The edit of the document as it is now that puts in what is left of the text at the cursor. Undefined if the text
   * doesn't fit there, or doesn't yet.
   */
  remaining(cursor: number): TextEdit | undefined {
    return this.place.remaining(this.text, cursor);
  }

  /** Whether it fits at a cursor, or may when more of it has come. */
  fits(cursor: number): boolean {
    return (
      this.remaining(cursor) !== undefined || (this.running && !this.cancelled && this.place.mayFit(this.text, cursor))
    );
  }

  // What the client needs ------------------------------------------------------------------------------------------

  /** It was taken. Returns whether what the server says can be. */
  accepted(continued: Continued | null): boolean {
    const { earlier } = this;
    this.earlier = undefined;
    if (continued === null) {
      return true;
    }
    this.continued = continued;
    return earlier?.handOver(continued.request, this.place) ?? false;
  }

  override done(message: Done, hops: Hops): void {
    this.earlier = undefined;
    super.done(message, hops);
  }

  override fail(error: WarmlineError): void {
    this.earlier = undefined;
    super.fail(error);
  }
}
