/** What a completion brought, for a document's content and a position. */
export interface CachedText {
  readonly text: string;
  /** Units behind the position that it takes the place of. */
  readonly replaces: number;
}

/** Names a place in a content, whatever the document's version: an undone change finds its suggestion again. */
export function cacheKey(content: { hash(): number; readonly length: number }, position: number): string {
  return `${content.hash()}:${content.length}:${position}`;
}

/** The texts used last, at most so many. */
export class SuggestionCache {
  private readonly texts = new Map<string, CachedText>(); // the one used last comes last

  constructor(private readonly most = 256) {}

  get size(): number {
    return this.texts.size;
  }

  get(key: string): CachedText | undefined {
    const found = this.texts.get(key);
    if (found !== undefined) {
      this.texts.delete(key);
      this.texts.set(key, found);
    }
    return found;
  }

  set(key: string, text: CachedText): void {
    this.texts.delete(key);
    this.texts.set(key, text);
    for (const oldest of this.texts.keys()) {
      if (this.texts.size <= this.most) {
        break;
      }
      this.texts.delete(oldest);
    }
  }

  clear(): void {
    this.texts.clear();
  }
}
