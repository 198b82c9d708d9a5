import { ClockFilter } from './clock.js';
import { Completion } from './completion.js';
import { Earlier } from './earlier.js';
import type { RunningCompletion } from './earlier.js';
import { EditSession } from './edit_session.js';
import { WarmlineError } from './errors.js';
import { measureHops } from './hops.js';
import type { Request } from './request.js';
import { TextRequest } from './text_request.js';
import type { ServerMessage, ServerMessageOf } from './wire.js';

/** What came makes no sense here, so the connection is given up. */
export class ServerMisbehaved extends Error {}

/** The requests of one connection that run: which frame belongs to whom. */
export class Requests {
  private readonly running = new Map<number, Request>();
  private readonly streams = new Map<number, Request>();

  constructor(
    private readonly clock: ClockFilter,
    private readonly now: () => number,
  ) {}

  get count(): number {
    return this.running.size;
  }

  has(request: Request): boolean {
    return this.running.get(request.id) === request;
  }

  add(request: Request): void {
    this.running.set(request.id, request);
  }

  /** It ended, or could not be sent. */
  forget(request: Request): void {
    this.running.delete(request.id);
    for (const [stream, running] of this.streams) {
      if (running === request) {
        this.streams.delete(stream);
      }
    }
  }

  /** The running completions of a completion's document, before it is one of them. */
  earlier(completion: Completion): Earlier {
    const others: RunningCompletion[] = [];
    for (const request of this.running.values()) {
      if (request instanceof Completion && request.document === completion.document) {
        others.push({ request: request.id, place: request.place, earlier: request.earlier });
      }
    }
    return new Earlier(others, completion.position);
  }

  /** The connection is gone. */
  fail(error: WarmlineError): void {
    const requests = [...this.running.values()];
    this.running.clear();
    this.streams.clear();
    for (const request of requests) {
      request.fail(error);
    }
  }

  /** Take a message about a request. Returns whether it was one. Throws ServerMisbehaved. */
  take(message: ServerMessage, at: number): boolean {
    switch (message.type) {
      case 'accepted':
        this.accepted(message);
        return true;
      case 'delta':
      case 'scoredDelta': {
        const request = this.streams.get(message.stream);
        if (!(request instanceof TextRequest)) {
          throw new ServerMisbehaved(`it sent text on stream ${message.stream}, which has none`);
        }
        request.received(message.text, at);
        return true;
      }
      case 'ops': {
        const edit = this.edit(this.streams.get(message.stream), `operations on stream ${message.stream}`);
        this.checked(() => edit.received(message.operations, at));
        return true;
      }
      case 'steered': {
        const edit = this.edit(this.running.get(message.request), `steered of request ${message.request}`);
        this.checked(() => edit.goOnBehind(message.operations));
        return true;
      }
      case 'done':
        this.done(message, at);
        return true;
      case 'error': {
        const request = message.request === null ? undefined : this.running.get(message.request);
        if (request === undefined) {
          return false;
        }
        this.forget(request);
        request.fail(errorOf(message));
        return true;
      }
      default:
        return false;
    }
  }

  private accepted(message: ServerMessageOf<'accepted'>): void {
    const request = this.running.get(message.request);
    if (request === undefined || this.streams.has(message.stream)) {
      throw new ServerMisbehaved(`it accepted request ${message.request} on stream ${message.stream} out of turn`);
    }
    this.streams.set(message.stream, request);
    const fits = request instanceof Completion ? request.accepted(message.continued) : message.continued === null;
    if (!fits) {
      throw new ServerMisbehaved(`request ${message.request} can't go on with another as it says`);
    }
  }

  private done(message: ServerMessageOf<'done'>, at: number): void {
    const request = this.running.get(message.request);
    if (request === undefined) {
      throw new ServerMisbehaved(`it ended request ${message.request}, which isn't running`);
    }
    this.forget(request);
    const { timing } = message;
    if (timing.received > 0) {
      this.clock.add(request.sent, timing.received, timing.sent, at);
    }
    const offset = this.clock.best(at)?.offset ?? 0;
    const seen = { called: request.called, sent: request.sent, arrived: at, finished: this.now() };
    request.done(message, measureHops(timing, offset, seen));
  }

  private edit(request: Request | undefined, what: string): EditSession {
    if (request instanceof EditSession) {
      return request;
    }
    throw new ServerMisbehaved(`it sent ${what}, which is no edit that runs`);
  }

  private checked(take: () => void): void {
    try {
      take();
    } catch (error) {
      throw error instanceof RangeError ? new ServerMisbehaved(`its operations don't fit: ${error.message}`) : error;
    }
  }
}

export function errorOf(message: ServerMessageOf<'error'>): WarmlineError {
  return new WarmlineError(message.code, message.message, message.retryable, message.retryAfterMs ?? undefined);
}
