import { decodeMsgpack, encodeMsgpack } from './msgpack.js';
import { WireError } from './schema.js';
import { CLIENT_MESSAGES, JSON_TEXT, SERVER_MESSAGES } from './wire.js';
import type { ClientMessage, GivenMessage, ReadMessage, ServerMessage, Subprotocol, Table } from './wire.js';

export type Frame = string | Uint8Array<ArrayBuffer>;

/** Encode a message to a frame of a subprotocol; throws WireError if a field can't be sent. */
export function encodeClient(message: ClientMessage, subprotocol: Subprotocol): Frame {
  return encode(CLIENT_MESSAGES, message, subprotocol);
}

/** Decode a frame; undefined if no message has its tag (a newer server's); throws WireError if it is no message. */
export function decodeServer(frame: string | ArrayBuffer | Uint8Array, subprotocol: Subprotocol): ServerMessage | undefined {
  return decode(SERVER_MESSAGES, frame, subprotocol);
}

/** The server's side of the same, for tests that play the server. */
export function encodeServer(message: GivenMessage<typeof SERVER_MESSAGES>, subprotocol: Subprotocol): Frame {
  return encode(SERVER_MESSAGES, message, subprotocol);
}

export function decodeClient(
  frame: string | ArrayBuffer | Uint8Array,
  subprotocol: Subprotocol,
): ReadMessage<typeof CLIENT_MESSAGES> | undefined {
  return decode(CLIENT_MESSAGES, frame, subprotocol);
}

function encode(table: Table, message: { type: string }, subprotocol: Subprotocol): Frame {
  const described = table[message.type];
  if (described === undefined) {
    throw new WireError(`there is no message ${message.type}`);
  }
  const items = [described.tag, ...described.body.writeItems(message, message.type)];
  return subprotocol === JSON_TEXT ? JSON.stringify(items, mapsAsObjects) : encodeMsgpack(items);
}

function mapsAsObjects(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value as Map<string, unknown>) : value;
}

function decode<T extends Table>(
  table: T,
  frame: string | ArrayBuffer | Uint8Array,
  subprotocol: Subprotocol,
): ReadMessage<T> | undefined {
  const items = parse(frame, subprotocol);
  if (!Array.isArray(items) || typeof items[0] !== 'number') {
    throw new WireError('a message is an array that starts with its tag');
  }
  for (const [type, { tag, body }] of Object.entries(table)) {
    if (tag === items[0]) {
      return { type, ...(body.readItems(items.slice(1), type) as object) } as ReadMessage<T>;
    }
  }
  return undefined;
}

function parse(frame: string | ArrayBuffer | Uint8Array, subprotocol: Subprotocol): unknown {
  if ((typeof frame === 'string') !== (subprotocol === JSON_TEXT)) {
    throw new WireError(`${subprotocol} has no ${typeof frame === 'string' ? 'text' : 'binary'} frames`);
  }
  try {
    return typeof frame === 'string'
      ? JSON.parse(frame)
      : decodeMsgpack(frame instanceof Uint8Array ? frame : new Uint8Array(frame));
  } catch (error) {
    throw new WireError(`the frame can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
