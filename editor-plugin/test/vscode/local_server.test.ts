import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UIKind, reset, world } from './support/fake_vscode.js';

/** The command, in an editor of this kind: whether it can start programs is looked at once. */
async function start(): Promise<void> {
  vi.resetModules();
  const { startLocalServer } = await import('../../src/vscode/local_server.js');
  await startLocalServer();
}

describe('Start Local Server', () => {
  beforeEach(() => {
    vi.resetModules();
    reset();
  });

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('runs it in a terminal, where a person sees it', async () => {
    await start();
    expect(world.terminals.map(({ name, sent, shown }) => ({ name, sent, shown }))).toEqual([
      { name: 'Warmline server', sent: ['warmline serve'], shown: 1 },
    ]);
  });

  it('shows the one that runs, and starts another once that has ended', async () => {
    await start();
    await start();
    expect(world.terminals).toHaveLength(1);
    expect(world.terminals[0]).toMatchObject({ sent: ['warmline serve'], shown: 2 });
    world.terminals[0]!.exitStatus = { code: 0 };
    await start();
    expect(world.terminals.map(({ sent }) => sent)).toEqual([['warmline serve'], ['warmline serve']]);
  });

  it.each([
    ['ws://127.0.0.1:8765', 'warmline serve'],
    ['ws://localhost:9000', 'warmline serve --port 9000'],
    ['ws://localhost:9000/', 'warmline serve --port 9000'],
    ['wss://code.example.org', 'warmline serve'],
  ])('serves at the port of %s', async (url, command) => {
    world.settings['url'] = url;
    await start();
    expect(world.terminals[0]?.sent).toEqual([command]);
  });

  it('says once what to do if there is no such command, and shows the setting', async () => {
    const { startLocalServer } = await import('../../src/vscode/local_server.js');
    world.choices.push('Set the Command');
    await startLocalServer();
    world.terminals[0]!.exitStatus = { code: 0 };
    await startLocalServer();
    expect(world.messages).toHaveLength(1);
    expect(world.messages[0]?.text).toContain('.venv/bin/warmline serve');
    expect(world.messages[0]?.buttons).toEqual(['Set the Command']);
    await vi.waitFor(() => expect(world.executed).toEqual(['workbench.action.openSettings']));
  });

  it('runs what the setting says', async () => {
    world.settings['startServer.command'] = 'uvx warmline serve --model mine.gguf';
    await start();
    expect(world.messages).toEqual([]);
    expect(world.terminals[0]?.sent).toEqual(['uvx warmline serve --model mine.gguf']);
  });

  it('lets the page in where an editor in a browser runs on a remote machine', async () => {
    vi.stubGlobal('location', { origin: 'https://vscode.example.org' });
    world.uiKind = UIKind.Web;
    world.remoteName = 'tunnel';
    await start();
    expect(world.terminals[0]?.sent).toEqual(['warmline serve --allowed-origin https://vscode.example.org']);
  });

  it('can start nothing from a browser alone, and says what to run, to be copied', async () => {
    vi.stubGlobal('location', { origin: 'https://vscode.dev' });
    world.uiKind = UIKind.Web;
    await start();
    expect([world.terminals, world.copied]).toEqual([[], undefined]);
    expect(world.messages[0]?.text).toContain('warmline serve --allowed-origin https://vscode.dev');
    world.choices.push('Copy the Command');
    await start();
    expect(world.copied).toBe('warmline serve --allowed-origin https://vscode.dev');
  });

  it('names no origin that is none', async () => {
    vi.stubGlobal('location', { origin: 'null' });
    world.uiKind = UIKind.Web;
    world.choices.push('Copy the Command');
    await start();
    expect(world.copied).toBe('warmline serve');
  });
});
