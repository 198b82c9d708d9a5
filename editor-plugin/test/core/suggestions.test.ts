import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/core/suggestions.js';
import type { Suggestion } from '../../src/core/suggestions.js';
import { answer, style, typing, URI } from './support/typing.js';

describe('a suggestion', () => {
  it('is asked for at the change, and the editor joins that request', async () => {
    const editor = await typing('retur');
    editor.type('n');
    expect(editor.server.of('complete')).toMatchObject([{ request: 1, position: 6, version: 2 }]);
    const shown = editor.ask();
    answer(editor, 1, ' x');
    expect(await shown).toMatchObject({ start: 6, end: 6, text: ' x', partial: false, request: 1 });
    expect(editor.server.of('complete')).toHaveLength(1);
    expect(editor.suggestions.why.last(URI)?.code).toBe('shown');
  });

  it('stays while what it says is typed, without another request (llama.vim 18)', async () => {
    const editor = await typing('r');
    editor.type('e');
    answer(editor, 1, 'turn x', false);
    for (const key of 'turn') {
      editor.type(key);
    }
    editor.server.say({ type: 'delta', stream: 1, text: ' + 1' }, { type: 'done', request: 1, reason: 'stop' });
    expect(await editor.ask()).toMatchObject({ start: 6, end: 6, text: ' x + 1' });
    expect(editor.server.of('complete')).toHaveLength(1);
    expect(editor.server.of('cancel')).toEqual([]);
  });

  it('survives one typo, and is there again once that is taken back', async () => {
    const editor = await typing('r');
    editor.type('e');
    answer(editor, 1, 'turn x', false);
    editor.type('q');
    expect(editor.server.last('complete')).toMatchObject({ request: 2, parallel: true });
    expect(editor.server.of('cancel')).toEqual([]);
    editor.backspace();
    expect(editor.server.of('cancel')).toEqual([{ type: 'cancel', request: 2 }]);
    editor.server.say({ type: 'done', request: 1, reason: 'stop' });
    expect(await editor.ask()).toMatchObject({ text: 'turn x', request: 1 });
  });

  it('is ended on the server when it is left for good (continue 2935)', async () => {
    const editor = await typing('r');
    editor.type('e');
    answer(editor, 1, 'turn x', false);
    editor.type('q');
    editor.type('q');
    expect(editor.server.of('cancel')).toEqual([{ type: 'cancel', request: 1 }]);
    expect(editor.server.last('complete')).toMatchObject({ request: 3, parallel: false });
  });

  it('takes the place of a bracket that the editor has closed (vscode 26012)', async () => {
    const editor = await typing('foo');
    editor.suggestions.changed(editor.document, editor.document.change([{ start: 3, end: 3, text: '()' }]));
    expect(editor.server.last('complete').position).toBe(4);
    answer(editor, 1, 'x)');
    expect(await editor.suggestions.provide(editor.document, 4, { style })).toMatchObject({ start: 4, end: 4, text: 'x' });
  });

  it('covers that bracket where it closes it itself, having been asked for before', async () => {
    const editor = await typing('fo');
    editor.type('o');
    answer(editor, 1, '(a, b)');
    editor.suggestions.changed(editor.document, editor.document.change([{ start: 3, end: 3, text: '()' }]));
    expect(await editor.suggestions.provide(editor.document, 4, { style })).toMatchObject({ start: 4, end: 5, text: 'a, b)' });
    expect(editor.server.of('complete')).toHaveLength(1);
  });

  it('shows when keys come faster than the server answers (vscode 147830)', async () => {
    const editor = await typing();
    for (const key of 'import') {
      editor.type(key);
      await editor.environment.pass(60);
    }
    const request = editor.server.last('complete');
    expect(request.position).toBe(6);
    const shown = editor.ask();
    answer(editor, request.request, ' os');
    expect(await shown).toMatchObject({ text: ' os' });
  });

  it('says what has come when its time is over, and that more may come', async () => {
    const editor = await typing('r');
    editor.type('e');
    const shown = editor.ask();
    const grown: string[] = [];
    editor.suggestions.onGrown(({ uri }) => grown.push(uri));
    answer(editor, 1, 'turn x\nnot all', false);
    await editor.environment.pass(DEFAULT_SETTINGS.showWithin);
    expect(await shown).toMatchObject({ text: 'turn x', partial: true });
    editor.server.say({ type: 'delta', stream: 1, text: ' of it' }, { type: 'done', request: 1, reason: 'stop' });
    expect(grown).toEqual([URI]);
    expect(await editor.ask()).toMatchObject({ text: 'turn x\nnot all of it', partial: false });
  });

  it('waits for quiet before it shows, and before it asks, by settings of their own (continue 5710)', async () => {
    const editor = await typing('r', { showDelay: 200, requestDelay: 100 });
    editor.type('e');
    let shown: Suggestion | undefined | 'waiting' = 'waiting';
    void editor.ask().then((suggestion) => (shown = suggestion));
    await editor.environment.pass(99);
    expect(editor.server.of('complete')).toEqual([]);
    await editor.environment.pass(1);
    answer(editor, 1, 'turn');
    await editor.environment.pass(99);
    expect(shown).toBe('waiting');
    await editor.environment.pass(1);
    expect(shown).toMatchObject({ text: 'turn' });
  });

  it('comes at once when it is asked for by hand, also where suggestions are not automatic (codeium 109)', async () => {
    const editor = await typing('r', { showDelay: 200, requestDelay: 100, automatic: false });
    editor.type('e');
    expect(await editor.ask()).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('manual');
    await editor.environment.pass(1000);
    expect(editor.server.of('complete')).toEqual([]);
    const shown = editor.ask({ explicit: true });
    answer(editor, 1, 'turn');
    expect(await shown).toMatchObject({ text: 'turn' });
  });

  it('is silent everywhere when it is off (codeium 109)', async () => {
    const editor = await typing('r', { enabled: false });
    editor.type('e');
    expect(await editor.ask({ explicit: true })).toBeUndefined();
    expect(editor.server.of('complete')).toEqual([]);
    expect(editor.suggestions.why.last()?.code).toBe('disabled');
  });

  it('never says what was just deleted', async () => {
    const editor = await typing('x = 1\n');
    editor.type('print');
    answer(editor, 1, '("hello")');
    expect(await editor.ask()).toMatchObject({ text: '("hello")' });
    editor.type('("hello")');
    editor.backspace(9);
    answer(editor, editor.server.last('complete').request, '("hello")');
    expect(await editor.ask()).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('deleted');
    editor.type('(');
    expect(editor.suggestions.why.last()?.code).toBe('deleted');
    const shown = editor.ask();
    const request = editor.server.last('complete').request;
    if (editor.server.running.has(request)) {
      answer(editor, request, '"hello")');
    }
    expect(await shown).toMatchObject({ text: '"hello")' });
  });

  it('is found again in an undone state by its content, without a request', async () => {
    const editor = await typing('a');
    editor.type('b');
    answer(editor, 1, 'cde');
    expect(await editor.ask()).toMatchObject({ text: 'cde' });
    editor.type('\n\n\n');
    answer(editor, 2, 'x');
    editor.suggestions.changed(editor.document, editor.document.change([{ start: 2, end: 5, text: '' }]), false);
    const shown = await editor.suggestions.provide(editor.document, 2, { style });
    expect(shown).toMatchObject({ start: 2, text: 'cde' });
    expect(editor.server.of('complete')).toHaveLength(2);
  });

  it('is asked for ahead, as if the one that is shown had been accepted', async () => {
    const editor = await typing('a', { prefetch: true });
    editor.type('b');
    answer(editor, 1, 'cd');
    await editor.ask();
    const ahead = editor.server.last('complete');
    expect(ahead).toMatchObject({ request: 2, position: 4, parallel: true });
    expect(editor.server.documents.get(ahead.document)?.text).toBe('abcd');
    answer(editor, 2, 'ef');
    await editor.environment.settle();
    editor.type('cd');
    expect(await editor.ask()).toMatchObject({ start: 4, text: 'ef' });
    expect(editor.server.of('complete').filter(({ document }) => document === URI)).toHaveLength(1);
    expect(editor.server.of('open').map(({ document }) => document)).toEqual([URI, ahead.document, ahead.document].slice(0, 2));
  });

  it('joins what runs ahead when it is accepted before that has ended', async () => {
    const editor = await typing('a', { prefetch: true });
    editor.type('b');
    answer(editor, 1, 'cd');
    await editor.ask();
    editor.type('cd');
    expect(editor.server.of('cancel')).toEqual([]);
    const shown = editor.ask();
    answer(editor, 2, 'ef');
    expect(await shown).toMatchObject({ start: 4, text: 'ef', request: 2 });
  });

  it('gives up what runs ahead when something else is typed', async () => {
    const editor = await typing('a', { prefetch: true });
    editor.type('b');
    answer(editor, 1, 'cd');
    await editor.ask();
    editor.type('x');
    expect(editor.server.of('cancel')).toEqual([{ type: 'cancel', request: 2 }]);
  });

  it('says why there is none', async () => {
    const editor = await typing('a');
    editor.type('b');
    answer(editor, 1, '');
    expect(await editor.ask()).toBeUndefined();
    expect(editor.suggestions.why.last()).toMatchObject({ code: 'empty', uri: URI });
    editor.type('c');
    editor.server.say({ type: 'error', request: 2, code: 'engine_unavailable', message: 'it is starting', retryable: true });
    editor.type('d');
    const shown = editor.ask();
    editor.server.say({ type: 'error', request: 3, code: 'engine_unavailable', message: 'it is starting', retryable: true });
    expect(await shown).toBeUndefined();
    expect(editor.suggestions.why.last()?.message).toContain('it is starting');
    editor.server.close(1012);
    expect(await editor.ask()).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('disconnected');
  });

  it('is asked for anew when the one before was cut on the server', async () => {
    const editor = await typing('r');
    editor.type('e');
    answer(editor, 1, 'tu', false);
    editor.server.say({ type: 'done', request: 1, reason: 'cancel' });
    const shown = editor.ask();
    await editor.environment.settle();
    answer(editor, 2, 'turn');
    expect(await shown).toMatchObject({ text: 'turn', request: 2 });
  });

  it('is not offered unasked where much stands to the right of the cursor', async () => {
    const editor = await typing('x = compute_all(a, b)');
    editor.type('y', 4);
    expect(editor.server.of('complete')).toEqual([]);
    expect(await editor.ask()).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('right');
  });

  it('is given up when the editor does, or something is typed meanwhile', async () => {
    const editor = await typing('a');
    editor.type('b');
    const controller = new AbortController();
    const cancelled = editor.ask({ signal: controller.signal });
    controller.abort();
    expect(await cancelled).toBeUndefined();
    const stale = editor.ask();
    await editor.environment.settle();
    editor.type('c');
    expect(await stale).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('cancelled');
  });

  it('goes on with the entry that is chosen in the list, or is not shown (vscode 229309)', async () => {
    const editor = await typing('x.');
    editor.type('ap');
    answer(editor, 1, 'pend(1)');
    const selected = { start: 2, end: 4, text: 'append' };
    expect(await editor.ask({ selected })).toMatchObject({ start: 2, end: 4, text: 'append(1)' });
    expect(await editor.ask({ selected: { ...selected, text: 'apply' } })).toBeUndefined();
    expect(editor.suggestions.why.last()?.code).toBe('widget');
  });
});
