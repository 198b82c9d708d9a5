import { silent } from './events.js';
import type { Log } from './events.js';

/** Clocks, timers and chance, so that tests can have their own. */
export interface Environment {
  /** A monotonic clock, in whole microseconds. */
  now(): number;
  /** The wall clock in milliseconds: it goes on while the machine sleeps. */
  wallClock(): number;
  setTimer(callback: () => void, milliseconds: number): unknown;
  clearTimer(timer: unknown): void;
  /** From 0 up to 1. */
  random(): number;
  readonly log: Log;
}

export function systemEnvironment(log: Log = silent): Environment {
  return {
    now: () => Math.round(performance.now() * 1000),
    wallClock: () => Date.now(),
    setTimer: (callback, milliseconds) => setTimeout(callback, milliseconds),
    clearTimer: (timer) => clearTimeout(timer as number),
    random: () => Math.random(),
    log,
  };
}
