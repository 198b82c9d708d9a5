/** Words of a text: what is accepted one at a time, and what is marked as a whole. */

/** Where the next word of a suggestion ends: white space before it belongs to it; a run of signs is a word, too. */
export function nextWord(text: string): string {
  return /^\s*(?:[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]+)/u.exec(text)?.[0] ?? text;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Spans grown to the ends of the words that they cut, and joined where they meet then: an edit that says `subtotal` for
 * `amount` keeps a letter or two of it, which nobody wants to see. In order, as they are given; empty ones are left out.
 */
export function wholeWords(text: string, spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans) {
    if (span.end <= span.start) {
      continue;
    }
    let { start, end } = span;
    while (isWord(text[start]) && isWord(text[start - 1])) {
      start--;
    }
    while (isWord(text[end - 1]) && isWord(text[end])) {
      end++;
    }
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) {
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, end) };
    } else {
      result.push({ start, end });
    }
  }
  return result;
}

function isWord(unit: string | undefined): boolean {
  return unit !== undefined && /[\p{L}\p{N}_]/u.test(unit);
}
