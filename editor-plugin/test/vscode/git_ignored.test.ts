import { beforeEach, describe, expect, it } from 'vitest';
import { gitIgnores } from '../../src/vscode/git_ignored.js';
import { Uri, reset, world } from './support/fake_vscode.js';

const ignores = (path: string, scheme = 'file'): Promise<boolean> => gitIgnores(new Uri(scheme, path) as never);

/** VS Code's git extension, with a repository in the folder; returns the paths that it is asked about. */
function installGit(answer: (path: string) => boolean, { enabled = true, isActive = true } = {}): string[] {
  const asked: string[] = [];
  const repository = {
    checkIgnore: (paths: string[]) => {
      asked.push(...paths);
      return Promise.resolve(new Set(paths.filter(answer)));
    },
  };
  const offers = {
    enabled,
    getAPI: () => ({ getRepository: (uri: Uri) => (uri.path.startsWith('/work/') ? repository : null) }),
  };
  const extension = {
    isActive,
    exports: isActive ? offers : undefined,
    activate: () => Promise.resolve(offers),
  };
  world.extensions.set('vscode.git', extension);
  return asked;
}

describe('whether git ignores a file', () => {
  beforeEach(reset);

  it.each([true, false])('is asked of the git extension, which is activated unless it is (%s)', async (isActive) => {
    world.files.set('/work/.gitignore', '*\n'); // which is not read then
    const asked = installGit((path) => path.endsWith('.log'), { isActive });
    expect([await ignores('/work/a.log'), await ignores('/work/a.py')]).toEqual([true, false]);
    expect(asked).toEqual(['/work/a.log', '/work/a.py']);
  });

  it.each<[string, () => void]>([
    ['there is no git extension', () => undefined],
    ['it is disabled', () => void installGit(() => false, { enabled: false })],
    [
      'the file is in no repository that it knows',
      () => {
        installGit(() => false);
        world.extensions.get('vscode.git')!.exports = { enabled: true, getAPI: () => ({ getRepository: () => null }) };
      },
    ],
    [
      'it fails',
      () => {
        installGit(() => {
          throw new Error('no git on this machine');
        });
      },
    ],
    [
      'it can not be activated',
      () => {
        installGit(() => false, { isActive: false });
        world.extensions.get('vscode.git')!.activate = () => Promise.reject(new Error('not here'));
      },
    ],
  ])('is read from the rules where %s', async (_, set) => {
    set();
    world.files.set('/work/.gitignore', 'secret.py\n');
    expect([await ignores('/work/secret.py'), await ignores('/work/a.py')]).toEqual([true, false]);
  });

  it('is read from all rules between the folder and the file, and from what is excluded by hand', async () => {
    world.files.set('/work/.gitignore', '*.log\n');
    world.files.set('/work/a/.gitignore', '!keep.log\n');
    world.files.set('/work/a/b/.gitignore', 'own.py\n');
    world.files.set('/work/.git/info/exclude', 'mine/\n');
    const paths = ['/work/a/b/x.log', '/work/a/b/keep.log', '/work/a/b/own.py', '/work/a/own.py', '/work/mine/x.py'];
    expect(await Promise.all(paths.map((path) => ignores(path)))).toEqual([true, false, true, false, true]);
  });

  it('is read from the rules, too, where files are somewhere else than git', async () => {
    const asked = installGit(() => false);
    world.folder = new Uri('vscode-vfs', '/work');
    world.files.set('/work/.gitignore', '*.log\n');
    expect(await ignores('/work/x.log', 'vscode-vfs')).toBe(true);
    expect(asked).toEqual([]);
  });

  it('is no question for what is not saved yet, or lies in no folder that is open', async () => {
    world.files.set('/work/.gitignore', '*\n');
    expect(await ignores('/work/Untitled-1', 'untitled')).toBe(false);
    expect(await ignores('/elsewhere/a.py')).toBe(false);
    world.folder = undefined;
    expect(await ignores('/work/a.py')).toBe(false);
  });
});
