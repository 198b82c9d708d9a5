import { describe, expect, it } from 'vitest';
import { Client } from '../../src/core/client.js';
import { step } from '../../src/core/connection_state.js';
import type { ConnectionState } from '../../src/core/connection_state.js';
import { webSocketConnect } from '../../src/core/transport.js';
import type { TransportEvents } from '../../src/core/transport.js';
import { JSON_TEXT, MSGPACK } from '../../src/core/wire.js';
import { connected } from './support/connected.js';
import { FakeEnvironment } from './support/fake_environment.js';
import { FakeServer } from './support/fake_server.js';

async function refusedWith(code: number, reason = ''): Promise<ConnectionState> {
  const environment = new FakeEnvironment();
  const server = new FakeServer();
  server.refusal = { code, reason };
  const client = new Client({ url: 'ws://fake', connect: server.connect, environment });
  client.start();
  await environment.settle();
  return client.state;
}

describe('a connection', () => {
  it.each([JSON_TEXT, MSGPACK] as const)('greets in %s and is ready when the server says welcome', async (subprotocol) => {
    const { client, server } = await connected({ subprotocol, token: 'key', client: 'a test' });
    expect(client.state).toMatchObject({ name: 'ready', welcome: { model: 'none' } });
    expect(server.of('hello')).toMatchObject([{ type: 'hello', token: 'key', client: 'a test' }]);
    expect(server.sockets[0]!.address).toEqual({ url: 'ws://fake', subprotocol, token: undefined });
  });

  it('comes back by itself, again and again, when the server is gone', async () => {
    const { client, server, environment } = await connected();
    server.refusal = { code: 1006, reason: '' };
    server.close(1006);
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(client.state.name).toBe('waiting');
      await environment.pass(10_000);
    }
    expect(server.sockets.length).toBeGreaterThan(4);
    server.refusal = undefined;
    await environment.pass(10_000);
    expect(client.state.name).toBe('ready');
  });

  it.each([1012, 1013, 1006, 1001, 1011, 4408])('comes back after close code %i', async (code) => {
    const { client, server, environment } = await connected();
    server.close(code, 'as it is');
    expect(client.state).toMatchObject({ name: 'waiting', attempt: 1 });
    await environment.pass(1000);
    expect(client.state.name).toBe('ready');
  });

  it.each([
    [4401, 'unauthorized'],
    [4403, 'forbidden'],
    [4409, 'taken'],
    [1003, 'incompatible'],
  ])('stays away after close code %i until something changes', async (code, final) => {
    const { client, server, environment } = await connected();
    server.close(code);
    expect(client.state).toMatchObject({ name: 'stopped', final });
    await environment.pass(120_000);
    expect(server.sockets).toHaveLength(1);
    client.connection.configure({ url: 'ws://fake', token: 'another' });
    await environment.settle();
    expect(client.state.name).toBe('ready');
    expect(server.last('hello').token).toBe('another');
  });

  it('is unauthorised where the server answers hello so, or the upgrade with HTTP 401', async () => {
    const environment = new FakeEnvironment();
    const server = new FakeServer();
    server.greeting = { type: 'error', request: null, code: 'unauthorized', message: 'a key is needed' };
    const client = new Client({ url: 'ws://fake', connect: server.connect, environment });
    client.start();
    await environment.settle();
    expect(client.state).toEqual({ name: 'stopped', final: 'unauthorized', why: 'a key is needed' });
    expect(await refusedWith(1006, 'Unexpected server response: 401')).toMatchObject({ final: 'unauthorized' });
    expect(await refusedWith(1006, 'Unexpected server response: 403')).toMatchObject({ final: 'forbidden' });
    expect(await refusedWith(1006, 'connect ECONNREFUSED 127.0.0.1:401')).toMatchObject({ name: 'waiting' });
  });

  it('draws its delay from the whole of a window that doubles up to ten seconds', () => {
    let state: ConnectionState = { name: 'connecting', attempt: 0 };
    const windows: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      state = step(state, { type: 'closed', code: 1006, reason: '' }, () => 0.999999).state;
      windows.push('delay' in state ? state.delay : -1);
      state = step(state, { type: 'retry' }, Math.random).state;
    }
    expect(windows).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
    const soon = step({ name: 'connecting', attempt: 3 }, { type: 'closed', code: 1006, reason: '' }, () => 0).state;
    expect(soon).toMatchObject({ delay: 0 });
  });

  it('gives up a server that says no welcome in time, and one that speaks something else', async () => {
    const environment = new FakeEnvironment();
    const server = new FakeServer();
    server.greeting = undefined;
    const client = new Client({ url: 'ws://fake', connect: server.connect, environment });
    client.start();
    await environment.pass(10_001);
    expect(client.state).toMatchObject({ name: 'waiting', why: expect.stringContaining('did not answer in time') as string });
    client.start();
    await environment.settle();
    server.sockets.at(-1)!.events.received('<html>');
    expect(client.state).toMatchObject({ name: 'stopped', final: 'incompatible' });
  });

  it('finds out that a silent socket is dead', async () => {
    const { client, server, environment } = await connected();
    server.answersPings = false;
    await environment.pass(10_001);
    expect(client.state.name).toBe('ready');
    await environment.pass(10_001);
    expect(client.state).toMatchObject({ name: 'waiting', why: 'the server does not answer any more' });
    server.answersPings = true;
    await environment.pass(1000);
    expect(client.state.name).toBe('ready');
    await environment.pass(60_000);
    expect(server.sockets).toHaveLength(2);
  });

  it('finds out within two seconds after sleep (CodeChat_Editor 79)', async () => {
    const { client, server, environment } = await connected();
    server.answersPings = false;
    environment.slept = 3_600_000;
    await environment.pass(10_000);
    await environment.pass(2_001);
    expect(client.state.name).toBe('waiting');
  });

  it('is looked at when the window comes back', async () => {
    const { client, server, environment } = await connected();
    server.answersPings = false;
    client.connection.check();
    await environment.pass(2_001);
    expect(client.state.name).toBe('waiting');
    client.connection.check();
    await environment.settle();
    expect(client.state.name).toBe('ready');
  });

  it('ignores what an old socket still says', async () => {
    const { client, server, environment } = await connected();
    const old = server.sockets[0]!;
    server.close(1012);
    await environment.pass(1000);
    old.events.received('nonsense');
    old.events.closed(4401, '');
    expect(client.state.name).toBe('ready');
  });

  it('knows the clock of the server', async () => {
    const { client, environment } = await connected();
    expect(client.connection.clock.best(environment.now())).toMatchObject({ offset: 5_000_000, delay: 0 });
  });

  it('stops when it is told to, and says nothing more', async () => {
    const { client, server, environment } = await connected();
    client.dispose();
    await environment.pass(60_000);
    expect(client.state).toMatchObject({ name: 'stopped', final: 'closed' });
    expect(server.sockets).toHaveLength(1);
  });
});

