/** Drives a workbench in headless Chromium as a person does. */
import { type Browser, type Page, chromium } from 'playwright-core';
import { until } from './processes.js';

export const GHOST = '[class*="ghost-text"]';

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}

export class Workbench {
  private constructor(readonly page: Page) {}

  static async open(browser: Browser, url: string): Promise<Workbench> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    if (process.env['HARNESS_LOG'] !== undefined) {
      page.on('console', (message) => {
        console.log(`[${message.type()}] ${message.text().slice(0, 500)}`);
      });
    }
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.waitForSelector('.monaco-workbench', { timeout: 60_000 });
    const workbench = new Workbench(page);
    await page.waitForSelector('.statusbar-item[id*="warmline"]', { timeout: 60_000 });
    return workbench;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async openFile(name: string): Promise<void> {
    const row = this.page.locator('.explorer-folders-view .monaco-list-row', { hasText: name }).first();
    await row.waitFor({ timeout: 30_000 });
    await row.dblclick();
    await this.page.locator('.tab.active', { hasText: name }).waitFor({ timeout: 30_000 });
    await this.page.waitForSelector('.monaco-editor .view-line');
    await this.page.click('.monaco-editor .view-lines');
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string, delay = 60): Promise<void> {
    await this.page.keyboard.type(text, { delay });
  }

  /** Run a command by the palette. */
  async command(title: string): Promise<void> {
    await this.press('F1');
    const box = this.page.locator('.quick-input-widget:visible input.input');
    await box.waitFor();
    await box.fill(`>${title}`);
    const begins = new RegExp(`^${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: begins }).first().click();
  }

  /** Answer the input box that is open. */
  async answer(text: string): Promise<void> {
    const box = this.page.locator('.quick-input-widget:visible input.input');
    await box.waitFor();
    await box.fill(text);
    await this.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  async lines(): Promise<string[]> {
    return this.page.evaluate(() => {
      const top = (line: Element): number => parseInt((line as HTMLElement).style.top, 10);
      return [...document.querySelectorAll('.editor-instance .view-line')]
        .sort((a, b) => top(a) - top(b))
        .map((line) => {
          const copy = line.cloneNode(true) as Element;
          for (const ghost of copy.querySelectorAll('[class*="ghost-text"]')) ghost.remove();
          return copy.textContent.replace(/\u00a0/g, ' ');
        });
    });
  }

  async text(): Promise<string> {
    return (await this.lines()).join('\n');
  }

  async ghost(): Promise<string> {
    const parts = await this.page.locator(GHOST).allTextContents();
    return parts.join('').replace(/\u00a0/g, ' ');
  }

  /** In how many frames no ghost text is shown, while something is done. */
  async framesWithoutGhost(action: () => Promise<void>): Promise<number> {
    await this.page.evaluate((selector) => {
      const watch = { blank: 0, on: true };
      (globalThis as unknown as { ghostWatch: typeof watch }).ghostWatch = watch;
      const look = (): void => {
        if (document.querySelector(selector) === null) watch.blank++;
        if (watch.on) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, GHOST);
    await action();
    return this.page.evaluate(() => {
      const { ghostWatch } = globalThis as unknown as { ghostWatch: { blank: number; on: boolean } };
      ghostWatch.on = false;
      return ghostWatch.blank;
    });
  }

  async status(): Promise<string> {
    return (await this.page.locator('.statusbar-item[id*="warmline"]').first().getAttribute('aria-label')) ?? '';
  }

  async untilText(what: string, test: (text: string) => boolean, seconds = 60): Promise<void> {
    await this.explained(until(what, async () => test(await this.text()), seconds));
  }

  async untilGhost(what: string, test: (ghost: string) => boolean, seconds = 60): Promise<void> {
    await this.explained(until(what, async () => test(await this.ghost()), seconds));
  }

  async untilStatus(what: string, test: (status: string) => boolean, seconds = 60): Promise<void> {
    await this.explained(until(what, async () => test(await this.status()), seconds));
  }

  private async explained(wait: Promise<void>): Promise<void> {
    try {
      await wait;
    } catch (error) {
      const seen = `text ${JSON.stringify(await this.text())}, ghost ${JSON.stringify(await this.ghost())}, status ${await this.status()}`;
      throw new Error(`${String(error)}; ${seen}`, { cause: error });
    }
  }
}
