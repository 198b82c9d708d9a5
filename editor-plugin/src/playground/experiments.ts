/** The comparisons of the page, on documents of their own. Each throws an Error in words if it can't be made. */
import { percentile } from '../core/index.js';
import type { Client, Document, Request, Sampling } from '../core/index.js';
import { EXAMPLES, LONG_TEXT } from './examples.js';
import type { Timed } from './recorder.js';
import { completeOverHttp } from './sse.js';
import { timedOf } from './watching.js';

const COMPLETED = '\n\ndef is_zero(number):\n    """Whether a number is zero."""\n    ';
/** Times as long as computing the prompt took when cold, for what is read ahead in idle time. */
const PATIENCE = 2.5;
const LEAST_WAIT = 400;
const MOST_WAIT = 20_000;

let scratches = 0;

/** A document that nobody has seen, for as long as something is done with it. */
async function scratch<T>(client: Client, text: string, use: (document: Document) => Promise<T>): Promise<T> {
  const document = client.open(`file:///playground/scratch-${++scratches}.py`, 'python', text);
  try {
    return await use(document);
  } finally {
    document.close();
  }
}

async function timed(kind: Timed['kind'], request: Request): Promise<Timed> {
  const outcome = await request.ended;
  if (!outcome.ok) {
    throw outcome.error;
  }
  const result = timedOf(kind, outcome);
  if (result === undefined) {
    throw new Error(`the request ended with "${outcome.reason}"`);
  }
  return result;
}

// Warm against cold --------------------------------------------------------------------------------------------------

export interface WarmAndCold {
  readonly cold: Timed;
  readonly warm: Timed;
}

/** The same completion of two texts that differ in their first line only, so that neither finds the other's prompt. */
export async function warmAgainstCold(client: Client, random: () => number = Math.random): Promise<WarmAndCold> {
  const text = (): string => `# ${random().toString(36).slice(2, 12)}\n${LONG_TEXT}${COMPLETED}`;
  const sampling: Sampling = { maxTokens: 8 };
  const ask = (document: Document): Promise<Timed> => timed('completion', client.complete(document, document.length, { sampling }));
  const cold = await scratch(client, text(), ask);
  const wait = Math.min(Math.max((PATIENCE * cold.hops['engine.prefill']) / 1000, LEAST_WAIT), MOST_WAIT);
  const warm = await scratch(client, text(), async (document) => {
    document.warm(document.length);
    await new Promise((resolve) => setTimeout(resolve, wait));
    return ask(document);
  });
  return { cold, warm };
}

// Speculation --------------------------------------------------------------------------------------------------------

export interface WithAndWithout {
  readonly instruction: string;
  readonly with: Timed;
  readonly without: Timed;
  readonly identical: boolean;
  readonly text: string;
}

/** An edit with drafts and then without. That order, since text which was made before is drafted from. */
export async function withAndWithout(client: Client, asked: { text: string; start: number; end: number; instruction: string }): Promise<WithAndWithout> {
  const run = (speculation: 'auto' | 'off'): Promise<{ text: string; timed: Timed }> =>
    scratch(client, asked.text, async (document) => {
      const session = client.edit(document, asked.start, asked.end, asked.instruction, { sampling: { speculation } });
      const result = await timed('edit', session);
      const { text } = session;
      session.forget();
      return { text, timed: result };
    });
  const on = await run('auto');
  const off = await run('off');
  return { instruction: asked.instruction, with: on.timed, without: off.timed, identical: on.text === off.text, text: on.text };
}

/** What the second comparison edits where nothing was edited yet. */
export function exampleEdit(): { text: string; start: number; end: number; instruction: string } {
  const [example] = EXAMPLES;
  if (example === undefined) {
    throw new Error('there is no example');
  }
  const start = example.text.indexOf(example.edit.from);
  const end = example.text.indexOf('\n\n\n', start) + 1;
  return { text: example.text, start, end, instruction: example.edit.instruction };
}

// The race -----------------------------------------------------------------------------------------------------------

/** Milliseconds of each round, and bytes that one request took. */
export interface Lane {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly bytes: number;
}

export interface Race {
  readonly socket: Lane;
  readonly http: Lane;
  readonly tokens: number;
  /** Whether both had the same text in every round. */
  readonly same: boolean;
}

export interface RaceOptions {
  /** Where the HTTP API is. */
  readonly base: string;
  readonly token: string | undefined;
  /** Bytes that the socket has sent so far. */
  readonly socketBytes: () => number;
  readonly progress: (round: number, rounds: number) => void;
}

const ROUNDS = 10;
const RACE_TOKENS = 4;
const TYPED = 'return number == 0';

/** In each round a key is typed and a few tokens are asked for, over either; a first one, not counted, warms up both. */
export async function race(client: Client, options: RaceOptions): Promise<Race> {
  const lanes = { socket: lane(), http: lane() };
  const beginning = `${LONG_TEXT}${COMPLETED}`;
  let same = true;
  await scratch(client, beginning, async (document) => {
    const overSocket = async (): Promise<string> => {
      const before = options.socketBytes();
      const called = performance.now();
      const typed = TYPED[document.length - beginning.length] ?? ' ';
      document.change([{ start: document.length, end: document.length, text: typed }]);
      const completion = client.complete(document, document.length, { sampling: { maxTokens: RACE_TOKENS } });
      let first: number | undefined;
      completion.onProgress(() => (first ??= completion.text === '' ? undefined : performance.now() - called));
      const sent = options.socketBytes() - before;
      await timed('completion', completion);
      note(lanes.socket, first, performance.now() - called, sent);
      return completion.text;
    };
    const overHttp = async (prompt: string): Promise<string> => {
      const answer = await completeOverHttp(options.base, options.token, prompt, RACE_TOKENS);
      note(lanes.http, answer.first, answer.last, answer.sent);
      return answer.text;
    };
    for (let round = 0; round <= ROUNDS; round++) {
      options.progress(round, ROUNDS);
      const prompt = `${document.toString()}${TYPED[document.length - beginning.length] ?? ' '}`;
      const texts = round % 2 === 0 ? [await overSocket(), await overHttp(prompt)] : [await overHttp(prompt), await overSocket()];
      same &&= round === 0 || texts[0] === texts[1];
      if (round === 0) {
        lanes.socket = lane();
        lanes.http = lane();
      }
    }
  });
  return { ...lanes, tokens: RACE_TOKENS, same };
}

interface OpenLane extends Lane {
  first: number[];
  last: number[];
  bytes: number;
}

function lane(): OpenLane {
  return { first: [], last: [], bytes: 0 };
}

function note(to: OpenLane, first: number | undefined, last: number, bytes: number): void {
  to.first.push(first ?? last);
  to.last.push(last);
  to.bytes = bytes;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
