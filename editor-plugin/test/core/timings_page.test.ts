import { describe, expect, it } from 'vitest';
import { HOPS, type Hops } from '../../src/core/hops.js';
import type { Receipt } from '../../src/core/wire.js';
import { type TimedRequest, timingsPage } from '../../src/vscode/timings_page.js';

const hops = Object.fromEntries(HOPS.map((hop, index) => [hop, 1000 * (index + 1)])) as Hops;
const receipt: Receipt = {
  promptTokens: 100,
  warmedTokens: 60,
  cachedTokens: 30,
  computedTokens: 10,
  outputTokens: 21,
  thinkingTokens: 0,
  forwardPasses: 5,
  drafts: [{ source: 'edit', proposed: 20, accepted: 15 }],
  seed: 1,
};
const request: TimedRequest = { kind: 'edit', label: 'a.py', reason: 'stop', hops, receipt, first: 50_000 };

describe('the page of timings', () => {
  it('says so when nothing was asked for', () => {
    expect(timingsPage([], 'n')).toContain('Nothing was asked for yet');
  });

  it('has a bar for each hop, one behind the other, that fill the width together', () => {
    const bars = [...timingsPage([request], 'n').matchAll(/<rect class="\w+" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)].map(
      ([, x, width]) => ({ x: Number(x), width: Number(width) }),
    );
    expect(bars).toHaveLength(HOPS.length);
    bars.slice(1).forEach(({ x }, index) => {
      expect(x).toBeCloseTo((bars[index]?.x ?? NaN) + (bars[index]?.width ?? NaN), 0);
    });
    expect((bars.at(-1)?.x ?? NaN) + (bars.at(-1)?.width ?? NaN)).toBeCloseTo(600, 0);
  });

  it('has what a request cost in words', () => {
    const page = timingsPage([request], 'n');
    expect(page).toContain('90 % of 100 prompt tokens');
    expect(page).toContain('15 of 20 (75 %)');
    expect(page).toContain('21 tokens, 200 a second');
    expect(page).toContain('105 ms');
  });

  it('has percentiles of the time to the first text', () => {
    const many = [10, 20, 30, 40].map((first) => ({ ...request, first: first * 1000 }));
    expect(timingsPage(many, 'n')).toMatch(/<th scope="row">edit<\/th><td>4<\/td><td>20\.0 ms<\/td><td>40\.0 ms<\/td>/);
  });

  it('runs nothing, whatever a file is called', () => {
    const page = timingsPage([{ ...request, label: '<script>alert(1)</script>' }], 'n');
    expect(page).not.toContain('<script');
    expect(page).toContain(`default-src 'none'; style-src 'nonce-n'`);
    expect(page).not.toContain('style="');
  });
});
