/** What the tests do in the editor. */
import * as vscode from 'vscode';
import { until } from './runner.js';
import * as wire from './wire.js';

/** A new document of its own, shown, and known to the server. */
export async function opened(content: string, language = 'plaintext'): Promise<vscode.TextEditor> {
  const document = await vscode.workspace.openTextDocument({ content, language });
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  await until('the server has the document', async () =>
    (await wire.sent(wire.Tag.open)).some((message) => message[1] === document.uri.toString()),
  );
  return editor;
}

export function select(editor: vscode.TextEditor, startLine: number, endLine = startLine): void {
  const range = new vscode.Range(startLine, 0, endLine, editor.document.lineAt(endLine).text.length);
  editor.selection = new vscode.Selection(range.start, range.end);
}

export function cursor(editor: vscode.TextEditor, line: number, character: number): void {
  const at = new vscode.Position(line, character);
  editor.selection = new vscode.Selection(at, at);
}

export interface EditEnd {
  reason: string;
  changed: boolean;
}

/** Ask for an edit of what is selected; settles when it has ended. */
export function edit(instruction: string): Thenable<EditEnd | undefined> {
  return vscode.commands.executeCommand<EditEnd | undefined>('warmline.edit', { instruction });
}

export function run(command: string, ...given: unknown[]): Thenable<unknown> {
  return vscode.commands.executeCommand(command, ...given);
}

/** Type as a key does: through the editor, at its cursors. */
export async function type(text: string): Promise<void> {
  for (const character of text) {
    await vscode.commands.executeCommand('type', { text: character });
  }
}

export async function untilText(editor: vscode.TextEditor, text: string): Promise<void> {
  await untilTextIs(editor, (now) => now === text, JSON.stringify(text));
}

export async function untilTextIs(editor: vscode.TextEditor, test: (text: string) => boolean, what: string): Promise<void> {
  try {
    await until(`the text is ${what}`, () => test(editor.document.getText()), 60);
  } catch (error) {
    throw new Error(`${String(error)}; it is ${JSON.stringify(editor.document.getText())}`, { cause: error });
  }
}

export async function closeAll(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}
