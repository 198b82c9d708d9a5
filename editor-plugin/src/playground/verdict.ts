/** The race in a sentence: its first text and its last token, also where that does not flatter. */
import { percentile } from '../core/index.js';
import { median } from './experiments.js';
import type { Race } from './experiments.js';
import { milliseconds } from './recorder.js';

/** What a median says against another; undefined if they are nearer than the rounds of either are to each other. */
function difference(socket: readonly number[], http: readonly number[]): string | undefined {
  const by = median(http) - median(socket);
  if (Math.abs(by) <= Math.max(spread(socket), spread(http))) {
    return undefined;
  }
  const share = Math.round((100 * Math.abs(by)) / median(http));
  return `${milliseconds(Math.abs(by) * 1000)} ${by > 0 ? 'sooner' : 'later'} (${share} %)`;
}

/** Between the quartiles: what half of the rounds lie in. */
function spread(values: readonly number[]): number {
  return percentile(values, 0.75) - percentile(values, 0.25);
}

export function raceVerdict({ socket, http }: Race): string {
  const first = difference(socket.first, http.first);
  const last = difference(socket.last, http.last);
  if (first === undefined && last === undefined) {
    return 'First text and last token came as soon over either, within the spread of the rounds.';
  }
  const within = 'as soon over either, within the spread';
  return `Over the WebSocket the first text came ${first ?? within}; the last token, ${last ?? within}.`;
}
