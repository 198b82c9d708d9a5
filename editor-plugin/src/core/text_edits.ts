/** Edits of a text, applied in order, each counted in the result of the one before. */

import type { TextEdit } from './wire.js';

/** Edits of one change that somebody who follows a part of the text looks at one by one. */
export const MAX_NEAR = 16;

/** Edits that have to do with a part of a text. */
export interface Near {
  /** By how many units the edits before the part move it. They aren't in `edits`, nor counted there. */
  readonly moved: number;
  readonly edits: readonly TextEdit[];
}

/** Units [start, end) of a text as it was, and what replaces them. */
export type Place = TextEdit;

/** By how many units an edit makes a text longer. */
export function growth(edit: TextEdit): number {
  return edit.text.length - (edit.end - edit.start);
}

/** Apply edits in order; throws a RangeError if one lies outside the text. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const places = placesOf(edits);
  if (places === undefined) {
    return edits.reduce((result, edit) => {
      check(edit, result.length);
      return result.slice(0, edit.start) + edit.text + result.slice(edit.end);
    }, text);
  }
  const parts: string[] = [];
  let at = 0;
  for (const place of places) {
    check(place, text.length);
    parts.push(text.slice(at, place.start), place.text);
    at = place.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

function check(edit: TextEdit, length: number): void {
  if (edit.start < 0 || edit.start > edit.end || edit.end > length) {
    throw new RangeError(`the range ${edit.start}..${edit.end} is not within a text of ${length} units`);
  }
}

/**
 * The edits as places in the text as it was, in its order: what an editor takes that replaces many ranges at once.
 * Undefined if they go to and fro, so that there are none.
 */
export function placesOf(edits: readonly TextEdit[]): Place[] | undefined {
  return downwards(edits) ?? upwards(edits);
}

/** Each edit is behind what the last one left. */
function downwards(edits: readonly TextEdit[]): Place[] | undefined {
  const places: Place[] = [];
  let floor = 0;
  let moved = 0;
  for (const edit of edits) {
    if (edit.start < floor) {
      return undefined;
    }
    places.push({ start: edit.start - moved, end: edit.end - moved, text: edit.text });
    floor = edit.start + edit.text.length;
    moved += growth(edit);
  }
  return places;
}

/** Each edit is before what the last one left. */
function upwards(edits: readonly TextEdit[]): Place[] | undefined {
  const places: Place[] = [];
  let ceiling = Infinity;
  for (const edit of edits) {
    if (edit.end > ceiling) {
      return undefined;
    }
    places.push(edit);
    ceiling = edit.start;
  }
  return places.reverse();
}

/**
 * What edits of a text have to do with its units [start, end), for somebody who follows these.
 *
 * Up to `MAX_NEAR` edits are all looked at. Of more, those that touch the units, as they were, count; where the edits
 * go to and fro, all of them do if what lies between the first and the last place that they touch does. Undefined if
 * more than `MAX_NEAR` count.
 */
export function editsNear(edits: readonly TextEdit[], start: number, end: number): Near | undefined {
  if (edits.length <= MAX_NEAR) {
    return { moved: 0, edits };
  }
  const places = placesOf(edits);
  if (places === undefined) {
    const [first, last] = extent(edits);
    if (first <= end && last >= start) {
      return undefined;
    }
    return { moved: last < start ? edits.reduce((sum, edit) => sum + growth(edit), 0) : 0, edits: [] };
  }
  let moved = 0;
  let by = 0;
  const near: TextEdit[] = [];
  for (const place of places) {
    if (place.end < start) {
      moved += growth(place);
    } else if (place.start <= end) {
      if (near.length === MAX_NEAR) {
        return undefined;
      }
      near.push({ start: place.start + by, end: place.end + by, text: place.text });
      by += growth(place);
    }
  }
  return { moved, edits: near };
}

/** What all edits lie in, as units of the text as it was. */
export function extent(edits: readonly TextEdit[]): [start: number, end: number] {
  let start = Infinity;
  let grown = 0; // by the edits so far
  let end = 0;
  for (const edit of edits) {
    start = Math.min(start, edit.start);
    end = Math.max(end, edit.end - grown);
    grown += growth(edit);
  }
  return [start, end];
}
