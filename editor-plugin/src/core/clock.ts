/** How far the server's clock is from ours, from four timestamps (RFC 5905, section 8), in microseconds. */

const SAMPLES = 8;
/** How fast two clocks may part, as RFC 5905 assumes. */
const DRIFT = 15e-6;

/** One exchange: the server's clock minus ours, and the round trip without the server's share. */
export interface ClockSample {
  readonly offset: number;
  readonly delay: number;
  readonly at: number;
}

/** Keeps the newest samples and trusts the one with the smallest error bound. */
export class ClockFilter {
  private samples: ClockSample[] = [];

  /** Take an exchange: `sent` and `arrived` on our clock, `received` and `replied` on the server's. */
  add(sent: number, received: number, replied: number, arrived: number): ClockSample {
    const sample = {
      offset: (received - sent + (replied - arrived)) / 2,
      delay: Math.max(arrived - sent - (replied - received), 0),
      at: arrived,
    };
    this.samples = [...this.samples.slice(1 - SAMPLES), sample];
    return sample;
  }

  /** The sample that says most of the server's clock at a time of ours; undefined before the first. */
  best(at: number): ClockSample | undefined {
    const bound = (sample: ClockSample): number => sample.delay / 2 + DRIFT * (at - sample.at);
    return this.samples.reduce<ClockSample | undefined>(
      (best, sample) => (best === undefined || bound(sample) < bound(best) ? sample : best),
      undefined,
    );
  }

  /** Another server, another clock. */
  clear(): void {
    this.samples = [];
  }
}
