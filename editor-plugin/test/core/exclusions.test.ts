import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES, exclusionReason, languageEnabled } from '../../src/core/exclusions.js';
import { globPattern } from '../../src/core/globs.js';

describe('a document is never sent', () => {
  it.each([
    'file:///home/me/app/.env',
    'file:///home/me/app/.env.local',
    'file:///home/me/app/production.env',
    'file:///home/me/.ssh/config',
    'file:///home/me/.SSH/ID_RSA',
    'file:///c%3A/Users/me/key.PEM',
    'file:///srv/id_ed25519',
    'file:///srv/secrets.yaml',
    'vscode-remote://ssh-remote%2Bhost/home/me/.npmrc',
    'file:///a/%2Eenv',
  ])('where it holds secrets: %s', (uri) => {
    expect(exclusionReason(uri)).toMatch(/never sent/);
  });

  it.each([
    'file:///home/me/app/main.py',
    'file:///home/me/environment.ts',
    'untitled:Untitled-1',
    'file:///home/me/keyboard.ts',
    'file:///100%.py',
    'file:///home/me/.env.d.ts/x.ts',
  ])('but this one is: %s', (uri) => {
    expect(exclusionReason(uri)).toBeUndefined();
  });

  it.each(['git:/home/me/a.py', 'output:tasks', 'vscode-scm:x', 'comment://x/y', 'no scheme', ''])(
    'where its kind is not listed: %s',
    (uri) => {
      expect(exclusionReason(uri)).toMatch(/kind/);
    },
  );

  it('where a rule of the user says so, which the reason names', () => {
    const rules = { ...DEFAULT_RULES, globs: ['secret/**', '*.sql'] };
    expect(exclusionReason('file:///w/secret/a/b.py', rules)).toContain('secret/**');
    expect(exclusionReason('file:///w/dump.sql', rules)).toContain('*.sql');
    expect(exclusionReason('file:///w/secrets/b.py', rules)).toBeUndefined();
    expect(exclusionReason('file:///w/.env', rules)).toBeUndefined(); // the list is the user's
  });
});

describe('a glob', () => {
  it.each([
    ['*.key', '/a/b.key', true],
    ['*.key', '/a/b.keys', false],
    ['**/x/**', '/a/x/b/c', true],
    ['**/x/**', '/a/x', false],
    ['/a/*.py', '/a/b.py', true],
    ['/a/*.py', '/a/b/c.py', false],
    ['/a/**/c', '/a/c', true],
    ['/a/**/c', '/a/b/b/c', true],
    ['{a,b}.{c,d}', '/b.c', true],
    ['{a,b}.{c,d}', '/b.e', false],
    ['file?', '/file1', true],
    ['file?', '/file12', false],
    ['[ab]x', '/bx', true],
    ['[!ab]x', '/bx', false],
    ['[!ab]x', '/cx', true],
    ['[z-a]x', '/[z-a]x', true],
    ['a(b)+.txt', '/a(b)+.txt', true],
    ['a{b', '/a{b', true],
    ['a[b', '/a[b', true],
    ['a,b}', '/a,b}', true],
  ])('%s and %s: %s', (glob, path, expected) => {
    expect(globPattern(glob).test(path)).toBe(expected);
  });

  it('is one, whatever a user writes', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('*', '?', '[', ']', '{', '}', ',', '/', 'a', '!', '-', '\\', '^', '😀') }), (glob) => {
        expect(() => globPattern(glob).test('/a/b')).not.toThrow();
      }),
    );
  });
});

describe('a language', () => {
  it('is on or off by its own entry, then by that of all', () => {
    const map = { '*': true, plaintext: false, constructor: true };
    expect(['python', 'plaintext'].map((language) => languageEnabled(map, language))).toEqual([true, false]);
    expect(languageEnabled({ '*': false, python: true }, 'python')).toBe(true);
    expect(languageEnabled({ '*': false }, 'rust')).toBe(false);
    expect(languageEnabled({}, 'toString')).toBe(true);
  });
});
