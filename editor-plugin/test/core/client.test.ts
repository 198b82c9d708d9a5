import { describe, expect, it } from 'vitest';
import { HOPS } from '../../src/core/hops.js';
import { opened } from './support/opened.js';

describe('a completion', () => {
  it('brings text and how it ended, with each hop of its time', async () => {
    const { client, server, document, environment } = await opened();
    const completion = client.complete(document, 9, { sampling: { maxTokens: 5 } });
    expect(server.last('complete')).toMatchObject({ request: 1, version: 1, position: 9, sampling: { maxTokens: 5 } });
    await environment.pass(30);
    server.say({ type: 'accepted', request: 1, stream: 3 }, { type: 'delta', stream: 3, text: '\n    ' });
    expect(completion.text).toBe('\n    ');
    await environment.pass(20);
    client.connection.clock.clear(); // so all that is known of the server's clock comes from this
    const received = 5_000_000 + completion.sent + 4000;
    server.say(
      { type: 'delta', stream: 3, text: 'pass' },
      {
        type: 'done',
        request: 1,
        reason: 'stop',
        receipt: { promptTokens: 10, warmedTokens: 5, cachedTokens: 3, computedTokens: 2, outputTokens: 4 },
        timing: { received, firstSent: received, sent: received + 40_000, engineStep: 39_000, serverParse: 1000 },
      },
    );
    const outcome = await completion.ended;
    expect(completion.text).toBe('\n    pass');
    expect(outcome).toMatchObject({ ok: true, reason: 'stop', ttft: 30_000, endToEnd: 50_000, tokensPerSecond: 80 });
    expect(outcome.ok && HOPS.reduce((sum, hop) => sum + outcome.hops[hop], 0)).toBe(50_000);
    expect(outcome.ok && outcome.hops['net.up']).toBe(5000);
    expect(client.connection.clock.best(environment.now())?.delay).toBe(10_000);
    expect(client.running).toBe(0);
  });

  it('is cancelled once, and not after it has ended', async () => {
    const { client, server, document } = await opened();
    const completion = client.complete(document, 0);
    completion.cancel();
    completion.cancel();
    expect(server.of('cancel')).toHaveLength(1);
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'done', request: 1, reason: 'cancel' });
    completion.cancel();
    completion.interrupt();
    expect(server.of('cancel')).toHaveLength(1);
    expect(server.of('interrupt')).toEqual([]);
  });

  it('says what is left of it while what it suggests is typed, and goes on in another request', async () => {
    const { client, server, document } = await opened('foo');
    const first = client.complete(document, 3);
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'delta', stream: 0, text: '(a, b)' });
    document.change([{ start: 3, end: 3, text: '()' }]);
    expect(first.remaining(4)).toEqual({ start: 4, end: 5, text: 'a, b)' });
    const second = client.complete(document, 4);
    server.say(
      { type: 'done', request: 1, reason: 'superseded' },
      { type: 'accepted', request: 2, stream: 0, continued: { request: 1, base: 1, version: 2, replaces: 1 } },
      { type: 'delta', stream: 0, text: 'a, b)' },
    );
    expect([second.continued?.request, second.replaces]).toEqual([1, 1]);
    document.change([{ start: 4, end: 4, text: 'a' }]);
    expect(second.remaining(5)).toEqual({ start: 5, end: 6, text: ', b)' });
    document.change([{ start: 0, end: 0, text: 'import x\n' }]);
    expect(second.remaining(14)).toEqual({ start: 14, end: 15, text: ', b)' });
    document.change([{ start: 14, end: 14, text: 'z' }]);
    expect(second.remaining(15)).toBeUndefined();
  });

  it('may go on with one that itself has to hear yet with which it goes on', async () => {
    const { client, server, document } = await opened('foo');
    client.complete(document, 3);
    server.say({ type: 'accepted', request: 1, stream: 0 });
    document.change([{ start: 3, end: 3, text: 'a' }]);
    client.complete(document, 4);
    document.change([{ start: 4, end: 4, text: 'b' }]);
    const third = client.complete(document, 5);
    server.say(
      { type: 'done', request: 1, reason: 'superseded' },
      { type: 'accepted', request: 2, stream: 0, continued: { request: 1, base: 1, version: 2 } },
      { type: 'done', request: 2, reason: 'superseded' },
      { type: 'accepted', request: 3, stream: 0, continued: { request: 2, base: 2, version: 3 } },
      { type: 'delta', stream: 0, text: 'cd' },
    );
    expect(third.remaining(5)).toEqual({ start: 5, end: 5, text: 'cd' });
  });

  it('ends with an error that can be retried when the connection is lost, or is not there', async () => {
    const { client, server, document } = await opened();
    const completion = client.complete(document, 0);
    server.close(1012);
    const lost = { ok: false, error: { code: 'disconnected', retryable: true } };
    expect(await completion.ended).toMatchObject(lost);
    expect(await client.complete(document, 0).ended).toMatchObject(lost);
    expect(client.running).toBe(0);
  });

  it('is refused at once where it can not be', async () => {
    const { client, document, server } = await opened('😀\r\nx');
    for (const offset of [1, 3, 6, -1, 0.5]) {
      expect(() => client.complete(document, offset)).toThrow(/within/);
    }
    expect(await client.complete(document, 0, { sampling: { maxTokens: 0 } }).ended).toMatchObject({
      error: { message: expect.stringContaining('maxTokens is 0') as string },
    });
    document.close();
    expect(() => client.complete(document, 0)).toThrow(/not open/);
    expect(server.of('complete')).toEqual([]);
  });

  it('goes on when the server gives notice, whatever it is of', async () => {
    const { client, server, document } = await opened();
    const completion = client.complete(document, 0);
    server.say({ type: 'notice', kind: 'draining', milliseconds: 30_000 }, { type: 'notice', kind: 'later' });
    expect(client.state).toMatchObject({ name: 'ready' });
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'delta', stream: 0, text: 'x' });
    server.say({ type: 'done', request: 1, reason: 'stop' });
    expect(await completion.ended).toMatchObject({ ok: true });
    expect(completion.text).toBe('x');
  });

  it('gives up a server that sends what makes no sense', async () => {
    for (const nonsense of [
      { type: 'delta', stream: 5, text: 'x' },
      { type: 'done', request: 99, reason: 'stop' },
      { type: 'accepted', request: 99, stream: 0 },
      { type: 'steered', request: 1, operations: 0 },
      { type: 'accepted', request: 1, stream: 0, continued: { request: 55, base: 1, version: 1 } },
    ] as const) {
      const { client, server, document } = await opened();
      client.complete(document, 0);
      server.say(nonsense);
      expect(client.state).toMatchObject({ name: 'stopped', final: 'incompatible' });
    }
  });
});
