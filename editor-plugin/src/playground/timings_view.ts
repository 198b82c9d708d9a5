/** The waterfall of one request, and what all of the session say together. */
import { draftTotals, histogram, tokensPerSecond, warmShare } from '../core/index.js';
import { el, svg } from './dom.js';
import { barsOf, firstSeen, MEANING, milliseconds, partyOf, seenTimes, summaries, wholeOf } from './recorder.js';
import type { Party, Timed } from './recorder.js';

const PARTIES: readonly (readonly [Party, string])[] = [
  ['client', 'this page'],
  ['network', 'network'],
  ['gateway', 'gateway'],
  ['ipc', 'to and from the engine'],
  ['engine', 'engine'],
];
const BINS = 16;

export function waterfall(timed: Timed | undefined): HTMLElement {
  if (timed === undefined) {
    return el('p', { class: 'empty' }, 'Type in the editor, or ask for an edit: the hops of each request appear here.');
  }
  return el('div', { class: 'waterfall' }, heading(timed), facts(timed), chart(timed), legend());
}

/** A smaller one, to stand beside another on the same scale. */
export function comparedWaterfall(title: string, timed: Timed, scale: number, note: string): HTMLElement {
  return el(
    'section',
    { class: 'compared' },
    el('h4', {}, title, ' ', el('span', { class: 'figure' }, milliseconds(firstSeen(timed) ?? wholeOf(timed)), ' to the first text')),
    track(timed, scale),
    el('p', { class: 'note' }, note),
  );
}

export function sessionSummary(all: readonly Timed[]): HTMLElement {
  const rows = summaries(all);
  if (rows.length === 0) {
    return el('p', { class: 'empty' }, 'No request yet.');
  }
  const head = ['', 'count', 'p50', 'p95', 'p99'].map((name) => el('th', { scope: 'col' }, name));
  const body = rows.map((row) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, `${row.kind}s`),
      el('td', {}, String(row.count)),
      ...[row.p50, row.p95, row.p99].map((value) => el('td', {}, milliseconds(value))),
    ),
  );
  return el(
    'div',
    {},
    el(
      'table',
      { class: 'summary' },
      el('caption', {}, 'Time until the first of it was seen'),
      el('thead', {}, el('tr', {}, ...head)),
      el('tbody', {}, ...body),
    ),
    ...rows.filter(({ count }) => count > 1).map(({ kind }) => distribution(kind, seenTimes(all, kind))),
  );
}

function heading(timed: Timed): HTMLElement {
  return el(
    'p',
    { class: 'last' },
    `The last ${timed.kind}: `,
    el('strong', {}, milliseconds(wholeOf(timed))),
    timed.reason === 'stop' ? '' : ` (${timed.reason})`,
  );
}

function facts(timed: Timed): HTMLElement {
  const { receipt, hops } = timed;
  const drafts = draftTotals(receipt);
  const seen = firstSeen(timed);
  const pairs: [string, string][] = [
    ['first visible', seen === undefined ? '–' : milliseconds(seen)],
    ['warm', `${Math.round(100 * warmShare(receipt))} % of ${receipt.promptTokens}`],
    ['drafts accepted', drafts.proposed === 0 ? 'none made' : `${drafts.accepted} of ${drafts.proposed}`],
    ['output', `${receipt.outputTokens} tokens`],
    ['speed', `${tokensPerSecond(receipt, hops).toFixed(0)} tok/s`],
  ];
  return el('dl', { class: 'facts' }, ...pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function chart(timed: Timed): HTMLElement {
  const whole = Math.max(wholeOf(timed), 1);
  const rows = barsOf(timed).map(({ name, start, duration }) => {
    const bar = el('span', { class: `hop ${partyOf(name)}` });
    bar.style.setProperty('--start', `${(100 * start) / whole}%`);
    bar.style.setProperty('--size', `${(100 * duration) / whole}%`);
    return el(
      'tr',
      {},
      el('th', { scope: 'row', title: MEANING[name] }, name),
      el('td', { class: 'lane' }, bar),
      el('td', { class: 'time' }, milliseconds(duration)),
    );
  });
  const marks = el('div', { class: 'marks', 'aria-hidden': 'true' });
  const seen = firstSeen(timed);
  if (seen !== undefined) {
    marks.append(mark('first visible', seen / whole, 'first'));
  }
  marks.append(mark('last', 1, 'last'));
  return el(
    'div',
    { class: 'chart' },
    marks,
    el('table', {}, el('caption', { class: 'visually-hidden' }, 'The time of the request by hop'), el('tbody', {}, ...rows)),
  );
}

function mark(name: string, place: number, kind: string): HTMLElement {
  const element = el('span', { class: `mark ${kind}${kind === 'first' && place > 0.6 ? ' left' : ''}` }, el('span', {}, name));
  element.style.setProperty('--start', `${100 * Math.min(place, 1)}%`);
  return element;
}

/** All hops in one line. */
function track(timed: Timed, scale: number): HTMLElement {
  const line = el('div', { class: 'track', 'aria-hidden': 'true' });
  for (const { name, start, duration } of barsOf(timed)) {
    const bar = el('span', { class: `hop ${partyOf(name)}`, title: `${name}: ${milliseconds(duration)}` });
    bar.style.setProperty('--start', `${(100 * start) / scale}%`);
    bar.style.setProperty('--size', `${(100 * duration) / scale}%`);
    line.append(bar);
  }
  const seen = firstSeen(timed);
  if (seen !== undefined) {
    const element = el('span', { class: 'mark first' });
    element.style.setProperty('--start', `${(100 * seen) / scale}%`);
    line.append(element);
  }
  return line;
}

function legend(): HTMLElement {
  return el('ul', { class: 'legend' }, ...PARTIES.map(([party, name]) => el('li', {}, el('span', { class: `hop ${party}` }), name)));
}

function distribution(kind: Timed['kind'], times: readonly number[]): HTMLElement {
  const bins = histogram(times, BINS);
  const most = Math.max(...bins.map(({ count }) => count));
  const bars = bins.map(({ count }, index) =>
    svg('rect', { x: index * 10 + 0.5, width: 9, y: 40 - (38 * count) / most, height: Math.max((38 * count) / most, count > 0 ? 1 : 0), rx: 1.5 }),
  );
  const [first, last] = [bins[0]?.from ?? 0, bins.at(-1)?.to ?? 0];
  const label = `${kind}s from ${milliseconds(first)} to ${milliseconds(last)}, in ${BINS} bins: ${bins.map(({ count }) => count).join(', ')}`;
  return el(
    'figure',
    { class: 'histogram' },
    svg('svg', { viewBox: `0 0 ${BINS * 10} 40`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...bars),
    el('figcaption', {}, el('span', {}, milliseconds(first)), el('span', {}, `${kind}s`), el('span', {}, milliseconds(last))),
  );
}
