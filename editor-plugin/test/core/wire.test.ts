import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeClient, decodeServer, encodeClient, encodeServer } from '../../src/core/codec.js';
import type { Frame } from '../../src/core/codec.js';
import { decodeMsgpack, encodeMsgpack } from '../../src/core/msgpack.js';
import { WireError } from '../../src/core/schema.js';
import { CLIENT_MESSAGES, JSON_TEXT, MSGPACK, SERVER_MESSAGES } from '../../src/core/wire.js';
import type { Table } from '../../src/core/wire.js';
import { vectors } from './support/vectors.js';

interface Described {
  readonly side: 'client' | 'server';
  readonly type: string;
  readonly tag: number;
  readonly fields: string[];
}

type Vector = { readonly side: 'client' | 'server' } & Record<string, string> & { readonly fields: object };

const [first, ...all] = vectors<Vector & { described: Described[] }>('wire_vectors');
const messages = all.filter(({ type }) => type !== undefined);

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Fields as the core names them; the keys of a bias are token ids, not names. */
function named(value: unknown, bias = false): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => named(item));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const entries = Object.entries(value);
  return bias
    ? new Map(entries.map(([key, item]) => [Number(key), item as unknown]))
    : Object.fromEntries(entries.map(([key, item]) => [camel(key), named(item, key === 'logit_bias')]));
}

function hex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function decode(side: string, frame: Frame): unknown {
  const subprotocol = typeof frame === 'string' ? JSON_TEXT : MSGPACK;
  return (side === 'client' ? decodeClient : decodeServer)(frame, subprotocol);
}

describe('the wire', () => {
  it('has the messages and fields that the server has, in their order', () => {
    const own: Record<string, Table> = { client: CLIENT_MESSAGES, server: SERVER_MESSAGES };
    const described = Object.entries(own).flatMap(([side, table]) =>
      Object.entries(table).map(([type, { tag, body }]) => ({ side, type, tag, fields: [...(body.names as string[])] })),
    );
    const expected = first!.described.map(({ fields, type, ...rest }) => ({
      ...rest,
      type: camel(type),
      fields: fields.map(camel),
    }));
    const byTag = (one: { tag: number; side: string }, other: { tag: number; side: string }): number =>
      one.side === other.side ? one.tag - other.tag : one.side < other.side ? -1 : 1;
    expect(described.sort(byTag)).toEqual(expected.sort(byTag));
  });

  it.each(messages.map((vector, index) => [`${vector['type']!} ${index}`, vector] as const))(
    'reads and writes %s as the server does',
    (_, vector) => {
      const message = { type: camel(vector['type']!), ...(named(vector.fields) as object) };
      const frames = [
        vector[JSON_TEXT]!,
        vector[`short ${JSON_TEXT}`]!,
        vector['longer']!,
        hex(vector[MSGPACK]!),
        hex(vector[`short ${MSGPACK}`]!),
      ];
      for (const frame of frames) {
        expect(decode(vector.side, frame)).toEqual(message);
      }
      const encode = (subprotocol: typeof JSON_TEXT | typeof MSGPACK): Frame =>
        vector.side === 'client'
          ? encodeClient(message as never, subprotocol)
          : encodeServer(message as never, subprotocol);
      expect(encode(MSGPACK)).toEqual(hex(vector[`short ${MSGPACK}`]!));
      expect(JSON.parse(encode(JSON_TEXT) as string)).toEqual(JSON.parse(vector[`short ${JSON_TEXT}`]!));
    },
  );

  it.each(all.flatMap((vector) => ('refused' in vector ? [vector['refused']] : [])))('takes %s for no message', (frame) => {
    expect(() => decode('server', frame)).toThrow(WireError);
  });

  it('ignores a message of a later version', () => {
    const unknown = all.find((vector) => 'unknown' in vector)!;
    expect(decode('server', unknown['unknown']!)).toBeUndefined();
  });

  it('refuses to send what is out of range, and says which field', () => {
    const complete = { type: 'complete', request: 1, document: 'a', version: 1, position: 0 } as const;
    const send = (more: object): (() => unknown) => () => encodeClient({ ...complete, ...more }, MSGPACK);
    expect(send({ position: -1 })).toThrow(/complete\.position is -1/);
    expect(send({ position: 1.5 })).toThrow(/position/);
    expect(send({ sampling: { temperature: 101 } })).toThrow(/temperature is 101/);
    expect(send({ sampling: { stop: [''] } })).toThrow(/stop\[0\]/);
    expect(send({ document: '' })).toThrow(/document/);
    expect(send({ traceparent: 'x'.repeat(129) })).toThrow(/traceparent/);
    expect(send({ traceparent: '😀'.repeat(128) })).not.toThrow(); // limits count characters
  });

  it('never repeats text in an error', () => {
    expect(() => decode('server', '[2,"a secret",0]')).toThrow(/a text of 8 units/);
  });

  it('carries each of its values through MessagePack', () => {
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, false),
        fc.maxSafeInteger(),
        fc.integer({ min: -70_000, max: 70_000 }),
        fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)),
        fc.string({ unit: 'binary' }),
        fc.array(tie('value')),
      ),
    })).value;
    fc.assert(
      fc.property(value, (one) => {
        expect(decodeMsgpack(encodeMsgpack(one))).toEqual(one);
      }),
    );
  });

  it('says of any bytes that they are a value or none, and reads nothing beyond them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          decodeMsgpack(bytes);
        } catch (error) {
          expect(error instanceof RangeError || error instanceof TypeError).toBe(true);
        }
      }),
    );
  });
});
