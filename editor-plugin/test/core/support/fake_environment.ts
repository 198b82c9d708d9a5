import type { Environment } from '../../../src/core/environment.js';
import { silent } from '../../../src/core/events.js';
import type { Log } from '../../../src/core/events.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Clocks and timers that go on when a test says so. */
export class FakeEnvironment implements Environment {
  readonly lines: string[] = [];
  readonly log: Log = {
    ...silent,
    info: (line) => this.lines.push(line),
    warn: (line) => this.lines.push(line),
  };
  chance = 0.5;
  /** How far the wall clock is ahead of the monotonic one, in milliseconds: this machine has slept so long. */
  slept = 0;
  private time = 1_000; // milliseconds
  private readonly timers = new Map<number, Timer>();
  private last = 0;

  now(): number {
    return Math.round(this.time * 1000);
  }

  wallClock(): number {
    return this.time + this.slept;
  }

  setTimer(callback: () => void, milliseconds: number): number {
    this.timers.set(++this.last, { at: this.time + milliseconds, callback });
    return this.last;
  }

  clearTimer(timer: unknown): void {
    this.timers.delete(timer as number);
  }

  random(): number {
    return this.chance;
  }

  /** Let what was promised happen. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) {
      await Promise.resolve();
    }
  }

  /** Let time pass, and what is due happen when it is. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    await this.settle();
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
      if (due === undefined) {
        break;
      }
      this.timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].at);
      due[1].callback();
      await this.settle();
    }
    this.time = end;
    await this.settle();
  }
}
