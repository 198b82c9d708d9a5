import { describe, expect, it } from 'vitest';
import { Rejections } from '../../src/core/rejections.js';
import type { Suggestion } from '../../src/core/suggestions.js';
import { answer, typing } from './support/typing.js';
import type { Typing } from './support/typing.js';

const SAID = 'turn value';

let keys = 0;

/** Type something that was never typed before, be shown what the server says, and look at it. */
async function shown(editor: Typing, wait = 1000): Promise<Suggestion | undefined> {
  const before = editor.server.of('complete').length;
  editor.type(String.fromCodePoint(0x4e00 + keys++));
  const suggestion = editor.ask();
  await editor.environment.pass(4000);
  const requests = editor.server.of('complete');
  expect(requests).toHaveLength(before + 1);
  answer(editor, requests.at(-1)!.request, SAID);
  const found = await suggestion;
  expect(found).toMatchObject({ text: SAID });
  await editor.environment.pass(wait);
  return found;
}

/** Milliseconds until the request leaves that the next key asks for. */
async function delayOf(editor: Typing): Promise<number> {
  const before = editor.server.of('complete').length;
  editor.type('y');
  let waited = 0;
  for (; editor.server.of('complete').length === before; waited += 50) {
    expect(waited).toBeLessThan(10_000);
    await editor.environment.pass(50);
  }
  return waited;
}

async function dismissed(editor: Typing, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await shown(editor);
    editor.suggestions.dismissed(editor.document);
  }
}

describe('what was dismissed', () => {
  it('costs nothing at first, then doubles the wait up to three seconds', () => {
    const rejections = new Rejections();
    const delays = Array.from({ length: 9 }, () => {
      rejections.dismissed(0);
      return rejections.delay(0);
    });
    expect(delays).toEqual([0, 0, 200, 400, 800, 1600, 3000, 3000, 3000]);
  });

  it('counts less as it gets older, and not at all once one was accepted', () => {
    const rejections = new Rejections();
    for (let time = 0; time < 20; time++) {
      rejections.dismissed(0);
    }
    const minutes = [0, 1, 2, 4, 6].map((minute) => rejections.delay(60_000 * minute));
    expect(minutes[0]).toBe(3000);
    expect([...minutes].sort((one, other) => other - one)).toEqual(minutes);
    expect(minutes.at(-1)).toBe(0);
    rejections.accepted();
    expect(rejections.delay(0)).toBe(0);
  });
});

describe('the next suggestion', () => {
  it('is asked for later after several were dismissed by Escape', async () => {
    const editor = await typing('');
    await dismissed(editor, 2);
    expect(await delayOf(editor)).toBe(0);
    await dismissed(editor, 3);
    expect(await delayOf(editor)).toBeGreaterThanOrEqual(400);
  });

  it('is asked for later after several over which something else was typed, having been looked at', async () => {
    const editor = await typing('');
    for (let time = 0; time < 5; time++) {
      await shown(editor);
    }
    expect(await delayOf(editor)).toBeGreaterThanOrEqual(400);
  });

  it.each([
    [
      'nobody looked at them',
      async (editor: Typing) => {
        await shown(editor, 100);
      },
    ],
    [
      'a part of each was taken',
      async (editor: Typing) => {
        await shown(editor);
        editor.type(SAID.slice(0, 4));
      },
    ],
    [
      'the change was an undo',
      async (editor: Typing) => {
        await shown(editor);
        const { length } = editor.document;
        editor.suggestions.changed(editor.document, editor.document.change([{ start: 0, end: length, text: 'z' }]), false);
        editor.type('', 1);
      },
    ],
    [
      'they were only deleted before',
      async (editor: Typing) => {
        await shown(editor);
        editor.backspace();
      },
    ],
  ])('comes as soon as ever where %s', async (_, leave) => {
    const editor = await typing('z');
    for (let time = 0; time < 6; time++) {
      await leave(editor);
    }
    expect(await delayOf(editor)).toBe(0);
  });

  it.each([
    ['typed to its end', (editor: Typing) => editor.type(SAID)],
    ['accepted', (editor: Typing) => editor.suggestions.accepted(editor.document)],
  ])('comes as soon as ever once one was %s', async (_, accept) => {
    const editor = await typing('');
    await dismissed(editor, 6);
    await shown(editor);
    accept(editor);
    await editor.environment.pass(4000);
    expect(await delayOf(editor)).toBe(0);
  });

  it('stays while it is typed, whatever was dismissed before', async () => {
    const editor = await typing('');
    await dismissed(editor, 6);
    await shown(editor);
    editor.type('t');
    expect(await editor.ask()).toMatchObject({ text: SAID.slice(1) });
  });

  it('is not held back where it is asked for by hand, or the setting is off', async () => {
    const editor = await typing('');
    await dismissed(editor, 6);
    editor.type('y');
    const byHand = editor.ask({ explicit: true });
    answer(editor, editor.server.last('complete').request, SAID);
    expect(await byHand).toMatchObject({ text: SAID });
    const patient = await typing('', { backOff: false });
    await dismissed(patient, 6);
    expect(await delayOf(patient)).toBe(0);
  });

  it('says why there is none yet, when a key comes while it is held back', async () => {
    const editor = await typing('');
    await dismissed(editor, 6);
    editor.type('y');
    const asked = editor.ask();
    await editor.environment.pass(100);
    editor.type('z');
    await editor.environment.pass(1);
    void asked;
    await editor.environment.pass(4000);
    expect(await asked).toBeUndefined();
    const why = editor.suggestions.why.all.find(({ code }) => code === 'backOff');
    expect(why?.message).toMatch(/several were dismissed\. Now by \d+ ms\./);
  });
});
