import type { DocumentChange } from './document.js';

const PAIRS: ReadonlySet<string> = new Set(['()', '[]', '{}', '""', "''", '``', '<>']);

/**
 * Where the cursor is after a change, before an editor says so: behind what was typed, within brackets that were closed
 * by themselves, at the end of the line that Enter made between brackets. Undefined where it can't be told.
 */
export function cursorAfter(change: DocumentChange): number | undefined {
  const [edit, another] = change.edits;
  if (edit === undefined || another !== undefined) {
    return undefined;
  }
  if (PAIRS.has(edit.text)) {
    return edit.start + 1;
  }
  // "\n<deeper>\n<as before>" is what Enter makes between brackets; the cursor stands in the deeper line.
  const split = /^((?:\r\n|\n)([ \t]+))(?:\r\n|\n)([ \t]*)$/.exec(edit.text);
  if (split?.[1] !== undefined && (split[2] ?? '').length > (split[3] ?? '').length) {
    return edit.start + split[1].length;
  }
  return edit.start + edit.text.length;
}
