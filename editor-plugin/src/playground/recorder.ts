import { endToEnd, HOPS, percentile } from '../core/index.js';
import type { HopName, Hops, Receipt, Reason } from '../core/index.js';

/** A request that ended well. Times in microseconds, from the call. */
export interface Timed {
  readonly kind: 'completion' | 'edit';
  readonly reason: Reason;
  readonly hops: Hops;
  readonly receipt: Receipt;
  /** When the first of its text was in hand. */
  readonly first: number | undefined;
  /** When the first of it was painted. */
  readonly visible: number | undefined;
  /** When the last of it was painted. */
  readonly last: number | undefined;
}

/** The hops that the core knows, and painting, which only a page sees. */
export type BarName = HopName | 'editor.render';

export interface Bar {
  readonly name: BarName;
  readonly start: number;
  readonly duration: number;
}

/** Who spends a hop's time. */
export type Party = 'client' | 'network' | 'gateway' | 'ipc' | 'engine';

export const MEANING: Readonly<Record<BarName, string>> = {
  'client.queue': 'before it was sent',
  'net.up': 'to the server',
  'server.parse': 'reading the message',
  'session.prompt': 'document to tokens',
  'ipc.in': 'to the engine',
  'engine.queue': 'waiting for a turn',
  'engine.prefill': 'computing the prompt',
  'engine.first_token': 'the first token',
  'engine.step': 'the other tokens',
  'ipc.out': 'from the engine',
  'server.encode': 'making the messages',
  'server.write': 'writing them',
  'net.down': 'back from the server',
  'client.decode': 'after it came',
  'editor.render': 'painting it',
};

export function partyOf(name: BarName): Party {
  switch (name.split('.')[0]) {
    case 'net':
      return 'network';
    case 'server':
    case 'session':
      return 'gateway';
    case 'ipc':
      return 'ipc';
    case 'engine':
      return 'engine';
    default:
      return 'client';
  }
}

/** One bar for each hop, each where the one before ends. The last is what painting took after all had come. */
export function barsOf({ hops, last }: Pick<Timed, 'hops' | 'last'>): Bar[] {
  let at = 0;
  const bars: Bar[] = HOPS.map((name) => {
    const bar = { name, start: at, duration: hops[name] };
    at += hops[name];
    return bar;
  });
  return [...bars, { name: 'editor.render', start: at, duration: Math.max((last ?? at) - at, 0) }];
}

/** How long all of it took. */
export function wholeOf(timed: Pick<Timed, 'hops' | 'last'>): number {
  return Math.max(endToEnd(timed.hops), timed.last ?? 0);
}

/** When the first of it was there for whoever looks: painted, or where that was not seen, in hand. */
export function firstSeen({ visible, first }: Pick<Timed, 'visible' | 'first'>): number | undefined {
  return visible ?? first;
}

export interface Summary {
  readonly kind: Timed['kind'];
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Time until the first of it was seen, by kind; kinds without any are left out. */
export function summaries(all: readonly Timed[]): Summary[] {
  return (['completion', 'edit'] as const).flatMap((kind) => {
    const times = seenTimes(all, kind);
    return times.length === 0
      ? []
      : [{ kind, count: times.length, p50: percentile(times, 0.5), p95: percentile(times, 0.95), p99: percentile(times, 0.99) }];
  });
}

export function seenTimes(all: readonly Timed[], kind: Timed['kind']): number[] {
  return all.filter((timed) => timed.kind === kind).flatMap((timed) => firstSeen(timed) ?? []);
}

export function milliseconds(microseconds: number): string {
  const value = microseconds / 1000;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}
