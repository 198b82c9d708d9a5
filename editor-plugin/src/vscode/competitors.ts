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

const told = new Set<string>();

/** Tell once in a window of each that appears, unless told not to. */
export async function noticeCompetitors(memory: vscode.Memento): Promise<void> {
  const silenced = memory.get<string[]>(SILENCED, []);
  const names = competitors().filter((name) => !silenced.includes(name) && !told.has(name));
  if (names.length === 0) {
    return;
  }
  for (const name of names) {
    told.add(name);
  }
  const quiet = "Don't Show Again";
  const manage = 'Show Extensions';
  const chosen = await vscode.window.showInformationMessage(
    `${names.join(' and ')} ${names.length === 1 ? 'suggests' : 'suggest'} inline, too. VS Code shows one suggestion at a time, so some of each will be missing: turn off the completions of one.`,
    manage,
    quiet,
  );
  if (chosen === quiet) {
    await memory.update(SILENCED, [...memory.get<string[]>(SILENCED, []), ...names]);
  } else if (chosen === manage) {
    await vscode.commands.executeCommand('workbench.view.extensions');
  }
}
