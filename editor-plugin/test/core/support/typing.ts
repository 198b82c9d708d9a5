import type { Document } from '../../../src/core/document.js';
import { DEFAULT_SETTINGS, Suggestions } from '../../../src/core/suggestions.js';
import type { ProvideOptions, Suggestion, SuggestionSettings } from '../../../src/core/suggestions.js';
import { connected } from './connected.js';
import type { Connected } from './connected.js';
import type { Received, ReceivedOf } from './fake_server.js';

export const URI = 'file:///a.py';
export const style = { tabSize: 4, insertSpaces: true, eol: '\n' } as const;

/** Somebody who types in one document. */
export interface Typing extends Connected {
  readonly document: Document;
  readonly suggestions: Suggestions;
  /** The cursor, as the editor has it. */
  readonly cursor: () => number;
  type(text: string, at?: number): void;
  backspace(count?: number): void;
  ask(options?: Partial<ProvideOptions>): Promise<Suggestion | undefined>;
}

export async function typing(text = '', settings: Partial<SuggestionSettings> = {}): Promise<Typing> {
  const connection = await connected();
  const document = connection.client.open(URI, 'python', text);
  const all = { ...DEFAULT_SETTINGS, prefetch: false, ...settings };
  const suggestions = new Suggestions(connection.client, () => all, connection.environment);
  let cursor = text.length;
  return {
    ...connection,
    document,
    suggestions,
    cursor: () => cursor,
    type(typed, at = cursor) {
      cursor = at + typed.length;
      suggestions.changed(document, document.change([{ start: at, end: at, text: typed }]));
    },
    backspace(count = 1) {
      cursor -= count;
      suggestions.changed(document, document.change([{ start: cursor, end: cursor + count, text: '' }]));
    },
    ask: (options = {}) => suggestions.provide(document, cursor, { style, ...options }),
  };
}

/** Accept a request, say a text and perhaps its end. */
export function answer(typed: Typing, request: number, text: string, end = true): void {
  const stream = request % 128;
  typed.server.say({ type: 'accepted', request, stream });
  if (text !== '') {
    typed.server.say({ type: 'delta', stream, text });
  }
  if (end) {
    typed.server.say({ type: 'done', request, reason: 'stop' });
  }
}

/** As the real server: one that is not parallel ends the others of its document. */
export function supersede(editor: Typing, message: Received): void {
  if (message.type === 'cancel') {
    if (editor.server.running.has(message.request)) {
      editor.server.say({ type: 'done', request: message.request, reason: 'cancel' });
    }
  } else if (message.type === 'complete' && !message.parallel) {
    const others = editor.server.of('complete').filter((other: ReceivedOf<'complete'>) => other.document === message.document);
    for (const { request } of others) {
      if (request !== message.request && editor.server.running.has(request)) {
        editor.server.say({ type: 'done', request, reason: 'superseded' });
      }
    }
  }
}
