/** Every message of the wire, described once for both directions and both subprotocols. */

import { flag, list, nullable, numberMap, oneOf, optional, either, real, record, text, whole } from './schema.js';
import type { Given, Read, RecordField } from './schema.js';

export const MSGPACK = 'warmline.v1.msgpack';
export const JSON_TEXT = 'warmline.v1.json';
export type Subprotocol = typeof MSGPACK | typeof JSON_TEXT;

export const MAX_EDITS = 4096;

const natural = whole();
const naturalOrNull = optional(nullable(natural), null);
const document = text(4096, 1);
const instruction = text(16384);
const penalty = optional(nullable(real(-2, 2)), null);
const traceparent = optional(nullable(text(128)), null);
const replay = optional(nullable(text()), null);

const textEdit = record({ start: natural, end: natural, text: text() });
const applied = record({ request: natural, operations: natural });
const sampling = record({
  maxTokens: optional(whole(1, 1_000_000), 512),
  temperature: optional(real(0, 100), 0),
  topP: optional(real(0, 1), 1),
  topK: optional(natural, 0),
  minP: optional(real(0, 1), 0),
  seed: naturalOrNull,
  stop: optional(list(text(256, 1), 16), []),
  speculation: optional(oneOf('auto', 'off'), 'auto'),
  repetitionPenalty: optional(nullable(real(0, 100, true)), null),
  presencePenalty: penalty,
  frequencyPenalty: penalty,
  logitBias: optional(nullable(numberMap(whole(0, 2 ** 31 - 1), real(-100, 100), 1024)), null),
  logprobs: optional(nullable(whole(0, 20)), null),
});
const greedy = sampling.readItems([], 'sampling');
const sampled = optional(sampling, greedy);

const drafts = record({ source: text(), proposed: natural, accepted: natural });
const receipt = record({
  promptTokens: optional(natural, 0),
  warmedTokens: optional(natural, 0),
  cachedTokens: optional(natural, 0),
  computedTokens: optional(natural, 0),
  outputTokens: optional(natural, 0),
  thinkingTokens: optional(natural, 0),
  forwardPasses: optional(natural, 0),
  drafts: optional(list(drafts), []),
  seed: naturalOrNull,
});
const timing = record({
  received: optional(natural, 0),
  firstSent: optional(natural, 0),
  sent: optional(natural, 0),
  serverParse: optional(natural, 0),
  sessionPrompt: optional(natural, 0),
  ipcIn: optional(natural, 0),
  engineQueue: optional(natural, 0),
  enginePrefill: optional(natural, 0),
  engineFirstToken: optional(natural, 0),
  engineStep: optional(natural, 0),
  ipcOut: optional(natural, 0),
  serverEncode: optional(natural, 0),
  serverWrite: optional(natural, 0),
});
const continued = record({ request: natural, base: natural, version: natural, replaces: optional(natural, 0) });
const logprob = record({ token: natural, text: text(), logprob: real() });
const tokenLogprob = record({ token: natural, text: text(), logprob: real(), top: optional(list(logprob), []) });
const heldDocument = record({ document, version: natural, hash: natural });
const heldRequest = record({
  request: natural,
  characters: optional(natural, 0),
  operations: optional(natural, 0),
  steered: optional(natural, 0),
  logprobs: optional(natural, 0),
});
const resume = record({
  session: text(64),
  secret: text(64),
  documents: optional(list(heldDocument, 4096), []),
  requests: optional(list(heldRequest, 4096), []),
});
const heldVersion = record({ document: text(), version: natural });
const resumed = record({
  messages: optional(natural, 0),
  documents: optional(list(heldVersion), []),
  requests: optional(list(natural), []),
});
const operation = either(text(), whole(-Number.MAX_SAFE_INTEGER), (value) => typeof value === 'string');

const request = natural;
const version = natural;

