/**
 * Whether a text closes the brackets and quotes that an editor closed by itself behind the cursor.
 *
 * An editor that puts in `()` for a `(` leaves a *tail* behind the cursor: the closers of what was opened before it,
 * innermost first, and white space in front of them where Enter put one on a line of its own. A text that goes on at
 * the cursor may take the tail's place if it closes the same brackets itself, in the same order. The rule knows no
 * language; docs/protocol.md states it, and server and client have to answer alike.
 */

/** Characters of a text in which its closers count; what comes later closes nothing. */
const MAX_READ = 4096;

const SPACE = String.raw`[^\S\uFEFF]|[\x1c-\x1f\x85]`;
const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const MARK = new RegExp(
  String.raw`\\.|"{3}|'{3}|[()\[\]{}"'${'`'}\n]|(?:(?<=${SPACE})|(?<![^\n]))(?:#|(?<![\p{L}\p{N}_)\]][ \t])//)`,
  'gsu',
);
const TAIL = /[)\]}`]|"{1,3}|'{1,3}/gu;
const BLANK = new RegExp(`^(?:${SPACE})*$`, 'u');
const QUOTES: ReadonlySet<string> = new Set(["'", '"', "'''", '"""', '`']);
const COMMENTS: ReadonlySet<string> = new Set(['#', '//']);

/** The closers of what was opened before the place: those that closed, and those of what is open still. */
interface Reading {
  readonly closed: string[];
  readonly open: string[];
}

/** Whether `rest`, which goes on behind `typed`, closes what `tail` closes there. */
export function closes(typed: string, rest: string, tail: string): boolean {
  const wanted = closersOf(tail);
  return wanted !== undefined && readings(typed, rest, wanted).every(({ closed }) => inOrder(wanted, closed));
}

/** Whether it does, or may yet if more follows. */
export function mayClose(typed: string, rest: string, tail: string): boolean {
  const wanted = closersOf(tail);
  if (wanted === undefined) {
    return false;
  }
  const more = [...typed].length + [...rest].length < MAX_READ;
  return readings(typed, rest, wanted).every(({ closed, open }) => inOrder(wanted, more ? [...closed, ...open] : closed));
}

/** The closers that a tail consists of; undefined if it has anything else, or ends with white space. */
function closersOf(tail: string): string[] | undefined {
  return BLANK.test(tail.replace(TAIL, '')) && !BLANK.test(tail.slice(-1)) ? (tail.match(TAIL) ?? []) : undefined;
}

/** Whether what is wanted is among the closers, in their order. One quote may be the first of three. */
function inOrder(wanted: readonly string[], closers: readonly string[]): boolean {
  let at = 0;
  return wanted.every((one) => {
    while (at < closers.length && !closers[at]?.startsWith(one)) {
      at++;
    }
    return at++ < closers.length;
  });
}

/** Both ways to read a text: with strings, and with none but what the tail closes. */
function readings(typed: string, rest: string, wanted: readonly string[]): Reading[] {
  const outside = read(typed, '', { opaque: true, within: false, quotes: QUOTES }).open;
  const closable = [...QUOTES].filter((quote) => wanted.some((one) => one.startsWith(quote.charAt(0))));
  return [
    read(typed, rest, { opaque: true, within: !inOrder(wanted, outside), quotes: QUOTES }),
    read(typed, rest, { opaque: false, within: true, quotes: new Set(closable) }),
  ];
}

interface Opened {
  readonly closer: string;
  readonly at: number;
}

/** What is open, innermost last, and how many of that each closer would close. */
class OpenMarks {
  private readonly opened: Opened[] = [];
  private counts = new Map<string, number>();
  private readonly outside = this.counts;
  private floor = 0;

  constructor(
    private readonly typed: number,
    private readonly closed: string[],
  ) {}

  get before(): string[] {
    return this.opened
      .filter(({ at }) => at < this.typed)
      .map(({ closer }) => closer)
      .reverse();
  }

