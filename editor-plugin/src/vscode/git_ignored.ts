/** Whether git ignores a file: by the git extension where it knows, else by the rules from the repository's root down. */
import * as vscode from 'vscode';
import { GitIgnore, type IgnoreFile } from '../core/gitignore.js';

/** How long the git extension may look for repositories before the rules are read here meanwhile, in milliseconds. */
const PATIENCE = 5000;
/** Folders above a file that are looked at. */
const DEEPEST = 64;

/** The part that is used here of what the git extension offers. */
interface GitExtension {
  readonly enabled: boolean;
  readonly onDidChangeEnablement?: vscode.Event<boolean>;
  getAPI(version: 1): GitApi;
}

interface GitApi {
  readonly state: 'uninitialized' | 'initialized';
  readonly onDidChangeState: vscode.Event<unknown>;
  readonly onDidOpenRepository: vscode.Event<unknown>;
  readonly onDidCloseRepository: vscode.Event<unknown>;
  getRepository(uri: vscode.Uri): GitRepository | null;
}

interface GitRepository {
  checkIgnore(paths: string[]): Promise<ReadonlySet<string>>;
}

export interface IgnoreAnswer {
  readonly ignored: boolean;
  /** False for a guess: git could not say it yet, or failed, and is to be asked again. */
  readonly settled: boolean;
}

export async function gitIgnores(uri: vscode.Uri): Promise<IgnoreAnswer> {
  if (uri.scheme === 'untitled') {
    return { ignored: false, settled: true };
  }
  const file = notebookOf(uri) ?? uri;
  let settled = true;
  try {
    const answer = await askGit(file);
    if (typeof answer === 'boolean') {
      return { ignored: answer, settled };
    }
    settled = answer === 'unknown';
  } catch {
    settled = false; // that it could not answer is no reason to send the file
  }
  return { ignored: await readRules(file), settled };
}

/** Tells when git may answer otherwise: it has looked for repositories, found or lost one, or was turned on or off. */
export function onGitChange(changed: () => void): vscode.Disposable {
  const subscriptions: vscode.Disposable[] = [];
  let disposed = false;
  let followed = false;
  const follow = (git: GitExtension): void => {
    if (git.enabled && !followed && !disposed) {
      followed = true;
      const api = git.getAPI(1);
      subscriptions.push(...[api.onDidChangeState, api.onDidOpenRepository, api.onDidCloseRepository].map((event) => event(changed)));
    }
  };
  const begin = async (): Promise<void> => {
    const git = await activeGit();
    if (git === undefined || disposed) {
      return;
    }
    follow(git);
    const enablement = git.onDidChangeEnablement?.(() => {
      followed = false; // what it offers is another one then
      follow(git);
      changed();
    });
    if (enablement !== undefined) {
      subscriptions.push(enablement);
    }
  };
  begin().catch(() => undefined); // a git extension that does not start changes nothing
  return new vscode.Disposable(() => {
    disposed = true;
    for (const subscription of subscriptions) {
      subscription.dispose();
    }
  });
}

async function activeGit(): Promise<GitExtension | undefined> {
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  return extension?.isActive === false ? extension.activate() : extension?.exports;
}

/** `unknown` if there is no git for this file, `later` if it has not looked for repositories yet. */
async function askGit(uri: vscode.Uri): Promise<boolean | 'unknown' | 'later'> {
  const git = uri.scheme === 'file' ? await activeGit() : undefined;
  if (git?.enabled !== true) {
    return 'unknown';
  }
  const api = git.getAPI(1);
  const initialized = await hasLooked(api);
  const repository = api.getRepository(uri);
  if (repository === null) {
    return initialized ? 'unknown' : 'later';
  }
  return (await repository.checkIgnore([uri.fsPath])).has(uri.fsPath);
}

/** Whether the git extension has looked for repositories, which it is given some time for. */
function hasLooked(api: GitApi): Promise<boolean> {
  if (api.state === 'initialized') {
    return Promise.resolve(true);
  }
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      subscription.dispose();
      resolve(api.state === 'initialized');
    };
    const timer = setTimeout(done, PATIENCE);
    const subscription = api.onDidChangeState(done);
  });
}

/** A cell is text of its notebook's file. */
function notebookOf(uri: vscode.Uri): vscode.Uri | undefined {
  if (uri.scheme !== 'vscode-notebook-cell') {
    return undefined;
  }
  const cell = uri.toString();
  return vscode.workspace.notebookDocuments.find((notebook) =>
    notebook.getCells().some(({ document }) => document.uri.toString() === cell),
  )?.uri;
}

async function readRules(uri: vscode.Uri): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(uri)?.uri.path.replace(/\/$/, '');
  const repository = await repositoryRoot(uri);
  // In a repository within the folder, what the folder says counts as well: in doubt nothing leaves.
  const root = folder !== undefined && (repository === undefined || folder.length < repository.length) ? folder : repository;
  if (root === undefined) {
    return false;
  }
  const path = uri.path.slice(root.length + 1);
  const directories = path.split('/').slice(0, -1);
  const above = ['', ...directories.map((_, index) => directories.slice(0, index + 1).join('/'))];
  const read = async (directory: string, name: string): Promise<IgnoreFile[]> => {
    try {
      const bytes = await vscode.workspace.fs.readFile(uri.with({ path: [root, directory, name].filter((part, at) => at === 0 || part !== '').join('/') }));
      return [{ directory, text: new TextDecoder().decode(bytes) }];
    } catch {
      return []; // there is none
    }
  };
  // What .git/info/exclude says counts from its repository's root, and less than any .gitignore.
  const own = repository === undefined ? '' : repository.slice(root.length + 1);
  const files = await Promise.all([read(own, '.git/info/exclude'), ...above.map((directory) => read(directory, '.gitignore'))]);
  return new GitIgnore(files.flat()).ignores(path);
}

/** The nearest folder above a file that has a `.git`: a folder, or a file in a worktree or a submodule. */
async function repositoryRoot(uri: vscode.Uri): Promise<string | undefined> {
  let path = uri.path;
  for (let depth = 0; depth < DEEPEST && path.includes('/'); depth++) {
    path = path.slice(0, path.lastIndexOf('/'));
    try {
      await vscode.workspace.fs.stat(uri.with({ path: `${path}/.git` }));
      return path;
    } catch {
      // it is not here
    }
  }
  return undefined;
}
