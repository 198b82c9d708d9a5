import { afterEach, describe, expect, it, vi } from 'vitest';
import { completeOverHttp, EventParser } from '../../src/playground/sse.js';

const STREAM = [
  'data: {"choices": [{"text": "a"}]}\n\n',
  ': a comment\n\n',
  'data: {"choices": [{"text": ""}]}\n\n',
  'data: {"choices": [{"text": "ü\\n"}]}\n\n',
  'data: {"choices": [], "usage": {}}\n\n',
  'data: [DONE]\n\n',
].join('');

afterEach(() => vi.unstubAllGlobals());

function answered(body: string, status = 200): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(() => Promise.resolve(new Response(body, { status })));
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

describe('events', () => {
  it.each([1, 2, 7, 1000])('are the same however the stream is cut, here every %d characters', (size) => {
    const parser = new EventParser();
    const pieces = STREAM.match(new RegExp(`[^]{1,${String(size)}}`, 'g')) ?? [];
    expect(pieces.flatMap((piece) => parser.take(piece))).toEqual([
      '{"choices": [{"text": "a"}]}',
      '{"choices": [{"text": ""}]}',
      '{"choices": [{"text": "ü\\n"}]}',
      '{"choices": [], "usage": {}}',
      '[DONE]',
    ]);
  });

  it('may have lines that end with CR LF, and several lines of data', () => {
    expect(new EventParser().take('data: a\r\ndata:b\r\n\r\n')).toEqual(['a\nb']);
  });
});

describe('a completion over HTTP', () => {
  it('is the text of its events, with the key in a header and never in the address', async () => {
    const fetched = answered(STREAM);
    const answer = await completeOverHttp('http://h/v1', 'secret', 'x', 4);
    expect(answer.text).toBe('aü\n');
    expect(answer.first).toBeLessThanOrEqual(answer.last);
    const [url, init] = fetched.mock.calls[0] as [string, RequestInit];
    expect(url).toBe('http://h/v1/completions');
    expect(init.headers).toMatchObject({ Authorization: 'Bearer secret' });
    const body = new TextDecoder().decode(init.body as Uint8Array);
    expect(JSON.parse(body)).toEqual({ prompt: 'x', max_tokens: 4, temperature: 0, stream: true });
    expect(answer.sent).toBe(body.length);
  });

  it('without a key sends none', async () => {
    const fetched = answered(STREAM);
    await completeOverHttp('http://h/v1', undefined, 'x', 4);
    expect((fetched.mock.calls[0] as [string, RequestInit])[1].headers).not.toHaveProperty('Authorization');
  });

  it('that is refused says why', async () => {
    answered('{"error": {"message": "an API key is needed"}}', 401);
    await expect(completeOverHttp('http://h/v1', undefined, 'x', 4)).rejects.toThrow('an API key is needed');
    answered('no JSON', 502);
    await expect(completeOverHttp('http://h/v1', undefined, 'x', 4)).rejects.toThrow('the HTTP API answered 502');
  });

  it('that fails midway says why', async () => {
    answered('data: {"choices": [{"text": "a"}]}\n\ndata: {"error": {"message": "the engine ended"}}\n\n');
    await expect(completeOverHttp('http://h/v1', undefined, 'x', 4)).rejects.toThrow('the engine ended');
  });
});
