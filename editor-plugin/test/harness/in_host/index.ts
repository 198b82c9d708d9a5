/** The tests that run inside the extension host. */
import * as vscode from 'vscode';
import './edits.js';
import './suggestions.js';
import { closeAll } from './editor.js';
import { runAll, until } from './runner.js';
import * as wire from './wire.js';

export async function run(): Promise<void> {
  const extension = vscode.extensions.getExtension('warmline.warmline');
  await extension?.activate();
  await until('the file system answers', async () => {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    return folder !== undefined && (await vscode.workspace.fs.readDirectory(folder.uri)).length > 0;
  });
  const only = vscode.workspace.getConfiguration('harness').get<string>('only') ?? '';
  console.log(`TEST| host | ${vscode.version} ${typeof process === 'undefined' ? 'web worker' : 'node'}`);
  await runAll(only, async () => {
    await closeAll();
    await wire.reset();
  });
}
