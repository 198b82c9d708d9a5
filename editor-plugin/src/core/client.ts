import { Completion } from './completion.js';
import type { CompletionOptions } from './completion.js';
import { Connection } from './connection.js';
import type { Arrival, ConnectionOptions } from './connection.js';
import type { ConnectionState } from './connection_state.js';
import { Conversation, ownName, Reply } from './conversation.js';
import type { ChatOptions } from './conversation.js';
import { Document } from './document.js';
import { EditSession } from './edit_session.js';
import type { EditOptions } from './edit_session.js';
import { systemEnvironment } from './environment.js';
import type { Environment } from './environment.js';
import { disconnected, WarmlineError } from './errors.js';
import { Emitter } from './events.js';
import type { Disposable } from './events.js';
import type { Request } from './request.js';
import { errorOf, Requests, ServerMisbehaved } from './requests.js';
import { characters, replaceLoneSurrogates, splitsLineEnd, splitsPair } from './text.js';
import { webSocketConnect } from './transport.js';
import type { Connect } from './transport.js';
import type { Sampling, Welcome } from './wire.js';

/** Tokens by which an edit may outgrow its range unless `maxTokens` says otherwise. */
const ROOM_TO_GROW = 128;
const MAX_TOKENS = 1_000_000;
/** What is documented of the wire, for as long as no server has said otherwise. */
const MAX_DOCUMENT_BYTES = 4 << 20;
/** Documents that one message of a conversation may show, and characters of a name. */
const MAX_SHOWN = 16;
const MAX_NAME = 4096;

export interface ClientOptions extends ConnectionOptions {
  readonly connect?: Connect | undefined;
  readonly environment?: Environment | undefined;
}

/** A steering that waits for its answer. */
interface Steering {
  readonly session: EditSession;
  error: WarmlineError | undefined;
}

/**
 * One server as an editor sees it: one connection, made again when it is lost; documents, kept the same there;
 * completions and edits of them, and conversations about them. Requests don't outlive their connection: they end with an
 * error that can be retried.
 */
export class Client implements Disposable {
  readonly connection: Connection;
  private readonly environment: Environment;
  private readonly documents = new Map<string, Document>();
  private readonly requests: Requests;
  private readonly ended = new Emitter<Request>();
  /** A request has ended, in whichever way. */
  readonly onEnded = this.ended.event;
  /** How many connections there have been: documents outlive one, and what was said on it doesn't. */
  connections = 0;
  private welcomed: Welcome | undefined;
  private lastRequest = 0;
  private steerings: Steering[] = []; // those whose answer may come next, in order

  constructor(options: ClientOptions) {
    this.environment = options.environment ?? systemEnvironment();
    this.connection = new Connection(options, options.connect ?? webSocketConnect(), this.environment);
    this.requests = new Requests(this.connection.clock, () => this.environment.now());
    this.connection.onState((state) => this.changed(state));
    this.connection.onMessage((arrival) => this.receive(arrival));
  }

  get state(): ConnectionState {
    return this.connection.state;
  }

  get ready(): boolean {
    return this.state.name === 'ready';
  }

  /** What the server said of itself when it was there last. */
  get welcome(): Welcome | undefined {
    return this.welcomed;
  }

  /** How many requests run. */
  get running(): number {
    return this.requests.count;
  }

  start(): void {
    this.connection.start();
  }

  dispose(): void {
    this.connection.dispose();
    this.ended.dispose();
  }

  /** Keep a document the same on the server, now and after each reconnection, until it is closed. */
  open(uri: string, language: string, text: string): Document {
    const name = named(uri, 'a document');
    if (this.documents.has(name)) {
      throw new WarmlineError('invalid_parameter', `${name} is open already: change it, or close it first`);
    }
    const document = new Document(name, language, text, {
      send: (message) => this.connection.send(message),
      closed: () => this.documents.delete(name),
      shrunk: (shrunk) => this.handOver(shrunk),
    });
    this.documents.set(name, document);
    if (this.ready) {
      this.handOver(document);
    }
    return document;
  }

  /** The open document of that name. */
  document(uri: string): Document | undefined {
    return this.documents.get(replaceLoneSurrogates(uri));
  }

