/**
 * From what was just changed, the other places in the file that want the same change: uses of a name that was changed
 * where it is defined or used, calls of a function whose parameters were changed. No model is asked, so it costs nothing.
 */

import type { DocumentChange } from './document.js';
import { callSites, changedParameters } from './signatures.js';
import type { TextEdit } from './wire.js';

/** A change that another place wants. */
export interface NextEdit extends TextEdit {
  /** What to say about it: `rename` a name, or follow a `signature`. */
  readonly kind: 'rename' | 'signature';
}

const WORD = /[\p{L}\p{N}_$]/u;
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
/** In one of the common languages these are no names. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'and as async await break case catch class const continue def default del do elif else enum except export extends false ' +
    'final finally fn for from func function if implements import in interface is lambda let match mod mut new nil None not ' +
    'null or package pass private pub public raise return self static struct super switch this throw trait true True False ' +
    'try type typeof use var void where while with yield int float str bool string number char double long'
  ).split(' '),
);
const MOST = 200;
/** Names and lines that are longer were not written by hand. */
const LONGEST_NAME = 200;
const LONGEST_LINE = 2000;

/** A name that is being changed: where it stands now, and what it was. */
interface Renaming {
  start: number;
  end: number;
  readonly before: string;
}

/** A line with a signature that is being changed, as it was. */
interface SignatureChange {
  start: number;
  readonly before: string;
}

/** What `NextEdits` asks of a document, as it is after the change. */
interface Text {
  readonly length: number;
  slice(start: number, end: number): string;
  toString(): string;
}

/** Follows what a person changes in one document, key by key, as one change of a name or of a signature. */
export class NextEdits {
  private renaming: Renaming | undefined;
  private signature: SignatureChange | undefined;

  constructor(private readonly document: Text) {}

  /** Take a change. Many at once are somebody else's refactoring, which needs no help. */
  changed(change: DocumentChange): void {
    const [edit, another] = change.edits;
    if (edit === undefined || another !== undefined) {
      this.forget();
      return;
    }
    const removed = change.removed[0] ?? '';
    this.followName(edit, removed);
    this.followSignature(edit, removed);
  }

  /** Nothing is being changed any more: the places were offered and declined, say. */
  forget(): void {
    this.renaming = this.signature = undefined;
  }

  /** The places that want the same change, in the order of the text; those behind a cursor first if one is given. */
  places(cursor = 0): NextEdit[] {
    const text = this.document.toString();
    const found = [...this.renamed(text), ...this.called(text)].slice(0, MOST);
    return [...found.filter(({ start }) => start >= cursor), ...found.filter(({ start }) => start < cursor)];
  }

  private followName(edit: TextEdit, removed: string): void {
    const { renaming } = this;
    if (renaming !== undefined && edit.start >= renaming.start && edit.end <= renaming.end) {
      renaming.end += edit.text.length - (edit.end - edit.start);
      if (isWordPart(edit.text)) {
        return;
      }
    }
    this.renaming = isWordPart(edit.text) && isWordPart(removed) ? this.nameAround(edit, removed) : undefined;
  }

  /** The name that an edit lies in, as it was before it. */
  private nameAround(edit: TextEdit, removed: string): Renaming | undefined {
    let { start } = edit;
    let end = edit.start + edit.text.length;
    const [least, most] = [start - LONGEST_NAME, end + LONGEST_NAME];
    while (start > Math.max(least, 0) && WORD.test(this.document.slice(start - 1, start))) {
      start--;
    }
    while (end < Math.min(most, this.document.length) && WORD.test(this.document.slice(end, end + 1))) {
      end++;
    }
    const before = this.document.slice(start, edit.start) + removed + this.document.slice(edit.start + edit.text.length, end);
    return NAME.test(before) && !KEYWORDS.has(before) ? { start, end, before } : undefined;
  }

  private followSignature(edit: TextEdit, removed: string): void {
    const { signature } = this;
    const start = this.lineStart(edit.start);
    if (/[\r\n]/.test(edit.text + removed)) {
      this.signature = undefined;
    } else if (signature?.start !== start) {
      const line = this.line(start);
      const at = edit.start - start;
      this.signature = { start, before: line.slice(0, at) + removed + line.slice(at + edit.text.length) };
    }
  }

  private lineStart(offset: number): number {
    const from = Math.max(offset - LONGEST_LINE, 0);
    return from + this.document.slice(from, offset).lastIndexOf('\n') + 1;
  }

  private line(start: number): string {
    const rest = this.document.slice(start, start + LONGEST_LINE);
    return /^[^\r\n]*/.exec(rest)?.[0] ?? '';
  }

  private renamed(text: string): NextEdit[] {
    const { renaming } = this;
    if (renaming === undefined) {
      return [];
    }
    const name = text.slice(renaming.start, renaming.end);
    if (name === renaming.before || !NAME.test(name) || KEYWORDS.has(name)) {
      return [];
    }
    return occurrences(text, renaming.before).map((start) => ({
      start,
      end: start + renaming.before.length,
      text: name,
      kind: 'rename',
    }));
  }

  private called(text: string): NextEdit[] {
    const { signature } = this;
    if (signature === undefined) {
      return [];
    }
    const change = changedParameters(signature.before, this.line(signature.start));
    if (change === undefined) {
      return [];
    }
    const line = signature.start + this.line(signature.start).length;
    return callSites(text, change)
      .filter(({ start }) => start < signature.start || start > line)
      .map((edit) => ({ ...edit, kind: 'signature' }));
  }
}

function isWordPart(text: string): boolean {
  return [...text].every((character) => WORD.test(character));
}

/** Where a name stands by itself, in code and comments alike, but not as a part of another. */
export function occurrences(text: string, name: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    if (!WORD.test(text.charAt(at - 1)) && !WORD.test(text.charAt(at + name.length))) {
      found.push(at);
    }
  }
  return found;
}
