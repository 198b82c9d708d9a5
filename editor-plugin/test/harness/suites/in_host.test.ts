import { inject, describe, expect, it } from 'vitest';
import { IN_HOST, createWorkspace, startLane } from '../support/lanes.js';
import { Service } from '../support/service.js';
import { SCHEMES } from '../support/stage.js';
import { WireProxy } from '../support/wire_proxy.js';
import { launch } from '../support/workbench.js';

/** Run the bundle of tests inside the extension host; each of their reports is a line. */
async function report(): Promise<{ lines: string[]; code: number | string }> {
  const wire = await WireProxy.create(new Service(inject('servicePort')).url);
  const workspace = createWorkspace(
    { 'demo.py': 'def add(a, b):\n\n' },
    {
      'warmline.url': wire.url,
      'warmline.documentSchemes': [...SCHEMES, 'warmline-fixture'],
      'warmline.completions.backOff': false,
      'harness.only': process.env['ONLY'] ?? '',
    },
  );
  const lane = await startLane(inject('lane'), inject('lanePort'), workspace, IN_HOST);
  const browser = await launch();
  try {
    const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage();
    const lines: string[] = [];
    await page.exposeFunction('codeAutomationLog', (_type: string, args: unknown[]) => {
      const text = args.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ');
      if (process.env['HARNESS_LOG'] !== undefined) console.log(text.slice(0, 500));
      if (text.includes('TEST| ')) lines.push(text.slice(text.indexOf('TEST| ') + 6));
    });
    const ended = new Promise<number | string>((resolve) => {
      void page.exposeFunction('codeAutomationExit', (code: number) => {
        resolve(code);
      });
      setTimeout(() => {
        resolve('not ended in time');
      }, 900_000);
    });
    await page.goto(lane.url);
    return { code: await ended, lines };
  } finally {
    await browser.close();
    await lane.stop();
    await wire.close();
  }
}

describe('in the extension host', async () => {
  const { lines, code } = await report();
  it('is the one of this lane', () => {
    expect(lines.find((line) => line.startsWith('host'))).toMatch(inject('lane') === 'web' ? /web worker$/ : /node$/);
  });
  it('runs all its tests', () => {
    expect(lines.filter((line) => line.startsWith('ok')).length).toBeGreaterThan(0);
    expect({ code, failed: lines.filter((line) => line.startsWith('failed')) }).toEqual({ code: 0, failed: [] });
  });
  for (const line of lines.filter((text) => !text.startsWith('host'))) {
    const [result, name, why] = line.split(' | ');
    it(name ?? line, () => {
      expect(why ?? result).toBe('ok');
    });
  }
});
