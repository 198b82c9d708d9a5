/** Helps whoever has no server yet, once. */
import * as vscode from 'vscode';
import type { ConnectionState } from '../core/index.js';
import { startLocalServer } from './local_server.js';

const SILENCED = 'missingServer.silenced';
const WALKTHROUGH = 'warmline.warmline#start';

let told = false;

/** Say that no server answers: once a session, unless one answered before or it was told not to. */
export async function noticeMissingServer(state: ConnectionState, url: string, memory: vscode.Memento): Promise<void> {
  if (state.name === 'ready') {
    told = true; // it was there; that it went is for the status bar to say
  }
  if (state.name !== 'waiting' || told || memory.get<boolean>(SILENCED, false)) {
    return;
  }
  told = true;
  const [start, guide, quiet] = ['Start Local Server', 'Show Me How', "Don't Show Again"] as const;
  const chosen = await vscode.window.showInformationMessage(`Warmline: no server answers at ${url}.`, start, guide, quiet);
  if (chosen === start) {
    await startLocalServer();
  } else if (chosen === guide) {
    await vscode.commands.executeCommand('workbench.action.openWalkthrough', WALKTHROUGH, false);
  } else if (chosen === quiet) {
    await memory.update(SILENCED, true);
  }
}
