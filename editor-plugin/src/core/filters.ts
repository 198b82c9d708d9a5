/** What is done to a suggestion before it is shown: pure functions of it and of what stands around it. */

/** How the editor writes white space. */
export interface TextStyle {
  readonly tabSize: number;
  readonly insertSpaces: boolean;
  readonly eol: '\n' | '\r\n';
}

/** Where a suggestion goes. */
export interface Surroundings {
  /** Text before the cursor, of several lines at best. */
  readonly before: string;
  /** Text behind what the suggestion takes the place of. */
  readonly after: string;
}

const OPENERS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Line ends as the document has them. */
export function withLineEnds(text: string, eol: TextStyle['eol']): string {
  return text.replace(/\r\n|\r|\n/g, eol);
}

/** Without the line ends and blank lines that it ends with, and without trailing blanks where the line ends there. */
export function trimEnd(text: string, after: string): string {
  const trimmed = text.replace(/(?:[ \t]*(?:\r\n|\r|\n))+[ \t]*$/, '');
  return after === '' || /^[\r\n]/.test(after) ? trimmed.replace(/[ \t]+$/, '') : trimmed;
}

/** Without the end that says again what follows anyway; empty if all of it does. */
export function withoutRepetition(text: string, after: string): string {
  const rest = /^[^\r\n]*/.exec(after)?.[0].trimEnd() ?? '';
  if (rest.trim() !== '') {
    const end = text.trimEnd();
    if (end.endsWith(rest)) {
      return end.slice(0, end.length - rest.length);
    }
    if (end.endsWith(rest.trimStart())) {
      return end.slice(0, end.length - rest.trimStart().length).trimEnd();
    }
    return text;
  }
  const lines = text.split(/\r\n|\r|\n/);
  const following = after
    .split(/\r\n|\r|\n/, 2 * lines.length + 8)
    .filter((line) => line.trim() !== '')
    .map((line) => line.trimEnd());
  for (let count = Math.min(lines.length, following.length); count > 0; count--) {
    const tail = lines.slice(lines.length - count).map((line) => line.trimEnd());
    // The first line stands behind other text, so its own indentation says nothing.
    const same = tail.every((line, index) =>
      index === 0 && count === lines.length ? line.trim() === following[index]?.trim() : line === following[index],
    );
    const tells = tail.some((line) => (count > 1 ? /\w/ : /\w{3}/).test(line)) || count === lines.length;
    if (same && tells) {
      return lines.length === count ? '' : text.slice(0, endOfLines(text, lines.length - count));
    }
  }
  return text;
}

/** Where the first so many lines end, their line end left out. */
function endOfLines(text: string, count: number): number {
  const ends = /\r\n|\r|\n/g;
  let end = 0;
  for (let line = 0; line < count; line++) {
    end = ends.exec(text)?.index ?? text.length;
  }
  return end;
}

/**
 * Cut before a bracket that closes nothing: neither what the text opens itself, nor what is open at the cursor and not
 * closed behind it.
 */
export function withoutUnmatchedClosers(text: string, { before, after }: Surroundings): string {
  const { open } = brackets(before);
  for (const closer of brackets(after).unmatched) {
    if (open.at(-1) === OPENERS[closer]) {
      open.pop();
    } else {
      break;
    }
  }
  const stack = [...open];
  for (const { bracket, at } of bracketsOf(text)) {
    const opener = OPENERS[bracket];
    if (opener === undefined) {
      stack.push(bracket);
    } else if (stack.at(-1) === opener) {
      stack.pop();
    } else {
      return text.slice(0, at).trimEnd();
    }
  }
  return text;
}

/** What is open at the end of a text, outermost first, and the closers in it that nothing there opens. */
function brackets(text: string): { open: string[]; unmatched: string[] } {
  const open: string[] = [];
  const unmatched: string[] = [];
  for (const { bracket } of bracketsOf(text)) {
    const opener = OPENERS[bracket];
    if (opener === undefined) {
      open.push(bracket);
    } else if (open.at(-1) === opener) {
      open.pop();
    } else {
      unmatched.push(bracket);
    }
  }
  return { open, unmatched };
}

/** The brackets of a text that are not in a string of one line. */
function* bracketsOf(text: string): Generator<{ bracket: string; at: number }> {
  const marks = /"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'|[()[\]{}]/g;
  for (const found of text.matchAll(marks)) {
    if (found[0].length === 1) {
      yield { bracket: found[0], at: found.index };
    }
  }
}

/** Leading white space of each line as the editor would write it; what stands within lines stays. */
export function withIndentation(text: string, before: string, style: TextStyle): string {
  const line = /[^\r\n]*$/.exec(before)?.[0] ?? '';
  const [first = '', ...others] = text.split(/(?<=\n)/);
  const own = line.trim() === '' ? indentedBehind(line, first, style) : first;
  return [own, ...others.map((other) => indentedBehind('', other, style))].join('');
}

/** A line whose leading white space goes on with some that is there already. */
function indentedBehind(there: string, line: string, style: TextStyle): string {
  const blank = /^[ \t]*/.exec(line)?.[0] ?? '';
  const wanted = indentation(columns(there + blank, style.tabSize), style);
  return wanted.startsWith(there) ? wanted.slice(there.length) + line.slice(blank.length) : line;
}

function columns(blank: string, tabSize: number): number {
  let column = 0;
  for (const character of blank) {
    column += character === '\t' ? tabSize - (column % tabSize) : 1;
  }
  return column;
}

function indentation(width: number, { tabSize, insertSpaces }: TextStyle): string {
  return insertSpaces
    ? ' '.repeat(width)
    : '\t'.repeat(Math.floor(width / tabSize)) + ' '.repeat(width % tabSize);
}

/** Deleted text so short may have been a typo. */
const MIN_DELETED = 3;

/** Whether a suggestion says again what was just deleted where it goes. */
export function saysWhatWasDeleted(text: string, deleted: string): boolean {
  const gone = deleted.trim();
  return gone.length >= MIN_DELETED && text.trimStart().startsWith(gone);
}

export type Filtered =
  | { readonly text: string }
  /** Nothing is left to show. */
  | { readonly dropped: 'empty' | 'repeats' | 'brackets' | 'deleted' };

/** All of them, in order. `deleted` is what was just deleted at the cursor. */
export function filterSuggestion(text: string, around: Surroundings, style: TextStyle, deleted = ''): Filtered {
  const trimmed = trimEnd(text, around.after);
  if (trimmed.trim() === '') {
    return { dropped: 'empty' };
  }
  if (saysWhatWasDeleted(trimmed, deleted)) {
    return { dropped: 'deleted' };
  }
  const fresh = trimEnd(withoutRepetition(trimmed, around.after), around.after);
  if (fresh.trim() === '') {
    return { dropped: 'repeats' };
  }
  const closed = withoutUnmatchedClosers(fresh, around);
  if (closed.trim() === '') {
    return { dropped: 'brackets' };
  }
  return { text: withLineEnds(withIndentation(closed, around.before, style), style.eol) };
}
