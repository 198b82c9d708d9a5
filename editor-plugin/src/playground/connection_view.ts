/** What the page says of the connection, and the key that a server may want. */
import type { Client, ConnectionState } from '../core/index.js';
import { byId } from './dom.js';

const KEY = 'warmline.key';

/** The key is kept for this tab, by the browser, and nowhere else. Storage may be forbidden: then it is asked for again. */
export function storedKey(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

function storeKey(key: string): void {
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // it works until the page is loaded again
  }
}

/** What is said in one line. */
export function stateText(state: ConnectionState): string {
  switch (state.name) {
    case 'idle':
    case 'connecting':
    case 'greeting':
      return 'Connecting…';
    case 'ready':
      return `Connected: ${state.welcome.model}`;
    case 'waiting':
      return `Reconnecting: ${state.why}`;
    case 'stopped':
      return state.final === 'unauthorized' ? 'Not connected: an API key is needed' : `Disconnected: ${state.why}`;
  }
}

/** Keeps the header true, and asks for a key where one is wanted. `authorize` is given each new one. */
export function showConnection(client: Client, authorize: (key: string) => void): void {
  const connection = byId('connection', 'div');
  const text = byId('connection-text', 'span');
  const reconnect = byId('reconnect', 'button');
  const dialog = byId('key-dialog', 'dialog');
  const key = byId('key', 'input');
  const advice = byId('advice', 'p');
  let everReady = false;

  const show = (state: ConnectionState): void => {
    connection.dataset['state'] = state.name;
    const said = stateText(state);
    // Each attempt passes through "connecting"; that is not worth a word to who listens.
    if (text.textContent !== said && !(everReady && said === 'Connecting…')) {
      text.textContent = said;
    }
    reconnect.hidden = state.name !== 'waiting' && state.name !== 'stopped';
    reconnect.textContent = state.name === 'stopped' && state.final === 'unauthorized' ? 'Enter a key' : 'Connect now';
    if (state.name === 'ready') {
      everReady = true;
      advice.hidden = true;
      dialog.close();
    } else if (state.name === 'stopped' && state.final === 'unauthorized') {
      askForKey();
    } else if (state.name === 'waiting' && !everReady) {
      void adviseOnOrigin(advice);
    }
  };

  const askForKey = (): void => {
    byId('key-why', 'p').textContent = storedKey() === undefined ? 'It was started with --api-key.' : 'The last one was wrong.';
    if (!dialog.open) {
      dialog.showModal();
    }
    key.select();
  };

  reconnect.addEventListener('click', () => {
    const { state } = client;
    if (state.name === 'stopped' && state.final === 'unauthorized') {
      askForKey();
    } else {
      client.connection.start();
    }
  });
  byId('key-form', 'form').addEventListener('submit', (event) => {
    event.preventDefault();
    const given = key.value.trim();
    key.value = '';
    dialog.close();
    storeKey(given);
    authorize(given);
  });
  byId('key-cancel', 'button').addEventListener('click', () => dialog.close());
  addEventListener('online', () => client.connection.check());
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      client.connection.check();
    }
  });
  client.connection.onState(show);
  show(client.state);
}

/** A browser doesn't say why a socket didn't open. Where the server is well, it is this page's address. */
async function adviseOnOrigin(advice: HTMLElement): Promise<void> {
  const well = await fetch('/readyz', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
  advice.hidden = !well;
  advice.textContent = well
    ? `The server is there, but does not let pages of this address in. Start it with --allowed-origin ${location.origin}`
    : '';
}
