/** "Start Local Server": the server in a terminal, where a person sees it and ends it. */
import * as vscode from 'vscode';
import { setting } from './settings.js';

const NAME = 'Warmline server';
const DEFAULT_PORT = '8765';
/** The default of `warmline.startServer.command`. */
const STANDARD = 'warmline serve';

let told = false;

/** Whether this host can start a program: in a browser, a terminal would belong to another machine or be none. */
export const canStartServer: boolean = vscode.env.uiKind === vscode.UIKind.Desktop || vscode.env.remoteName !== undefined;

export async function startLocalServer(): Promise<void> {
  if (!canStartServer) {
    const copy = 'Copy the Command';
    const chosen = await vscode.window.showInformationMessage(
      `No server can be started from a browser. Run this in a terminal of your machine: ${commandLine()}`,
      copy,
    );
    if (chosen === copy) {
      await vscode.env.clipboard.writeText(commandLine());
    }
    return;
  }
  const running = vscode.window.terminals.find((terminal) => terminal.name === NAME && terminal.exitStatus === undefined);
  const terminal = running ?? vscode.window.createTerminal({ name: NAME });
  terminal.show(true);
  if (running === undefined) {
    terminal.sendText(commandLine());
    void sayWhereItIs();
  }
}

/** A server of a clone or of a virtual environment is seldom on the PATH; what a terminal says of that, nobody hears. */
async function sayWhereItIs(): Promise<void> {
  if (told || setting('startServer.command') !== STANDARD) {
    return;
  }
  told = true;
  const set = 'Set the Command';
  const chosen = await vscode.window.showInformationMessage(
    `Warmline: the terminal runs \`${STANDARD}\`. If it finds no such command, say where it is: /path/to/clone/.venv/bin/${STANDARD} after \`make serve\` in a clone.`,
    set,
  );
  if (chosen === set) {
    await vscode.commands.executeCommand('workbench.action.openSettings', 'warmline.startServer.command');
  }
}

/** The command, with the port of the address and, for an editor in a browser, the page that may connect. */
function commandLine(): string {
  const port = /:(\d+)\/?$/.exec(setting('url'))?.[1] ?? DEFAULT_PORT;
  const origin = (globalThis as { location?: { origin?: string } }).location?.origin;
  const browser = vscode.env.uiKind === vscode.UIKind.Web && origin?.startsWith('http') ? ` --allowed-origin ${origin}` : '';
  return `${setting('startServer.command')}${port === DEFAULT_PORT ? '' : ` --port ${port}`}${browser}`;
}
