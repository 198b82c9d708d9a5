import { combine, crc32, shiftOf } from './crc32.js';
import { isHighSurrogate, isLowSurrogate, replaceLoneSurrogates } from './text.js';

const CHUNK = 4096;
const LARGEST = 2 * CHUNK;

const encoder = new TextEncoder();

interface Chunk {
  readonly text: string;
  /** Made when a hash is asked for; a chunk never changes. */
  crc?: number;
  shift?: number;
}

/**
 * A text in chunks, so that a key costs the chunk it falls in and not the text: `replace`, `slice` and `hash`.
 *
 * No chunk ends within a surrogate pair, so the UTF-8 of the chunks in a row is that of the text. Lone surrogates are
 * kept as they are, since they may become a pair yet; they hash as U+FFFD.
 */
export class ChunkedText {
  private chunks: Chunk[];
  private units: number;
  private whole: string | undefined;

  constructor(text = '') {
    this.chunks = divide(text);
    this.units = text.length;
    this.whole = text;
  }

  get length(): number {
    return this.units;
  }

  toString(): string {
    return (this.whole ??= this.chunks.map((chunk) => chunk.text).join(''));
  }

  /** The code unit at an offset; NaN outside, as of strings. */
  unitAt(offset: number): number {
    if (offset < 0 || offset >= this.units) {
      return NaN;
    }
    const [index, begin] = this.find(offset);
    return this.chunks[index]?.text.charCodeAt(offset - begin) ?? NaN;
  }

  slice(start: number, end: number): string {
    let [index, begin] = this.find(start);
    let result = '';
    while (begin < end && index < this.chunks.length) {
      const text = (this.chunks[index] as Chunk).text;
      result += text.slice(Math.max(start - begin, 0), end - begin);
      begin += text.length;
      index++;
    }
    return result;
  }

  /** Replace the units [start, end), which must lie in the text. */
  replace(start: number, end: number, text: string): void {
    let [first, begin] = this.find(start);
    let last = first;
    let stop = begin + (this.chunks[first]?.text.length ?? 0);
    while (stop < end) {
      last++;
      stop += (this.chunks[last] as Chunk).text.length;
    }
    const joined = this.slice(begin, start) + text + this.slice(end, stop);
    // A half that now stands at the edge belongs to its other half.
    let left = '';
    let right = '';
    if (isLowSurrogate(joined.charCodeAt(0)) && first > 0) {
      left = (this.chunks[--first] as Chunk).text;
      begin -= left.length;
    }
    if (isHighSurrogate(joined.charCodeAt(joined.length - 1)) && last + 1 < this.chunks.length) {
      right = (this.chunks[++last] as Chunk).text;
    }
    if (joined === '' && first > 0 && isHighSurrogate(this.unitAt(begin - 1)) && last + 1 < this.chunks.length) {
      left = (this.chunks[--first] as Chunk).text;
      right = (this.chunks[++last] as Chunk).text;
    }
    this.chunks.splice(first, last - first + 1, ...divide(left + joined + right));
    this.units += text.length - (end - start);
    this.whole = undefined;
  }

  /** The content hash: the CRC-32 of the UTF-8 bytes. */
  hash(): number {
    let crc = 0;
    for (const chunk of this.chunks) {
      if (chunk.crc === undefined) {
        const bytes = encoder.encode(chunk.text); // a lone surrogate becomes U+FFFD here
        chunk.crc = crc32(bytes);
        chunk.shift = shiftOf(bytes.length);
      }
      crc = combine(crc, chunk.crc, chunk.shift as number);
    }
    return crc;
  }

  /** The chunk that holds an offset, and where it begins; at the end of the text the last one. */
  private find(offset: number): [number, number] {
    let begin = 0;
    for (let index = 0; index < this.chunks.length; index++) {
      const length = (this.chunks[index] as Chunk).text.length;
      if (offset < begin + length || index === this.chunks.length - 1) {
        return [index, begin];
      }
      begin += length;
    }
    return [0, 0];
  }
}

/** The content hash of a whole text. */
export function contentHash(text: string): number {
  return crc32(encoder.encode(replaceLoneSurrogates(text)));
}

function divide(text: string): Chunk[] {
  if (text.length <= LARGEST) {
    return text === '' ? [] : [{ text }];
  }
  const chunks: Chunk[] = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + CHUNK, text.length);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end))) {
      end++;
    }
    chunks.push({ text: text.slice(at, end) });
    at = end;
  }
  return chunks;
}
