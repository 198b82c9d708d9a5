/** The playground: puts the page together. */
import { Client, systemEnvironment, WarmlineError, webSocketConnect } from '../core/index.js';
import type { Connect, ConnectionOptions } from '../core/index.js';
import { Announcer } from './announcer.js';
import { showConnection, storedKey } from './connection_view.js';
import { byId, el } from './dom.js';
import { EXAMPLES } from './examples.js';
import { exampleEdit, race, warmAgainstCold, withAndWithout } from './experiments.js';
import { raceResult, warmColdResult, withoutResult } from './experiments_view.js';
import type { Ghost } from './ghost_text.js';
import type { InPlaceEdit } from './in_place_edit.js';
import { milliseconds } from './recorder.js';
import type { Timed } from './recorder.js';
import { sdkCode } from './sdk_code.js';
import { themes } from './theme.js';
import { sessionSummary, waterfall } from './timings_view.js';
import type { Watching } from './watching.js';
import { inWords, Workspace } from './workspace.js';

const MOST_TIMED = 1000;

const environment = systemEnvironment();
const announcer = new Announcer(byId('announcer', 'p'));
const all: Timed[] = [];
let socketBytes = 0;

/** A browser's socket, with what goes out counted. */
const counted: Connect = (address, events) => {
  const transport = webSocketConnect()(address, events);
  return {
    send(frame) {
      socketBytes += typeof frame === 'string' ? new TextEncoder().encode(frame).length : frame.byteLength;
      transport.send(frame);
    },
    close: (code, reason) => transport.close(code, reason),
    get unsent() {
      return transport.unsent;
    },
  };
};