  /**
   * Ask for the text that belongs at a position. It leaves at once. Other running completions of the document end,
   * unless it is `parallel`; where what was typed since is what one of them suggests, this one goes on with its text.
   */
  complete(document: Document, position: number, options: CompletionOptions = {}): Completion {
    const called = this.environment.now();
    this.check(document, position, position);
    const completion = new Completion(++this.lastRequest, called, this.link, document, position);
    if (options.parallel !== true) {
      completion.earlier = this.requests.earlier(completion);
    }
    return this.begin(completion, () => ({
      type: 'complete',
      request: completion.id,
      document: document.uri,
      version: document.version,
      position,
      sampling: options.sampling,
      replay: cleaned(options.replay),
      traceparent: options.traceparent ?? null,
      parallel: options.parallel,
    }));
  }

  /** Ask for the new text of [start, end), as operations over it. It leaves at once. */
  edit(document: Document, start: number, end: number, instruction: string, options: EditOptions = {}): EditSession {
    const called = this.environment.now();
    this.check(document, start, end);
    const session = new EditSession(++this.lastRequest, called, this.link, document, start, end, instruction);
    const accepted = replaceLoneSurrogates(options.accepted ?? '');
    const size = new TextEncoder().encode(session.original + accepted).length;
    const sampling: Sampling = { maxTokens: Math.min(size + ROOM_TO_GROW, MAX_TOKENS), ...options.sampling };
    return this.begin(session, () => ({
      type: 'edit',
      request: session.id,
      document: document.uri,
      version: document.version,
      start,
      end,
      instruction: replaceLoneSurrogates(instruction),
      sampling,
      replay: cleaned(options.replay),
      traceparent: options.traceparent ?? null,
      accepted,
    }));
  }

  /**
   * Say something in a conversation, by its name, and get the reply. It leaves at once. A conversation begins with its
   * first message, and the server keeps its turns; `conversation` gives an object that remembers the name.
   */
  chat(conversation: string, text: string, options: ChatOptions = {}): Reply {
    const called = this.environment.now();
    const name = named(conversation, 'a conversation');
    const documents = options.documents ?? [];
    if (documents.length > MAX_SHOWN) {
      const what = `${documents.length} documents; at most ${MAX_SHOWN} are shown at once`;
      throw new WarmlineError('invalid_parameter', what);
    }
    if (documents.length === 0 && text.trim() === '') {
      throw new WarmlineError('invalid_parameter', 'text is empty: say something, or name a document');
    }
    for (const document of documents) {
      this.checkUsable(document);
    }
    const reply = new Reply(++this.lastRequest, called, this.link, name);
    return this.begin(reply, () => ({
      type: 'chat',
      request: reply.id,
      conversation: name,
      text: replaceLoneSurrogates(text),
      documents: documents.map(({ uri }) => uri),
      sampling: options.sampling,
      replay: cleaned(options.replay),
      traceparent: options.traceparent ?? null,
    }));
  }

  /** A conversation to talk in; without a name it gets one that no other has. */
  conversation(name: string = ownName()): Conversation {
    return new Conversation(this, named(name, 'a conversation'));
  }

  /** Let the server forget a conversation; its running reply ends with reason `cancel`. Without a server it has. */
  endChat(conversation: string): void {
    const name = named(conversation, 'a conversation');
    if (this.ready) {
      this.connection.send({ type: 'endChat', conversation: name });
    }
  }

  // Requests ---------------------------------------------------------------------------------------------------------

  private readonly link = {
    cancel: (request: Request) => this.tell(request, 'cancel'),
    interrupt: (request: Request) => this.tell(request, 'interrupt'),
    steer: (session: EditSession, instruction: string, operations: number | undefined) =>
      this.steer(session, instruction, operations),
  };

  private tell(request: Request, type: 'cancel' | 'interrupt'): void {
    if (this.requests.has(request) && this.ready) {
      this.connection.send({ type, request: request.id });
    }
  }

  /** A request that can't be sent ends at once with the reason. */
  private begin<R extends Request>(request: R, message: () => Parameters<Connection['send']>[0]): R {
    void request.ended.then(() => this.ended.fire(request));
    this.requests.add(request);
    try {
      request.sent = this.connection.send(message());
    } catch (error) {
      this.requests.forget(request);
      request.fail(error instanceof WarmlineError ? error : new WarmlineError('invalid_parameter', String(error)));
    }
    return request;
  }

