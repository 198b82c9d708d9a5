import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Document } from '../../src/core/document.js';
import type { EditSession } from '../../src/core/edit_session.js';
import { applyOperations } from '../../src/core/operations.js';
import { applyEdits } from '../../src/core/text_edits.js';
import type { Operation, TextEdit } from '../../src/core/wire.js';
import { opened, TEXT, URI } from './support/opened.js';
import { ServerRange } from './support/server_range.js';

/** Put in what an edit plans, as an editor does: all places at once, reported from the last to the first. */
function put(document: Document, session: EditSession): boolean {
  const plan = session.plan();
  if (plan === undefined) {
    return false;
  }
  document.change([...plan.edits].reverse());
  return true;
}

describe('an edit', () => {
  it('asks for as many tokens as its range may take, and some more', async () => {
    const { client, server, document } = await opened();
    client.edit(document, 0, 10, 'say y', { accepted: 'déf' });
    expect(server.last('edit')).toMatchObject({ start: 0, end: 10, instruction: 'say y', accepted: 'déf' });
    expect(server.last('edit').sampling.maxTokens).toBe(10 + 4 + 128);
  });

  it('is put in as it comes, and says so to the server', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'call it g');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [4, -1, 'g'] });
    expect(session.plan()).toEqual({ edits: [{ start: 4, end: 5, text: 'g' }], operations: 3 });
    expect(session.plan()).toEqual({ edits: [{ start: 4, end: 5, text: 'g' }], operations: 3 });
    expect(put(document, session)).toBe(true);
    expect(server.last('change')).toMatchObject({ applied: { request: 1, operations: 3 } });
    expect(server.last('change').hash).not.toBeNull();
    expect(session.plan()).toBeUndefined();
    server.say({ type: 'ops', stream: 0, operations: [18] }, { type: 'done', request: 1, reason: 'stop' });
    expect(session.settled).toBe(true);
    expect(document.toString()).toBe('def g(x):\n    return x\n');
    expect(session.text).toBe(document.toString());
  });

  it('is recognised by its effect when the editor replaces the character beside it, too', async () => {
    const { client, server, document } = await opened('ab');
    const session = client.edit(document, 0, 1, 'x');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [1, 'X'] });
    expect(session.plan()).toEqual({ edits: [{ start: 1, end: 1, text: 'X' }], operations: 2 });
    document.change([{ start: 1, end: 2, text: 'Xb' }]);
    expect(server.last('change')).toMatchObject({ edits: [{ start: 1, end: 1, text: 'X' }], applied: { operations: 2 } });
    expect([session.applied, session.conflict]).toEqual([2, false]);
    expect(session.own.inserted).toEqual([{ start: 0, end: 3 }]); // the word that it is in
  });

  it('is planned anew when a key comes before the editor has taken it', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 10, TEXT.length, 'say y');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [11, -1, 'y'] });
    expect(session.plan()?.edits).toEqual([{ start: 21, end: 22, text: 'y' }]);
    document.change([{ start: 0, end: 0, text: '# ' }]);
    session.rejected();
    expect(session.plan()?.edits).toEqual([{ start: 23, end: 24, text: 'y' }]);
    put(document, session);
    expect(document.toString()).toBe('# def f(x):\n    return y\n');
    expect(session.applied).toBe(3);
  });

  it('stops where a person has changed what it was still to change, and keeps what they typed', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [4, -1, 'g', 1] });
    document.change([{ start: 22, end: 22, text: ' + 1' }]);
    server.say({ type: 'done', request: 1, reason: 'conflict', operations: 4 });
    put(document, session);
    expect(document.toString()).toBe('def g(x):\n    return x + 1\n');
    expect(session.conflict).toBe(true);
    expect(session.settled).toBe(true);
    expect(await session.ended).toMatchObject({ reason: 'conflict' });
  });

  it('goes on under a further instruction, behind what is in the document', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [4, -1, 'g'] });
    put(document, session);
    server.say({ type: 'ops', stream: 0, operations: [13, -1, 'z'] });
    const steering = session.steer('say y', 3);
    expect(server.last('steer')).toEqual({ type: 'steer', request: 1, instruction: 'say y', operations: 3 });
    server.say({ type: 'steered', request: 1, operations: 3 }, { type: 'ops', stream: 0, operations: [16, -1, 'y'] });
    await steering;
    put(document, session);
    expect(document.toString()).toBe('def g(x):\n    return y\n');
    await expect(session.steer('back', 2)).rejects.toThrow(/2 operations can't stay/);
    server.say({ type: 'done', request: 1, reason: 'stop' });
    await expect(session.steer('more')).rejects.toThrow(/ended/);
  });

  it('holds back what a steering is about to give up, until that has its answer', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [4, -1, 'g'] });
    server.answersPings = false;
    void session.steer('say y', 0);
    expect(session.plan()).toBeUndefined();
  });

  it('hears why it could not be steered, and goes on as it was', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say({ type: 'accepted', request: 1, stream: 0 });
    server.onRequest = (message) => {
      if (message.type === 'steer') {
        server.say({ type: 'error', request: null, code: 'invalid_parameter', message: 'no' });
      }
    };
    await expect(session.steer('say y')).rejects.toMatchObject({ code: 'invalid_parameter' });
    expect(session.running).toBe(true);
  });

  it('is interrupted, and what was made stays', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say({ type: 'accepted', request: 1, stream: 0 }, { type: 'ops', stream: 0, operations: [4, -1, 'g'] });
    session.interrupt();
    expect(server.of('interrupt')).toEqual([{ type: 'interrupt', request: 1 }]);
    server.say({ type: 'done', request: 1, reason: 'interrupted' });
    put(document, session);
    expect(document.toString()).toBe('def g(x):\n    return x\n');
    expect(session.settled).toBe(true);
  });

  it('is taken back as a whole, and what a person typed within it stays', async () => {
    const { client, server, document } = await opened();
    const session = client.edit(document, 0, TEXT.length, 'rename');
    server.say(
      { type: 'accepted', request: 1, stream: 0 },
      { type: 'ops', stream: 0, operations: [4, -1, 'gamma', 16, -1, 'y'] },
      { type: 'done', request: 1, reason: 'stop' },
    );
    put(document, session);
    expect(document.toString()).toBe('def gamma(x):\n    return y\n');
    document.change([{ start: 6, end: 6, text: '!' }]);
    document.change([{ start: 0, end: 0, text: '# ' }]);
    document.change([...session.reverting()].reverse());
    expect(document.toString().replace('!', '')).toBe(`# ${TEXT}`);
    expect(document.toString()).toContain('!');
  });

  it('leaves two copies the same however a person types meanwhile', async () => {
    const original = 'abcdefghijkl';
    const operation = fc.tuple(fc.constantFrom('keep', 'delete', 'insert'), fc.integer({ min: 1, max: 3 }));
    const key = fc.tuple(fc.nat(30), fc.nat(2), fc.constantFrom('', 'x', 'yz'));
    const events = fc.array(fc.oneof(key, fc.constantFrom('send', 'put', 'steer')), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 10 }), events, async (steps, script) => {
        const { client, server, document } = await opened(`>> ${original} <<`);
        const session = client.edit(document, 3, 3 + original.length, 'x');
        const range = new ServerRange(1, 3, original);
        server.say({ type: 'accepted', request: 1, stream: 0 });
        let seen = 0;
        let over = false;
        const follow = (): void => {
          for (const message of server.received.slice(seen)) {
            if (message.type === 'change') {
              range.changed(message.edits, message.applied);
            } else if (message.type === 'steer') {
              range.void(message.operations ?? range.known);
              server.say({ type: 'steered', request: 1, operations: range.known });
            }
          }
          seen = server.received.length;
          if (range.conflict && !over) {
            over = true;
            server.say({ type: 'done', request: 1, reason: 'conflict', operations: range.standing });
          }
        };
        const left = [...steps];
        const send = (): void => {
          const [kind, size] = left.shift() ?? [];
          const reached = range.reached;
          const length = Math.min(size ?? 0, original.length - reached);
          const made: Operation = kind === 'insert' ? '+'.repeat(size ?? 1) : kind === 'keep' ? length : -length;
          if (kind !== undefined && made !== 0 && !over) {
            range.operations([made]);
            follow();
            if (!over) {
              server.say({ type: 'ops', stream: 0, operations: [made] });
            }
          }
        };
        for (const event of script) {
          if (event === 'send') {
            send();
          } else if (event === 'put') {
            put(document, session);
          } else if (event === 'steer') {
            if (!over) {
              void session.steer('more', session.applied).catch(() => undefined);
            }
          } else if (Array.isArray(event)) {
            const start = Math.min(event[0], document.length);
            const end = Math.min(start + (event[1]), document.length);
            document.change([{ start, end, text: event[2] as string } satisfies TextEdit]);
          }
          follow();
        }
        put(document, session);
        follow();
        expect(server.documents.get(URI)!.text).toBe(document.toString());
        expect([session.tracker.start, session.tracker.text, session.applied]).toEqual([range.start, range.text, range.applied]);
        expect(client.state.name).toBe('ready');
      }),
      { numRuns: 500 },
    );
  });
});

describe('operations', () => {
  it('say the same as the edits that put them in', () => {
    expect(applyOperations('one two', [-3, 'uno', 1, 'y '])).toBe('uno y two');
    expect(() => applyOperations('one', [4])).toThrow(/reaches unit 4 of a range of 3/);
    expect(applyEdits('one two', [{ start: 0, end: 3, text: 'uno' }])).toBe('uno two');
  });
});
