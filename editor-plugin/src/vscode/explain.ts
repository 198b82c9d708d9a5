/** "Why did nothing appear?": always has an answer. */
import * as vscode from 'vscode';
import type { WhyLog } from '../core/index.js';
import type { Privacy } from './privacy.js';
import type { Server } from './server.js';

/** The reason that holds for the document with the cursor, in a sentence. */
export async function reasonFor(editor: vscode.TextEditor | undefined, parts: Parts): Promise<string> {
  const { server, privacy, why } = parts;
  if (editor === undefined) {
    return 'No file has the cursor.';
  }
  const { document } = editor;
  const objection = await privacy.objection(document);
  if (objection !== undefined) {
    return objection;
  }
  if (server.state.name !== 'ready') {
    return 'why' in server.state ? `There is no connection: ${server.state.why}.` : 'There is no connection yet.';
  }
  if (!vscode.workspace.getConfiguration('editor', document).get<boolean>('inlineSuggest.enabled', true)) {
    return "VS Code's own setting editor.inlineSuggest.enabled is off.";
  }
  const last = why.last(document.uri.toString());
  if (last === undefined) {
    return 'Nothing was asked for in this file yet: suggestions come as you type.';
  }
  const seconds = Math.round((Date.now() - last.at) / 1000);
  return `${last.message} (${seconds < 1 ? 'just now' : `${seconds} s ago`})`;
}

export interface Parts {
  readonly server: Server;
  readonly privacy: Privacy;
  readonly why: WhyLog;
}

export async function explain(parts: Parts): Promise<void> {
  const reason = await reasonFor(vscode.window.activeTextEditor, parts);
  const log = 'Show Log';
  if ((await vscode.window.showInformationMessage(`Warmline: ${reason}`, log)) === log) {
    await vscode.commands.executeCommand('warmline.showLog');
  }
}
