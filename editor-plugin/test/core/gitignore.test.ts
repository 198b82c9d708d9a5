import { describe, expect, it } from 'vitest';
import { GitIgnore } from '../../src/core/gitignore.js';

const root = (...lines: string[]): GitIgnore => new GitIgnore([{ directory: '', text: lines.join('\n') }]);

describe('a .gitignore', () => {
  it.each([
    ['*.log', 'a.log', true],
    ['*.log', 'deep/down/a.log', true],
    ['*.log', 'a.log.txt', false],
    ['build/', 'build/out.js', true],
    ['build/', 'src/build/out.js', true],
    ['build/', 'build', false],
    ['/build', 'src/build/out.js', false],
    ['/build', 'build/out.js', true],
    ['docs/*.txt', 'docs/a.txt', true],
    ['docs/*.txt', 'docs/deep/a.txt', false],
    ['docs/*.txt', 'other/docs/a.txt', false],
    ['**/logs', 'a/b/logs/x', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**', 'a/x/y', true],
    ['a/**', 'a', false],
    ['file?.py', 'file1.py', true],
    ['file?.py', 'file12.py', false],
    ['file[0-9].py', 'file1.py', true],
    ['file[!0-9].py', 'file1.py', false],
    ['a.b', 'axb', false],
    ['# a.py', 'a.py', false],
    ['\\#a.py', '#a.py', true],
    ['\\!a.py', '!a.py', true],
    ['trailing.py   ', 'trailing.py', true],
    ['(a).py', '(a).py', true],
    ['[z', 'z', false],
  ])('%s of %s: %s', (line, path, ignored) => {
    expect(root(line).ignores(path)).toBe(ignored);
  });

  it('takes a file back by a later rule', () => {
    expect(root('*.log', '!keep.log').ignores('keep.log')).toBe(false);
  });

  it('takes nothing back that lies in an ignored folder', () => {
    expect(root('build', '!build/keep.js').ignores('build/keep.js')).toBe(true);
  });

  it('lets the deeper file decide, whatever order they are named in', () => {
    const ignore = new GitIgnore([
      { directory: 'src', text: '!special.log\n/only.txt' },
      { directory: '', text: '*.log' },
    ]);
    expect(ignore.ignores('src/special.log')).toBe(false);
    expect(ignore.ignores('special.log')).toBe(true);
    expect(ignore.ignores('src/only.txt')).toBe(true);
    expect(ignore.ignores('only.txt')).toBe(false);
  });
});
