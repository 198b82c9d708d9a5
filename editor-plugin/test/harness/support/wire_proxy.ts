/**
 * Stands between the extension and the real server: records what the extension sends, lets the tests name the text
 * that the model emits (the server's replay mode, in which it computes every pass all the same), and delays, holds or
 * cuts what comes back. Tests inside the extension host reach it over HTTP on the same port.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { once } from 'node:events';
import { decode as unpack, encode as pack } from '@msgpack/msgpack';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { freePort } from './processes.js';

const [OPEN, CHANGE, CLOSE, COMPLETE, EDIT] = [2, 3, 4, 6, 7] as const;
const SAMPLING_BEFORE_REPLAY = 1;
const DONE = 5;
const PONG = 8;
const REPLAY: ReadonlyMap<number, number> = new Map([
  [COMPLETE, 6],
  [EDIT, 8],
]);

/** What the tests want of the wire. */
export interface Script {
  /** A completion says what is left of the first of these that the text before the cursor ends with a beginning of. */
  completions?: string[];
  /** The new text of an edit's range, by its instruction. */
  edits?: Record<string, string>;
  /** Milliseconds between two frames of the server, pongs apart: the connection itself is well. */
  pace?: number;
  /** Nothing of the server but its pongs gets through, and nothing gets lost. */
  hold?: boolean;
  /** Nothing gets through in either direction, and the sockets stay open: what a machine that slept looks like. */
  mute?: boolean;
  /** New connections are refused. */
  refuse?: boolean;
  /** Completions leave no sooner than the editor asks for one, which `POST /asked` says. */
  late?: boolean;
}

export type Message = [tag: number, ...fields: unknown[]];

export class WireProxy {
  script: Script = {};
  /** What clients sent, in order. */
  sent: Message[] = [];
  connections = 0;
  /** When which completion came by, and when its end did, in milliseconds of the wall clock. */
  readonly times = new Map<number, { asked: number; ended: number; timing: unknown }>();

