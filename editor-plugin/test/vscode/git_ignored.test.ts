import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gitIgnores } from '../../src/vscode/git_ignored.js';
import { Privacy } from '../../src/vscode/privacy.js';
import { EventEmitter, Uri, reset, world } from './support/fake_vscode.js';

const ignores = async (path: string, scheme = 'file'): Promise<boolean> => (await gitIgnores(new Uri(scheme, path) as never)).ignored;

/** What the git extension offers; tests set what it knows. */
class GitApi {
  state: 'uninitialized' | 'initialized' = 'initialized';
  readonly changed = new EventEmitter<unknown>();
  readonly opened = new EventEmitter<unknown>();
  readonly onDidChangeState = this.changed.event;
  readonly onDidOpenRepository = this.opened.event;
  readonly onDidCloseRepository = new EventEmitter<unknown>().event;

  constructor(public getRepository: (uri: Uri) => unknown) {}
}

/** VS Code's git extension, with a repository in the folder; returns the paths that it is asked about. */
function installGit(answer: (path: string) => boolean, { enabled = true, isActive = true } = {}): string[] {
  const asked: string[] = [];
  const repository = {
    checkIgnore: (paths: string[]) => {
      asked.push(...paths);
      return Promise.resolve(new Set(paths.filter(answer)));
    },
  };
  const api = new GitApi((uri) => (uri.path.startsWith('/code/') ? repository : null));
  const offers = { enabled, getAPI: () => api };
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
    world.files.set('/code/.gitignore', '*\n'); // which is not read then
    const asked = installGit((path) => path.endsWith('.log'), { isActive });
    expect([await ignores('/code/a.log'), await ignores('/code/a.py')]).toEqual([true, false]);
    expect(asked).toEqual(['/code/a.log', '/code/a.py']);
  });

  it.each<[string, () => void]>([
    ['there is no git extension', () => undefined],
    ['it is disabled', () => void installGit(() => false, { enabled: false })],
    [
      'the file is in no repository that it knows',
      () => {
        installGit(() => false);
        world.extensions.get('vscode.git')!.exports = { enabled: true, getAPI: () => new GitApi(() => null) };
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
    world.files.set('/code/.gitignore', 'secret.py\n');
    expect([await ignores('/code/secret.py'), await ignores('/code/a.py')]).toEqual([true, false]);
  });

  it('is read from all rules between the folder and the file, and from what is excluded by hand', async () => {
    world.files.set('/code/.gitignore', '*.log\n');
    world.files.set('/code/a/.gitignore', '!keep.log\n');
    world.files.set('/code/a/b/.gitignore', 'own.py\n');
    world.files.set('/code/.git/info/exclude', 'mine/\n');
    const paths = ['/code/a/b/x.log', '/code/a/b/keep.log', '/code/a/b/own.py', '/code/a/own.py', '/code/mine/x.py'];
    expect(await Promise.all(paths.map((path) => ignores(path)))).toEqual([true, false, true, false, true]);
  });

  it('is read from the rules, too, where files are somewhere else than git', async () => {
    const asked = installGit(() => false);
    world.folder = new Uri('vscode-vfs', '/code');
    world.files.set('/code/.gitignore', '*.log\n');
    expect(await ignores('/code/x.log', 'vscode-vfs')).toBe(true);
    expect(asked).toEqual([]);
  });

  it.each(['/repository/.git/HEAD', '/repository/.git'])('is read from the rules up to the repository that the folder is in (%s)', async (mark) => {
    world.files.set(mark, '');
    world.files.set('/repository/.gitignore', 'local.py\n');
    world.files.set('/repository/.git/info/exclude', 'mine/\n');
    world.files.set('/.gitignore', '*\n'); // which is of no repository
    world.folder = new Uri('file', '/repository/packages/app');
    const paths = ['/repository/packages/app/local.py', '/repository/packages/app/mine/a.py', '/repository/packages/app/a.py'];
    expect(await Promise.all(paths.map((path) => ignores(path)))).toEqual([true, true, false]);
    world.folder = undefined; // as for a file that lies in no folder that is open
    expect(await Promise.all(paths.map((path) => ignores(path)))).toEqual([true, true, false]);
    expect(await ignores('/elsewhere/local.py')).toBe(false);
  });

  it('is read from what the folder says, too, where the file is in a repository within it', async () => {
    world.files.set('/code/.gitignore', 'vendor/\n');
    world.files.set('/code/vendor/.git', 'gitdir: elsewhere\n');
    world.files.set('/code/lib/.git/info/exclude', 'mine.py\n');
    const paths = ['/code/vendor/a.py', '/code/lib/mine.py', '/code/mine.py'];
    expect(await Promise.all(paths.map((path) => ignores(path)))).toEqual([true, true, false]);
  });

  it('is that of the notebook for its cells', async () => {
    const asked = installGit((path) => path.endsWith('secret.ipynb'));
    const cell = new Uri('vscode-notebook-cell', '/code/secret.ipynb#1');
    world.notebooks = [{ uri: new Uri('file', '/code/secret.ipynb'), getCells: () => [{ document: { uri: cell } }] }];
    expect((await gitIgnores(cell as never)).ignored).toBe(true);
    expect(asked).toEqual(['/code/secret.ipynb']);
  });

  it('is no question for what is not saved yet, or lies in no folder that is open and no repository', async () => {
    world.files.set('/code/.gitignore', '*\n');
    expect(await ignores('/code/Untitled-1', 'untitled')).toBe(false);
    expect(await ignores('/elsewhere/a.py')).toBe(false);
    world.folder = undefined;
    expect(await ignores('/code/a.py')).toBe(false);
  });
});

describe('a git extension that has just started', () => {
  const repository = { checkIgnore: (paths: string[]) => Promise.resolve(new Set(paths)) };
  let api: GitApi;

  beforeEach(() => {
    reset();
    vi.useFakeTimers();
    Object.assign(world.settings, { enabled: true, exclude: [], documentSchemes: ['file'], excludeGitIgnored: true });
    api = new GitApi(() => (api.state === 'initialized' ? repository : null));
    api.state = 'uninitialized';
    world.extensions.set('vscode.git', { isActive: true, exports: { enabled: true, getAPI: () => api }, activate: () => Promise.reject(new Error()) });
  });

  afterEach(() => vi.useRealTimers());

  const initialized = (): void => {
    api.state = 'initialized';
    api.changed.fire('initialized');
  };

  it('is waited for until it has looked for repositories', async () => {
    const answer = gitIgnores(new Uri('file', '/code/a.py') as never);
    await vi.advanceTimersByTimeAsync(1000);
    initialized();
    expect(await answer).toEqual({ ignored: true, settled: true });
    expect(api.changed.heard).toBe(0);
  });

  it('is asked again where the rules had to be read meanwhile, and what is sent is looked at anew', async () => {
    const privacy = new Privacy();
    let changes = 0;
    privacy.onDidChange(() => changes++);
    const document = { uri: new Uri('file', '/code/a.py') };
    const objection = privacy.objection(document as never);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await objection).toBeUndefined();
    const [again] = [privacy.objection(document as never)];
    await vi.advanceTimersByTimeAsync(1);
    initialized();
    expect(await again).toContain('ignored by git');
    expect(changes).toBe(1);
    privacy.dispose();
    expect([api.changed.heard, api.opened.heard]).toEqual([0, 0]);
  });
});
