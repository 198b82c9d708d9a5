import { describe, expect, it } from 'vitest';
import type { WarmlineError } from '../../src/core/index.js';
import { GhostText } from '../../src/playground/ghost_text.js';
import { connected } from '../core/support/connected.js';

/** Somebody who types at the end of a document, and what is drawn for them. */
async function typing(text = '', automatic = true) {
  const connection = await connected();
  const document = connection.client.open('file:///a.py', 'python', text);
  const drawn: (string | undefined)[] = [];
  const failed: WarmlineError[] = [];
  let asked = false;
  const ghost = new GhostText(connection.client, document, {
    automatic: () => automatic,
    sampling: () => ({ maxTokens: 16 }),
    show: (shown, said) => {
      drawn.push(shown?.text);
      asked = said;
    },
    failed: (error) => failed.push(error),
  });
  const type = (typed: string, at = document.length): void => {
    const change = document.change([{ start: at, end: at, text: typed }]);
    if (change !== undefined) {
      ghost.changed(change, true, at + typed.length);
    }
  };
  return { ...connection, document, drawn, failed, ghost, type, asked: () => asked };
}

describe('ghost text', () => {
  it('is drawn with each piece that comes, and not only at the end', async () => {
    const { server, type, drawn, ghost } = await typing('retur');
    type('n');
    expect(server.of('complete')).toMatchObject([{ position: 6, version: 2, sampling: { maxTokens: 16 } }]);
    server.say({ type: 'accepted', request: 1, stream: 1 });
    for (const text of [' a', ' + b\n', 'more']) {
      server.say({ type: 'delta', stream: 1, text });
    }
    expect(drawn).toEqual([' a', ' a + b', ' a + b\nmore']);
    expect(ghost.current?.running).toBe(true);
    server.say({ type: 'done', request: 1, reason: 'stop' });
    expect(ghost.current).toMatchObject({ start: 6, end: 6, text: ' a + b\nmore', running: false });
  });

  it('stays while what it says is typed, without another request', async () => {
    const { server, type, ghost } = await typing('retur');
    type('n');
    server.say({ type: 'accepted', request: 1, stream: 1 }, { type: 'delta', stream: 1, text: ' a + b' });
    for (const key of ' a ') {
      type(key);
    }
    expect(ghost.current?.text).toBe('+ b');
    expect(server.of('complete')).toHaveLength(1);
    expect(server.of('cancel')).toEqual([]);
  });

  it('goes, and its request with it, when the cursor does or something is undone', async () => {
    const { server, type, drawn, ghost, document } = await typing('retur');
    type('n');
    server.say({ type: 'accepted', request: 1, stream: 1 }, { type: 'delta', stream: 1, text: ' a' });
    ghost.moved();
    expect(drawn.at(-1)).toBeUndefined();
    expect(server.last('cancel')).toMatchObject({ request: 1 });
    const change = document.change([{ start: 0, end: 1, text: '' }]);
    ghost.changed(change!, false, 0);
    expect(server.of('complete')).toHaveLength(1);
  });

  it('comes by hand only where that is wanted, and then stays while one types on', async () => {
    const { server, type, ghost } = await typing('retur', false);
    type('n');
    expect(server.of('complete')).toEqual([]);
    ghost.trigger(6);
    server.say({ type: 'accepted', request: 1, stream: 1 }, { type: 'delta', stream: 1, text: ' a' });
    type(' ');
    expect(ghost.current?.text).toBe('a');
    ghost.dismiss();
    type('x');
    expect(ghost.current).toBeUndefined();
    expect(server.of('complete')).toHaveLength(1);
  });

  it('is not offered unasked where much stands to the right, and one line of it by hand', async () => {
    const { server, type, ghost } = await typing('(argument, another)');
    type('f', 0);
    expect(server.of('complete')).toEqual([]);
    ghost.trigger(1);
    server.say({ type: 'accepted', request: 1, stream: 1 }, { type: 'delta', stream: 1, text: 'oo\nbar' });
    expect(ghost.current?.text).toBe('oo');
  });

  it('asks ahead for what follows once it is whole', async () => {
    const { server, type } = await typing('retur');
    type('n');
    server.say(
      { type: 'accepted', request: 1, stream: 1 },
      { type: 'delta', stream: 1, text: ' a' },
      { type: 'done', request: 1, reason: 'stop' },
    );
    expect(server.of('complete')).toHaveLength(2);
    type(' a');
    server.say({ type: 'accepted', request: 2, stream: 2 }, { type: 'delta', stream: 2, text: '\n\nb = 1' });
    expect(server.of('complete')).toHaveLength(2);
  });

  it('says when the model had its say and there is nothing to show', async () => {
    const { server, type, ghost, drawn, asked } = await typing('retur');
    type('n');
    expect(asked()).toBe(false);
    server.say({ type: 'accepted', request: 1, stream: 1 }, { type: 'done', request: 1, reason: 'stop' });
    expect(ghost.current).toBeUndefined();
    expect([drawn.at(-1), asked()]).toEqual([undefined, true]);
    type(' ');
    expect(server.of('complete')).toHaveLength(2);
  });

  it('is none while there is no connection', async () => {
    const { server, type, ghost, failed } = await typing('retur');
    server.close(1006);
    type('n');
    expect(ghost.current).toBeUndefined();
    expect(failed).toEqual([]);
  });
});
