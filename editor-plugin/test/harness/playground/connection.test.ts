import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freePort, until } from '../support/processes.js';
import { Service } from '../support/service.js';
import { launch } from '../support/workbench.js';
import { PlaygroundPage } from './playground_page.js';

const KEY = 'only-with-this';
const HELLO = 1;

describe('the connection of the playground', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  it('asks for a key where one is needed, keeps it for the tab, and comes back when the server was killed', async () => {
    const service = new Service(await freePort(), ['--api-key', KEY]);
    await service.start();
    const url = `http://127.0.0.1:${String(service.port)}/`;
    const playground = await PlaygroundPage.open(browser, url, { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = playground;
    try {
      const dialog = page.locator('#key-dialog');
      await dialog.waitFor();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('key');
      await page.fill('#key', 'wrong');
      await page.press('#key', 'Enter');
      await until('it says that the key is wrong', async () => ((await page.textContent('#key-why')) ?? '').includes('was wrong') && (await dialog.isVisible()));
      await page.fill('#key', KEY);
      await page.press('#key', 'Enter');
      await playground.untilState('ready');
      expect(await dialog.isVisible()).toBe(false);
      expect(playground.frames(HELLO).at(-1)?.[1]).toBe(KEY);

      await page.reload();
      await playground.untilState('ready');
      expect(await dialog.isVisible()).toBe(false);
      expect(await page.evaluate(() => JSON.stringify({ ...localStorage, cookie: document.cookie }))).not.toContain(KEY);
      expect(playground.asked.join()).not.toContain(KEY);
      await page.click('#copy');
      await page.locator('#copy', { hasText: 'Copied' }).waitFor();
      const program = await page.evaluate(() => navigator.clipboard.readText());
      expect(program).toContain('WARMLINE_API_KEY');
      expect(program).not.toContain(KEY);
      await page.click('#race > button');
      await page.locator('#race .verdict.bad', { hasText: '--http-port' }).waitFor();

      await service.stop('SIGKILL');
      await playground.untilState('waiting');
      expect(await page.textContent('#connection-text')).toContain('Reconnecting');
      await page.click('.cm-content');
      await playground.type('# typed meanwhile');
      await service.start();
      await playground.untilState('ready');
      await playground.example('Numbers (Python)');
      await playground.cursorBehind('Whether a number is odd');
      await playground.press('Enter');
      await playground.type('ret');
      expect((await playground.wholeGhost()).length).toBeGreaterThan(0);
      playground.expectNoComplaints(/WebSocket connection to|ERR_CONNECTION_REFUSED/);
    } finally {
      await playground.close();
      await service.stop();
    }
  }, 600_000);

  it('of a page whose address the server was not told says what to do', async () => {
    // Chromium takes this address for the machine itself, and the server can't know that it is meant.
    const origin = `http://0.0.0.0:${String(inject('playgroundPort'))}`;
    const playground = await PlaygroundPage.open(browser, `${origin}/`);
    await playground.page.locator('#advice').waitFor();
    expect(await playground.page.textContent('#advice')).toContain(`--allowed-origin ${origin}`);
    await playground.close();
  });
});
