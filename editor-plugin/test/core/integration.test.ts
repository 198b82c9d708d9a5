import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Client } from '../../src/core/client.js';
import type { ClientOptions } from '../../src/core/client.js';
import type { Document } from '../../src/core/document.js';
import type { EditSession } from '../../src/core/edit_session.js';
import { systemEnvironment } from '../../src/core/environment.js';
import { silent } from '../../src/core/events.js';
import { endToEnd, HOPS } from '../../src/core/hops.js';
import type { Request } from '../../src/core/request.js';
import { DEFAULT_SETTINGS, Suggestions } from '../../src/core/suggestions.js';
import { webSocketConnect } from '../../src/core/transport.js';
import { JSON_TEXT, MSGPACK } from '../../src/core/wire.js';
import { API_KEY, RealServer, warmlineCommand } from './support/real_server.js';

const command = warmlineCommand();
if (command === undefined) {
  console.warn('skipped: no `warmline` command in .venv/bin or on the path (make serve, or pip install warmline)');
}

const TEXT = `${Array.from({ length: 16 }, (_, line) => `value_${line} = ${line} * factor`).join('\n')}\n`;
const REWRITTEN = TEXT.replaceAll('factor', 'scale');

describe.skipIf(command === undefined)('against a real server', () => {
  let server: RealServer;
  let clients: Client[] = [];
  let lines: string[] = [];

  beforeAll(async () => {
    server = await RealServer.start(command!);
  });

  afterEach(() => {
    clients.forEach((client) => client.dispose());
    clients = [];
    lines = [];
  });

  afterAll(() => server.stop());

  function connect(options: Partial<ClientOptions> = {}): Client {
    const note = (line: string): number => lines.push(line);
    const client = new Client({
      url: server.url,
      token: API_KEY,
      connect: webSocketConnect(WebSocket),
      environment: systemEnvironment({ ...silent, info: note, warn: note }),
      ...options,
    });
    clients.push(client);
    client.start();
    return client;
  }

  async function until(condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
    for (const end = Date.now() + 1000 * seconds; !(await condition()); ) {
      if (Date.now() > end) {
        throw new Error(`this did not come about: ${condition.toString()}; the log: ${lines.join('; ')}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async function opened(text: string, options: Partial<ClientOptions> = {}): Promise<[Client, Document]> {
    const client = connect(options);
    const document = client.open('file:///home/values.py', 'python', text);
    await until(() => client.ready);
    return [client, document];
  }

  function progress(request: Request): Promise<void> {
    return new Promise((resolve) => {
      const subscription = request.onProgress(() => {
        subscription.dispose();
        resolve();
      });
    });
  }

  /** Put in what came, as it comes, to the end. */
  async function putAll(document: Document, session: EditSession): Promise<void> {
    for (;;) {
      const plan = session.plan();
      if (plan !== undefined) {
        document.change([...plan.edits].reverse());
      } else if (session.running) {
        await progress(session);
      } else {
        return;
      }
    }
  }

  /** The server has the same text: a change with a hash would be refused otherwise. */
  async function expectInStep(client: Client, document: Document): Promise<void> {
    for (let key = 0; key < 16; key++) {
      document.change([{ start: 0, end: 0, text: '#' }]);
    }
    await new Promise<void>((resolve) => client.connection.probe(() => resolve()));
    expect(lines.filter((line) => line.includes('refused'))).toEqual([]);
  }

  it.each([MSGPACK, JSON_TEXT] as const)('completes over %s, and every hop is accounted for', async (subprotocol) => {
    const [client, document] = await opened('def area(w, h):\n', { subprotocol });
    const completion = client.complete(document, document.length, { replay: '    return w * h\n# 😀\n' });
    const outcome = await completion.ended;
    expect(completion.text).toBe('    return w * h\n# 😀\n');
    if (!outcome.ok) {
      throw outcome.error;
    }
    expect(outcome.reason).toBe('stop');
    expect(outcome.receipt.outputTokens).toBeGreaterThan(0);
    expect(outcome.receipt.promptTokens).toBe(
      outcome.receipt.warmedTokens + outcome.receipt.cachedTokens + outcome.receipt.computedTokens,
    );
    expect(HOPS.every((hop) => outcome.hops[hop] >= 0)).toBe(true);
    expect(endToEnd(outcome.hops)).toBe(outcome.endToEnd);
    expect(outcome.ttft).toBeGreaterThan(0);
  });

  it('goes on with a completion of which the beginning was typed', async () => {
    const [client, document] = await opened('result = ');
    const text = `compute(${Array.from({ length: 20 }, (_, index) => `argument_${index}`).join(', ')})\n`;
    const first = client.complete(document, 9, { replay: text });
    await until(() => first.text.length > 4);
    document.change([{ start: 9, end: 9, text: 'com' }]);
    const second = client.complete(document, 12, { replay: text.slice(3) });
    const [one, other] = await Promise.all([first.ended, second.ended]);
    expect(one).toMatchObject({ ok: true, reason: 'superseded' });
    expect(other).toMatchObject({ ok: true, reason: 'stop' });
    expect(second.continued).toMatchObject({ request: first.id });
    expect(second.text).toBe(text.slice(3));
  });

  it('cancels a completion at once', async () => {
    const [client, document] = await opened('x = ');
    const completion = client.complete(document, 4, { replay: 'a + '.repeat(2000), sampling: { maxTokens: 4000 } });
    await progress(completion);
    completion.cancel();
    expect(await completion.ended).toMatchObject({ ok: true, reason: 'cancel' });
    expect(client.running).toBe(0);
  });

  it('talks about a document, and a turn computes what it adds', async () => {
    const [client, document] = await opened(TEXT);
    const talk = client.conversation();
    const first = talk.say('What is this?', { documents: [document], replay: 'Sixteen products. 😀' });
    const one = await first.ended;
    const second = talk.say('Sure?', { replay: 'Yes.' });
    const other = await second.ended;
    if (!one.ok || !other.ok) {
      throw new Error('a turn failed');
    }
    expect([first.text, second.text]).toEqual(['Sixteen products. 😀', 'Yes.']);
    expect(endToEnd(other.hops)).toBe(other.endToEnd);
    expect(other.receipt.promptTokens).toBeGreaterThan(one.receipt.promptTokens);
    expect(other.receipt.computedTokens).toBeLessThan(one.receipt.promptTokens / 2);
    talk.end();
    const anew = await talk.say('Sure?', { replay: 'Of what?' }).ended;
    expect(anew.ok && anew.receipt.promptTokens).toBeLessThan(one.receipt.promptTokens);
  });

  it('puts an edit in while it streams', async () => {
    const [client, document] = await opened(TEXT);
    const session = client.edit(document, 0, TEXT.length, 'call it scale', { replay: REWRITTEN });
    await putAll(document, session);
    expect(await session.ended).toMatchObject({ ok: true, reason: 'stop' });
    expect(document.toString()).toBe(REWRITTEN);
    expect(session.text).toBe(REWRITTEN);
    expect(session.settled).toBe(true);
    await expectInStep(client, document);
    for (const edit of [...session.reverting()].reverse()) {
      document.change([edit]);
    }
    expect(document.toString().replace(/^#+/, '')).toBe(TEXT);
  });

  it('keeps what is typed outside, and in what is done, while an edit streams', async () => {
    const [client, document] = await opened(`import x\n${TEXT}`);
    const session = client.edit(document, 9, document.length, 'call it scale', { replay: REWRITTEN });
    const typing = (async () => {
      for (let key = 0; key < 20 && session.running; key++) {
        document.change([{ start: 0, end: 0, text: 'k' }]);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    })();
    await putAll(document, session);
    await typing;
    expect(await session.ended).toMatchObject({ ok: true, reason: 'stop' });
    expect(document.toString().replace(/^k*/, '')).toBe(`import x\n${REWRITTEN}`);
    await expectInStep(client, document);
  });

  it('ends an edit in a conflict where a person changes what it was still to change', async () => {
    const [client, document] = await opened(TEXT);
    const session = client.edit(document, 0, TEXT.length, 'call it scale', { replay: REWRITTEN });
    document.change([{ start: document.length - 3, end: document.length - 3, text: '?' }]);
    await putAll(document, session);
    expect(await session.ended).toMatchObject({ ok: true, reason: 'conflict' });
    expect(document.toString()).toContain('?');
    await expectInStep(client, document);
  });

  it('interrupts an edit, and what was done stays', async () => {
    const [client, document] = await opened(TEXT);
    const session = client.edit(document, 0, TEXT.length, 'call it scale', { replay: REWRITTEN });
    await until(() => session.known > 2 || !session.running);
    session.interrupt();
    await putAll(document, session);
    expect(await session.ended).toMatchObject({ ok: true, reason: expect.stringMatching(/interrupted|stop/) as string });
    expect(document.toString()).toBe(session.text);
    await expectInStep(client, document);
  });

  it('steers an edit while it runs, behind what is done', async () => {
    const [client, document] = await opened(TEXT);
    const session = client.edit(document, 0, TEXT.length, 'call it scale', { sampling: { maxTokens: 60 } });
    await session.steer('and keep the names short');
    await putAll(document, session);
    expect(await session.ended).toMatchObject({ ok: true });
    expect(document.toString()).toBe(session.text);
    await expectInStep(client, document);
  });

  it('lets in who has the key, and tells others that they need one', async () => {
    for (const options of [{ token: 'wrong' }, { token: undefined }, { token: 'wrong', credential: 'subprotocol' as const }]) {
      const client = connect(options);
      await until(() => client.state.name === 'stopped');
      expect(client.state).toMatchObject({ final: 'unauthorized' });
    }
    const client = connect({ credential: 'subprotocol' });
    await until(() => client.ready);
  });

  it('leaves at most two requests alive after a burst of 40 keys', async () => {
    const [client, document] = await opened('');
    const suggestions = new Suggestions(client, () => DEFAULT_SETTINGS);
    const style = { tabSize: 4, insertSpaces: true, eol: '\n' } as const;
    let most = 0;
    for (const key of 'def area(width, height): return width * ') {
      suggestions.changed(document, document.change([{ start: document.length, end: document.length, text: key }]));
      void suggestions.provide(document, document.length, { style });
      await new Promise((resolve) => setTimeout(resolve, 60));
      most = Math.max(most, client.running);
    }
    expect(most).toBeLessThanOrEqual(2);
    expect(await server.metric('warmline_requests_running')).toBeLessThanOrEqual(2);
    suggestions.dispose();
    await until(async () => (await server.metric('warmline_requests_running')) === 0);
  });

  it('comes back when the server was killed and is there again, and nothing needs a hand', async () => {
    const [client, document] = await opened(TEXT);
    const session = client.edit(document, 0, TEXT.length, 'call it scale', { replay: REWRITTEN });
    await server.stop('SIGKILL');
    const outcome = await session.ended;
    expect(outcome.ok || outcome.error.retryable).toBe(true);
    await until(() => client.state.name !== 'ready');
    document.change([{ start: 0, end: 0, text: '# typed meanwhile\n' }]);
    await server.start();
    await until(() => client.ready);
    const completion = client.complete(document, 0, { replay: 'back' });
    expect(await completion.ended).toMatchObject({ ok: true, reason: 'stop' });
    await expectInStep(client, document);
  }, 120_000);
});
