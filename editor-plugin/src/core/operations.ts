import type { Operation } from './wire.js';

/**
 * The text of a range with operations applied; what they don't reach is as it was. Throws a RangeError if they reach
 * past the range.
 */
export function applyOperations(original: string, operations: readonly Operation[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const operation of operations) {
    if (typeof operation === 'string') {
      parts.push(operation);
      continue;
    }
    const end = at + Math.abs(operation);
    if (end > original.length) {
      throw new RangeError(`an operation reaches unit ${end} of a range of ${original.length}`);
    }
    if (operation > 0) {
      parts.push(original.slice(at, end));
    }
    at = end;
  }
  parts.push(original.slice(at));
  return parts.join('');
}