  private checkUsable(document: Document): void {
    if (this.documents.get(document.uri) !== document || document.closed) {
      throw new WarmlineError('document_closed', `${document.uri} is not open here`);
    }
    if (this.ready && document.refused !== undefined) {
      throw document.refused;
    }
  }

  private check(document: Document, start: number, end: number): void {
    this.checkUsable(document);
    if (!(start >= 0 && start <= end && end <= document.length && Number.isInteger(start) && Number.isInteger(end))) {
      const what = `the range ${start}..${end} is not within a text of ${document.length} units`;
      throw new WarmlineError('invalid_range', what);
    }
    for (const offset of [start, end]) {
      const around = document.slice(offset - 1, offset + 1);
      if (offset > 0 && (splitsPair(around, 1) || splitsLineEnd(around, 1))) {
        throw new WarmlineError('invalid_range', `offset ${offset} is within a character or a line end`);
      }
    }
  }

  private async steer(session: EditSession, instruction: string, operations: number | undefined): Promise<void> {
    if (!this.requests.has(session)) {
      throw new WarmlineError('unknown_request', 'the edit has ended, so it can be steered no more');
    }
    const steering: Steering = { session, error: undefined };
    // What the server says between the answers to two pings, without naming a request, it says of what was sent between.
    this.connection.probe(() => this.steerings.push(steering));
    this.connection.send({
      type: 'steer',
      request: session.id,
      instruction: replaceLoneSurrogates(instruction),
      operations: operations ?? null,
    });
    session.steering(operations);
    await new Promise<void>((resolve) => {
      this.connection.probe((answer) => {
        this.steerings = this.steerings.filter((other) => other !== steering);
        if (answer === undefined) {
          steering.error = disconnected('the connection was lost');
        }
        session.steered();
        resolve();
      });
    });
    if (steering.error !== undefined) {
      throw steering.error;
    }
  }

  // The connection ---------------------------------------------------------------------------------------------------

  private changed(state: ConnectionState): void {
    if (state.name === 'ready') {
      this.welcomed = state.welcome;
      this.connections++;
      for (const document of this.documents.values()) {
        this.handOver(document);
      }
      return;
    }
    for (const document of this.documents.values()) {
      document.lost();
    }
    const why = 'why' in state ? state.why : 'the connection was lost';
    this.requests.fail(disconnected(why));
  }

  private handOver(document: Document): void {
    document.handOver(this.welcomed?.maxDocumentBytes ?? MAX_DOCUMENT_BYTES, (answered) => this.connection.probe(answered));
  }

  private receive({ message, at }: Arrival): void {
    try {
      if (this.requests.take(message, at)) {
        return;
      }
    } catch (error) {
      if (error instanceof ServerMisbehaved) {
        this.connection.misbehaved(`the server misbehaved: ${error.message}`);
        return;
      }
      throw error;
    }
    if (message.type === 'nack') {
      const document = this.documents.get(message.document);
      this.environment.log.info(`the server refused a change: ${message.message} (${message.code})`);
      if (document?.nacked(message.held, message.code, message.message) === true) {
        this.handOver(document);
      }
    } else if (message.type === 'error') {
      const [steering] = this.steerings;
      if (steering !== undefined) {
        steering.error = errorOf(message);
      } else {
        this.environment.log.warn(`the server reports: ${message.message} (${message.code})`);
      }
    } else if (message.type === 'notice') {
      this.environment.log.info(`the server gives notice: ${message.kind}`); // it is soon followed by a close, or by nothing
    } else {
      this.connection.misbehaved(`the server sent an unexpected ${message.type}`);
    }
  }
}

/** A name as it travels, or the reason why it can't. */
function named(name: string, whose: string): string {
  const clean = replaceLoneSurrogates(name);
  if (clean === '' || characters(clean) > MAX_NAME) {
    throw new WarmlineError('invalid_parameter', `${whose} needs a name of 1 to 4,096 characters`);
  }
  return clean;
}

function cleaned(text: string | undefined): string | null {
  return text === undefined ? null : replaceLoneSurrogates(text);
}
