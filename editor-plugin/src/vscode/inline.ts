/** Ghost text: starts the request when a key changes the document, and shows what came when VS Code asks for it. */
import * as vscode from 'vscode';
import { type Document, Suggestions, type SuggestionSettings, DEFAULT_SETTINGS } from '../core/index.js';
import type { Documents } from './documents.js';
import type { Server } from './server.js';
import { automaticIn, onChange, setting } from './settings.js';
import type { Snooze } from './snooze.js';

/** Registered here, and no command for people: VS Code runs it when a suggestion was accepted as a whole. */
const ACCEPTED = 'warmline.suggestionAccepted';
/** Escape while a suggestion is shown: nothing else tells that it was dismissed, and must not come back when it grows. */
const DISMISS = 'warmline.dismissSuggestion';
/** A moved cursor is told to the server once it rests. */
const REST = 150;

export class InlineSuggestions implements vscode.InlineCompletionItemProvider, vscode.Disposable {
  readonly suggestions: Suggestions;
  private readonly subscriptions: vscode.Disposable[];
  private rest: ReturnType<typeof setTimeout> | undefined;
  private shownIn: vscode.TextDocument | undefined;
  private shownAt: { readonly document: vscode.TextDocument; readonly version: number; readonly offset: number } | undefined;
  private readonly acceptances = new vscode.EventEmitter<vscode.TextDocument>();
  readonly onDidAccept = this.acceptances.event;

  constructor(
    server: Server,
    private readonly documents: Documents,
    private readonly snooze: Snooze,
  ) {
    this.suggestions = new Suggestions(server.client, () => this.settings());
    const grown = this.suggestions.onGrown((document) => void this.refresh(document));
    this.subscriptions = [
      new vscode.Disposable(() => {
        grown.dispose();
      }),
      vscode.languages.registerInlineCompletionItemProvider({ pattern: '**' }, this),
      vscode.commands.registerCommand(DISMISS, async () => {
        const dismissed = this.shownIn === undefined ? undefined : documents.peek(this.shownIn);
        if (dismissed !== undefined) {
          this.suggestions.dismissed(dismissed);
        }
        this.showing(undefined);
        await vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
      }),
      vscode.commands.registerCommand(ACCEPTED, () => {
        void vscode.commands.executeCommand('setContext', 'warmline.accepted', true);
        const document = vscode.window.activeTextEditor?.document;
        const tracked = document === undefined ? undefined : documents.peek(document);
        if (tracked !== undefined) {
          this.suggestions.accepted(tracked);
        }
        if (document !== undefined) {
          this.acceptances.fire(document);
        }
      }),
      documents.onDidChange(({ document, change, reason }) => {
        const tracked = documents.peek(document);
        if (tracked !== undefined) {
          this.suggestions.changed(tracked, change, reason === undefined && this.comesByItself(document));
        }
      }),
      documents.onDidClose((document) => {
        const tracked = documents.peek(document);
        if (tracked !== undefined) {
          this.suggestions.forget(tracked);
        }
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        if (kind !== vscode.TextEditorSelectionChangeKind.Command && textEditor === vscode.window.activeTextEditor) {
          this.warmSoon(textEditor);
        }
      }),
      snooze.onDidChange(() => {
        this.dropAll();
      }),
      onChange(['enabled', 'completions.automatic', 'completions.languages'], () => {
        this.dropAll();
      }),
    ];
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    const { why } = this.suggestions;
    const uri = document.uri.toString();
    const explicit = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
    if (!setting('enabled')) {
      why.record(uri, 'disabled');
      return [];
    }
    if (!explicit && this.snooze.active) {
      why.record(uri, 'snoozed');
      return [];
    }
    if (!explicit && !automaticIn(document.languageId)) {
      why.record(uri, 'language');
      return [];
    }
    const editor = vscode.window.visibleTextEditors.find((visible) => visible.document === document);
    if ((editor?.selections.length ?? 1) > 1) {
      why.record(uri, 'cursors');
      return [];
    }
    const tracked = this.documents.peek(document) ?? (await this.documents.get(document));
    if (typeof tracked === 'string') {
      why.record(uri, 'excluded', tracked);
      return [];
    }
    const abort = new AbortController();
    const cancelled = token.onCancellationRequested(() => {
      abort.abort();
    });
    try {
      const suggestion = await this.suggestions.provide(tracked, document.offsetAt(position), {
        explicit,
        signal: abort.signal,
        style: styleOf(document, editor),
        selected: selectedEntry(document, context),
      });
      if (suggestion === undefined) {
        return [];
      }
      const at = { document, version: document.version, offset: document.offsetAt(position) };
      this.showing(document, suggestion.partial ? at : undefined);
      const range = new vscode.Range(document.positionAt(suggestion.start), document.positionAt(suggestion.end));
      const item = new vscode.InlineCompletionItem(suggestion.text, range);
      item.command = { command: ACCEPTED, title: 'Accepted' };
      return [item];
    } finally {
      cancelled.dispose();
    }
  }

