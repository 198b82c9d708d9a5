/** The settings, typed. Read when they are needed: VS Code keeps them in memory. */
import * as vscode from 'vscode';
import { languageEnabled } from '../core/index.js';

const SECTION = 'warmline';

interface Settings {
  enabled: boolean;
  url: string;
  'startServer.command': string;
  'completions.automatic': boolean;
  'completions.languages': Record<string, boolean>;
  'completions.requestDelay': number;
  'completions.showDelay': number;
  'completions.backOff': boolean;
  'completions.maxTokens': number;
  'completions.multiline': boolean;
  'completions.prefetch': boolean;
  'edits.review': boolean;
  'nextEdit.enabled': boolean;
  exclude: string[];
  excludeGitIgnored: boolean;
  documentSchemes: string[];
}

/** A setting's value, with its default where a person wrote something of another type. */
export function setting<K extends keyof Settings>(name: K, scope?: vscode.ConfigurationScope): Settings[K] {
  const section = vscode.workspace.getConfiguration(SECTION, scope);
  const value = section.get<unknown>(name);
  const standard = section.inspect<Settings[K]>(name)?.defaultValue;
  const fits = standard === undefined || kind(value) === kind(standard);
  return (fits ? value : standard) as Settings[K];
}

/** Change a setting where it is set already, or for the user. */
export async function change<K extends keyof Settings>(name: K, value: Settings[K]): Promise<void> {
  const section = vscode.workspace.getConfiguration(SECTION);
  const inWorkspace = section.inspect(name)?.workspaceValue !== undefined;
  await section.update(name, value, inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global);
}

export function onChange(names: readonly (keyof Settings)[], listener: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (names.some((name) => event.affectsConfiguration(`${SECTION}.${name}`))) {
      listener();
    }
  });
}

/** Whether completions come by themselves in a language. */
export function automaticIn(language: string): boolean {
  return languageEnabled(setting('completions.languages'), language);
}

function kind(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
