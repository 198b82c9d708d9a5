/** Text as the wire counts it, which is as JavaScript does: UTF-16 code units. */

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Turn lone surrogates, which UTF-8 can't carry, into U+FFFD; lengths and offsets stay. */
export function replaceLoneSurrogates(text: string): string {
  return text.replace(LONE_SURROGATE, '\uFFFD');
}

export function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

export function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00;
}

/** Whether an offset lies between the two halves of a character. */
export function splitsPair(text: string, offset: number): boolean {
  return isHighSurrogate(text.charCodeAt(offset - 1)) && isLowSurrogate(text.charCodeAt(offset));
}

/** Whether an offset lies between the CR and the LF of a line end. */
export function splitsLineEnd(text: string, offset: number): boolean {
  return text.charCodeAt(offset - 1) === 13 && text.charCodeAt(offset) === 10;
}

/** The nearest offset at or before one where a request may point. */
export function floorOffset(text: string, offset: number): number {
  return splitsPair(text, offset) || splitsLineEnd(text, offset) ? offset - 1 : offset;
}

/** The number of characters (code points), which is what limits on the wire count. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    if (splitsPair(text, index)) {
      count--;
    }
  }
  return count;
}

/** How long the part is that two texts begin with. */
export function commonPrefix(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one.charCodeAt(at) === other.charCodeAt(at)) {
    at++;
  }
  return splitsPair(one, at) || splitsPair(other, at) ? at - 1 : at;
}

/** How long the part is that two texts end with, of at most so many units. */
export function commonSuffix(one: string, other: string, most = Infinity): number {
  const limit = Math.min(one.length, other.length, most);
  let length = 0;
  while (length < limit && one.charCodeAt(one.length - 1 - length) === other.charCodeAt(other.length - 1 - length)) {
    length++;
  }
  const splits = splitsPair(one, one.length - length) || splitsPair(other, other.length - length);
  return splits ? length - 1 : length;
}