  private readonly documents = new Map<string, string>();
  private readonly requests = new Map<number, string>(); // the document of each
  private over: string[] = [];
  private readonly pairs = new Set<Pair>();
  private readonly http: Server;
  private readonly sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0] ?? false });

  private constructor(
    readonly port: number,
    private upstream: string,
  ) {
    this.http = createServer((request, response) => void this.control(request, response));
    this.http.on('upgrade', (request, socket, head) => {
      const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
      const headers = request.headers.origin === undefined ? {} : { origin: request.headers.origin };
      if (this.script.refuse === true) {
        socket.destroy();
        return;
      }
      const above = new WebSocket(this.upstream, offered, { headers, perMessageDeflate: false });
      above.once('error', () => socket.destroy());
      above.once('open', () => {
        request.headers['sec-websocket-protocol'] = above.protocol;
        this.sockets.handleUpgrade(request, socket, head, (below) => {
          this.connections++;
          const pair = new Pair(this, below, above);
          this.pairs.add(pair);
          below.once('close', () => this.pairs.delete(pair));
        });
      });
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${String(this.port)}`;
  }

  static async create(upstream: string): Promise<WireProxy> {
    const proxy = new WireProxy(await freePort(), upstream);
    proxy.http.listen(proxy.port, '127.0.0.1');
    await once(proxy.http, 'listening');
    return proxy;
  }

  reset(): void {
    this.script = {};
    this.sent = [];
    this.over = [];
    for (const pair of this.pairs) pair.flush();
  }

  /** Change the script; what it does not name stays. */
  direct(script: Script): void {
    this.script = { ...this.script, ...script };
    for (const pair of this.pairs) pair.flush();
  }

  /** Break every connection as a network does, without a close frame. */
  cut(): void {
    for (const pair of this.pairs) pair.cut();
  }

  messages(tag: number): Message[] {
    return this.sent.filter((message) => message[0] === tag);
  }

  /** How many requests have ended, of documents whose name ends so. */
  ended(document: string): number {
    return this.over.filter((name) => name.endsWith(document)).length;
  }

  /** Note a server's message. */
  answered([tag, request, , , timing]: Message): void {
    if (tag !== DONE) return;
    this.over.push(this.requests.get(Number(request)) ?? '');
    const times = this.times.get(Number(request));
    if (times !== undefined) Object.assign(times, { ended: Date.now(), timing });
  }

  async close(): Promise<void> {
    this.cut();
    this.http.close();
    this.http.closeAllConnections();
    await once(this.http, 'close');
  }

  /** Note a client's message, and put the text into it that the model is to emit. */
  note(message: Message): Message {
    this.sent.push(message);
    const [tag] = message;
    if (tag === COMPLETE) this.times.set(Number(message[1]), { asked: Date.now(), ended: NaN, timing: undefined });
    if (tag === COMPLETE || tag === EDIT) this.requests.set(Number(message[1]), String(message[2]));
    if (tag === OPEN) this.documents.set(String(message[1]), String(message[4]));
    if (tag === CLOSE) this.documents.delete(String(message[1]));
    if (tag === CHANGE) {
      const name = String(message[1]);
      let text = this.documents.get(name) ?? '';
      for (const [from, to, put] of message[4] as [number, number, string][]) text = text.slice(0, from) + put + text.slice(to);
      this.documents.set(name, text);
    }
    const replay = this.replay(message);
    const at = REPLAY.get(tag);
    if (replay === undefined || at === undefined) return message;
    const scripted: Message = [...message];
    scripted[at - SAMPLING_BEFORE_REPLAY] ??= [];
    scripted[at] = replay;
    return scripted;
  }

  private replay(message: Message): string | undefined {
    if (message[0] === EDIT) return this.script.edits?.[String(message[6])];
    if (message[0] !== COMPLETE || this.script.completions === undefined) return undefined;
    const before = (this.documents.get(String(message[2])) ?? '').slice(0, Number(message[4]));
    for (const wanted of this.script.completions) {
      for (let length = wanted.length; length > 0; length--) {
        if (before.endsWith(wanted.slice(0, length))) return wanted.slice(length);
      }
    }
    return '';
  }

  private async control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', '*');
    let body = '';
    for await (const chunk of request) body += String(chunk);
    switch (`${request.method ?? ''} ${request.url ?? ''}`) {
      case 'POST /script':
        this.direct(JSON.parse(body) as Script);
        break;
      case 'POST /reset':
        this.reset();
        break;
      case 'POST /asked':
        for (const pair of this.pairs) pair.letGo();
        break;
      case 'POST /cut':
        this.cut();
        break;
      case 'GET /sent':
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(this.sent));
        return;
    }
    response.end();
  }
}

/** One connection: the extension below, the server above. */
class Pair {
  private readonly waiting: { data: RawData; binary: boolean }[] = [];
  private timer: NodeJS.Timeout | undefined;
  private late: (() => void)[] = [];

  constructor(
    private readonly proxy: WireProxy,
    private readonly below: WebSocket,
    private readonly above: WebSocket,
  ) {
    below.on('message', (data: Buffer, binary) => {
      if (proxy.script.mute === true) return;
      const message = proxy.note(decoded(data, binary));
      const send = (): void => {
        above.send(binary ? pack(message) : JSON.stringify(message));
      };
      if (proxy.script.late === true && message[0] === COMPLETE) this.late.push(send);
      else send();
    });
    above.on('message', (data: Buffer, binary) => {
      if (proxy.script.mute === true) return;
      const message = decoded(data, binary);
      proxy.answered(message);
      if (message[0] === PONG) below.send(data, { binary });
      else this.waiting.push({ data, binary });
      this.flush();
    });
    below.on('close', (code, reason) => passOn(above, code, reason));
    above.on('close', (code, reason) => {
      if (code === 1006) below.terminate();
      else passOn(below, code, reason);
    });
    for (const socket of [below, above]) socket.on('error', () => undefined);
  }

  flush(): void {
    const { hold, pace } = this.proxy.script;
    if (hold === true || this.timer !== undefined) return;
    while (this.waiting.length > 0) {
      const frame = this.waiting.shift();
      if (frame !== undefined) this.below.send(frame.data, { binary: frame.binary });
      if (pace !== undefined && pace > 0) {
        this.timer = setTimeout(() => {
          this.timer = undefined;
          this.flush();
        }, pace);
        return;
      }
    }
  }

  letGo(): void {
    for (const send of this.late.splice(0)) send();
  }

  cut(): void {
    this.below.terminate();
    this.above.terminate();
  }
}

function decoded(data: Buffer, binary: boolean): Message {
  return (binary ? unpack(data) : JSON.parse(data.toString())) as Message;
}

/** Pass a close frame on; 1005 and 1006 stand for none. */
function passOn(to: WebSocket, code: number, reason: Buffer): void {
  if (code === 1005 || code === 1006) to.close();
  else to.close(code, reason.toString());
}
