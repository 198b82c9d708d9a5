import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkedText, contentHash } from '../../src/core/chunked_text.js';
import { combine, crc32, shiftOf } from '../../src/core/crc32.js';
import { characters, commonPrefix, commonSuffix, floorOffset, replaceLoneSurrogates } from '../../src/core/text.js';
import { vectors } from './support/vectors.js';

/** Text with halves of characters anywhere. */
const anyText = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀', '\ud83d', '\ude00', '\r', '\n'), maxLength: 30 });

describe('text', () => {
  it.each(vectors<{ text: string; length: number; hash: number }>('hash_vectors'))(
    'hashes $text as the server does',
    ({ text, length, hash }) => {
      expect(text.length).toBe(length);
      expect(contentHash(text)).toBe(hash);
      expect(new ChunkedText(text).hash()).toBe(hash);
    },
  );

  it('replaces lone surrogates and keeps each offset', () => {
    expect(replaceLoneSurrogates('a\ud83db😀\ude00')).toBe('a\ufffdb😀\ufffd');
    fc.assert(
      fc.property(anyText, (text) => {
        const clean = replaceLoneSurrogates(text);
        expect(clean.length).toBe(text.length);
        expect(replaceLoneSurrogates(clean)).toBe(clean);
        expect(new TextDecoder().decode(new TextEncoder().encode(clean))).toBe(clean);
      }),
    );
  });

  it('combines checksums of two parts to that of both', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (one, other) => {
        const both = new Uint8Array([...one, ...other]);
        expect(combine(crc32(one), crc32(other), shiftOf(other.length))).toBe(crc32(both));
      }),
    );
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
  });

  it('keeps a long text in step with a string, whatever is replaced in it', () => {
    const filler = fc.integer({ min: 0, max: 9000 }).map((length) => 'ab😀'.repeat(length / 3));
    const steps = fc.array(fc.tuple(fc.nat(), fc.nat(3000), fc.oneof(anyText, filler)), { maxLength: 12 });
    fc.assert(
      fc.property(filler, steps, (start, edits) => {
        let plain = start;
        const chunked = new ChunkedText(start);
        for (const [at, length, text] of edits) {
          const from = plain.length === 0 ? 0 : at % (plain.length + 1);
          const to = Math.min(from + length, plain.length);
          plain = plain.slice(0, from) + text + plain.slice(to);
          chunked.replace(from, to, text);
          expect(chunked.hash()).toBe(contentHash(plain));
          expect(chunked.slice(from, to + 7)).toBe(plain.slice(from, to + 7));
          expect(chunked.unitAt(from)).toEqual(plain.charCodeAt(from));
        }
        expect(chunked.length).toBe(plain.length);
        expect(chunked.toString()).toBe(plain);
      }),
      { numRuns: 200 },
    );
  });

  it('joins the halves of a character that come to stand in two chunks', () => {
    const text = `${'a'.repeat(4096)}\ude00${'a'.repeat(8000)}`;
    const chunked = new ChunkedText(text);
    expect(chunked.hash()).toBe(contentHash(text));
    chunked.replace(4095, 4096, '\ud83d');
    expect(chunked.hash()).toBe(contentHash(chunked.toString()));
    chunked.replace(4095, 4096, '');
    expect(chunked.hash()).toBe(contentHash(`${'a'.repeat(4095)}\ude00${'a'.repeat(8000)}`));
  });

  it.runIf(typeof zlibCrc32 === 'function')('agrees with zlib', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(crc32(bytes)).toBe(zlibCrc32(bytes));
      }),
    );
  });

  it('knows where a request may not point', () => {
    expect([0, 1, 2, 3, 4].map((offset) => floorOffset('😀\r\n', offset))).toEqual([0, 0, 2, 2, 4]);
    expect(characters('a😀\ud83d')).toBe(3);
  });

  it('finds what two texts have in common without cutting a character', () => {
    expect(commonPrefix('a😀b', 'a😁b')).toBe(1);
    expect(commonSuffix('a😀', 'b😀')).toBe(2);
    expect(commonSuffix('\ud83c\ude00', '\ud83d\ude00')).toBe(0);
  });
});
