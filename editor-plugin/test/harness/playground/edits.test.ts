import { decode } from '@msgpack/msgpack';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/processes.js';
import { launch } from '../support/workbench.js';
import { PlaygroundPage } from './playground_page.js';

const [CHANGE, EDIT, STEER, INTERRUPT] = [3, 7, 9, 10] as const;
/** Of the server's. */
const DONE = 5;

describe('edits in the playground', () => {
  let browser: Browser;
  let playground: PlaygroundPage;
  let original: string;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    playground = await PlaygroundPage.connected(browser, `http://localhost:${String(inject('playgroundPort'))}/`);
    original = await playground.text();
  });
  afterEach(async () => {
    playground.expectNoComplaints();
    await playground.close();
  });

  /** An edit of the whole file, a token a pass: it takes its time. */
  async function startLongEdit(): Promise<void> {
    await playground.page.uncheck('#speculation');
    await playground.page.click('.cm-content');
    await playground.press('Control+KeyA');
    await playground.instruct('rename items to lines');
    await playground.page.locator('.inserted').first().waitFor({ timeout: 120_000 });
  }

  /** Opens the page anew, with what the server says held back once a frame of either side calls for that. */
  async function holdAnswers(
    sent: ((tag: number) => boolean) | undefined,
    received?: (tag: number) => boolean,
  ): Promise<{ readonly holds: boolean; release(): void }> {
    const queue: (() => void)[] = [];
    let state: 'passing' | 'holding' | 'released' = 'passing';
    const tagOf = (frame: string | Buffer): number => (decode(frame as Buffer) as [number])[0];
    const look = (frame: string | Buffer, calls: ((tag: number) => boolean) | undefined): void => {
      if (state === 'passing' && calls?.(tagOf(frame)) === true) state = 'holding';
    };
    await playground.page.routeWebSocket(/.*/, (page) => {
      const server = page.connectToServer();
      page.onMessage((frame) => {
        look(frame, sent);
        server.send(frame);
      });
      server.onMessage((frame) => {
        look(frame, received);
        if (state === 'holding') queue.push(() => page.send(frame));
        else page.send(frame);
      });
    });
    await playground.page.reload();
    await playground.untilState('ready');
    return {
      get holds() {
        return state === 'holding';
      },
      release() {
        state = 'released';
        for (const send of queue) send();
      },
    };
  }

  it('put operations in as they come, marked, and one undo takes all of it back', async () => {
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await playground.page.locator('.pending').first().waitFor();
    expect(await playground.page.locator('.pending').count()).toBe(5); // the function that the cursor stands in
    await playground.untilEdit(/^Changed/);
    expect(await playground.page.locator('.pending').count()).toBe(0);
    expect(await playground.page.locator('.inserted').count()).toBeGreaterThan(0);
    const edited = await playground.text();
    expect(edited).not.toBe(original);
    expect(edited.slice(edited.indexOf('def find'))).toBe(original.slice(original.indexOf('def find')));
    // The server knows each change for the edit's own, and it has come on by several.
    expect(playground.frames(CHANGE).every((frame) => frame[5] !== null)).toBe(true);
    expect(await playground.page.textContent('#summary')).toMatch(/edits1/);
    await playground.page.focus('.cm-content');
    await playground.press('Control+KeyZ');
    await until('all of it is undone', async () => (await playground.text()) === original);
    await playground.untilEdit(/^Undone/);
    expect(await playground.page.locator('.inserted').count()).toBe(0);
  });

  it('are steered in the same box while they run, and stopped by Esc', async () => {
    await startLongEdit();
    expect(await playground.page.textContent('#send')).toBe('Steer');
    expect(await playground.page.textContent('#live')).toMatch(/^Editing: first visible after [\d.]+ ms$/);
    await playground.page.focus('.cm-content');
    await playground.instruct('and rename owner to person');
    await until('it is steered', () => playground.frames(STEER).length === 1);
    await until('both instructions are shown', async () => (await playground.page.locator('#steps li').count()) === 2);
    expect(await playground.page.locator('#steps li').allTextContents()).toEqual([
      'rename items to lines',
      'and rename owner to person',
    ]);
    await playground.press('Escape');
    await until('it is interrupted', () => playground.frames(INTERRUPT).length === 1);
    await playground.untilEdit(/^Stopped\. Changed/);
    expect(await playground.page.textContent('#live')).toBe('');
    expect(playground.frames(EDIT)).toHaveLength(1);
    expect(await playground.page.textContent('#send')).toBe('Edit');
    expect(await playground.text()).not.toBe(original);
    await playground.page.focus('.cm-content');
    await playground.press('Control+KeyZ');
    await until('what it did is undone', async () => (await playground.text()) === original);
  });

  it('go on while one types elsewhere, and are taken back without that', async () => {
    await playground.page.uncheck('#automatic');
    await playground.page.uncheck('#speculation');
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await playground.page.locator('.inserted').first().waitFor({ timeout: 120_000 });
    await playground.page.locator('.cm-line').first().click();
    await playground.press('End');
    await playground.type('  # mine', 30);
    await playground.untilEdit(/^Changed/);
    const edited = await playground.text();
    expect(edited).toContain('"""A shopping cart."""  # mine');
    expect(edited).toContain('subtotal');
    await playground.page.click('#take-back');
    await playground.untilEdit(/^Taken back/);
    expect(await playground.text()).toBe(original.replace('cart."""', 'cart."""  # mine'));
  });

  it('are not taken back where a person has deleted or retyped what they made', async () => {
    await playground.page.uncheck('#automatic');
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await playground.untilEdit(/^Changed/);
    const edited = (await playground.text()).split('\n');
    const changed = edited.findIndex((line) => line.trim() === 'subtotal = 0');
    expect(changed).toBeGreaterThan(0);
    await playground.cursorBehind('subtotal = 0');
    await playground.press('Home', 'Shift+End', 'Delete');
    await playground.type('grand = 0');
    await playground.page.click('#take-back');
    await playground.untilEdit(/^Taken back/);
    expect(await playground.text()).toBe(original.replace('amount = 0', 'grand = 0'));
    expect(await playground.page.isVisible('#take-back')).toBe(false);
  });

  it('begin with what is typed only: an empty box does nothing', async () => {
    await playground.press('Control+KeyI', 'Enter');
    await playground.page.click('#send');
    await playground.instruct('   ');
    await playground.page.locator('#edit-state', { hasText: 'No edit yet.' }).waitFor();
    expect(playground.frames(EDIT)).toEqual([]);
  });

  it('keep what is typed in the box while a steering waits for its answer', async () => {
    const held = await holdAnswers((tag) => tag === STEER);
    await startLongEdit();
    await playground.instruct('and rename owner to person');
    await until('the steering waits', () => held.holds);
    await playground.type('the next thought', 5);
    held.release();
    await until('both instructions are shown', async () => (await playground.page.locator('#steps li').count()) === 2);
    expect(await playground.page.inputValue('#instruction')).toBe('the next thought');
    await playground.press('Escape');
    await playground.untilEdit(/^Stopped/);
  });

  it('say that they had ended where a steering comes too late, and give it back', async () => {
    const held = await holdAnswers(undefined, (tag) => tag === DONE);
    await playground.page.uncheck('#automatic');
    await playground.cursorBehind('amount = 0');
    await playground.instruct('rename amount to subtotal');
    await until('it has ended on the server', () => held.holds);
    expect(await playground.page.textContent('#send')).toBe('Steer');
    await playground.instruct('and rename owner to person');
    await until('it is steered', () => playground.frames(STEER).length === 1);
    held.release();
    await playground.untilEdit(/^The edit had ended already\. Changed/);
    expect(await playground.page.inputValue('#instruction')).toBe('and rename owner to person');
    expect(await playground.page.textContent('#send')).toBe('Edit');
  });

  it('stop where a person writes in what is not reached yet', async () => {
    await playground.page.uncheck('#automatic');
    await startLongEdit();
    await playground.cursorBehind('return "%s has');
    await playground.type('  # mine', 10);
    await playground.untilEdit(/^Stopped where you typed/);
    expect(await playground.text()).toContain('# mine');
  });
});
