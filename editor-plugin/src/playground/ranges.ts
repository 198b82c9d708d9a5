/** What an instruction is about: pure functions of a text and a selection. */

/** A longer block is not taken as a whole: small models lose their way in it. */
const MOST_LINES = 120;

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The whole lines of a selection, or else of the block that the cursor stands in, with the last one's line end. */
export function editRange(text: string, anchor: number, head: number): Range {
  const lines = text.split('\n');
  const [from, to] = anchor < head ? [anchor, head] : [head, anchor];
  const first = lineAt(text, from);
  if (from === to) {
    return offsets(lines, ...block(lines, first));
  }
  // A selection that ends before a line's first character does not mean that line.
  const last = text[to - 1] === '\n' ? lineAt(text, to) - 1 : lineAt(text, to);
  return offsets(lines, first, last);
}

/** The lines of the outermost block around a line: from one that is not indented to the last that is. */
function block(lines: readonly string[], line: number): [number, number] {
  let [first, last] = [line, line];
  if (isEmpty(lines[line])) {
    return [line, line];
  }
  while (first > 0 && !isOuter(lines[first])) {
    first--;
  }
  while (last + 1 < lines.length && !isOuter(lines[last + 1])) {
    last++;
  }
  if (closes(lines[last + 1])) {
    last++;
  }
  while (last > line && isEmpty(lines[last])) {
    last--;
  }
  return last - first < MOST_LINES ? [first, last] : [line, line];
}

function isOuter(line: string | undefined): boolean {
  return line !== undefined && /^\S/.test(line);
}

function closes(line: string | undefined): boolean {
  return line !== undefined && /^[)\]}]/.test(line);
}

function isEmpty(line: string | undefined): boolean {
  return line === undefined || line.trim() === '';
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length - 1;
}

function offsets(lines: readonly string[], first: number, last: number): Range {
  const length = (count: number): number => lines.slice(0, count).reduce((sum, line) => sum + line.length + 1, 0);
  const whole = length(lines.length) - 1;
  return { start: Math.min(length(first), whole), end: Math.min(length(last + 1), whole) };
}
