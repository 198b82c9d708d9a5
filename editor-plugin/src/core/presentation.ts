/** What of a suggestion an editor can show: pure functions of it and its document. */

import type { TextEdit } from './wire.js';

/** What these functions ask of a document. */
interface Text {
  slice(start: number, end: number): string;
}

/**
 * Whether what has come of a running suggestion is worth showing: a whole line where only that is wanted; else
 * anything, once it is `late`. What is shown can't be changed without a flicker.
 */
export function isWorthShowing(text: string, multiline: boolean, late: boolean): boolean {
  const something = text.trim() !== '';
  return something && (multiline ? late : /[\r\n]/.test(text) || late);
}

export function firstLine(text: string): string {
  return /^[^\r\n]*/.exec(text)?.[0] ?? '';
}

/** Without the last line, which is not whole yet, where there are others. */
export function completeLines(text: string): string {
  const end = Math.max(text.lastIndexOf('\n'), 0);
  return text.slice(0, end).trim() === '' ? text : text.slice(0, end);
}

/** An editor's range has to be in one line: brackets that it closed on a later line stay, and the text ends before. */
export function inOneLine(document: Text, edit: TextEdit): TextEdit | undefined {
  const tail = document.slice(edit.start, edit.end);
  if (!/[\r\n]/.test(tail)) {
    return edit;
  }
  const closers = tail.trim();
  const text = edit.text.trimEnd();
  return text.endsWith(closers)
    ? { start: edit.start, end: edit.start, text: text.slice(0, text.length - closers.length).trimEnd() }
    : undefined;
}

/** Where an entry of the editor's list is chosen, the suggestion has to go on with that, and replaces its range. */
export function withSelected(document: Text, edit: TextEdit, cursor: number, selected?: TextEdit): TextEdit | undefined {
  if (selected === undefined) {
    return edit;
  }
  const text = document.slice(selected.start, cursor) + edit.text;
  return selected.start <= cursor && text.startsWith(selected.text)
    ? { start: selected.start, end: Math.max(selected.end, edit.end), text }
    : undefined;
}
