import { decodeServer, encodeClient } from './codec.js';
import { ClockFilter } from './clock.js';
import type { ClockSample } from './clock.js';
import { step } from './connection_state.js';
import type { ConnectionEvent, ConnectionState, Effect } from './connection_state.js';
import type { Environment } from './environment.js';
import { disconnected } from './errors.js';
import { Emitter } from './events.js';
import type { Disposable } from './events.js';
import { WireError } from './schema.js';
import type { Connect, Transport } from './transport.js';
import { MSGPACK } from './wire.js';
import type { ClientMessage, ServerMessage, Subprotocol } from './wire.js';

export interface ConnectionOptions {
  readonly url: string;
  readonly token?: string | undefined;
  readonly subprotocol?: Subprotocol | undefined;
  /** What to call this program in the server's log. */
  readonly client?: string | undefined;
  /**
   * Where the token travels: in `hello` (the default: a browser, too, then hears that it is wrong), or as a second
   * subprotocol, for servers behind something that looks at the upgrade.
   */
  readonly credential?: 'hello' | 'subprotocol' | undefined;
}

/** A message, and when it was read from the socket on our clock. */
export interface Arrival {
  readonly message: ServerMessage;
  readonly at: number;
}

const OPEN_TIMEOUT = 10_000;
const KEEP_ALIVE = 10_000;
const PONG_TIMEOUT = 10_000;
/** After sleep, or when an editor's window comes back, a dead socket is found out sooner. */
const CHECK_TIMEOUT = 2_000;

interface Probe {
  readonly sent: number;
  readonly answered: (sample: ClockSample | undefined) => void;
}

/** One connection to a server, made again whenever it is lost. */
export class Connection implements Disposable {
  readonly clock = new ClockFilter();
  private readonly states = new Emitter<ConnectionState>();
  private readonly arrivals = new Emitter<Arrival>();
  readonly onState = this.states.event;
  readonly onMessage = this.arrivals.event;

  private current: ConnectionState = { name: 'idle' };
  private transport: Transport | undefined;
  private readonly timers = new Map<'open' | 'retry' | 'keepAlive' | 'pong', unknown>();
  private probes: Probe[] = [];
  private lastPing = 0;
  private lastArrival = 0;
  private lastTick = 0;
  private unknownTags = false;

  constructor(
    private options: ConnectionOptions,
    private readonly connectSocket: Connect,
    private readonly environment: Environment,
  ) {}

  get state(): ConnectionState {
    return this.current;
  }

  get url(): string {
    return this.options.url;
  }

  get unsent(): number {
    return this.transport?.unsent ?? 0;
  }

  /** Connect, or connect again at once if one waits or had given up. */
  start(): void {
    this.take({ type: 'start' });
  }

  /** End the connection; `start` begins anew. */
  stop(): void {
    this.take({ type: 'stop' });
  }

  /** Go on with another URL or key, at once. */
  configure(options: ConnectionOptions): void {
    this.options = options;
    if (this.current.name !== 'idle') {
      this.stop();
      this.start();
    }
  }

  /** Find out soon whether the connection still lives: the window came back, the network changed. */
  check(): void {
    if (this.current.name === 'ready') {
      this.ping(CHECK_TIMEOUT);
    } else if (this.current.name === 'waiting') {
      this.start();
    }
  }

  dispose(): void {
    this.stop();
    this.states.dispose();
    this.arrivals.dispose();
  }

  /** Send a message; returns the clock's reading just before it was written. Throws if there is nobody to tell. */
  send(message: ClientMessage): number {
    if (this.current.name !== 'ready' || this.transport === undefined) {
      throw disconnected(`there is no connection to ${this.options.url}`);
    }
    const frame = encodeClient(message, this.subprotocol);
    const written = this.environment.now();
    this.transport.send(frame);
    return written;
  }

  /**
   * Ask for the server's clock. When it has answered, it has read all that was sent before, and what it said to that
   * has arrived. `answered` gets nothing if the connection ends before.
   */
  probe(answered: (sample: ClockSample | undefined) => void = () => undefined): void {
    this.lastPing = Math.max(this.lastPing + 1, this.environment.now());
    const probe = { sent: this.lastPing, answered };
    this.probes.push(probe);
    try {
      this.send({ type: 'ping', sent: this.lastPing });
    } catch (error) {
      this.probes = this.probes.filter((other) => other !== probe);
      throw error;
    }
  }

  private get subprotocol(): Subprotocol {
    return this.options.subprotocol ?? MSGPACK;
  }

  private take(event: ConnectionEvent): void {
    const before = this.current;
    const { state, effects } = step(before, event, () => this.environment.random());
    this.current = state;
    for (const effect of effects) {
      this.run(effect);
    }
    if (state !== before && this.current === state) {
      this.log(state);
      this.states.fire(state);
      if (state.name === 'ready' && this.current === state) {
        this.keepAlive();
      }
    }
  }

  private run(effect: Effect): void {
    switch (effect) {
      case 'connect':
        this.connect();
        break;
      case 'greet':
        this.greet();
        break;
      case 'drop':
        this.drop();
        break;
      case 'wait':
        if (this.current.name === 'waiting') {
          this.timer('retry', this.current.delay, () => this.take({ type: 'retry' }));
        }
        break;
    }
  }