  dispose(): void {
    clearTimeout(this.rest);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.suggestions.dispose();
    this.acceptances.dispose();
  }

  private settings(): SuggestionSettings {
    return {
      ...DEFAULT_SETTINGS,
      enabled: setting('enabled'),
      automatic: setting('completions.automatic') && !this.snooze.active,
      requestDelay: setting('completions.requestDelay'),
      showDelay: setting('completions.showDelay'),
      backOff: setting('completions.backOff'),
      multiline: setting('completions.multiline'),
      prefetch: setting('completions.prefetch'),
      sampling: { maxTokens: setting('completions.maxTokens') },
    };
  }

  /** Whether a key in a document asks for a suggestion. */
  private comesByItself(document: vscode.TextDocument): boolean {
    const editor = vscode.window.activeTextEditor;
    return editor?.document === document && editor.selections.length === 1 && automaticIn(document.languageId);
  }

  private dropAll(): void {
    for (const document of this.documents.all) {
      this.suggestions.drop(document);
    }
  }

  private warmSoon(editor: vscode.TextEditor): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      const { document, selection } = editor;
      const tracked = this.documents.peek(document);
      if (tracked === undefined || document.isClosed || !this.comesByItself(document)) {
        return;
      }
      const [start, end] = [document.offsetAt(selection.start), document.offsetAt(selection.end)];
      tracked.warm(start, start === end ? null : end);
    }, REST);
  }

  /** A suggestion is shown in a document, in part `at` a place where more may come; or none is any more. */
  private showing(document: vscode.TextDocument | undefined, at?: InlineSuggestions['shownAt']): void {
    this.shownIn = document;
    this.shownAt = at;
    void vscode.commands.executeCommand('setContext', 'warmline.suggestionShown', document !== undefined);
  }

  /** VS Code asks once: hiding and triggering is the only way to show what has come since. */
  private async refresh(grown: Document): Promise<void> {
    const { shownAt } = this;
    const editor = vscode.window.activeTextEditor;
    this.shownAt = undefined;
    if (shownAt === undefined || editor?.document !== shownAt.document || this.documents.peek(editor.document) !== grown) {
      return;
    }
    const { document, selection } = editor;
    if (document.version === shownAt.version && document.offsetAt(selection.active) === shownAt.offset) {
      await vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
      await vscode.commands.executeCommand('editor.action.inlineSuggest.trigger');
    }
  }
}

function styleOf(document: vscode.TextDocument, editor: vscode.TextEditor | undefined): {
  tabSize: number;
  insertSpaces: boolean;
  eol: '\n' | '\r\n';
} {
  const { tabSize, insertSpaces } = editor?.options ?? {};
  return {
    tabSize: typeof tabSize === 'number' ? tabSize : 4,
    insertSpaces: insertSpaces !== false,
    eol: document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n',
  };
}

/** What is chosen in the list of completions: the suggestion has to go on with that. */
function selectedEntry(
  document: vscode.TextDocument,
  { selectedCompletionInfo }: vscode.InlineCompletionContext,
): { start: number; end: number; text: string } | undefined {
  return (
    selectedCompletionInfo && {
      start: document.offsetAt(selectedCompletionInfo.range.start),
      end: document.offsetAt(selectedCompletionInfo.range.end),
      text: selectedCompletionInfo.text,
    }
  );
}
