import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { launch } from '../support/workbench.js';
import { PlaygroundPage } from './playground_page.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const ROOT = path.resolve(import.meta.dirname, '../../../..');
const MADE = path.join(ROOT, 'editor-plugin/dist/pictures');
/** What one may be asked to load with a page of documentation. */
const LARGEST_PICTURE = 200_000;

describe.each(['light', 'dark'] as const)('the playground, %s', (colorScheme) => {
  let browser: Browser;
  let playground: PlaygroundPage;

  beforeAll(async () => {
    mkdirSync(MADE, { recursive: true });
    browser = await launch();
    const url = `http://localhost:${String(inject('playgroundPort'))}/`;
    playground = await PlaygroundPage.connected(browser, url, { colorScheme });
  });
  afterAll(async () => {
    await playground.close();
    await browser.close();
  });

  async function serious(): Promise<string[]> {
    await playground.page.evaluate(AXE);
    const run = (): Promise<AxeResults> =>
      playground.page.evaluate(() => (window as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run());
    // It gives up where the page changes under it, as it does while an edit streams.
    const { violations } = await run().catch(run).catch(run);
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  }

  /** `UPDATE_PICTURES=1` puts them into the documentation. */
  async function picture(name: string): Promise<void> {
    const file = path.join(MADE, `playground-${name}-${colorScheme}.png`);
    const { page } = playground;
    if (page.viewportSize()?.height !== 800) await page.setViewportSize({ width: 1280, height: 800 });
    await page.evaluate(() => {
      scrollTo(0, 0);
    });
    await page.screenshot({ path: file });
    expect(statSync(file).size).toBeLessThan(LARGEST_PICTURE);
    if (process.env['UPDATE_PICTURES'] !== undefined && name === 'edit') {
      copyFileSync(file, path.join(ROOT, 'docs/demo', `playground-${colorScheme}.png`));
    }
  }

  it('has nothing serious against it by axe at first', async () => {
    expect(await serious()).toEqual([]);
  });

  it('nor with a suggestion, an edit on its way, and all results', async () => {
    const { page } = playground;
    for (const id of ['warm-cold', 'with-without', 'race']) {
      await page.click(`#${id} > button`);
      await page.locator(`#${id} .verdict`).waitFor({ timeout: 180_000 });
    }
    await playground.example('Numbers (Python)');
    await playground.cursorBehind('Whether a number is odd');
    await playground.press('Enter');
    await playground.type('ret');
    await playground.wholeGhost();
    await playground.press('Escape');
    await playground.type('u');
    await playground.wholeGhost();
    await page.locator('#summary .histogram').waitFor();
    expect(await serious()).toEqual([]);
    await picture('suggestion');

    await playground.example('Cart (Python)');
    await page.uncheck('#speculation');
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await page.locator('.inserted').first().waitFor({ timeout: 120_000 });
    await picture('edit'); // on its way, unless the machine is fast
    expect(await serious()).toEqual([]);
    await playground.untilEdit(/^Changed/);
    const animation = (): Promise<string | undefined> =>
      page.evaluate(() => [...document.querySelectorAll('.inserted')].map((mark) => getComputedStyle(mark).animationName)[0]);
    expect(await animation()).toBe('none'); // these pages ask for reduced motion
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await animation()).toBe('arrive');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.screenshot({ path: path.join(MADE, `playground-whole-${colorScheme}.png`), fullPage: true });
  });

  it.each([360, 320])('fits on a phone of %d pixels, with all of that on it', async (width) => {
    const { page } = playground;
    await page.setViewportSize({ width, height: 740 });
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1] ?? 0);
    expect(await serious()).toEqual([]);
    if (width === 360) await page.screenshot({ path: path.join(MADE, `playground-phone-${colorScheme}.png`), fullPage: true });
  });

  it('asks for a key in a dialog that has nothing serious against it', async () => {
    await playground.page.setViewportSize({ width: 1280, height: 900 });
    await playground.page.evaluate(() => {
      document.querySelector<HTMLDialogElement>('#key-dialog')?.showModal();
    });
    expect(await serious()).toEqual([]);
  });

  it('takes the other theme by hand, and remembers it', async () => {
    const { page } = playground;
    await page.evaluate(() => {
      document.querySelector<HTMLDialogElement>('#key-dialog')?.close();
    });
    const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await background();
    const other = colorScheme === 'light' ? 'dark' : 'light';
    while ((await page.textContent('#theme')) !== `Theme: ${other}`) await page.click('#theme');
    expect(await background()).not.toBe(before);
    await page.reload();
    expect(await page.textContent('#theme')).toBe(`Theme: ${other}`);
    playground.expectNoComplaints();
  });
});
