import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { warmlineCommand } from '../support/service.js';
import { launch } from '../support/workbench.js';
import { PlaygroundPage } from './playground_page.js';

describe('the comparisons of the playground', () => {
  let browser: Browser;
  let playground: PlaygroundPage;
  const url = `http://127.0.0.1:${String(inject('playgroundPort'))}/`;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    playground = await PlaygroundPage.connected(browser, url, { permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterEach(async () => {
    playground.expectNoComplaints();
    await playground.close();
  });

  async function result(id: string): Promise<string> {
    await playground.page.click(`#${id} > button`);
    await playground.page.locator(`#${id} .verdict`).waitFor({ timeout: 180_000 });
    return playground.page.locator(`#${id} .result`).innerText();
  }

  it('warm against cold: the server has read ahead what it was not asked for yet', async () => {
    const said = await result('warm-cold');
    const [cold, warm] = [...said.matchAll(/(\d+) prompt tokens: (\d+) warmed, (\d+) cached, (\d+) computed/g)].map((found) =>
      found.slice(1).map(Number),
    );
    expect(cold?.[1]).toBe(0);
    expect(cold?.[3]).toBe(cold?.[0]);
    expect(warm?.[1]).toBeGreaterThan(warm?.[3] ?? 0);
  });

  it('speculation on and off: the text is the same, in fewer passes', async () => {
    const said = await result('with-without');
    expect(said).toContain('Identical, character for character');
    const [on, off] = [...said.matchAll(/^(?:on|off)\s+(\d+)\s+(\d+)/gm)].map((found) => found.slice(1).map(Number));
    expect(on?.[0]).toBeLessThan(off?.[0] ?? 0);
    expect(on?.[1]).toBe(off?.[1]);
  });

  it('the race: both answer, from another origin that lets this page in, and the socket sends less', async () => {
    const said = await result('race');
    expect(said).toMatch(/10 rounds/);
    const [socket, http] = [...said.matchAll(/(\d+) bytes sent/g)].map(([, bytes]) => Number(bytes));
    expect(socket).toBeLessThan((http ?? 0) / 2);
    expect(playground.asked.filter((address) => address.endsWith('/v1/completions'))).toHaveLength(11);
    expect(await playground.page.locator('#race circle').count()).toBe(40);
  });

  it('copy as Python: the program does the same over the SDK', async () => {
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await playground.untilEdit(/^Changed/);
    const edited = await playground.text();
    await playground.page.click('#copy');
    await playground.page.locator('#copy', { hasText: 'Copied' }).waitFor();
    const program = await playground.page.evaluate(() => navigator.clipboard.readText());
    const python = path.join(path.dirname(warmlineCommand()), 'python');
    const printed = execFileSync(python, ['-'], { input: program, encoding: 'utf8', timeout: 120_000 });
    expect(printed.startsWith(edited)).toBe(true);
    expect(printed).toContain('stop');
  });
});
