import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/processes.js';
import { launch } from '../support/workbench.js';
import { PlaygroundPage } from './playground_page.js';

const COMPLETE = 6;
const CANCEL = 11;

describe('typing in the playground', () => {
  let browser: Browser;
  let playground: PlaygroundPage;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    playground = await PlaygroundPage.connected(browser, `http://localhost:${String(inject('playgroundPort'))}/`);
    await playground.example('Numbers (Python)');
    await playground.page.uncheck('#speculation'); // a token a pass, so that a stream has many pieces
    await playground.cursorBehind('Whether a number is odd');
  });
  afterEach(async () => {
    playground.expectNoComplaints();
    await playground.close();
  });

  it('streams ghost text piece by piece, says it once to who listens, and accepts it', async () => {
    await playground.page.evaluate(() => {
      const seen: string[] = [];
      const said: string[] = [];
      Object.assign(window, { seen, said });
      const watch = (selector: string, then: () => void): void => {
        const watched = document.querySelector(selector);
        if (watched === null) throw new Error(`the page has no ${selector}`);
        new MutationObserver(then).observe(watched, { childList: true, subtree: true, characterData: true });
      };
      watch('#code', () => {
        const text = document.querySelector('.ghost')?.textContent ?? '';
        if (text !== '' && seen.at(-1) !== text) seen.push(text);
      });
      watch('#announcer', () => said.push(document.querySelector('#announcer')?.textContent ?? ''));
    });
    await playground.press('Enter');
    await playground.type('ret');
    const ghost = await playground.wholeGhost();
    const seen = await playground.page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    expect(new Set(seen).size).toBeGreaterThan(2);
    expect(ghost.startsWith('urn')).toBe(true);
    await until('it is said', async () => (await playground.page.textContent('#announcer'))?.includes('urn') === true);
    const said = await playground.page.evaluate(() => (window as unknown as { said: string[] }).said);
    expect(said.length).toBeLessThan(seen.length);
    await playground.press('Tab');
    await until('it is put in', async () => (await playground.text()).includes(`    ret${ghost}`));
    expect(await playground.page.evaluate(() => document.activeElement?.className)).toContain('cm-content');
    await playground.press('Control+KeyZ');
    await until('undo takes it out', async () => !(await playground.text()).includes(`    ret${ghost}`));
  });

  it('shows where the time of the request went, hop by hop, up to the paint', async () => {
    await playground.press('Enter');
    await playground.type('ret');
    await playground.wholeGhost();
    const rows = playground.page.locator('#waterfall .chart tbody tr');
    await rows.first().waitFor();
    const names = await rows.locator('th').allTextContents();
    expect(names).toHaveLength(15);
    expect([names[0], names.at(-1)]).toEqual(['client.queue', 'editor.render']);
    const times = (await rows.locator('.time').allTextContents()).map(parseFloat);
    const whole = parseFloat((await playground.page.textContent('#waterfall .last strong')) ?? '');
    expect(Math.abs(times.reduce((sum, time) => sum + time, 0) - whole)).toBeLessThan(0.02 * whole + 1);
    expect(await playground.page.locator('#waterfall .mark span').allTextContents()).toEqual(['first visible', 'last']);
    expect(await playground.page.textContent('#summary')).toMatch(/completions1/);
  });

  it('keeps the suggestion while it is typed, and word by word it goes in', async () => {
    await playground.press('Enter');
    await playground.type('ret');
    const ghost = await playground.wholeGhost();
    const asked = playground.frames(COMPLETE).length;
    await playground.type('urn');
    expect(await playground.ghost()).toBe(ghost.slice('urn'.length));
    await playground.press('Control+ArrowRight');
    await until('a word is in', async () => (await playground.text()).includes('    return number'));
    expect(ghost.endsWith(await playground.ghost())).toBe(true);
    // What follows it is asked for ahead, of a second document, and nothing anew.
    expect(playground.frames(COMPLETE).slice(asked).filter((frame) => !String(frame[2]).includes('#'))).toEqual([]);
  });

  it('dismisses it with Esc, and frees it on the server', async () => {
    await playground.press('Enter');
    await playground.type('ret');
    await until('some of it', async () => (await playground.ghost()) !== '', 120);
    const running = (await playground.page.textContent('#ghost-state')) === 'Streaming…';
    const cancels = playground.frames(CANCEL).length;
    await playground.press('Escape');
    expect(await playground.ghost()).toBe('');
    if (running) await until('it is cancelled', () => playground.frames(CANCEL).length > cancels);
    expect(await playground.text()).toContain('    ret\n');
  });

  it('comes when asked for, where it is not wanted while typing; Tab is free without it', async () => {
    await playground.page.uncheck('#automatic');
    await playground.cursorBehind('Whether a number is odd');
    await playground.press('Enter');
    await playground.type('ret');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(playground.frames(COMPLETE)).toEqual([]);
    await playground.press('Alt+Backslash');
    expect((await playground.wholeGhost()).length).toBeGreaterThan(0);
    await playground.press('Escape', 'Tab');
    expect(await playground.page.evaluate(() => document.activeElement?.className ?? '')).not.toContain('cm-content');
  });

  it('is as well with the buttons, as on a phone', async () => {
    await playground.press('Enter');
    await playground.type('ret');
    const ghost = await playground.wholeGhost();
    await playground.page.click('#accept-word');
    await until('a word is in', async () => (await playground.text()).includes('    return\n'));
    await playground.page.click('#accept');
    await until('all of it is in', async () => (await playground.text()).includes(`    ret${ghost}`));
    expect(await playground.page.evaluate(() => document.activeElement?.className)).toContain('cm-content');
  });
});
