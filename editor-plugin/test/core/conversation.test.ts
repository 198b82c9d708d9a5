import { describe, expect, it } from 'vitest';
import { connected } from './support/connected.js';
import { opened } from './support/opened.js';

describe('a conversation', () => {
  it('sends each message once, and shows documents by their names', async () => {
    const { client, server, document, environment } = await opened();
    const talk = client.conversation('talk');
    const reply = talk.say('What does f do?\ud800', {
      documents: [document],
      sampling: { maxTokens: 7 },
      replay: 'x',
      traceparent: 't',
    });
    expect(server.last('chat')).toMatchObject({
      request: reply.id,
      conversation: 'talk',
      text: 'What does f do?\ufffd',
      documents: [document.uri],
      sampling: { maxTokens: 7 },
      replay: 'x',
      traceparent: 't',
    });
    const progress: string[] = [];
    reply.onProgress(() => progress.push(reply.text));
    await environment.pass(30);
    server.say(
      { type: 'accepted', request: reply.id, stream: 2 },
      { type: 'delta', stream: 2, text: 'Nothing' },
      { type: 'delta', stream: 2, text: ' 😀' },
      { type: 'done', request: reply.id, reason: 'stop', receipt: { promptTokens: 9, cachedTokens: 7, computedTokens: 2 } },
    );
    expect(await reply.ended).toMatchObject({
      ok: true,
      reason: 'stop',
      ttft: 30_000,
      receipt: { promptTokens: 9, cachedTokens: 7, computedTokens: 2 },
    });
    expect([reply.text, reply.conversation]).toEqual(['Nothing 😀', 'talk']);
    expect(progress.slice(0, 2)).toEqual(['Nothing', 'Nothing 😀']);
    talk.say('Sure?');
    expect(server.last('chat')).toMatchObject({ conversation: 'talk', text: 'Sure?', documents: [] });
    talk.end();
    expect(server.last('endChat')).toMatchObject({ conversation: 'talk' });
  });

  it('is a request like others: cancelled, interrupted, refused', async () => {
    const { client, server } = await connected();
    const one = client.chat('talk', 'hello');
    one.interrupt();
    one.cancel();
    expect([server.last('interrupt').request, server.last('cancel').request]).toEqual([one.id, one.id]);
    server.say({ type: 'error', request: one.id, code: 'too_many_conversations', message: 'end one', retryable: true });
    expect(await one.ended).toMatchObject({ ok: false, error: { code: 'too_many_conversations', retryable: true } });
    expect(client.running).toBe(0);
  });

  it('has a name of its own unless it is given one', async () => {
    const { client } = await connected();
    expect(new Set(Array.from({ length: 20 }, () => client.conversation().name)).size).toBe(20);
  });

  it('sends nothing that makes no sense, and says what does not', async () => {
    const { client, server, document } = await opened();
    const documents = Array.from({ length: 17 }, () => document);
    const other = (await opened()).document;
    const mistakes: [() => unknown, RegExp][] = [
      [() => client.chat('', 'hello'), /needs a name of 1 to 4,096/],
      [() => client.conversation('x'.repeat(4097)), /needs a name/],
      [() => client.endChat(''), /needs a name/],
      [() => client.chat('talk', ' \n'), /text is empty/],
      [() => client.chat('talk', 'hello', { documents }), /17 documents; at most 16/],
      [() => client.chat('talk', 'hello', { documents: [other] }), /is not open here/],
    ];
    for (const [mistake, said] of mistakes) {
      expect(mistake).toThrow(said);
    }
    expect(await client.chat('talk', 'hello', { sampling: { maxTokens: 0 } }).ended).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/maxTokens/) as string },
    });
    expect([...server.of('chat'), ...server.of('endChat')]).toEqual([]);
    expect(client.chat('talk', '', { documents: [document] }).running).toBe(true);
    expect(client.conversation('😀'.repeat(4096)).say('a name counts characters').running).toBe(true);
  });

  it('begins anew, and says so, once its connection is lost or it was ended', async () => {
    const { client, server, environment } = await connected();
    const talk = client.conversation();
    expect(talk.fresh).toBe(true);
    const reply = talk.say('hello');
    expect(talk.fresh).toBe(false);
    server.close(1006);
    expect(await reply.ended).toMatchObject({ ok: false, error: { code: 'disconnected', retryable: true } });
    const unheard = talk.say('is anybody there?');
    expect(await unheard.ended).toMatchObject({ ok: false, error: { code: 'disconnected' } });
    expect(() => talk.end()).not.toThrow();
    await environment.pass(5000);
    expect(client.ready).toBe(true);
    expect(talk.fresh).toBe(true);
    talk.say('hello again');
    expect(talk.fresh).toBe(false);
    talk.end();
    expect(talk.fresh).toBe(true);
  });

  it('gives the connection up where a reply would go on with a completion', async () => {
    const { client, server } = await connected();
    const reply = client.chat('talk', 'hello');
    server.say({ type: 'accepted', request: reply.id, stream: 0, continued: { request: 9, base: 1, version: 1 } });
    expect(await reply.ended).toMatchObject({ ok: false, error: { message: expect.stringMatching(/misbehaved/) as string } });
  });
});
