import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/processes.js';
import { type Stage, raise } from '../support/stage.js';

const BEFORE = 'a = 1\nb = 2\nc = 3\n';
const AFTER = 'a = 1\nb = 20\nc = 30\nd = 40\n';
const EDIT = 7;
const INTERRUPT = 10;

/** What only a person at the keyboard sees; the rest is tested inside the extension host. */
describe('an edit by the keyboard', () => {
  let stage: Stage;

  beforeAll(async () => {
    const names = ['lands.py', 'keys.py', 'stop.py', 'reject.py', 'real.py'];
    stage = await raise({
      files: {
        ...Object.fromEntries(names.map((name) => [name, BEFORE])),
        'keys.py': `${BEFORE}\nnotes = ""\n`,
        'real.py': 'def area(width, height):\n    result = width * height\n    return result\n',
        'names.py': 'total = 1\nprint(total)\nprint(total + 1)\n',
      },
    });
    await stage.workbench.untilStatus('connected', (status) => status.includes('ready'));
  });

  afterAll(async () => {
    await stage.strike();
  });

  beforeEach(() => {
    stage.wire.reset();
  });

  async function ask(file: string, instruction: string): Promise<void> {
    const { workbench } = stage;
    await workbench.openFile(file);
    await workbench.press('Control+Home', 'Shift+ArrowDown', 'Shift+ArrowDown', 'Shift+ArrowDown');
    await workbench.press('Control+KeyK', 'Control+KeyE');
    await workbench.answer(instruction);
  }

  it('streams into the document, and one Ctrl+Z takes it back', async () => {
    const { workbench, wire } = stage;
    wire.direct({ edits: { 'ten times': AFTER }, pace: 40 });
    await ask('lands.py', 'ten times');
    await workbench.untilText('it landed', (text) => text === AFTER);
    await workbench.untilStatus('it waits for review', (status) => status.includes('accept or reject'));
    await workbench.press('Control+KeyZ');
    await workbench.untilText('it is undone', (text) => text === BEFORE);
    await workbench.untilStatus('nothing waits', (status) => status.includes('ready'));
  });

  it('loses no key that is typed while it streams', async () => {
    const { workbench, wire } = stage;
    wire.direct({ edits: { 'ten times': AFTER }, pace: 120 });
    await ask('keys.py', 'ten times');
    await workbench.press('Control+End', 'ArrowUp', 'End', 'ArrowLeft');
    await workbench.type('all of it is here', 40);
    await workbench.untilText('both are there', (text) => text === `${AFTER}\nnotes = "all of it is here"\n`);
  });

  it('is stopped by Esc, and keeps what it has', async () => {
    const { workbench, wire } = stage;
    // So slow that it still runs when the key arrives: repeated lines are drafted, and come in a few frames.
    wire.direct({ edits: { 'ten times': AFTER + 'e = 50\n'.repeat(100) }, pace: 1000 });
    await ask('stop.py', 'ten times');
    await workbench.untilText('it has begun', (text) => text.includes('b = 20'));
    await workbench.press('Escape');
    await until('the server was told', () => wire.messages(INTERRUPT).length === 1);
    await workbench.untilStatus('it waits for review', (status) => status.includes('accept or reject'));
    expect(await workbench.text()).toContain('b = 20');
    await workbench.press('Control+Enter');
    await workbench.untilStatus('it was accepted', (status) => status.includes('ready'));
    expect(await workbench.text()).toContain('b = 20');
  });

  it('is rejected by its key, and what was typed meanwhile stays', async () => {
    const { workbench, wire } = stage;
    wire.direct({ edits: { 'ten times': AFTER } });
    await ask('reject.py', 'ten times');
    await workbench.untilText('it landed', (text) => text === AFTER);
    await workbench.press('Control+End');
    await workbench.type('# mine');
    await workbench.press('Control+KeyK', 'Control+Backspace');
    await workbench.untilText('ours is gone', (text) => text === `${BEFORE}# mine`);
  });

  it('is made by the real model as well', async () => {
    const { workbench, wire } = stage;
    await ask('real.py', 'rename result to surface');
    await until('it was asked for', () => wire.messages(EDIT).length === 1);
    await workbench.untilStatus('it is over', (status) => /accept or reject|ready/.test(status));
  });

  it('a changed name is offered for the other places: one key goes there, and the same accepts', async () => {
    const { workbench } = stage;
    await workbench.openFile('names.py');
    await workbench.press('Control+Home', 'Control+Shift+ArrowRight');
    await workbench.type('amount');
    await workbench.press('Escape');
    await workbench.page.locator('.editor-instance .margin .cgmr[class*="ced-"]').first().waitFor();
    for (let times = 0; times < 3; times++) {
      await workbench.press('Alt+Enter');
    }
    await workbench.untilText('all are changed', (text) => text === 'amount = 1\nprint(amount)\nprint(amount + 1)\n');
  });
});
