import { contentHash } from '../../../src/core/chunked_text.js';
import { decodeClient, encodeServer } from '../../../src/core/codec.js';
import { applyEdits } from '../../../src/core/text_edits.js';
import type { Address, Connect, TransportEvents } from '../../../src/core/transport.js';
import type { CLIENT_MESSAGES, GivenMessage, ReadMessage, SERVER_MESSAGES } from '../../../src/core/wire.js';

export type Received = ReadMessage<typeof CLIENT_MESSAGES>;
export type ReceivedOf<K extends Received['type']> = Extract<Received, { type: K }>;
export type Said = GivenMessage<typeof SERVER_MESSAGES>;

interface Held {
  version: number;
  text: string;
}

interface Socket {
  readonly address: Address;
  readonly events: TransportEvents;
  open: boolean;
}

const welcome: Said = {
  type: 'welcome',
  session: 's',
  server: 'fake',
  model: 'none',
  contextLength: 8192,
  maxDocumentBytes: 100_000,
  maxRequests: 64,
};

/**
 * A server in memory that keeps documents as the real one does, and nacks what does not fit. What it says to requests a
 * test decides: `onRequest` is called for each, and `say` says something.
 */
export class FakeServer {
  readonly received: Received[] = [];
  readonly documents = new Map<string, Held>();
  readonly sockets: Socket[] = [];
  /** Requests that were sent and have no terminal frame. */
  readonly running = new Set<number>();
  /** The most that ran at once. */
  mostRunning = 0;
  onRequest: (message: Received) => void = () => undefined;
  /** What to answer `hello`; undefined for nothing. */
  greeting: Said | undefined = welcome;
  answersPings = true;
  /** Connections are refused with this. */
  refusal: { code: number; reason: string } | undefined;
  private socket: Socket | undefined;

  readonly connect: Connect = (address, events) => {
    const socket: Socket = { address, events, open: true };
    this.sockets.push(socket);
    void Promise.resolve().then(() => {
      if (this.refusal !== undefined) {
        this.close(this.refusal.code, this.refusal.reason, socket);
      } else if (socket.open) {
        this.socket = socket;
        this.documents.clear();
        this.running.clear();
        events.opened();
      }
    });
    return {
      send: (frame) => {
        if (socket.open) {
          const message = decodeClient(frame, address.subprotocol);
          if (message === undefined) {
            throw new Error('an unknown message was sent');
          }
          this.take(message);
        }
      },
      close: () => {
        socket.open = false;
      },
      unsent: 0,
    };
  };

  of<K extends Received['type']>(type: K): ReceivedOf<K>[] {
    return this.received.filter((message): message is ReceivedOf<K> => message.type === type);
  }

  last<K extends Received['type']>(type: K): ReceivedOf<K> {
    const found = this.of(type).at(-1);
    if (found === undefined) {
      throw new Error(`no ${type} was sent`);
    }
    return found;
  }

  say(...messages: Said[]): void {
    for (const message of messages) {
      if (message.type === 'done' || (message.type === 'error' && message.request !== null)) {
        this.running.delete(message.request as number);
      }
      if (this.socket?.open === true) {
        const frame = encodeServer(message, this.socket.address.subprotocol);
        this.socket.events.received(typeof frame === 'string' ? frame : frame.buffer);
      }
    }
  }

  /** Close the connection, as the network or the server does. */
  close(code: number, reason = '', socket = this.socket): void {
    if (socket?.open === true) {
      socket.open = false;
      socket.events.closed(code, reason);
    }
  }

  private take(message: Received): void {
    this.received.push(message);
    switch (message.type) {
      case 'hello':
        if (this.greeting !== undefined) {
          this.say(this.greeting);
        }
        break;
      case 'ping':
        if (this.answersPings) {
          this.say({ type: 'pong', sent: message.sent, received: 5_000_000 + message.sent, replied: 5_000_000 + message.sent });
        }
        break;
      case 'open':
        this.opened(message);
        break;
      case 'change':
        this.changed(message);
        break;
      case 'close':
        this.documents.delete(message.document);
        break;
      case 'complete':
      case 'edit':
        this.requested(message);
        break;
      default:
        this.onRequest(message);
    }
  }

  private opened({ document, version, text }: ReceivedOf<'open'>): void {
    const held = this.documents.get(document);
    if (held !== undefined && version <= held.version && !(version === held.version && text === held.text)) {
      this.nack(document, 'stale_version');
    } else {
      this.documents.set(document, { version, text });
    }
  }

  private changed({ document, base, version, edits, length, hash }: ReceivedOf<'change'>): void {
    const held = this.documents.get(document);
    if (held?.version !== base) {
      this.nack(document, held === undefined ? 'unknown_document' : 'stale_version');
      return;
    }
    const text = applyEdits(held.text, edits);
    if (splits(held.text, edits) || text.length !== (length ?? text.length) || contentHash(text) !== (hash ?? contentHash(text))) {
      this.nack(document, 'hash_mismatch');
      return;
    }
    this.documents.set(document, { version, text });
  }

  private requested(message: ReceivedOf<'complete'> | ReceivedOf<'edit'>): void {
    if (this.documents.get(message.document)?.version !== message.version) {
      this.say({ type: 'error', request: message.request, code: 'stale_version', message: 'another version is held' });
      return;
    }
    this.running.add(message.request);
    this.mostRunning = Math.max(this.mostRunning, this.running.size);
    this.onRequest(message);
  }

  private nack(document: string, code: string): void {
    this.say({ type: 'nack', document, held: this.documents.get(document)?.version ?? null, code, message: code });
  }
}

/** Whether an edit begins or ends within a character, which the real server refuses. */
function splits(text: string, edits: readonly { start: number; end: number; text: string }[]): boolean {
  let current = text;
  for (const edit of edits) {
    for (const offset of [edit.start, edit.end]) {
      if (/[\ud800-\udbff]/.test(current.charAt(offset - 1)) && /[\udc00-\udfff]/.test(current.charAt(offset))) {
        return true;
      }
    }
    current = applyEdits(current, [edit]);
  }
  return false;
}
