/** The status bar: one item that says how things stand, and its tooltip. */
import * as vscode from 'vscode';
import type { ConnectionState } from '../core/index.js';
import { draftTotals, endToEnd, tokensPerSecond, warmShare } from '../core/index.js';
import { type TimedRequest, milliseconds } from './timings_page.js';

/** The one that comes with the server: small, and to be told apart from a model of one's own. */
const SMALL_DEFAULT = /smollm2-135m/i;

/** What there is to say. */
export interface Situation {
  readonly enabled: boolean;
  readonly snoozedMinutes: number;
  readonly url: string;
  readonly connection: ConnectionState;
  readonly completing: boolean;
  readonly editing: boolean;
  readonly pendingReview: boolean;
  readonly last: TimedRequest | undefined;
  readonly why: string;
}

interface Face {
  readonly icon: string;
  readonly state: string;
  readonly warns?: boolean;
}

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('warmline.status', vscode.StatusBarAlignment.Right, 100);
  private shown = '';

  constructor() {
    this.item.name = 'Warmline';
    this.item.command = 'warmline.menu';
    this.item.show();
  }

  update(situation: Situation): void {
    const { icon, state, warns } = face(situation);
    const { last } = situation;
    const time = last?.first === undefined ? '' : ` ${milliseconds(last.first)}`;
    const text = `$(${icon})${situation.connection.name === 'ready' ? time : ''}`;
    const label = `Warmline: ${state}${time === '' ? '' : `, first text after${time}`}`;
    const shown = text + label + situation.why;
    if (shown === this.shown) {
      return;
    }
    this.shown = shown;
    this.item.text = text;
    this.item.accessibilityInformation = { label, role: 'button' };
    this.item.tooltip = tooltip(situation, state);
    this.item.backgroundColor = warns === true ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  }

  dispose(): void {
    this.item.dispose();
  }
}

function face({ enabled, snoozedMinutes, connection, completing, editing, pendingReview }: Situation): Face {
  if (!enabled) {
    return { icon: 'circle-slash', state: 'off' };
  }
  switch (connection.name) {
    case 'stopped':
      return connection.final === 'closed'
        ? { icon: 'circle-slash', state: 'disconnected' }
        : { icon: 'error', state: `error: ${connection.why}`, warns: true };
    case 'waiting':
      return { icon: 'debug-disconnect', state: `no server: ${connection.why}` };
    case 'idle':
    case 'connecting':
    case 'greeting':
      return { icon: 'loading~spin', state: 'connecting' };
    case 'ready':
      break;
  }
  if (editing) {
    return { icon: 'edit', state: 'editing' };
  }
  if (pendingReview) {
    return { icon: 'eye', state: 'an edit waits for you to accept or reject it' };
  }
  if (completing) {
    return { icon: 'ellipsis', state: 'thinking' };
  }
  return snoozedMinutes > 0 ? { icon: 'bell-slash', state: `snoozed for ${snoozedMinutes} minutes` } : { icon: 'zap', state: 'ready' };
}

function tooltip({ connection, url, last, why }: Situation, state: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.appendMarkdown('**Warmline**: ').appendText(state).appendMarkdown('\n\n');
  if (connection.name === 'ready') {
    const { model } = connection.welcome;
    text.appendText(`${model} at ${url}`);
    if (SMALL_DEFAULT.test(model)) {
      text.appendMarkdown('\n\n$(info) This is the small default model. It makes small edits; for more, start the server with a model of yours: `--model`.');
    }
  } else {
    text.appendText(url);
  }
  if (last !== undefined) {
    const { hops, receipt, first, kind } = last;
    const drafts = draftTotals(receipt);
    const rows = [
      ['whole', milliseconds(endToEnd(hops))],
      ['first text', first === undefined ? 'none' : milliseconds(first)],
      ['warm', `${Math.round(100 * warmShare(receipt))} %`],
      ['drafts accepted', `${drafts.accepted} of ${drafts.proposed}`],
      ['tokens a second', tokensPerSecond(receipt, hops).toFixed(0)],
    ];
    text.appendMarkdown(`\n\n| last ${kind} | |\n| --- | ---: |\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n`);
  }
  text.appendMarkdown('\n\n').appendText(why);
  return text;
}