const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`;
const connection = (token: string | undefined): ConnectionOptions => ({ url, token, client: 'warmline-playground' });
const client = new Client({ ...connection(storedKey()), connect: counted, environment });

const automatic = byId('automatic', 'input');
const speculation = byId('speculation', 'input');
const instruction = byId('instruction', 'input');
const send = byId('send', 'button');
const stop = byId('stop', 'button');
const takeBack = byId('take-back', 'button');

const examples = byId('example', 'select');
examples.append(...EXAMPLES.map(({ name }) => el('option', {}, name)));

const [first] = EXAMPLES;
if (first === undefined) {
  throw new Error('there is no example');
}
const workspace = new Workspace(
  {
    client,
    parent: byId('code', 'div'),
    nonce: document.querySelector<HTMLElement>('link[nonce]')?.nonce ?? '',
    now: () => environment.now(),
    automatic: () => automatic.checked,
    speculation: () => speculation.checked,
    announcer,
    instruct: () => instruction.focus(),
    suggested: showSuggestion,
    edited: showEdit,
    running: showRunning,
    timed(timed) {
      all.splice(0, all.length - MOST_TIMED + 1);
      all.push(timed);
      byId('waterfall', 'div').replaceChildren(waterfall(timed));
      byId('summary', 'div').replaceChildren(sessionSummary(all));
    },
  },
  first,
);

// Suggestions --------------------------------------------------------------------------------------------------------

for (const [id, act] of [
  ['accept', () => workspace.accept()],
  ['accept-word', () => workspace.acceptWord()],
  ['dismiss', () => workspace.escape()],
] as const) {
  const button = byId(id, 'button');
  button.addEventListener('mousedown', (event) => event.preventDefault()); // the editor keeps the focus, and its keyboard
  button.addEventListener('click', () => {
    act();
    workspace.view.focus();
  });
}

function showSuggestion(ghost: Ghost | undefined, problem?: string): void {
  for (const id of ['accept', 'accept-word', 'dismiss']) {
    byId(id, 'button').disabled = ghost === undefined;
  }
  const idle = automatic.checked ? 'Type: what may follow appears in grey.' : 'Alt+\\ asks for a suggestion.';
  byId('ghost-state', 'span').textContent = problem ?? (ghost === undefined ? idle : ghost.running ? 'Streaming…' : 'A suggestion.');
}

automatic.addEventListener('change', () => showSuggestion(undefined));

// Edits --------------------------------------------------------------------------------------------------------------

instruction.addEventListener('focus', () => workspace.warmRange());
instruction.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    event.preventDefault();
    if (!workspace.stop()) {
      workspace.view.focus();
    }
  }
});
byId('instruct', 'form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = instruction.value.trim();
  if (text === '') {
    instruction.focus();
    return;
  }
  const { edit, editing } = workspace;
  instruction.value = ''; // at once: what is typed until the answer is the next one's
  workspace.send(text).catch((error: unknown) => {
    if (instruction.value === '') {
      instruction.value = text;
    }
    if (editing && error instanceof WarmlineError && error.code === 'unknown_request') {
      steeredLate = edit;
      showEdit();
    } else {
      sayOfEdit(inWords(error));
    }
  });
});
stop.addEventListener('click', () => workspace.stop());
takeBack.addEventListener('click', () => {
  workspace.edit?.takeBack();
  workspace.view.focus();
});

/** The edit that a steering came too late for. */
let steeredLate: InPlaceEdit | undefined;

function sayOfEdit(text: string): void {
  const state = byId('edit-state', 'span');
  if (state.textContent !== text) {
    state.textContent = text;
    announcer.say(text);
  }
}

function showEdit(): void {
  const { edit, editing } = workspace;
  send.textContent = editing ? 'Steer' : 'Edit';
  stop.hidden = !editing;
  takeBack.hidden = edit?.revertible !== true;
  byId('instruction-label', 'label').textContent = editing
    ? 'Steer the edit that runs'
    : 'Edit the selection, or what the cursor stands in';
  instruction.placeholder = editing ? 'and say what else' : `for example: ${EXAMPLES[examples.selectedIndex]?.edit.instruction ?? ''}`;
  const steps = byId('steps', 'ol');
  steps.hidden = !editing;
  steps.replaceChildren(...workspace.instructions.map((step) => el('li', {}, step)));
  if (edit === undefined) {
    sayOfEdit('No edit yet.');
  } else if (editing) {
    sayOfEdit('Editing…');
  } else {
    sayOfEdit(edit === steeredLate ? `The edit had ended already. ${endOfEdit(edit)}` : endOfEdit(edit));
  }
}

function endOfEdit(edit: InPlaceEdit): string {
  if (edit.fate !== undefined) {
    return edit.fate === 'undone' ? 'Undone.' : 'Taken back.';
  }
  const { outcome } = edit.session;
  if (outcome?.ok !== true) {
    return `The edit ended: ${outcome?.error.message ?? 'it was given up'}`;
  }
  const { lines } = edit;
  const changed = edit.hasChanged ? `Changed ${lines === 1 ? 'one line' : `${lines} lines`}` : 'Changed, and nothing of that is left';
  const what = edit.didChange ? changed : 'Nothing was changed';
  switch (outcome.reason) {
    case 'interrupted':
      return `Stopped. ${what}.`;
    case 'conflict':
      return `Stopped where you typed. ${what}.`;
    case 'length':
      return `Cut at the most tokens. ${what}.`;
    default:
      return `${what}.`;
  }
}

function showRunning(watching: Watching | undefined): void {
  let text = '';
  if (watching !== undefined) {
    const { kind, visible } = watching;
    const seen = visible === undefined ? 'nothing visible yet' : `first visible after ${milliseconds(visible)}`;
    text = `${kind === 'edit' ? 'Editing' : 'Completing'}: ${seen}`;
  }
  byId('live', 'span').textContent = text;
}

// The page around it -------------------------------------------------------------------------------------------------

examples.addEventListener('change', () => {
  const example = EXAMPLES[examples.selectedIndex];
  if (example !== undefined) {
    workspace.load(example);
    instruction.value = '';
  }
});

const copy = byId('copy', 'button');
copy.addEventListener('click', () => {
  const code = sdkCode({ url: url.replace(/\/$/, ''), key: storedKey() !== undefined, speculation: speculation.checked, ...workspace.question });
  copyText(code).then(
    () => note(copy, 'Copied'),
    () => note(copy, 'The browser forbids it'),
  );
});

/** The clipboard wants a secure page; the older way does without. */
async function copyText(text: string): Promise<void> {
  // Typed as always there, but it is not on a plain address of a network.
  const { clipboard } = navigator as { clipboard?: Clipboard };
  if (clipboard !== undefined) {
    return clipboard.writeText(text);
  }
  const area = el('textarea', { class: 'visually-hidden' });
  area.value = text;
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way there
  const done = document.execCommand('copy');
  area.remove();
  if (!done) {
    throw new Error('not copied');
  }
}

function note(button: HTMLButtonElement, text: string): void {
  const before = button.dataset['label'] ?? (button.dataset['label'] = button.textContent);
  button.textContent = text;
  announcer.say(text);
  setTimeout(() => (button.textContent = before), 1500);
}

// Comparisons --------------------------------------------------------------------------------------------------------

const httpPort = document.body.dataset['httpPort'] ?? '';

experiment('warm-cold', async () => warmColdResult(await warmAgainstCold(client)));
experiment('with-without', async () => {
  const { what, text } = workspace.question;
  return withoutResult(await withAndWithout(client, what.kind === 'edit' ? { text, ...what } : exampleEdit()));
});
experiment('race', async (progress) => {
  if (httpPort === '') {
    throw new Error('The HTTP API is off here: start the server with --http-port 8766 (or any other port).');
  }
  return raceResult(
    await race(client, {
      base: `${location.protocol}//${location.hostname}:${httpPort}/v1`,
      token: storedKey(),
      socketBytes: () => socketBytes,
      progress: (round, rounds) => progress(round === 0 ? 'Warming up…' : `Round ${round} of ${rounds}…`),
    }),
  );
});

/** A button that makes a comparison, and where its result goes. */
function experiment(id: string, run: (progress: (text: string) => void) => Promise<HTMLElement>): void {
  const article = byId(id, 'article');
  const button = article.querySelector('button');
  const result = article.querySelector('.result');
  const progress = (text: string): void => result?.replaceChildren(el('p', { class: 'note' }, text));
  button?.addEventListener('click', () => {
    button.disabled = true;
    article.setAttribute('aria-busy', 'true');
    progress('Running…');
    run(progress)
      .then(
        (element) => result?.replaceChildren(element),
        (error: unknown) => result?.replaceChildren(el('p', { class: 'verdict bad' }, inWords(error))),
      )
      .finally(() => {
        button.disabled = false;
        article.removeAttribute('aria-busy');
      });
  });
}

themes();
showSuggestion(undefined);
showEdit();
byId('waterfall', 'div').replaceChildren(waterfall(undefined));
byId('summary', 'div').replaceChildren(sessionSummary(all));
showConnection(client, (key) => client.connection.configure(connection(key)));
client.start();
