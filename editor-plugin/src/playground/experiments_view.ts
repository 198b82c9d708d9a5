import { draftTotals } from '../core/index.js';
import { el, svg } from './dom.js';
import { median } from './experiments.js';
import type { Lane, Race, WarmAndCold, WithAndWithout } from './experiments.js';
import { firstSeen, milliseconds, wholeOf } from './recorder.js';
import type { Timed } from './recorder.js';
import { comparedWaterfall } from './timings_view.js';
import { raceVerdict } from './verdict.js';

export function warmColdResult({ cold, warm }: WarmAndCold): HTMLElement {
  const scale = Math.max(wholeOf(cold), wholeOf(warm));
  const [slow, fast] = [firstSeen(cold) ?? wholeOf(cold), firstSeen(warm) ?? wholeOf(warm)];
  return el(
    'div',
    {},
    el('p', { class: 'verdict' }, `Warm, the first text came ${(slow / Math.max(fast, 1)).toFixed(1)} times as fast.`),
    comparedWaterfall('Cold', cold, scale, tokens(cold)),
    comparedWaterfall('Warm', warm, scale, tokens(warm)),
  );
}

function tokens({ receipt }: Timed): string {
  const { promptTokens, warmedTokens, cachedTokens, computedTokens } = receipt;
  return `${promptTokens} prompt tokens: ${warmedTokens} warmed, ${cachedTokens} cached, ${computedTokens} computed when asked`;
}

export function withoutResult(result: WithAndWithout): HTMLElement {
  const rows: [string, Timed][] = [
    ['on', result.with],
    ['off', result.without],
  ];
  const head = ['', 'passes', 'tokens', 'decoding', 'drafts'].map((name) => el('th', { scope: 'col' }, name));
  const body = rows.map(([name, timed]) => {
    const drafts = draftTotals(timed.receipt);
    const cells = [
      String(timed.receipt.forwardPasses),
      String(timed.receipt.outputTokens),
      milliseconds(decoding(timed)),
      drafts.proposed === 0 ? '–' : `${drafts.accepted} of ${drafts.proposed}`,
    ];
    return el('tr', {}, el('th', { scope: 'row' }, name), ...cells.map((cell) => el('td', {}, cell)));
  });
  const times = decoding(result.without) / Math.max(decoding(result.with), 1);
  const verdict = result.identical
    ? `Identical, character for character: ${result.text.length} of ${result.text.length}. Decoding was ${times.toFixed(1)} times as fast with drafts.`
    : 'The texts differ: this backend does not keep the promise. Please report it.';
  return el(
    'div',
    {},
    el('p', { class: `verdict ${result.identical ? 'good' : 'bad'}` }, verdict),
    el('table', { class: 'summary' }, el('caption', {}, `“${result.instruction}”`), el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...body)),
  );
}

/** Without the prompt, which the second of two finds in the cache. */
function decoding({ hops }: Timed): number {
  return hops['engine.first_token'] + hops['engine.step'];
}

export function raceResult(race: Race): HTMLElement {
  const most = Math.max(...race.socket.last, ...race.http.last);
  return el(
    'div',
    {},
    el('p', { class: 'verdict' }, raceVerdict(race)),
    laneView('WebSocket', race.socket, most),
    laneView('HTTP and SSE', race.http, most),
    el(
      'p',
      { class: 'note' },
      `${race.socket.first.length} rounds of ${race.tokens} tokens; medians. `,
      race.same ? 'Both had the same text each time.' : 'The texts differ where the two are shown different parts of the file.',
      ' The model’s own time is in both.',
    ),
  );
}

function laneView(title: string, lane: Lane, most: number): HTMLElement {
  const at = (value: number): number => 3 + (194 * value) / most;
  const dots = [
    ...lane.last.map((value) => svg('circle', { class: 'last', cx: at(value), cy: 8, r: 2.6 })),
    ...lane.first.map((value) => svg('circle', { class: 'first', cx: at(value), cy: 8, r: 2.6 })),
  ];
  const middle = median(lane.first);
  const label = `${title}: first text after ${inMs(middle)}, the last after ${inMs(median(lane.last))}`;
  return el(
    'section',
    { class: 'compared' },
    el('h4', {}, title, ' ', el('span', { class: 'figure' }, inMs(middle), ' to the first, ', inMs(median(lane.last)), ' to the last')),
    svg('svg', { class: 'dots', viewBox: '0 0 200 16', role: 'img', 'aria-label': label }, svg('line', { x1: 0, x2: 200, y1: 8, y2: 8 }), ...dots),
    el('p', { class: 'note' }, `${lane.bytes} bytes sent for a key`),
  );
}

function inMs(value: number): string {
  return milliseconds(value * 1000);
}
