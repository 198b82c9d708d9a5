/** The open documents: which of them the server may have, and their changes on the way there. */
import * as vscode from 'vscode';
import { type Client, type Document, type DocumentChange, type TextEdit, WarmlineError } from '../core/index.js';
import type { Privacy } from './privacy.js';
import { setting } from './settings.js';

/** A change as the editor reports it, after the core has taken it. */
export interface Changed {
  readonly document: vscode.TextDocument;
  readonly edits: readonly TextEdit[];
  /** Undefined for a document that is not sent. */
  readonly change: DocumentChange | undefined;
  readonly reason: vscode.TextDocumentChangeReason | undefined;
}

/** What is held on the server at most; the one that was looked at longest ago gives way. */
const MOST_DOCUMENTS = 32;

/** A notebook's tab names the notebook, not its cells. */
const CELL = 'vscode-notebook-cell';

export class Documents implements vscode.Disposable {
  /** In the order in which they were looked at last. */
  private readonly tracked = new Map<vscode.TextDocument, Document>();
  private readonly changes = new vscode.EventEmitter<Changed>();
  private readonly closings = new vscode.EventEmitter<vscode.TextDocument>();
  /** After the core has taken a change. */
  readonly onDidChange = this.changes.event;
  /** A document is not followed any more. */
  readonly onDidClose = this.closings.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly client: Client,
    private readonly privacy: Privacy,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.take(event);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.close(document);
      }),
      // VS Code keeps the document of a closed tab for a while, since it may be opened again.
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length > 0) {
          this.closeWithoutTab();
        }
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor !== undefined) {
          void this.get(editor.document);
        }
      }),
      privacy.onDidChange(() => void this.review()),
    ];
    void this.review();
  }

  /** The document if the server has it already, for whoever can't wait. */
  peek(document: vscode.TextDocument): Document | undefined {
    const tracked = this.tracked.get(document);
    return tracked?.closed === false ? tracked : undefined;
  }

  /** All that the server has. */
  get all(): Iterable<Document> {
    return this.tracked.values();
  }

  /** The document as the server has it, or why it must not have it. */
  async get(document: vscode.TextDocument): Promise<Document | string> {
    const known = this.peek(document);
    if (known !== undefined) {
      this.tracked.delete(document);
      this.tracked.set(document, known);
      return known;
    }
    const objection = await this.privacy.objection(document);
    if (objection !== undefined) {
      return objection;
    }
    return this.peek(document) ?? this.open(document);
  }

  dispose(): void {
    for (const document of [...this.tracked.keys()]) {
      this.close(document);
    }
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.changes.dispose();
    this.closings.dispose();
  }

  private open(document: vscode.TextDocument): Document | string {
    if (document.isClosed) {
      return 'The file was closed.';
    }
    const tracked = this.opened(document);
    if (typeof tracked === 'string') {
      return tracked;
    }
    this.tracked.set(document, tracked);
    const [oldest] = this.tracked.keys();
    if (this.tracked.size > MOST_DOCUMENTS && oldest !== undefined) {
      this.close(oldest);
    }
    return tracked;
  }

  private opened(document: vscode.TextDocument): Document | string {
    try {
      return this.client.open(document.uri.toString(), document.languageId, document.getText());
    } catch (error) {
      if (error instanceof WarmlineError) {
        return error.message;
      }
      throw error;
    }
  }

  private take({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
    const edits = contentChanges.map(({ rangeOffset, rangeLength, text }) => ({
      start: rangeOffset,
      end: rangeOffset + rangeLength,
      text,
    }));
    if (edits.length === 0) {
      return; // saved, or dirty
    }
    const tracked = this.peek(document);
    let change = tracked?.change(edits);
    if (tracked !== undefined && tracked.length !== lengthOf(document)) {
      // Never seen; a copy that went apart must not stay so.
      this.log.error(`the copy of ${document.uri.path} differed after a change; it is made anew`);
      change = tracked.replace(document.getText());
    }
    this.changes.fire({ document, edits, change, reason });
  }

  private close(document: vscode.TextDocument): void {
    const tracked = this.tracked.get(document);
    if (tracked !== undefined) {
      this.closings.fire(document);
      this.tracked.delete(document);
      tracked.close();
    }
  }

  private closeWithoutTab(): void {
    const shown = new Set(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.flatMap(urisOf)));
    for (const document of [...this.tracked.keys()]) {
      if (!shown.has(document.uri.toString()) && document.uri.scheme !== CELL) {
        this.close(document);
      }
    }
  }

  /** What may be sent has changed. */
  private async review(): Promise<void> {
    for (const document of [...this.tracked.keys()]) {
      if ((await this.privacy.objection(document)) !== undefined) {
        this.close(document);
      }
    }
    const active = vscode.window.activeTextEditor;
    if (active !== undefined && setting('enabled')) {
      await this.get(active.document);
    }
  }
}

function urisOf({ input }: vscode.Tab): string[] {
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook) {
    return [input.uri.toString()];
  }
  return input instanceof vscode.TabInputTextDiff ? [input.original.toString(), input.modified.toString()] : [];
}

/** In time of the number of lines that changed: VS Code keeps the sums. */
function lengthOf(document: vscode.TextDocument): number {
  return document.offsetAt(document.lineAt(document.lineCount - 1).range.end);
}