  open(closer: string, at: number): void {
    this.opened.push({ closer, at });
    this.counts.set(closer, this.waiting(closer) + 1);
  }

  /** A string or a comment begins, in which marks match among themselves. */
  enter(at: number, quote?: string): void {
    this.floor = this.opened.length;
    if (quote !== undefined) {
      this.opened.push({ closer: quote, at });
    }
    this.counts = new Map();
  }

  /** It ends; `end` if a quote closes it, which also closes what is above. */
  leave(end?: number): void {
    if (end !== undefined) {
      this.closeAt(this.floor, end);
    } else {
      this.opened.length = this.floor;
    }
    this.counts = this.outside;
  }

  waiting(closer: string): number {
    return this.counts.get(closer) ?? 0;
  }

  /** Close the innermost one that waits for this, which there must be, and give up what is above. */
  close(closer: string, end: number): void {
    this.closeAt(this.innermost(closer), end);
  }

  /** A quote that was none, since its line has ended. */
  forget(quote: string): void {
    if (this.waiting(quote)) {
      this.opened.splice(this.innermost(quote), 1);
      this.counts.set(quote, 0);
    }
  }

  private closeAt(depth: number, end: number): void {
    const mark = this.opened[depth] as Opened;
    if (mark.at < this.typed && this.typed < end) {
      this.closed.push(mark.closer);
    }
    for (const { closer } of this.opened.splice(depth)) {
      this.counts.set(closer, this.waiting(closer) - 1);
    }
  }

  private innermost(closer: string): number {
    let depth = this.opened.length - 1;
    while (this.opened[depth]?.closer !== closer) {
      depth--;
    }
    return depth;
  }
}

interface Options {
  /** Strings are strings: brackets in one match among themselves. */
  readonly opaque: boolean;
  /** Brackets in a string or comment count at all. */
  readonly within: boolean;
  /** What is taken for quotes. */
  readonly quotes: ReadonlySet<string>;
}

function read(typed: string, rest: string, { opaque, within, quotes }: Options): Reading {
  const closed: string[] = [];
  const marks = new OpenMarks(typed.length, closed);
  let inside = ''; // the quote of the string, or "#" for the comment, that is being read
  for (const found of firstCharacters(firstCharacters(typed) + firstCharacters(rest)).matchAll(MARK)) {
    const mark = found[0];
    const at = found.index;
    const end = at + mark.length;
    const closer = CLOSERS[mark];
    if (mark === '\n') {
      if (inside === '#' || inside === '"' || inside === "'") {
        marks.leave();
        inside = '';
      }
      marks.forget('"');
      marks.forget("'");
    } else if (mark.startsWith('\\') || (QUOTES.has(mark) && !quotes.has(mark))) {
      continue;
    } else if (QUOTES.has(inside) && mark.startsWith(inside)) {
      marks.leave(end);
      inside = '';
    } else if (closer !== undefined) {
      if (within || inside === '') {
        marks.open(closer, at);
      }
    } else if (marks.waiting(mark) > 0) {
      marks.close(mark, end);
    } else if (inside !== '') {
      if (inside === '#' && within && QUOTES.has(mark)) {
        marks.open(mark, at); // a word in quotes, which hide nothing there
      }
    } else if (COMMENTS.has(mark)) {
      if (![...QUOTES].some((quote) => marks.waiting(quote) > 0)) {
        inside = '#';
        marks.enter(at);
      }
    } else if (QUOTES.has(mark)) {
      if (opaque) {
        inside = mark;
        marks.enter(at, mark);
      } else {
        marks.open(mark, at);
      }
    }
  }
  return { closed, open: marks.before };
}

function firstCharacters(text: string): string {
  return text.length <= MAX_READ ? text : [...text.slice(0, 2 * MAX_READ)].slice(0, MAX_READ).join('');
}
