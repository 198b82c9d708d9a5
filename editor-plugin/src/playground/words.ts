/** Where the next word of a suggestion ends: white space before it belongs to it; a run of signs is a word, too. */
export function nextWord(text: string): string {
  return /^\s*(?:[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]+)/u.exec(text)?.[0] ?? text;
}
