/**
 * A glob as a regular expression of a path with slashes: `*` and `?` within a name, `**` across folders, `{a,b}`,
 * `[a-z]` and `[!a-z]`. One without a slash means files of that name anywhere; a relative one is looked for anywhere,
 * too. A bracket or brace that doesn't close stands for itself.
 */
export function globPattern(glob: string): RegExp {
  const anywhere = glob.startsWith('/') || glob.startsWith('**/') ? glob : `**/${glob}`;
  return new RegExp(`^${translate(anywhere)}$`, 'iu');
}

function translate(glob: string): string {
  let pattern = '';
  let depth = 0;
  for (let at = 0; at < glob.length; ) {
    const rest = glob.slice(at);
    const token = /^(?:\*\*\/|\/\*\*$|\*\*|\*|\?|\[!?\]?[^\]/]*\]|\{(?=[^{}]*\})|[},])/.exec(rest)?.[0];
    if (token === undefined) {
      const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
      pattern += escaped(character);
      at += character.length;
      continue;
    }
    at += token.length;
    if (token === '**/') {
      pattern += '(?:.*/)?';
    } else if (token === '/**') {
      pattern += '/.*';
    } else if (token === '**') {
      pattern += '.*';
    } else if (token === '*') {
      pattern += '[^/]*';
    } else if (token === '?') {
      pattern += '[^/]';
    } else if (token.startsWith('[')) {
      pattern += characterClass(token);
    } else if (token === '{') {
      depth++;
      pattern += '(?:';
    } else if (depth === 0) {
      pattern += escaped(token);
    } else if (token === '}') {
      depth--;
      pattern += ')';
    } else {
      pattern += '|';
    }
  }
  return pattern;
}

/** A range whose ends are the wrong way round means nothing, so it is taken for the text that it is. */
function characterClass(token: string): string {
  const negated = token.startsWith('[!');
  const content = token.slice(negated ? 2 : 1, -1).replace(/[\\[\]^&~]/g, '\\$&');
  try {
    return new RegExp(`[${negated ? '^/' : ''}${content}]`, 'u').source;
  } catch {
    return escaped(token);
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