  private connect(): void {
    const { url, token, credential } = this.options;
    this.clock.clear();
    this.timer('open', OPEN_TIMEOUT, () => this.take({ type: 'timeout', why: `${url} did not answer in time` }));
    let own: Transport | undefined;
    let early: ConnectionEvent | undefined;
    const ifOwn = (event: ConnectionEvent): void => {
      if (own === undefined) {
        early = event; // a fake may answer before it returns
      } else if (own === this.transport) {
        this.take(event);
      }
    };
    try {
      own = this.connectSocket(
        { url, subprotocol: this.subprotocol, token: credential === 'subprotocol' ? token : undefined },
        {
          opened: () => ifOwn({ type: 'opened' }),
          received: (frame) => own === this.transport && this.receive(frame),
          closed: (code, reason) => ifOwn({ type: 'closed', code, reason }),
        },
      );
    } catch (error) {
      const why = `${url} can't be connected to: ${error instanceof Error ? error.message : String(error)}`;
      this.later({ type: 'misbehaved', why });
      return;
    }
    this.transport = own;
    if (early !== undefined) {
      this.later(early);
    }
  }

  /** An event that came while another is taken. */
  private later(event: ConnectionEvent): void {
    void Promise.resolve().then(() => this.take(event));
  }

  private greet(): void {
    const { token, client, credential } = this.options;
    const inHello = credential === 'subprotocol' ? null : (token ?? null);
    this.transport?.send(
      encodeClient({ type: 'hello', token: inHello || null, client: client ?? 'warmline-editor' }, this.subprotocol),
    );
  }

  private receive(frame: string | ArrayBuffer): void {
    const at = (this.lastArrival = this.environment.now());
    let message: ServerMessage | undefined;
    try {
      message = decodeServer(frame, this.subprotocol);
    } catch (error) {
      if (!(error instanceof WireError)) {
        throw error;
      }
      this.take({ type: 'misbehaved', why: `what answers at ${this.options.url} does not speak Warmline: ${error.message}` });
      return;
    }
    if (message === undefined) {
      if (!this.unknownTags) {
        this.environment.log.info('the server sends messages that this version does not know; they are ignored');
      }
      this.unknownTags = true;
      return;
    }
    if (message.type === 'welcome') {
      this.take({ type: 'welcome', welcome: message });
    } else if (message.type === 'error' && message.code === 'unauthorized' && message.request === null) {
      this.take({ type: 'unauthorized', why: message.message });
    } else if (this.current.name !== 'ready') {
      const what = message.type === 'error' ? message.message : `it said ${message.type} before welcome`;
      this.take({ type: 'misbehaved', why: `${this.options.url}: ${what}` });
    } else if (message.type === 'pong') {
      this.pong(message.sent, message.received, message.replied, at);
    } else {
      this.arrivals.fire({ message, at });
    }
  }

  /** Something in what came makes no sense; the connection is given up. */
  misbehaved(why: string): void {
    this.take({ type: 'misbehaved', why });
  }

  private pong(sent: number, received: number, replied: number, at: number): void {
    const [probe] = this.probes;
    if (probe?.sent !== sent) {
      this.misbehaved('the server answered a ping that was not sent');
      return;
    }
    this.probes.shift();
    this.timer('pong');
    probe.answered(this.clock.add(sent, received, replied, at));
  }

  private drop(): void {
    const { transport, probes } = this;
    this.transport = undefined;
    this.probes = [];
    for (const name of [...this.timers.keys()]) {
      this.timer(name);
    }
    transport?.close();
    for (const probe of probes) {
      probe.answered(undefined);
    }
  }

  /** Look now and then whether the server still answers, and whether this machine has slept. */
  private keepAlive(): void {
    this.timer('open');
    this.probe();
    this.lastTick = this.environment.wallClock();
    const tick = (): void => {
      const now = this.environment.wallClock();
      const slept = now - this.lastTick > 2.5 * KEEP_ALIVE;
      this.lastTick = now;
      this.timer('keepAlive', KEEP_ALIVE, tick);
      if (slept) {
        this.environment.log.info('this machine has slept; looking whether the connection has survived');
        this.ping(CHECK_TIMEOUT);
      } else if (!this.timers.has('pong') && this.environment.now() - this.lastArrival >= 1000 * (KEEP_ALIVE - 1)) {
        this.ping(PONG_TIMEOUT);
      }
    };
    this.timer('keepAlive', KEEP_ALIVE, tick);
  }

  private ping(timeout: number): void {
    this.timer('pong', timeout, () => this.take({ type: 'timeout', why: 'the server does not answer any more' }));
    this.probe();
  }

  private timer(name: 'open' | 'retry' | 'keepAlive' | 'pong', delay?: number, then?: () => void): void {
    this.environment.clearTimer(this.timers.get(name));
    this.timers.delete(name);
    if (delay !== undefined && then !== undefined) {
      this.timers.set(name, this.environment.setTimer(then, delay));
    }
  }

  private log(state: ConnectionState): void {
    const { log } = this.environment;
    switch (state.name) {
      case 'ready':
        log.info(`connected to ${this.options.url}: ${state.welcome.server} with ${state.welcome.model}`);
        break;
      case 'waiting':
        log.info(`${this.options.url}: ${state.why}; next attempt in ${state.delay} ms`);
        break;
      case 'stopped':
        log.warn(`${this.options.url}: ${state.why}`);
        break;
      default:
        log.debug(`${this.options.url}: ${state.name}`);
    }
  }
}
