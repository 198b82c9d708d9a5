/** Says so when another extension suggests too: VS Code shows the suggestions of one, and which one is chance. */
import * as vscode from 'vscode';

/** Extensions that are known to suggest inline. Nothing in the API says who does. */
const KNOWN: Readonly<Record<string, string>> = {
  'amazonwebservices.amazon-q-vscode': 'Amazon Q',
  'augment.vscode-augment': 'Augment',
  'codeium.codeium': 'Windsurf',
  'continue.continue': 'Continue',
  'ggml-org.llama-vscode': 'llama.vscode',
  'github.copilot': 'GitHub Copilot',
  'google.geminicodeassist': 'Gemini Code Assist',
  'rjmacarthy.twinny': 'twinny',
  'sourcegraph.cody-ai': 'Cody',
  'supermaven.supermaven': 'Supermaven',
  'tabbyml.vscode-tabby': 'Tabby',
  'tabnine.tabnine-vscode': 'Tabnine',
};
const SILENCED = 'competitors.silenced';

/** The names of those that are installed and enabled. */
export function competitors(): string[] {
  return Object.entries(KNOWN).flatMap(([id, name]) => (vscode.extensions.getExtension(id) === undefined ? [] : [name]));
}

/** Tell once of each that appears, unless told not to. */
export async function noticeCompetitors(memory: vscode.Memento): Promise<void> {
  const silenced = memory.get<string[]>(SILENCED, []);
  const names = competitors().filter((name) => !silenced.includes(name));
  if (names.length === 0) {
    return;
  }
  const quiet = "Don't Show Again";
  const manage = 'Show Extensions';
  const chosen = await vscode.window.showInformationMessage(
    `${names.join(' and ')} suggests inline, too. VS Code shows one suggestion at a time, so some of each will be missing: turn off the completions of one.`,
    manage,
    quiet,
  );
  if (chosen === quiet) {
    await memory.update(SILENCED, [...silenced, ...names]);
  } else if (chosen === manage) {
    await vscode.commands.executeCommand('workbench.view.extensions');
  }
}
