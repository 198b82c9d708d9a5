import type { WarmlineError } from './errors.js';
import { Emitter } from './events.js';
import { endToEnd, tokensPerSecond } from './hops.js';
import type { Hops } from './hops.js';
import type { Done, Reason, Receipt, Sampling } from './wire.js';

/** What every request takes. */
export interface RequestOptions {
  readonly sampling?: Sampling | undefined;
  /** For tests, on servers that allow it: the text to emit instead of the model's. */
  readonly replay?: string | undefined;
  /** A W3C trace context, which the server's log lines about the request carry. */
  readonly traceparent?: string | undefined;
}

/** How a request ended. */
export type Outcome =
  | {
      readonly ok: true;
      readonly reason: Reason;
      readonly receipt: Receipt;
      readonly hops: Hops;
      readonly endToEnd: number;
      /** Microseconds from the call to the first text or operations; undefined if there were none. */
      readonly ttft: number | undefined;
      readonly tokensPerSecond: number;
    }
  | { readonly ok: false; readonly error: WarmlineError };

/** What a request asks of the connection it runs on. */
export interface RequestLink {
  cancel(request: Request): void;
  interrupt(request: Request): void;
}

/** A running request: what is common to completions and edits. Times are microseconds of the client's clock. */
export abstract class Request {
  /** When it was about to be written. */
  sent: number;
  first: number | undefined;
  /** How it ended; undefined while it runs. */
  outcome: Outcome | undefined;
  /** Settles at the end, and never fails. */
  readonly ended: Promise<Outcome>;
  private stopping: 'cancel' | 'interrupt' | undefined;
  private resolveEnded!: (outcome: Outcome) => void;
  protected readonly arrivals = new Emitter<void>();
  /** Something came, or it ended. */
  readonly onProgress = this.arrivals.event;

  constructor(
    /** Its number in the session. */
    readonly id: number,
    /** When the program asked. */
    readonly called: number,
    private readonly link: RequestLink,
  ) {
    this.sent = called;
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
  }

  get running(): boolean {
    return this.outcome === undefined;
  }

  get cancelled(): boolean {
    return this.stopping === 'cancel';
  }

  /** End it now: the server frees it at once. Does nothing when it has ended. */
  cancel(): void {
    if (this.running && this.stopping !== 'cancel') {
      this.stopping = 'cancel';
      this.link.cancel(this);
    }
  }

  /** Stop the model and keep what it has made. Does nothing when it has ended. */
  interrupt(): void {
    if (this.running && this.stopping === undefined) {
      this.stopping = 'interrupt';
      this.link.interrupt(this);
    }
  }

  // What the client needs ------------------------------------------------------------------------------------------

  arrived(at: number): void {
    this.first ??= at;
    this.arrivals.fire();
  }

  done(message: Done, hops: Hops): void {
    this.settle({
      ok: true,
      reason: message.reason,
      receipt: message.receipt,
      hops,
      endToEnd: endToEnd(hops),
      ttft: this.first === undefined ? undefined : this.first - this.called,
      tokensPerSecond: tokensPerSecond(message.receipt, hops),
    });
  }

  fail(error: WarmlineError): void {
    this.settle({ ok: false, error });
  }

  protected settle(outcome: Outcome): void {
    if (this.outcome === undefined) {
      this.outcome = outcome;
      this.resolveEnded(outcome);
      this.arrivals.fire();
      this.arrivals.dispose();
    }
  }
}
