/** The rules of .gitignore files, for editors that can't ask git. */

interface Rule {
  readonly pattern: RegExp;
  readonly negated: boolean;
  readonly directoriesOnly: boolean;
}

/** A .gitignore file: where it lies below the root (`` or `a/b`), and what it says. */
export interface IgnoreFile {
  readonly directory: string;
  readonly text: string;
}

/** Says of paths below a root whether git ignores them; of several rules that match, the last and deepest counts. */
export class GitIgnore {
  private readonly rules: readonly Rule[];

  constructor(files: readonly IgnoreFile[]) {
    this.rules = [...files]
      .sort((one, other) => one.directory.length - other.directory.length)
      .flatMap((file) => file.text.split(/\r?\n/).flatMap((line) => parse(line, file.directory)));
  }

  /** Whether a file is ignored: itself, or a folder that it lies in, which nothing in it can undo. */
  ignores(path: string): boolean {
    const parts = path.split('/');
    return parts.some((_, index) => {
      const last = index === parts.length - 1;
      return this.matches(parts.slice(0, index + 1).join('/'), !last);
    });
  }

  private matches(path: string, directory: boolean): boolean {
    const rule = this.rules.findLast(
      ({ pattern, directoriesOnly }) => (directory || !directoriesOnly) && pattern.test(path),
    );
    return rule !== undefined && !rule.negated;
  }
}

function parse(line: string, directory: string): Rule[] {
  let pattern = line.replace(/(?<!\\)\s+$/, '');
  if (pattern === '' || pattern.startsWith('#')) {
    return [];
  }
  const negated = pattern.startsWith('!');
  pattern = negated ? pattern.slice(1) : pattern;
  const directoriesOnly = pattern.endsWith('/');
  pattern = directoriesOnly ? pattern.slice(0, -1) : pattern;
  const anchored = pattern.includes('/');
  pattern = pattern.replace(/^\//, '');
  const below = directory === '' ? '' : `${escaped(directory)}/`;
  const body = `^${below}${anchored ? '' : '(?:.*/)?'}${translated(pattern)}$`;
  try {
    return [{ pattern: new RegExp(body, 's'), negated, directoriesOnly }];
  } catch {
    return []; // a class that is none: git matches nothing by it either
  }
}

function translated(pattern: string): string {
  return pattern.replace(
    /\\(.)|^\*\*\/|\/\*\*\/|\/\*\*$|\*+|\?|\[(?:!|\^)?\]?[^\]]*\]|[.+^${}()|[\]]/gs,
    (found, quoted: string | undefined, offset: number) => {
      if (quoted !== undefined) {
        return escaped(quoted);
      }
      if (found === '**/' && offset === 0) {
        return '(?:.*/)?';
      }
      if (found === '/**/') {
        return '/(?:.*/)?';
      }
      if (found === '/**') {
        return '/.*';
      }
      if (found.startsWith('*')) {
        return '[^/]*';
      }
      if (found === '?') {
        return '[^/]';
      }
      return found.length > 1 ? found.replace(/^\[[!^]/, '[^') : escaped(found);
    },
  );
}

function escaped(text: string): string {
  return text.replace(/[\\.*+?^${}()|[\]/]/g, '\\$&');
}
