import { describe, expect, it } from 'vitest';
import { HOPS } from '../../src/core/index.js';
import type { HopName, Hops, Receipt } from '../../src/core/index.js';
import { barsOf, firstSeen, MEANING, milliseconds, partyOf, summaries, wholeOf } from '../../src/playground/recorder.js';
import type { Timed } from '../../src/playground/recorder.js';

const receipt: Receipt = {
  promptTokens: 0,
  warmedTokens: 0,
  cachedTokens: 0,
  computedTokens: 0,
  outputTokens: 0,
  thinkingTokens: 0,
  forwardPasses: 0,
  drafts: [],
  seed: null,
};

/** Each hop takes as many microseconds as its number. */
const hops = Object.fromEntries(HOPS.map((hop, index) => [hop, index + 1])) as Record<HopName, number> as Hops;

function timed(fields: Partial<Timed>): Timed {
  return { kind: 'completion', reason: 'stop', hops, receipt, first: undefined, visible: undefined, last: undefined, ...fields };
}

describe('a waterfall', () => {
  it('has a bar for each hop, each where the one before ends, and painting last', () => {
    const bars = barsOf(timed({ last: 110 }));
    expect(bars.map(({ name }) => name)).toEqual([...HOPS, 'editor.render']);
    for (const [index, bar] of bars.entries()) {
      expect(bar.start).toBe(bars.slice(0, index).reduce((sum, { duration }) => sum + duration, 0));
    }
    expect(bars.at(-1)).toEqual({ name: 'editor.render', start: 105, duration: 5 });
  });

  it('lasts until all of it was painted', () => {
    expect(wholeOf(timed({ last: 110 }))).toBe(110);
    expect(wholeOf(timed({ last: 50 }))).toBe(105);
    expect(barsOf(timed({ last: 50 })).at(-1)?.duration).toBe(0);
  });

  it('says of each hop whose it is, and what it is', () => {
    expect(new Set([...HOPS, 'editor.render' as const].map(partyOf))).toEqual(
      new Set(['client', 'network', 'gateway', 'ipc', 'engine']),
    );
    expect(partyOf('session.prompt')).toBe('gateway');
    expect(partyOf('editor.render')).toBe('client');
    expect(Object.keys(MEANING)).toEqual([...HOPS, 'editor.render']);
  });
});

describe('the session', () => {
  it('counts from the call to what was seen: painted, or else in hand', () => {
    expect(firstSeen(timed({ first: 10, visible: 30 }))).toBe(30);
    expect(firstSeen(timed({ first: 10 }))).toBe(10);
    expect(firstSeen(timed({}))).toBeUndefined();
  });

  it('is summed up by kind, and what brought nothing is left out', () => {
    const all = [
      ...Array.from({ length: 100 }, (_, index) => timed({ visible: 1000 * (index + 1) })),
      timed({}),
      timed({ kind: 'edit', first: 7 }),
    ];
    expect(summaries(all)).toEqual([
      { kind: 'completion', count: 100, p50: 50_000, p95: 95_000, p99: 99_000 },
      { kind: 'edit', count: 1, p50: 7, p95: 7, p99: 7 },
    ]);
    expect(summaries([])).toEqual([]);
  });

  it.each([
    [0, '0.00 ms'],
    [9_994, '9.99 ms'],
    [12_340, '12.3 ms'],
    [345_600, '346 ms'],
  ])('says %d microseconds as %s', (time, said) => {
    expect(milliseconds(time)).toBe(said);
  });
});
