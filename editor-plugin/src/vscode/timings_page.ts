/** The page of the timings panel: a waterfall of the hops, without scripts. Pure, so that tests can look at it. */
import { HOPS, type HopName, type Hops, draftTotals, endToEnd, percentile, tokensPerSecond, warmShare } from '../core/hops.js';
import type { Receipt } from '../core/wire.js';

/** A request that ended. Times in microseconds. */
export interface TimedRequest {
  readonly kind: 'completion' | 'edit';
  /** What a person knows it by: the file's name. */
  readonly label: string;
  readonly reason: string;
  readonly hops: Hops;
  readonly receipt: Receipt;
  /** From the call to the first text that came. */
  readonly first: number | undefined;
}

const WIDTH = 600;
const ROW = 18;

const MEANING: Record<HopName, string> = {
  'client.queue': 'in the editor, before it was sent',
  'net.up': 'to the server',
  'server.parse': 'reading the message',
  'session.prompt': 'document to tokens',
  'ipc.in': 'to the engine',
  'engine.queue': 'waiting for a turn',
  'engine.prefill': 'computing the prompt',
  'engine.first_token': 'the first token',
  'engine.step': 'the other tokens',
  'ipc.out': 'from the engine',
  'server.encode': 'making the messages',
  'server.write': 'writing them',
  'net.down': 'back from the server',
  'client.decode': 'in the editor, after it came',
};

export function timingsPage(requests: readonly TimedRequest[], nonce: string): string {
  const last = requests.at(-1);
  const body = last === undefined ? '<p>Nothing was asked for yet.</p>' : described(last) + summary(requests);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width">
<title>Warmline: timings</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<h1>Timings</h1>
${body}
</body>
</html>`;
}

function described(request: TimedRequest): string {
  const { receipt, hops } = request;
  const drafts = draftTotals(receipt);
  const share = drafts.proposed === 0 ? '' : ` (${Math.round((100 * drafts.accepted) / drafts.proposed)} %)`;
  const facts: [string, string][] = [
    ['whole', milliseconds(endToEnd(hops))],
    ['first text', request.first === undefined ? 'none' : milliseconds(request.first)],
    ['warm', `${Math.round(100 * warmShare(receipt))} % of ${receipt.promptTokens} prompt tokens`],
    ['drafts accepted', `${drafts.accepted} of ${drafts.proposed}${share}`],
    ['speed', `${receipt.outputTokens} tokens, ${tokensPerSecond(receipt, hops).toFixed(0)} a second`],
  ];
  return `<h2>The last ${request.kind}: ${escaped(request.label)} (${escaped(request.reason)})</h2>
<dl>${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>
${waterfall(request)}`;
}

function waterfall({ hops, first }: TimedRequest): string {
  const whole = Math.max(endToEnd(hops), 1);
  const scale = (time: number): string => ((WIDTH * time) / whole).toFixed(1);
  let at = 0;
  const rows = HOPS.map((hop, index) => {
    const y = index * ROW;
    const bar = `<rect class="${hop.split('.')[0] ?? ''}" x="${scale(at)}" y="${y + 3}" width="${Math.max(Number(scale(hops[hop])), 1)}" height="${ROW - 6}" rx="2"/>`;
    at += hops[hop];
    return bar;
  });
  const mark =
    first === undefined
      ? ''
      : `<line class="first" x1="${scale(first)}" x2="${scale(first)}" y1="0" y2="${HOPS.length * ROW}"/><text x="${scale(first)}" y="${HOPS.length * ROW + 13}">first text</text>`;
  const names = HOPS.map(
    (hop) => `<tr><th scope="row">${hop}</th><td>${milliseconds(hops[hop])}</td><td class="meaning">${MEANING[hop]}</td></tr>`,
  );
  return `<figure>
<svg viewBox="0 0 ${WIDTH + 70} ${HOPS.length * ROW + 18}" role="img" aria-label="The hops of the request, one under the other; the table has the same figures">${rows.join('')}${mark}</svg>
<table><caption>By hop</caption><tbody>${names.join('')}</tbody></table>
</figure>`;
}

function summary(requests: readonly TimedRequest[]): string {
  const rows = (['completion', 'edit'] as const).flatMap((kind) => {
    const firsts = requests.filter((request) => request.kind === kind).flatMap(({ first }) => first ?? []);
    if (firsts.length === 0) {
      return [];
    }
    const cells = [0.5, 0.95, 0.99].map((share) => `<td>${milliseconds(percentile(firsts, share))}</td>`);
    return [`<tr><th scope="row">${kind}</th><td>${firsts.length}</td>${cells.join('')}</tr>`];
  });
  return `<h2>Time to first text, this session</h2>
<table class="summary"><thead><tr><th scope="col">what</th><th scope="col">count</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

export function milliseconds(microseconds: number): string {
  const value = microseconds / 1000;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
body { color: var(--vscode-foreground); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); padding: 0 1.5em 2em; }
h1 { font-size: 1.4em; font-weight: 600; }
h2 { font-size: 1.1em; font-weight: 600; margin-top: 1.5em; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: 0.5em 2em; margin: 0; }
dt { color: var(--vscode-descriptionForeground); font-size: 0.9em; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
figure { display: flex; flex-wrap: wrap; gap: 1em 2em; margin: 1em 0; align-items: start; }
svg { flex: 1 1 22em; max-width: 46em; border-left: 1px solid var(--vscode-editorWidget-border); }
svg text { fill: var(--vscode-foreground); font-size: 11px; }
.first { stroke: var(--vscode-charts-red); stroke-dasharray: 3 3; }
.client { fill: var(--vscode-charts-foreground); }
.net { fill: var(--vscode-charts-blue); }
.server, .session { fill: var(--vscode-charts-green); }
.ipc { fill: var(--vscode-charts-purple); }
.engine { fill: var(--vscode-charts-yellow); }
table { border-collapse: collapse; }
caption { position: absolute; clip-path: inset(50%); }
th { font-weight: normal; text-align: left; font-family: var(--vscode-editor-font-family); }
th, td { height: 1.35em; padding: 0 1em 0 0; }
td { text-align: right; font-variant-numeric: tabular-nums; }
td.meaning { text-align: left; color: var(--vscode-descriptionForeground); }
`;
