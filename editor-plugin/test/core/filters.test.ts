import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  filterSuggestion,
  saysWhatWasDeleted,
  trimEnd,
  withIndentation,
  withLineEnds,
  withoutRepetition,
  withoutUnmatchedClosers,
} from '../../src/core/filters.js';
import type { TextStyle } from '../../src/core/filters.js';

const spaces: TextStyle = { tabSize: 4, insertSpaces: true, eol: '\n' };
const tabs: TextStyle = { ...spaces, insertSpaces: false };

describe('a suggestion is shown', () => {
  it.each([
    ['x\n', '', 'x'],
    ['x\r\n', '', 'x'],
    ['x\n  \n\n', '\nmore', 'x'],
    ['x  ', '\nmore', 'x'],
    ['x ', 'y', 'x '],
    ['a\nb', '', 'a\nb'],
    ['\n', '', ''],
  ])('without the line end that %j ends with, before %j', (text, after, expected) => {
    expect(trimEnd(text, after)).toBe(expected);
  });

  it.each([
    ['a, b)', ')\n', 'a, b'],
    ['a, b):', '):\nnext', 'a, b'],
    ['x = 1', 'x = 1', ''],
    ['foo', 'bar', 'foo'],
    ['return x', '\n    return x\n', ''],
    ['    a = 1\n    return x', '\n    return x\n', '    a = 1'],
    ['a = 1\nb = 2\nc = 3', '\n\nb = 2\nc = 3\nd = 4', 'a = 1'],
    ['if a {\n    b()\n}', '\n}\n', 'if a {\n    b()\n}'],
    ['if x:\n    return y', '\nreturn y', 'if x:\n    return y'],
  ])('without what follows anyway: %j before %j', (text, after, expected) => {
    expect(withoutRepetition(text, after)).toBe(expected);
  });

  it.each([
    ['a, b)', 'foo(', '', 'a, b)'],
    ['a, b)', 'foo(', ')', 'a, b'],
    ['a, b))', 'foo(', '', 'a, b)'],
    ['x\n}', 'function f() {\n  ', '\n', 'x\n}'],
    ['x\n}', 'function f() {\n  ', '\n}\n', 'x'],
    ['")")', 'print(', '', '")")'],
    ['[1, 2]', '', '', '[1, 2]'],
    ['(a]', '', '', '(a'],
    [')', '', '', ''],
    ['x)', 'g(f(', ')', 'x)'],
  ])('up to a bracket that closes nothing: %j behind %j, before %j', (text, before, after, expected) => {
    expect(withoutUnmatchedClosers(text, { before, after })).toBe(expected);
  });

  it.each([
    ['if x:\n    return 1', '', tabs, 'if x:\n\treturn 1'],
    ['if x:\n\treturn 1', '', spaces, 'if x:\n    return 1'],
    ['    return 1', '', tabs, '\treturn 1'],
    ['   return 1', '\t', tabs, '   return 1'],
    ['    x\n        y', '    ', spaces, '    x\n        y'],
    ['    x', '\t', tabs, '\tx'],
    ['a    b\n  \tc', '', tabs, 'a    b\n\tc'],
    [' + 1\n    b', 'x = 1', tabs, ' + 1\n\tb'],
    ['a\r\n    b', '', tabs, 'a\r\n\tb'],
  ])('with white space as the editor writes it: %j behind %j (Kilo-Org 4340, sourcegraph 53743)', (text, before, style, expected) => {
    expect(withIndentation(text, before, style)).toBe(expected);
  });

  it('with the line ends of the document', () => {
    expect(withLineEnds('a\nb\r\nc\rd', '\r\n')).toBe('a\r\nb\r\nc\r\nd');
    expect(filterSuggestion('a\nb', { before: '', after: '' }, { ...spaces, eol: '\r\n' })).toEqual({ text: 'a\r\nb' });
  });

  it('unless it is what was just deleted, and no typo', () => {
    expect(saysWhatWasDeleted('("hello")', '("hello")')).toBe(true);
    expect(saysWhatWasDeleted(' hello world', 'hello')).toBe(true);
    expect(saysWhatWasDeleted('xyz', 'x')).toBe(false);
    expect(saysWhatWasDeleted('other', 'hello')).toBe(false);
  });

  it.each([
    ['  \n', '', 'empty'],
    ['return x', '\nreturn x', 'repeats'],
    [') + 1', '', 'brackets'],
  ] as const)('or else there is a reason: %j before %j', (text, after, dropped) => {
    expect(filterSuggestion(text, { before: '', after }, spaces)).toEqual({ dropped });
  });

  it('never longer than it was, and the same when it is filtered again', () => {
    const code = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '(', ')', '{', '}', '"'), maxLength: 30 });
    fc.assert(
      fc.property(code, code, code, (text, before, after) => {
        const once = filterSuggestion(text, { before, after }, spaces);
        if ('text' in once) {
          expect(once.text.length).toBeLessThanOrEqual(text.length);
          expect(once.text.trim()).not.toBe('');
          expect(text.startsWith(once.text.trimEnd())).toBe(true);
        }
      }),
    );
  });
});