/** By tag, from client to server. */
export const CLIENT_MESSAGES = {
  hello: {
    tag: 1,
    body: record({
      token: optional(nullable(text()), null),
      client: optional(text(256), ''),
      resumable: optional(flag, false),
      resume: optional(nullable(resume), null),
    }),
  },
  open: { tag: 2, body: record({ document, version, language: text(64), text: text() }) },
  change: {
    tag: 3,
    body: record({
      document,
      base: natural,
      version,
      edits: list(textEdit, 16384),
      applied: optional(nullable(applied), null),
      length: naturalOrNull,
      hash: naturalOrNull,
    }),
  },
  close: { tag: 4, body: record({ document }) },
  warm: { tag: 5, body: record({ document, version, position: natural, end: naturalOrNull }) },
  complete: {
    tag: 6,
    body: record({
      request,
      document,
      version,
      position: natural,
      sampling: sampled,
      replay,
      traceparent,
      parallel: optional(flag, false),
    }),
  },
  edit: {
    tag: 7,
    body: record({
      request,
      document,
      version,
      start: natural,
      end: natural,
      instruction,
      sampling: sampled,
      replay,
      traceparent,
      accepted: optional(text(), ''),
    }),
  },
  chat: {
    tag: 8,
    body: record({
      request,
      conversation: document,
      text: text(),
      documents: optional(list(document, 16), []),
      sampling: sampled,
      replay,
      traceparent,
    }),
  },
  steer: { tag: 9, body: record({ request, instruction, operations: naturalOrNull }) },
  interrupt: { tag: 10, body: record({ request }) },
  cancel: { tag: 11, body: record({ request }) },
  ack: { tag: 12, body: record({ requests: list(natural, 4096) }) },
  ping: { tag: 13, body: record({ sent: natural }) },
  endChat: { tag: 14, body: record({ conversation: document }) },
} as const;

/** By tag, from server to client. */
export const SERVER_MESSAGES = {
  welcome: {
    tag: 1,
    body: record({
      session: text(),
      server: text(),
      model: text(),
      contextLength: natural,
      maxDocumentBytes: natural,
      maxRequests: natural,
      secret: optional(nullable(text()), null),
      resumeMs: optional(natural, 0),
      resumed: optional(nullable(resumed), null),
    }),
  },
  accepted: { tag: 2, body: record({ request, stream: natural, continued: optional(nullable(continued), null) }) },
  delta: { tag: 3, body: record({ stream: natural, text: text() }) },
  ops: { tag: 4, body: record({ stream: natural, operations: list(operation) }) },
  scoredDelta: {
    tag: 11,
    body: record({ stream: natural, text: text(), logprobs: optional(list(tokenLogprob), []) }),
  },
  done: {
    tag: 5,
    body: record({
      request,
      reason: oneOf('stop', 'length', 'cancel', 'superseded', 'interrupted', 'conflict', 'error'),
      receipt: optional(receipt, receipt.readItems([], 'receipt')),
      timing: optional(timing, timing.readItems([], 'timing')),
      operations: naturalOrNull,
    }),
  },
  error: {
    tag: 6,
    body: record({
      request: nullable(request),
      code: text(),
      message: text(),
      retryable: optional(flag, false),
      retryAfterMs: naturalOrNull,
    }),
  },
  nack: { tag: 7, body: record({ document: text(), held: nullable(natural), code: text(), message: text() }) },
  pong: { tag: 8, body: record({ sent: natural, received: natural, replied: natural }) },
  notice: { tag: 9, body: record({ kind: text(), milliseconds: naturalOrNull }) },
  steered: { tag: 10, body: record({ request, operations: natural }) },
} as const;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any fields, which are inferred from it
export type Table = Record<string, { readonly tag: number; readonly body: RecordField<any> }>;
type Body<T extends Table, K extends keyof T> = T[K]['body'] extends RecordField<infer F> ? F : never;

/** A message as it is read: `type` and every field. */
export type ReadMessage<T extends Table> = { [K in keyof T]: { type: K } & Read<Body<T, K>> }[keyof T];
/** A message as one gives it: fields with defaults may be left out. */
export type GivenMessage<T extends Table> = { [K in keyof T]: { type: K } & Given<Body<T, K>> }[keyof T];

export type ClientMessage = GivenMessage<typeof CLIENT_MESSAGES>;
export type ServerMessage = ReadMessage<typeof SERVER_MESSAGES>;
export type ServerMessageOf<K extends ServerMessage['type']> = Extract<ServerMessage, { type: K }>;

type ReadField<F> = F extends RecordField<infer Fields> ? Read<Fields> : never;
type GivenField<F> = F extends RecordField<infer Fields> ? Given<Fields> : never;

/** Replace the units [start, end). Edits of one change apply in order, each to the result of the one before. */
export type TextEdit = Readonly<ReadField<typeof textEdit>>;
export type Applied = Readonly<ReadField<typeof applied>>;
/** How tokens are chosen; what is left out is as the wire has it (`maxTokens` 512, greedy). */
export type Sampling = Readonly<GivenField<typeof sampling>>;
export type Receipt = Readonly<ReadField<typeof receipt>>;
export type Timing = Readonly<ReadField<typeof timing>>;
export type Continued = Readonly<ReadField<typeof continued>>;
export type TokenLogprob = Readonly<ReadField<typeof tokenLogprob>>;
/** `n` keeps n units, `-n` deletes them, a string is inserted. */
export type Operation = number | string;
export type Welcome = ServerMessageOf<'welcome'>;
export type Done = ServerMessageOf<'done'>;
export type Reason = Done['reason'];
