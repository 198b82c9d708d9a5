import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockFilter } from '../../src/core/clock.js';
import { draftTotals, endToEnd, histogram, measureHops, percentile, tokensPerSecond, warmShare } from '../../src/core/hops.js';
import { WhyLog } from '../../src/core/why.js';
import type { Receipt, Timing } from '../../src/core/wire.js';

const receipt: Receipt = {
  promptTokens: 100,
  warmedTokens: 60,
  cachedTokens: 20,
  computedTokens: 20,
  outputTokens: 30,
  thinkingTokens: 0,
  forwardPasses: 9,
  drafts: [
    { source: 'copy', proposed: 20, accepted: 15 },
    { source: 'ngram', proposed: 5, accepted: 1 },
  ],
  seed: null,
};

function timing(received: number, parts: number[]): Timing {
  const [serverParse, sessionPrompt, ipcIn, engineQueue, enginePrefill, engineFirstToken, engineStep, ipcOut, serverEncode, serverWrite] =
    parts as [number, number, number, number, number, number, number, number, number, number];
  return {
    received,
    firstSent: received,
    sent: received + parts.reduce((sum, part) => sum + part, 0),
    serverParse,
    sessionPrompt,
    ipcIn,
    engineQueue,
    enginePrefill,
    engineFirstToken,
    engineStep,
    ipcOut,
    serverEncode,
    serverWrite,
  };
}

describe('the time of a request', () => {
  it('is the sum of its hops, whatever the clocks say', () => {
    const parts = fc.array(fc.nat(1000), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(parts, fc.nat(5000), fc.nat(5000), fc.integer({ min: -5000, max: 5000 }), (server, up, down, error) => {
        const offset = 1_000_000;
        const own = server.reduce((sum, part) => sum + part, 0);
        const seen = { called: 100, sent: 150, arrived: 150 + up + own + down, finished: 150 + up + own + down + 7 };
        const hops = measureHops(timing(150 + up + offset, server), offset + error, seen);
        expect(endToEnd(hops)).toBe(seen.finished - seen.called);
        expect(hops['net.up'] + hops['net.down']).toBe(up + down);
        expect(hops['net.up']).toBeGreaterThanOrEqual(0);
        if (error === 0) {
          expect(hops['net.up']).toBe(up);
        }
      }),
    );
  });

  it('trusts the exchange that took the shortest, until that is old', () => {
    const clock = new ClockFilter();
    expect(clock.best(0)).toBeUndefined();
    clock.add(0, 1050, 1060, 110); // 50 each way
    clock.add(1000, 2500, 2510, 1520); // slow, and off by far
    expect(clock.best(2000)).toEqual({ offset: 1000, delay: 100, at: 110 });
    clock.add(9e9, 9e9 + 1100, 9e9 + 1100, 9e9 + 200);
    expect(clock.best(9e9)?.delay).toBe(200);
    clock.clear();
    expect(clock.best(0)).toBeUndefined();
  });

  it('keeps the newest eight exchanges', () => {
    const clock = new ClockFilter();
    clock.add(0, 0, 0, 0);
    for (let exchange = 0; exchange < 8; exchange++) {
      clock.add(10, 510, 510, 1010);
    }
    expect(clock.best(1010)?.delay).toBe(1000);
  });
});

describe('what a request cost', () => {
  it('is told by its receipt', () => {
    expect(warmShare(receipt)).toBe(0.8);
    expect(warmShare({ ...receipt, promptTokens: 0 })).toBe(0);
    expect(draftTotals(receipt)).toEqual({ proposed: 25, accepted: 16 });
    const hops = measureHops(timing(0, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), 0, { called: 0, sent: 0, arrived: 10, finished: 100_000 });
    expect(tokensPerSecond(receipt, hops)).toBeCloseTo(300);
  });
});

describe('many requests', () => {
  it('are told by nearest rank', () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.5, 0.95, 1].map((share) => percentile(values, share))).toEqual([1, 3, 5, 5]);
    expect(percentile([], 0.5)).toBeNaN();
    expect(values).toEqual([5, 1, 4, 2, 3]);
  });

  it('all fall into a bin', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { minLength: 1 }), fc.integer({ min: 1, max: 20 }), (values, bins) => {
        const found = histogram(values, bins);
        expect(found).toHaveLength(bins);
        expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
      }),
    );
    expect(histogram([], 3)).toEqual([]);
    expect(histogram([2, 2], 2).map(({ count }) => count)).toEqual([2, 0]);
  });
});

describe('why nothing appeared', () => {
  it('is kept for the last fifty times, newest first, by document', () => {
    let now = 0;
    const log = new WhyLog(() => ++now);
    for (let time = 0; time < 60; time++) {
      log.record(`file:///${time % 2}`, time === 59 ? 'failed' : 'empty', time === 59 ? 'It says so.' : '');
    }
    expect(log.all).toHaveLength(50);
    expect(log.last()).toMatchObject({ code: 'failed', message: 'The request failed. It says so.', at: 60 });
    expect(log.last('file:///0')).toMatchObject({ code: 'empty', at: 59 });
    expect(log.last('file:///2')).toBeUndefined();
  });
});
