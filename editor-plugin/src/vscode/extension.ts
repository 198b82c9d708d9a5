/** Where everything is made and put together. */
import * as vscode from 'vscode';
import { Completion, EditSession, type Request } from '../core/index.js';
import { noticeCompetitors } from './competitors.js';
import { Documents } from './documents.js';
import { type EditArguments, Edits } from './edits.js';
import { explain } from './explain.js';
import { InlineSuggestions } from './inline.js';
import { startLocalServer } from './local_server.js';
import { showMenu, toggle, toggleLanguage } from './menu.js';
import { noticeMissingServer } from './missing_server.js';
import { NextEditMarks } from './next_edit.js';
import { TimingsPanel } from './panel.js';
import { Privacy } from './privacy.js';
import { Server } from './server.js';
import { onChange, setting } from './settings.js';
import { Snooze } from './snooze.js';
import { Status } from './status.js';

const PATIENCE = 400;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Warmline', { log: true });
  const privacy = new Privacy();
  const server = new Server(context, log);
  const documents = new Documents(server.client, privacy, log);
  const edits = new Edits(server, documents, context.globalState, log);
  const panel = new TimingsPanel();
  const snooze = new Snooze();
  const status = new Status();
  const inline = new InlineSuggestions(server, documents, snooze);
  const { why } = inline.suggestions;
  const nextEdits = new NextEditMarks(context.extensionUri, documents);

  const update = (): void => {
    status.update({
      enabled: setting('enabled'),
      snoozedMinutes: snooze.minutesLeft,
      url: server.url,
      connection: server.state,
      completing: server.client.running > 0,
      editing: edits.anyRunning,
      pendingReview: edits.active?.state === 'pending',
      last: panel.last,
      why: why.last()?.message ?? '',
    });
  };

  // A request that is answered at once is no news; one that takes its time is.
  let patience: ReturnType<typeof setTimeout> | undefined;
  const updateLater = (): void => {
    clearTimeout(patience);
    patience = setTimeout(update, PATIENCE);
  };

  const commands: Record<string, (given?: unknown) => unknown> = {
    edit: (given) => edits.edit(argumentsOf(given)),
    steer: (given) => edits.steer(argumentsOf(given)),
    stop: () => edits.stop(),
    acceptEdit: () => edits.accept(),
    rejectEdit: () => edits.reject(),
    nextEdit: () => nextEdits.next(),
    dismissNextEdits: () => nextEdits.dismiss(),
    startServer: startLocalServer,
    reconnect: () => server.connect(),
    setToken: () => server.setToken(),
    clearToken: () => server.clearToken(),
    toggle,
    toggleLanguage,
    snooze: (minutes) => snooze.ask(minutes),
    complete: () => vscode.commands.executeCommand('editor.action.inlineSuggest.trigger'),
    why: () => explain({ server, privacy, why }),
    showTimings: () => panel.show(),
    showLog: () => log.show(),
    menu: () =>
      showMenu({
        connected: server.state.name === 'ready',
        snoozed: snooze.active,
        editPending: edits.active?.state === 'pending',
      }),
  };

  context.subscriptions.push(
    ...[log, privacy, edits, inline, nextEdits, documents, server, panel, snooze, status],
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`warmline.${name}`, run)),
    server.client.onEnded((request) => {
      record(request, documents, panel);
      update();
    }),
    server.onDidChangeState((state) => {
      update();
      void noticeMissingServer(state, server.url, context.globalState);
    }),
    documents.onDidChange(updateLater),
    new vscode.Disposable(() => {
      clearTimeout(patience);
    }),
    edits.onDidChange(update),
    snooze.onDidChange(update),
    onChange(['enabled', 'url'], update),
    vscode.extensions.onDidChange(() => void noticeCompetitors(context.globalState)),
  );
  update();
  void server.connect();
  void noticeCompetitors(context.globalState);
}

export function deactivate(): void {
  // the subscriptions do it
}

function record(request: Request, documents: Documents, panel: TimingsPanel): void {
  const { outcome } = request;
  if (outcome?.ok !== true || outcome.receipt.outputTokens === 0) {
    return;
  }
  const edit = request instanceof EditSession;
  if (!edit && !(request instanceof Completion)) {
    return;
  }
  if (![...documents.all].includes(request.document)) {
    return; // asked for ahead of time, so nobody waited for it
  }
  const { uri } = request.document;
  panel.add({
    kind: edit ? 'edit' : 'completion',
    label: decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1)),
    reason: outcome.reason,
    hops: outcome.hops,
    receipt: outcome.receipt,
    first: outcome.ttft,
  });
}

/** A command's argument comes from key bindings and other extensions, so it may be anything. */
function argumentsOf(given: unknown): EditArguments {
  const instruction = (given as { instruction?: unknown } | undefined)?.instruction;
  return typeof instruction === 'string' ? { instruction } : {};
}
