/** The HTTP API's stream, for the race. */

export interface SseAnswer {
  readonly text: string;
  /** Milliseconds from the call to the first text; undefined if there was none. */
  readonly first: number | undefined;
  /** And to the end. */
  readonly last: number;
  /** Bytes of the request's body. */
  readonly sent: number;
}

/** Cuts a stream of text into the data of its events. */
export class EventParser {
  private rest = '';

  /** The events that are whole with this piece. */
  take(piece: string): string[] {
    const events = (this.rest + piece).replaceAll('\r\n', '\n').split('\n\n');
    this.rest = events.pop() ?? '';
    return events.map(dataOf).filter((data) => data !== '');
  }
}

function dataOf(event: string): string {
  return event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n');
}

/** Ask for a streamed completion. Throws an Error in words if the server refuses, or can't be reached. */
export async function completeOverHttp(
  base: string,
  token: string | undefined,
  prompt: string,
  maxTokens: number,
): Promise<SseAnswer> {
  const body = new TextEncoder().encode(JSON.stringify({ prompt, max_tokens: maxTokens, temperature: 0, stream: true }));
  const headers = { 'Content-Type': 'application/json', ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  const called = performance.now();
  const response = await fetch(`${base}/completions`, { method: 'POST', headers, body, credentials: 'omit', cache: 'no-store' });
  if (!response.ok || response.body === null) {
    throw new Error(errorIn(await response.text()) ?? `the HTTP API answered ${response.status}`);
  }
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let first: number | undefined;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    for (const data of parser.take(read.value)) {
      const piece = textIn(data);
      if (piece !== '') {
        first ??= performance.now() - called;
        text += piece;
      }
    }
  }
  return { text, first, last: performance.now() - called, sent: body.length };
}

/** The text of one event. Throws if it is an error, which a stream that has begun reports so. */
function textIn(data: string): string {
  if (data === '[DONE]') {
    return '';
  }
  const problem = errorIn(data);
  if (problem !== undefined) {
    throw new Error(problem);
  }
  const { choices } = JSON.parse(data) as { choices?: { text?: string }[] };
  return choices?.[0]?.text ?? '';
}

function errorIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { error?: { message?: string } }).error?.message;
  } catch {
    return undefined;
  }
}