describe('a browser socket', () => {
  const events: TransportEvents = { opened: () => undefined, received: () => undefined, closed: () => undefined };

  class FakeSocket {
    static made: FakeSocket | undefined;
    binaryType = '';
    bufferedAmount = 3;
    onopen = null;
    onmessage: ((event: { data: string }) => void) | null = null;
    onerror: ((event: object) => void) | null = null;
    onclose: ((event: { code: number; reason: string }) => void) | null = null;
    closedWith: number | undefined;
    constructor(
      readonly url: string,
      readonly protocols: string[],
    ) {
      FakeSocket.made = this;
    }
    send(): void {
      // nobody listens
    }
    close(code?: number): void {
      this.closedWith = code;
    }
  }

  it('offers the key as a second subprotocol, in base64url without padding', () => {
    const connect = webSocketConnect(FakeSocket);
    connect({ url: 'ws://x', subprotocol: MSGPACK, token: 'a key?>~' }, events);
    expect(FakeSocket.made!.protocols).toEqual(['warmline.v1.msgpack', 'bearer.YSBrZXk_Pn4']);
    connect({ url: 'ws://x', subprotocol: JSON_TEXT }, events);
    expect(FakeSocket.made!.protocols).toEqual(['warmline.v1.json']);
  });

  it('says once that it is closed, at once when it is closed here', () => {
    const seen: unknown[] = [];
    const socket = webSocketConnect(FakeSocket)(
      { url: 'ws://x', subprotocol: MSGPACK },
      { ...events, closed: (code, reason) => seen.push([code, reason]) },
    );
    FakeSocket.made!.onerror?.({ message: 'ECONNREFUSED' });
    socket.close();
    FakeSocket.made!.onclose?.({ code: 1006, reason: '' });
    expect(seen).toEqual([[1000, '']]);
  });

  it('says what went wrong where the socket knows', () => {
    const seen: unknown[] = [];
    webSocketConnect(FakeSocket)(
      { url: 'ws://x', subprotocol: MSGPACK },
      { ...events, closed: (code, reason) => seen.push([code, reason]) },
    );
    FakeSocket.made!.onerror?.({ message: 'ECONNREFUSED' });
    FakeSocket.made!.onclose?.({ code: 1006, reason: '' });
    expect(seen).toEqual([[1006, 'ECONNREFUSED']]);
  });
});
