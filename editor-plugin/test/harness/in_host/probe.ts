/** For the benchmark: tells the wire when VS Code asks for suggestions, beside the extension that is measured. */
import * as vscode from 'vscode';

export async function run(): Promise<void> {
  const url = vscode.workspace.getConfiguration('warmline').get<string>('url') ?? '';
  const asked = `${url.replace(/^ws/, 'http')}/asked`;
  vscode.languages.registerInlineCompletionItemProvider(
    { pattern: '**' },
    {
      provideInlineCompletionItems: () => {
        void fetch(asked, { method: 'POST' });
        return [];
      },
    },
  );
  await new Promise(() => undefined); // until the workbench is closed
}
