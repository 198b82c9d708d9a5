/** What a click on the status bar item offers. */
import * as vscode from 'vscode';
import { automaticIn, change, setting } from './settings.js';

interface Choice extends vscode.QuickPickItem {
  readonly command: string;
}

export async function showMenu(facts: {
  readonly connected: boolean;
  readonly snoozed: boolean;
  readonly editPending: boolean;
}): Promise<void> {
  const on = setting('enabled');
  const language = vscode.window.activeTextEditor?.document.languageId;
  const choices: (Choice | false)[] = [
    facts.editPending && { label: '$(check) Accept the edit', command: 'warmline.acceptEdit' },
    facts.editPending && { label: '$(discard) Reject the edit', command: 'warmline.rejectEdit' },
    { label: on ? '$(circle-slash) Turn off' : '$(zap) Turn on', command: 'warmline.toggle' },
    language !== undefined && {
      label: `${automaticIn(language) ? '$(circle-slash) No' : '$(zap)'} completions while typing in ${language}`,
      command: 'warmline.toggleLanguage',
    },
    { label: facts.snoozed ? '$(bell) End the pause…' : '$(bell-slash) Snooze…', command: 'warmline.snooze' },
    !facts.connected && { label: '$(debug-start) Start local server', command: 'warmline.startServer' },
    { label: '$(sync) Reconnect', command: 'warmline.reconnect' },
    { label: '$(question) Why did nothing appear?', command: 'warmline.why' },
    { label: '$(pulse) Show timings', command: 'warmline.showTimings' },
    { label: '$(output) Show log', command: 'warmline.showLog' },
    { label: '$(gear) Settings', command: 'workbench.action.openSettings' },
  ];
  const chosen = await vscode.window.showQuickPick(
    choices.filter((choice) => choice !== false),
    { title: 'Warmline' },
  );
  if (chosen !== undefined) {
    const given = chosen.command === 'workbench.action.openSettings' ? ['warmline'] : [];
    await vscode.commands.executeCommand(chosen.command, ...given);
  }
}

export async function toggle(): Promise<void> {
  await change('enabled', !setting('enabled'));
}

export async function toggleLanguage(): Promise<void> {
  const language = vscode.window.activeTextEditor?.document.languageId;
  if (language !== undefined) {
    await change('completions.languages', { ...setting('completions.languages'), [language]: !automaticIn(language) });
  }
}
