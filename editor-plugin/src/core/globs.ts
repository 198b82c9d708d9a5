/**
 * A glob as a regular expression of a path with slashes: `*` and `?` within a name, `**` across folders, `{a,b}`,
 * `[a-z]` and `[!a-z]`. One without a slash means files of that name anywhere; a relative one is looked for anywhere,
 * too. A bracket or brace that doesn't close stands for itself.
 */
export function globPattern(glob: string): RegExp {
  const anywhere = glob.startsWith('/') || glob.startsWith('**/') ? glob : `**/${glob}`;
  return new RegExp(`^${translate(anywhere)}$`, 'iu');
}

const PLAIN: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '/**': '/.*', '**': '.*', '*': '[^/]*', '?': '[^/]' };

function translate(glob: string): string {
  const tokens = glob.match(/\*\*\/|\/\*\*$|\*\*|\*|\?|\[!?\]?[^\]/]*\]|./gsu) ?? [];
  let within = false;
  return tokens
    .map((token, at) => {
      if (token === '{' && tokens.slice(at + 1).find((other) => other === '{' || other === '}') === '}') {
        within = true;
        return '(?:';
      }
      if (token === '}' && within) {
        within = false;
        return ')';
      }
      if (token === ',' && within) {
        return '|';
      }
      return PLAIN[token] ?? (/^\[.+\]$/su.test(token) ? characterClass(token) : escaped(token));
    })
    .join('');
}

/** A range whose ends are the wrong way round means nothing, so it is taken for the text that it is. */
function characterClass(token: string): string {
  const negated = token.startsWith('[!');
  const content = token.slice(negated ? 2 : 1, -1).replace(/[\\[\]^]/g, '\\$&');
  try {
    return new RegExp(`[${negated ? '^/' : ''}${content}]`, 'u').source;
  } catch {
    return escaped(token);
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
