/** Where the time of a request went, hop by hop, in microseconds. */

import type { Receipt, Timing } from './wire.js';

/** The hops in order: from the call to the result in hand. */
export const HOPS = [
  'client.queue',
  'net.up',
  'server.parse',
  'session.prompt',
  'ipc.in',
  'engine.queue',
  'engine.prefill',
  'engine.first_token',
  'engine.step',
  'ipc.out',
  'server.encode',
  'server.write',
  'net.down',
  'client.decode',
] as const;

export type HopName = (typeof HOPS)[number];
/** Each hop's duration; they sum to the end-to-end time. */
export type Hops = Readonly<Record<HopName, number>>;

/** What the client saw of a request, on its own clock. */
export interface Sightings {
  readonly called: number;
  /** When it was about to be written. */
  readonly sent: number;
  /** When its last frame was read from the socket. */
  readonly arrived: number;
  readonly finished: number;
}

/**
 * Join the server's hops with what the client saw. `offset` is the server's clock minus ours; the sum of `net.up` and
 * `net.down` does not depend on it.
 */
export function measureHops(server: Timing, offset: number, seen: Sightings): Hops {
  const network = seen.arrived - seen.sent - (server.sent - server.received);
  const up = Math.min(Math.max(Math.round(server.received - offset) - seen.sent, 0), Math.max(network, 0));
  return {
    'client.queue': seen.sent - seen.called,
    'net.up': up,
    'server.parse': server.serverParse,
    'session.prompt': server.sessionPrompt,
    'ipc.in': server.ipcIn,
    'engine.queue': server.engineQueue,
    'engine.prefill': server.enginePrefill,
    'engine.first_token': server.engineFirstToken,
    'engine.step': server.engineStep,
    'ipc.out': server.ipcOut,
    'server.encode': server.serverEncode,
    'server.write': server.serverWrite,
    'net.down': network - up,
    'client.decode': seen.finished - seen.arrived,
  };
}

export function endToEnd(hops: Hops): number {
  return HOPS.reduce((sum, hop) => sum + hops[hop], 0);
}

/** How much of the prompt did not have to be computed when it was asked for, from 0 to 1. */
export function warmShare(receipt: Receipt): number {
  return receipt.promptTokens === 0 ? 0 : (receipt.warmedTokens + receipt.cachedTokens) / receipt.promptTokens;
}

/** Draft tokens of all sources: how many were proposed, how many accepted. */
export function draftTotals(receipt: Receipt): { proposed: number; accepted: number } {
  return receipt.drafts.reduce(
    (sum, { proposed, accepted }) => ({ proposed: sum.proposed + proposed, accepted: sum.accepted + accepted }),
    { proposed: 0, accepted: 0 },
  );
}

/** Output tokens over the end-to-end time, time to first token included. */
export function tokensPerSecond(receipt: Receipt, hops: Hops): number {
  return (receipt.outputTokens * 1e6) / Math.max(endToEnd(hops), 1);
}

/** The value that so large a share (0 to 1) of the values doesn't exceed, by nearest rank; NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? NaN;
}

/** How many values fall in each of so many bins of equal width from the smallest to the largest. */
export function histogram(values: readonly number[], bins: number): { from: number; to: number; count: number }[] {
  if (values.length === 0 || bins < 1) {
    return [];
  }
  const least = values.reduce((one, other) => Math.min(one, other));
  const width = (values.reduce((one, other) => Math.max(one, other)) - least) / bins || 1;
  const result = Array.from({ length: bins }, (_, bin) => ({
    from: least + bin * width,
    to: least + (bin + 1) * width,
    count: 0,
  }));
  for (const value of values) {
    const bin = result[Math.min(Math.floor((value - least) / width), bins - 1)];
    if (bin !== undefined) {
      bin.count++;
    }
  }
  return result;
}
