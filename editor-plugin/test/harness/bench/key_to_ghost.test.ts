/** From a key to the suggestion that is seen: the request that leaves with the key, against one that waits to be asked for. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROBE } from '../support/lanes.js';
import { until } from '../support/processes.js';
import { type Stage, raise } from '../support/stage.js';
import { GHOST } from '../support/workbench.js';

const ROUNDS = 25;
const WARM_UP = 3;

interface Round {
  /** From the key in the page to the request on the wire, from there to its end, and from that to the ghost text. */
  readonly out: number;
  readonly server: number;
  readonly shown: number;
  readonly whole: number;
}

let stage: Stage;

beforeAll(async () => {
  const body = Array.from({ length: 60 }, (_, line) => `value_${String(line)} = ${String(line)} * 2\n`).join('');
  stage = await raise({
    files: { 'code.py': body },
    tests: PROBE,
    settings: { 'warmline.completions.prefetch': false },
  });
  await stage.workbench.untilStatus('connected', (status) => status.includes('ready'));
  await stage.workbench.openFile('code.py');
  await stage.workbench.press('Control+End');
});

afterAll(async () => {
  await stage.strike();
});

it('measures', async () => {
  const { wire } = stage;
  wire.direct({ completions: ['return value'] });
  const rounds: Record<'with the key' | 'when asked', Round[]> = { 'with the key': [], 'when asked': [] };
  for (let index = 0; index < WARM_UP + ROUNDS; index++) {
    for (const mode of ['with the key', 'when asked'] as const) {
      wire.direct({ late: mode === 'when asked' });
      const round = await measure().catch((error: unknown) => {
        throw new Error(`round ${String(index)} ${mode}: ${String(error)}`, { cause: error });
      });
      if (index >= WARM_UP) rounds[mode].push(round);
    }
  }
  const rows = (['out', 'server', 'shown', 'whole'] as const).map((part) => [
    { out: 'key to request', server: 'request to its end', shown: 'end to ghost text', whole: 'key to ghost text' }[part],
    ...Object.values(rounds).map((list) => spread(list.map((round) => round[part]))),
  ]);
  console.log(`\n${String(ROUNDS)} keys each, milliseconds: median (10th to 90th percentile)`);
  console.log(['', ...Object.keys(rounds)].map((cell) => cell.padEnd(24)).join(''));
  for (const row of rows) console.log(row.map((cell) => cell.padEnd(24)).join(''));
  expect(rounds['when asked']).toHaveLength(ROUNDS);
}, 300_000);

async function measure(): Promise<Round> {
  const { workbench, wire } = stage;
  await workbench.press('Escape', 'End', 'Enter');
  // Time for what is computed ahead, as between a person's keys.
  await new Promise((resolve) => setTimeout(resolve, 600));
  const last = Math.max(...wire.times.keys());
  await workbench.page.evaluate((selector) => {
    const watch = { key: 0, seen: 0 };
    (globalThis as unknown as { keyWatch: typeof watch }).keyWatch = watch;
    const look = (): void => {
      if (document.querySelector(selector) === null) requestAnimationFrame(look);
      else watch.seen = Date.now();
    };
    document.addEventListener(
      'keydown',
      () => {
        watch.key = Date.now();
        requestAnimationFrame(look);
      },
      { capture: true, once: true },
    );
  }, GHOST);
  await workbench.press('r');
  const watch = (): Promise<{ key: number; seen: number }> =>
    workbench.page.evaluate(() => (globalThis as unknown as { keyWatch: { key: number; seen: number } }).keyWatch);
  await workbench.untilGhost('the suggestion is shown', (ghost) => ghost === 'eturn value', 20);
  await until('it was seen', async () => (await watch()).seen > 0);
  const { key, seen } = await watch();
  const times = [...wire.times].filter(([id]) => id > last).map(([, value]) => value)[0];
  if (times === undefined) throw new Error('no request was made');
  await until('it has ended', () => !Number.isNaN(times.ended));
  return { out: times.asked - key, server: times.ended - times.asked, shown: seen - times.ended, whole: seen - key };
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): string => String(sorted[Math.floor(share * (sorted.length - 1))]);
  return `${at(0.5)} (${at(0.1)} to ${at(0.9)})`;
}
