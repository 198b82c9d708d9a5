/** Drives the playground in headless Chromium as a person does, and looks at what goes over its socket. */
import { decode } from '@msgpack/msgpack';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../support/processes.js';

export type Frame = [tag: number, ...fields: unknown[]];

export class PlaygroundPage {
  /** What the page sent over its sockets. */
  readonly sent: Frame[] = [];
  /** What it, or the browser about it, complained of. */
  readonly complaints: string[] = [];
  /** Addresses that it asked for. */
  readonly asked: string[] = [];

  private constructor(readonly page: Page) {
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => this.sent.push(decode(payload as Buffer) as Frame));
    });
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => this.asked.push(request.url()));
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<PlaygroundPage> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options });
    const playground = new PlaygroundPage(await context.newPage());
    await playground.page.goto(url);
    return playground;
  }

  static async connected(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<PlaygroundPage> {
    const playground = await PlaygroundPage.open(browser, url, options);
    await playground.untilState('ready');
    return playground;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async untilState(state: string): Promise<void> {
    await this.page.locator(`#connection[data-state="${state}"]`).waitFor({ timeout: 120_000 });
  }

  frames(tag: number): Frame[] {
    return this.sent.filter((frame) => frame[0] === tag);
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string, delay = 40): Promise<void> {
    await this.page.keyboard.type(text, { delay });
  }

  /** The document, without what is only drawn into it. */
  async text(): Promise<string> {
    return this.page.evaluate(() =>
      [...document.querySelectorAll('.cm-line')]
        .map((line) => {
          const copy = line.cloneNode(true) as Element;
          copy.querySelectorAll('.ghost').forEach((ghost) => {
            ghost.remove();
          });
          return copy.textContent;
        })
        .join('\n'),
    );
  }

  async ghost(): Promise<string> {
    return this.page.evaluate(() => document.querySelector('.ghost')?.textContent ?? '');
  }

  /** All of a suggestion is there. */
  async wholeGhost(): Promise<string> {
    await until('a whole suggestion', async () => (await this.page.textContent('#ghost-state')) === 'A suggestion.', 120);
    return this.ghost();
  }

  async untilEdit(state: RegExp): Promise<string> {
    let last = '';
    await until(
      `the edit is ${String(state)}`,
      async () => {
        last = (await this.page.textContent('#edit-state')) ?? '';
        return state.test(last);
      },
      180,
    );
    return last;
  }

  async example(name: string): Promise<void> {
    await this.page.selectOption('#example', { label: name });
  }

  /** Put the cursor behind the first line that reads so. */
  async cursorBehind(line: string): Promise<void> {
    const found = this.page.locator('.cm-line').filter({ hasText: line }).first();
    await found.click();
    await this.press('End');
  }

  /** Instruct as one does by keyboard. */
  async instruct(instruction: string): Promise<void> {
    await this.press('Control+KeyI');
    await this.type(instruction, 5);
    await this.press('Enter');
  }

  /** Its policy was never violated, and nothing failed. Connections that a test breaks itself are told by the browser. */
  expectNoComplaints(except = /^$/): void {
    expect(this.complaints.filter((complaint) => !except.test(complaint))).toEqual([]);
  }
}
