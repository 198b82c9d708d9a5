import { describe, expect, it } from 'vitest';
import { cursorAfter } from '../../src/core/cursor.js';
import { Deletions } from '../../src/core/deletions.js';
import type { DocumentChange } from '../../src/core/document.js';
import { SuggestionCache } from '../../src/core/suggestion_cache.js';

function change(start: number, removed: string, text: string): DocumentChange {
  return { edits: [{ start, end: start + removed.length, text }], removed: [removed], applied: null };
}

describe('the cursor after a change', () => {
  it.each([
    ['x', 6],
    ['()', 6],
    ['""', 6],
    ['text', 9],
    ['\n    ', 10],
    ['\n    \n', 10],
    ['\r\n\t\t\r\n\t', 9],
    ['a()', 8],
    ['', 5],
  ])('is where typing %j at 5 leaves it', (text, cursor) => {
    expect(cursorAfter(change(5, '', text))).toBe(cursor);
  });

  it('can not be told where several places change', () => {
    const edit = { start: 0, end: 0, text: 'x' };
    expect(cursorAfter({ edits: [edit, edit], removed: ['', ''], applied: null })).toBeUndefined();
    expect(cursorAfter({ edits: [], removed: [], applied: null })).toBeUndefined();
  });
});

describe('what was just deleted', () => {
  it('is a run of Backspace or Delete, until something is put in', () => {
    const deletions = new Deletions();
    deletions.changed(change(4, 'e', ''));
    deletions.changed(change(3, 'd', ''));
    deletions.changed(change(3, 'f', ''));
    expect(deletions.deletedAt(3)).toBe('def');
    expect(deletions.deletedAt(4)).toBe('');
    deletions.changed(change(9, 'x', ''));
    expect([deletions.deletedAt(3), deletions.deletedAt(9)]).toEqual(['', 'x']);
    deletions.changed(change(0, '', 'y'));
    expect(deletions.deletedAt(9)).toBe('');
  });

  it('is not what an edit of ours takes out', () => {
    const deletions = new Deletions();
    deletions.changed({ ...change(3, 'abc', ''), applied: { request: 1, operations: 1 } });
    expect(deletions.deletedAt(3)).toBe('');
  });
});

describe('the cache', () => {
  it('keeps those that were used last', () => {
    const cache = new SuggestionCache(2);
    cache.set('a', { text: '1', replaces: 0 });
    cache.set('b', { text: '2', replaces: 0 });
    expect(cache.get('a')?.text).toBe('1');
    cache.set('c', { text: '3', replaces: 0 });
    expect([cache.get('a')?.text, cache.get('b'), cache.get('c')?.text]).toEqual(['1', undefined, '3']);
    expect(cache.size).toBe(2);
    cache.clear();
    expect(cache.size).toBe(0);
  });
});
