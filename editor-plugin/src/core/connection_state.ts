/**
 * The connection's states and what leads from one to the next, apart from sockets and timers: `step` says what a state
 * becomes at an event, and what has to be done for that.
 */

import type { Welcome } from './wire.js';

/** Why nobody tries again until something changes. */
export type Final = 'unauthorized' | 'forbidden' | 'taken' | 'incompatible' | 'closed';

export type ConnectionState =
  | { readonly name: 'idle' }
  /** A socket is opening. */
  | { readonly name: 'connecting'; readonly attempt: number }
  /** It is open, and `hello` was sent. */
  | { readonly name: 'greeting'; readonly attempt: number }
  | { readonly name: 'ready'; readonly welcome: Welcome }
  /** It was lost or did not come about; the next attempt comes in `delay` milliseconds. */
  | { readonly name: 'waiting'; readonly attempt: number; readonly delay: number; readonly why: string }
  | { readonly name: 'stopped'; readonly final: Final; readonly why: string };

export type ConnectionEvent =
  | { readonly type: 'start' }
  | { readonly type: 'opened' }
  | { readonly type: 'welcome'; readonly welcome: Welcome }
  | { readonly type: 'unauthorized'; readonly why: string }
  | { readonly type: 'closed'; readonly code: number; readonly reason: string }
  /** Something took too long. */
  | { readonly type: 'timeout'; readonly why: string }
  /** What came is not in the protocol. */
  | { readonly type: 'misbehaved'; readonly why: string }
  | { readonly type: 'retry' }
  | { readonly type: 'stop' };

export type Effect = 'connect' | 'greet' | 'drop' | 'wait';

export interface Step {
  readonly state: ConnectionState;
  readonly effects: readonly Effect[];
}

export const FIRST_DELAY = 500;
export const LARGEST_DELAY = 10_000;

export const CloseCode = {
  unsupportedData: 1003,
  restart: 1012,
  tryLater: 1013,
  unauthorized: 4401,
  forbidden: 4403,
  helloTimeout: 4408,
  taken: 4409,
} as const;

/** `random` is from 0 up to 1, for the delay before the next attempt. */
export function step(state: ConnectionState, event: ConnectionEvent, random: () => number): Step {
  switch (event.type) {
    case 'start':
      return connects(state) ? same(state) : { state: { name: 'connecting', attempt: 0 }, effects: ['drop', 'connect'] };
    case 'stop':
      return { state: { name: 'stopped', final: 'closed', why: 'the connection was closed here' }, effects: ['drop'] };
    case 'retry':
      return state.name === 'waiting'
        ? { state: { name: 'connecting', attempt: state.attempt }, effects: ['connect'] }
        : same(state);
    case 'opened':
      return state.name === 'connecting'
        ? { state: { name: 'greeting', attempt: state.attempt }, effects: ['greet'] }
        : same(state);
    case 'welcome':
      return state.name === 'greeting'
        ? { state: { name: 'ready', welcome: event.welcome }, effects: [] }
        : misbehaved(state, 'the server said welcome twice');
    case 'unauthorized':
      return stopped('unauthorized', event.why);
    case 'misbehaved':
      return misbehaved(state, event.why);
    case 'timeout':
      return connects(state) ? lost(state, event.why, random) : same(state);
    case 'closed':
      return connects(state) ? closed(state, event.code, event.reason, random) : same(state);
  }
}

function connects(state: ConnectionState): boolean {
  return state.name === 'connecting' || state.name === 'greeting' || state.name === 'ready';
}

function same(state: ConnectionState): Step {
  return { state, effects: [] };
}

function stopped(final: Final, why: string): Step {
  return { state: { name: 'stopped', final, why }, effects: ['drop'] };
}

/** A server that was ready and then speaks another language will do so again, at once, if one connects anew. */
function misbehaved(state: ConnectionState, why: string): Step {
  return connects(state) ? stopped('incompatible', why) : same(state);
}

function closed(state: ConnectionState, code: number, reason: string, random: () => number): Step {
  const said = reason === '' ? '' : ` (${reason})`;
  switch (code) {
    case CloseCode.unauthorized:
      return stopped('unauthorized', `the server wants an API key, or another one${said}`);
    case CloseCode.forbidden:
      return stopped('forbidden', `the server does not let this client in${said}`);
    case CloseCode.taken:
      return stopped('taken', `another connection took over this session${said}`);
    case CloseCode.unsupportedData:
      return stopped('incompatible', `the server could not read what was sent${said}`);
    case CloseCode.restart:
      return lost(state, `the server restarts${said}`, random);
    case CloseCode.tryLater:
      return lost(state, `the server is full, or this client read too slowly${said}`, random);
    case CloseCode.helloTimeout:
      return lost(state, `the server got no hello in time${said}`, random);
    default:
      // A browser doesn't say why a socket did not open; Node's sockets do.
      if (state.name === 'connecting' && refusedWith(401, reason)) {
        return stopped('unauthorized', 'the server wants an API key, or another one');
      }
      if (state.name === 'connecting' && refusedWith(403, reason)) {
        return stopped('forbidden', `the server does not let this page or host in${said}`);
      }
      return lost(state, state.name === 'connecting' ? `no server answered${said}` : `the connection broke${said}`, random);
  }
}

/** "Unexpected server response: 401", say, but not the port of an address. */
function refusedWith(status: number, reason: string): boolean {
  return new RegExp(`(?:response|status|HTTP)[ :a-z]*${status}\\b`, 'i').test(reason);
}

/** Try again, after a delay drawn from the whole of a window that doubles: clients that lost one server spread out. */
function lost(state: ConnectionState, why: string, random: () => number): Step {
  const attempt = 'attempt' in state ? state.attempt + 1 : 1;
  const window = Math.min(FIRST_DELAY * 2 ** (attempt - 1), LARGEST_DELAY);
  return { state: { name: 'waiting', attempt, delay: Math.round(random() * window), why }, effects: ['drop', 'wait'] };
}
