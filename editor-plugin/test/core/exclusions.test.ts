import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES, exclusionReason, languageEnabled } from '../../src/core/exclusions.js';
import { globPattern } from '../../src/core/globs.js';
import { vectors } from './support/vectors.js';

/** The server for other editors has the same rules. */
type Vector = { readonly uri: string; readonly never: 'glob' | 'kind' | null } | {
  readonly glob: string;
  readonly path: string;
  readonly matches: boolean;
};

const all = vectors<Vector>('exclusion_vectors');
const uris = all.flatMap((vector) => ('uri' in vector ? [vector] : []));
const globs = all.flatMap((vector) => ('glob' in vector ? [vector] : []));

describe('a document is never sent', () => {
  it.each(uris.filter(({ never }) => never === 'glob'))('where it holds secrets: $uri', ({ uri }) => {
    expect(exclusionReason(uri)).toMatch(/match .* never sent/);
  });

  it.each(uris.filter(({ never }) => never === null))('but this one is: $uri', ({ uri }) => {
    expect(exclusionReason(uri)).toBeUndefined();
  });

  it.each(uris.filter(({ never }) => never === 'kind'))('where its kind is not listed: $uri', ({ uri }) => {
    expect(exclusionReason(uri)).toMatch(/kind/);
  });

  it('where a rule of the user says so, which the reason names', () => {
    const rules = { ...DEFAULT_RULES, globs: ['secret/**', '*.sql'] };
    expect(exclusionReason('file:///w/secret/a/b.py', rules)).toContain('secret/**');
    expect(exclusionReason('file:///w/dump.sql', rules)).toContain('*.sql');
    expect(exclusionReason('file:///w/secrets/b.py', rules)).toBeUndefined();
    expect(exclusionReason('file:///w/.env', rules)).toBeUndefined(); // the list is the user's
  });
});

describe('a glob', () => {
  it.each(globs)('$glob and $path: $matches', ({ glob, path, matches }) => {
    expect(globPattern(glob).test(path)).toBe(matches);
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
