/** Whether git ignores a file: by the git extension where there is one, else by the .gitignore files above it. */
import * as vscode from 'vscode';
import { GitIgnore, type IgnoreFile } from '../core/gitignore.js';

/** The part that is used here of what the git extension offers. */
interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { getRepository(uri: vscode.Uri): GitRepository | null };
}

interface GitRepository {
  checkIgnore(paths: string[]): Promise<ReadonlySet<string>>;
}

export async function gitIgnores(uri: vscode.Uri): Promise<boolean> {
  if (uri.scheme === 'untitled') {
    return false;
  }
  try {
    const answer = await askGit(uri);
    if (answer !== undefined) {
      return answer;
    }
  } catch {
    // An extension that could not answer is no reason to send the file: the rules are read here then.
  }
  return readRules(uri);
}

async function askGit(uri: vscode.Uri): Promise<boolean | undefined> {
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  if (extension === undefined || uri.scheme !== 'file') {
    return undefined;
  }
  const git = extension.isActive ? extension.exports : await extension.activate();
  const repository = git.enabled ? git.getAPI(1).getRepository(uri) : null;
  return repository === null ? undefined : (await repository.checkIgnore([uri.fsPath])).has(uri.fsPath);
}

async function readRules(uri: vscode.Uri): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined) {
    return false;
  }
  const path = uri.path.slice(folder.uri.path.length).replace(/^\//, '');
  const directories = path.split('/').slice(0, -1);
  const above = ['', ...directories.map((_, index) => directories.slice(0, index + 1).join('/'))];
  const read = async (directory: string, name: string): Promise<IgnoreFile[]> => {
    try {
      const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder.uri, directory, name));
      return [{ directory, text: new TextDecoder().decode(bytes) }];
    } catch {
      return []; // there is none
    }
  };
  const files = await Promise.all([read('', '.git/info/exclude'), ...above.map((directory) => read(directory, '.gitignore'))]);
  // What .git/info/exclude says counts from the root.
  return new GitIgnore(files.flat()).ignores(path);
}
