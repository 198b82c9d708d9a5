import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/processes.js';
import { type Stage, raise } from '../support/stage.js';

const CHANGE = 3;
const COMPLETE = 6;
/** Each test has a text of its own: what was suggested for a text before is shown from the cache. */
const code = (name: string): string => `def ${name}(a, b):\n    \n`;

describe('suggestions', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await raise({
      files: {
        ...Object.fromEntries(['accept', 'words', 'typed', 'typo', 'fast', 'away', 'flicker', 'ahead', 'tab'].map((name) => [`${name}.py`, code(name)])),
        'burst.py': 'x = 1\n',
        'real.py': 'def add(a, b):\n    """Return the sum of a and b."""\n    \n\n\nprint(add(1, 2))\n',
        'brackets.py': 'value = 1\n',
        'multi.py': 'def greet(name):\n    \n',
        '.env': 'TOKEN=hunter2\n',
        'ignored.py': 'secret = "hunter3"\n',
        '.gitignore': 'ignored.py\n',
        'notes.md': 'some notes\n',
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

  /** Put the cursor behind the indentation of the second line. */
  async function atBody(file: string): Promise<void> {
    const { workbench } = stage;
    await workbench.openFile(file);
    await workbench.press('Control+Home', 'ArrowDown', 'End');
  }

  it('appear while typing, by the real model, and Tab takes them', async () => {
    const { workbench } = stage;
    await workbench.openFile('real.py');
    await workbench.press('Control+Home', 'ArrowDown', 'ArrowDown', 'End');
    await workbench.type('return ');
    await workbench.untilGhost('a suggestion is shown', (ghost) => ghost.trim() !== '');
    const [before, ghost] = [await workbench.text(), await workbench.ghost()];
    await workbench.press('Tab');
    await workbench.untilText('it was put in', (text) => text !== before && text.includes(ghost.trim().slice(0, 4))); // lines of it are joined
  });

  it('go in as a whole by Tab', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('accept.py');
    await workbench.type('ret');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'urn a + b');
    await workbench.press('Tab');
    await workbench.untilText('it was put in', (text) => text.includes('    return a + b'));
  });

  it('go in word by word', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('words.py');
    await workbench.type('ret');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'urn a + b');
    await workbench.press('Control+ArrowRight');
    await workbench.untilText('a word was put in', (text) => /^ {4}return$/m.test(text));
    await workbench.untilGhost('what is left is shown', (ghost) => ghost.trim() === 'a + b');
  });

  it('stay while what they say is typed, without another answer (llama.vim#18)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('typed.py');
    await workbench.type('r');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'eturn a + b');
    wire.direct({ hold: true });
    await workbench.type('eturn');
    await workbench.untilGhost('less of it is shown', (ghost) => ghost.trim() === 'a + b');
  });

  it('survive a typo that is taken back', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('typo.py');
    await workbench.type('ret');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'urn a + b');
    await workbench.type('z');
    await workbench.press('Backspace');
    await workbench.untilGhost('it is shown again', (ghost) => ghost === 'urn a + b');
  });

  it('are shown though keys come faster than answers (microsoft/vscode#147830)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'], pace: 80 });
    await atBody('fast.py');
    await workbench.type('return', 60);
    await workbench.untilGhost('a suggestion is shown', (ghost) => ghost.trim() === 'a + b');
  });

  it('of several lines come in the ghost text as well', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['greeting = f"Hello {name}"\n    print(greeting)\n    return greeting'] });
    await atBody('multi.py');
    await workbench.type('gre');
    await workbench.untilGhost('both lines are shown', (ghost) => ghost.includes('return greeting'));
    await workbench.press('Tab');
    await workbench.untilText('all went in', (text) => /f"Hello \{name\}"\n {4}print\(greeting\)\n {4}return greeting/.test(text));
  });

  it('do not double a bracket that the editor closed (microsoft/vscode#26012)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['print(value)'] });
    await workbench.openFile('brackets.py');
    await workbench.press('Control+End');
    await workbench.type('print(');
    await workbench.untilGhost('the argument is shown', (ghost) => ghost.startsWith('value'));
    await workbench.press('Tab');
    await workbench.untilText('it was put in', (text) => text.split('\n').some((line) => line === 'print(value)'));
  });

  it('go when the cursor goes elsewhere (microsoft/vscode#235977)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('away.py');
    await workbench.type('ret');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'urn a + b');
    await workbench.press('Control+Home');
    await workbench.untilGhost('it is gone', (ghost) => ghost === '');
  });

  it('are there without a frame in which they are not, while they are typed and taken by words (microsoft/vscode#137843, #208152)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await atBody('flicker.py');
    await workbench.type('r');
    await workbench.untilGhost('the rest is shown', (ghost) => ghost === 'eturn a + b');
    const blank = await workbench.framesWithoutGhost(async () => {
      await workbench.type('etu');
      await workbench.press('Control+ArrowRight');
      await workbench.untilText('a word was put in', (text) => /^ {4}return$/m.test(text));
      await workbench.untilGhost('what is left is shown', (ghost) => ghost.trim() === 'a + b');
    });
    expect(blank).toBeLessThanOrEqual(1); // VS Code itself may need a frame between two
  });

  it('are there already when the one before is accepted (llama.vim#31)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['a + b', 'return a'] });
    await atBody('ahead.py');
    await workbench.type('ret');
    await workbench.untilGhost('the first is shown', (ghost) => ghost === 'urn a');
    const name = 'ahead.py#after-acceptance';
    await until('the next is there', () => {
      const asked = wire.messages(COMPLETE).filter((message) => String(message[2]).endsWith(name)).length;
      return asked > 0 && wire.ended(name) === asked; // those that a later key gave up have ended, too
    });
    wire.direct({ hold: true });
    await workbench.press('Tab');
    await workbench.untilGhost('the next is shown', (ghost) => ghost === ' + b');
  });

  it('leave Tab alone where there is none (microsoft/vscode#252432)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ hold: true });
    await atBody('tab.py');
    await workbench.type('#');
    await workbench.press('Home', 'Home', 'Tab');
    await workbench.untilText('it indents', (text) => text === 'def tab(a, b):\n        #\n');
  });

  it('leave at most two generations alive after a burst of 40 keys (continuedev/continue#2935)', async () => {
    const { workbench, service } = stage;
    await workbench.openFile('burst.py');
    await workbench.press('Control+End');
    let most = 0;
    let typing = true;
    const watched = (async () => {
      while (typing) {
        const running = await service.metric('warmline_engine_sequences_running');
        most = Math.max(most, running + (await service.metric('warmline_engine_sequences_waiting')));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await workbench.type('total = sum(value for value in range(10))', 60);
    typing = false;
    await watched;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2);
    await workbench.press('Control+Home');
    await until('all of them are over', async () => (await service.metric('warmline_requests_running')) === 0);
  });

  it('are not asked for in languages that are off, but by hand they are (Exafunction/codeium#109)', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['more notes'] });
    await workbench.openFile('notes.md');
    await workbench.press('Control+End');
    await workbench.type('mo');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(wire.messages(COMPLETE)).toEqual([]);
    await workbench.press('Alt+Backslash');
    await workbench.untilGhost('it is shown', (ghost) => ghost === 're notes');
  });

  it('never send a file that is excluded, or that git ignores', async () => {
    const { workbench, wire } = stage;
    for (const file of ['.env', 'ignored.py']) {
      await workbench.openFile(file);
      await workbench.press('Control+End');
      await workbench.type('more');
      await workbench.command('Warmline: Why Did Nothing Appear?');
      await workbench.page.getByText(/never sent|ignored by git/).first().waitFor();
    }
    expect(JSON.stringify(wire.sent)).not.toMatch(/hunter|\.env|ignored\.py/);
  });

  it('are nowhere once Warmline is off, and nothing is sent', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return a + b'] });
    await workbench.command('Warmline: Turn On or Off');
    await workbench.untilStatus('off', (status) => status.includes('off'));
    wire.sent = [];
    await workbench.openFile('accept.py');
    await workbench.press('Control+End');
    await workbench.type('ret');
    await workbench.press('Alt+Backslash');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(wire.sent).toEqual([]);
    expect(await workbench.ghost()).toBe('');
    await workbench.command('Warmline: Turn On or Off');
    await workbench.untilStatus('ready', (status) => status.includes('ready'));
  });
});

describe('suggestions that are dismissed', () => {
  it('come later after several times, and by themselves all the same', async () => {
    const settings = { 'warmline.completions.backOff': true, 'warmline.completions.prefetch': false };
    const { workbench, wire, strike } = await raise({ files: { 'again.py': 'value = 1\n' }, settings });
    try {
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
      await workbench.openFile('again.py');
      await workbench.press('Control+End');
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
        wire.direct({ completions: [`${key}_rest`] });
        await workbench.type(key);
        await workbench.untilGhost('it is shown', (ghost) => ghost === '_rest');
        await workbench.press('Escape');
        await workbench.untilGhost('it is gone', (ghost) => ghost === '');
      }
      wire.sent = [];
      wire.direct({ completions: ['g_rest'] });
      await workbench.type('g');
      await until('the key is told', () => wire.messages(CHANGE).length > 0);
      expect(wire.messages(COMPLETE)).toEqual([]);
      await workbench.untilGhost('it is shown all the same', (ghost) => ghost === '_rest');
    } finally {
      await strike();
    }
  });
});
