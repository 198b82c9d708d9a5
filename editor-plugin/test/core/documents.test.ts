import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Document } from '../../src/core/document.js';
import { replaceLoneSurrogates } from '../../src/core/text.js';
import { connected } from './support/connected.js';
import type { Connected } from './support/connected.js';

const URI = 'file:///a.py';

async function opened(text = 'a = 1\n'): Promise<Connected & { document: Document }> {
  const connection = await connected();
  const document = connection.client.open(URI, 'python', text);
  return { ...connection, document };
}

describe('a document', () => {
  it('is sent once, and then only what changes', async () => {
    const { server, document } = await opened();
    document.change([{ start: 4, end: 5, text: '2' }]);
    document.change([
      { start: 6, end: 6, text: 'b' },
      { start: 0, end: 1, text: 'x' },
    ]);
    expect(server.of('open')).toEqual([{ type: 'open', document: URI, version: 1, language: 'python', text: 'a = 1\n' }]);
    expect(server.of('change').map(({ base, version, length }) => [base, version, length])).toEqual([
      [1, 2, 6],
      [2, 3, 7],
    ]);
    expect(server.documents.get(URI)).toEqual({ version: 3, text: 'x = 2\nb' });
  });

  it('sends nothing for an event without changes, as when only its dirty state flips', async () => {
    const { server, document } = await opened();
    expect(document.change([])).toBeUndefined();
    expect(document.change([{ start: 2, end: 2, text: '' }])).toBeUndefined();
    expect(server.of('change')).toEqual([]);
    expect(document.version).toBe(1);
  });

  it('carries a hash now and then, and always a length', async () => {
    const { server, document } = await opened();
    for (let key = 0; key < 40; key++) {
      document.change([{ start: 0, end: 0, text: 'x' }]);
    }
    const changes = server.of('change');
    expect(changes.filter(({ hash }) => hash !== null)).toHaveLength(2);
    expect(changes.every(({ length }) => length !== null)).toBe(true);
  });

  it('is handed over anew when the copies went apart, without anybody noticing', async () => {
    const { server, document, client } = await opened();
    server.documents.get(URI)!.text = 'another';
    server.documents.get(URI)!.version = 9;
    document.change([{ start: 0, end: 0, text: 'x' }]);
    expect(server.documents.get(URI)).toEqual({ version: 10, text: 'xa = 1\n' });
    document.change([{ start: 0, end: 0, text: 'y' }]);
    expect(server.documents.get(URI)).toEqual({ version: 11, text: 'yxa = 1\n' });
    expect(server.of('open')).toHaveLength(2);
    expect(client.ready).toBe(true);
  });

  it('is handed over anew after each reconnection, as it is then', async () => {
    const { server, document, environment } = await opened();
    server.close(1012);
    expect(document.usable).toBe(false);
    document.change([{ start: 0, end: 0, text: '# ' }]);
    await environment.pass(1000);
    expect(server.documents.get(URI)).toEqual({ version: 2, text: '# a = 1\n' });
    document.change([{ start: 0, end: 0, text: '!' }]);
    expect(server.documents.get(URI)!.text).toBe('!# a = 1\n');
  });

  it('may be opened before there is a connection, and changed meanwhile', async () => {
    const { client, server, environment } = await connected();
    server.close(1012);
    const document = client.open(URI, 'python', 'one');
    document.change([{ start: 3, end: 3, text: ' two' }]);
    expect(document.usable).toBe(false);
    await environment.pass(1000);
    expect(server.documents.get(URI)!.text).toBe('one two');
    expect(document.usable).toBe(true);
  });

  it('is forgotten when it is closed, also without a connection', async () => {
    const { client, server, document, environment } = await opened();
    document.close();
    expect(server.of('close')).toHaveLength(1);
    expect(client.document(URI)).toBeUndefined();
    expect(() => document.change([{ start: 0, end: 0, text: 'x' }])).toThrow(/closed/);
    server.close(1012);
    const another = client.open(URI, 'python', 'x');
    another.close();
    await environment.pass(1000);
    expect(server.documents.size).toBe(0);
    expect(() => client.open(URI, 'python', '')).not.toThrow();
    expect(() => client.open(URI, 'python', '')).toThrow(/open already/);
    expect(() => client.open('', 'python', '')).toThrow(/name/);
  });

  it('says why the server did not take it, and is taken when it has become smaller', async () => {
    const { client, server, environment } = await connected();
    const large = client.open(URI, 'python', 'x'.repeat(100_001));
    expect(large.refused).toMatchObject({ code: 'document_too_large' });
    expect(server.of('open')).toEqual([]);
    expect(() => client.complete(large, 0)).toThrow(/100001 bytes/);
    large.change([{ start: 0, end: 50_000, text: '' }]);
    await environment.settle();
    expect(large.refused).toBeUndefined();
    expect(server.documents.get(URI)!.text.length).toBe(50_001);
  });

  it('becomes one edit where an editor makes thousands', async () => {
    const { server, document } = await opened('ab\n'.repeat(3000));
    const edits = Array.from({ length: 3000 }, (_, line) => ({ start: 3 * line, end: 3 * line + 1, text: 'X' })).reverse();
    document.change(edits);
    expect(server.last('change').edits).toHaveLength(1);
    expect(server.documents.get(URI)!.text).toBe('Xb\n'.repeat(3000));
  });

  it('takes a change of its line ends, which replaces all of it', async () => {
    const { server, document } = await opened('a\r\nb\r\n');
    document.change([{ start: 0, end: 6, text: 'a\nb\n' }]);
    expect(server.documents.get(URI)!.text).toBe('a\nb\n');
  });

  it('takes a new text as the difference that it makes', async () => {
    const { server, document } = await opened('one two three');
    document.replace('one 2 three');
    document.replace('one 2 three');
    expect(server.of('change').map(({ edits }) => edits)).toEqual([[{ start: 4, end: 7, text: '2' }]]);
  });

  it('refuses a range that is not in it', async () => {
    const { document } = await opened();
    expect(() => document.change([{ start: 5, end: 99, text: '' }])).toThrow(/5\.\.99 is not within a text of 6/);
  });

  it('is the same on the server whatever is typed, halves of characters included', async () => {
    const piece = fc.string({ unit: fc.constantFrom('a', '😀', '\ud83d', '\ude00', '\r', '\n', 'é'), maxLength: 4 });
    const change = fc.array(fc.tuple(fc.nat(60), fc.nat(4), piece), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(piece, fc.array(change, { maxLength: 25 }), async (start, changes) => {
        const { server, document } = await opened(start);
        let text = start;
        for (const edits of changes) {
          const placed = edits.map(([at, length, inserted]) => {
            const from = Math.min(at, text.length);
            const edit = { start: from, end: Math.min(from + length, text.length), text: inserted };
            text = text.slice(0, edit.start) + inserted + text.slice(edit.end);
            return edit;
          });
          document.change(placed);
          expect(document.toString()).toBe(text);
          expect(server.documents.get(URI)!.text).toBe(replaceLoneSurrogates(text));
        }
        expect(server.of('nack' as never)).toEqual([]);
        expect(server.of('open')).toHaveLength(1); // it never had to be handed over anew
      }),
      { numRuns: 200 },
    );
  });
});
