/** Insertions that leave the cursor where it is. */
import type { Replacement } from './edit_queue.js';

/**
 * VS Code moves a cursor with text that is inserted exactly there. If the character behind it is replaced by the text
 * and itself, the cursor stays. At the end of the document there is none.
 */
export function besideCursor(
  replacement: Replacement,
  cursors: readonly number[],
  behind: (offset: number) => string,
): Replacement {
  const { start, end, text } = replacement;
  if (start !== end || !cursors.includes(start)) {
    return replacement;
  }
  const next = behind(start);
  return { start, end: start + next.length, text: text + next };
}
