/** Next edits: marks the other places that want the change that was just made, and takes one there by a key. */
import * as vscode from 'vscode';
import { type Document, type NextEdit, NextEdits } from '../core/index.js';
import type { Documents } from './documents.js';
import { EditQueue } from './edit_queue.js';
import { onChange, setting } from './settings.js';

/** A name is looked up once whoever changes it pauses. */
const PAUSE = 350;
/** Looking through a longer text takes longer than a person should notice. */
const LONGEST = 1_000_000;

export class NextEditMarks implements vscode.Disposable {
  private readonly followed = new Map<Document, NextEdits>();
  private readonly mark: vscode.TextEditorDecorationType;
  private readonly subscriptions: vscode.Disposable[];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy: Promise<void> = Promise.resolve();

  constructor(
    extension: vscode.Uri,
    private readonly documents: Documents,
  ) {
    const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(extension, 'media', `next_edit_${theme}.svg`);
    this.mark = vscode.window.createTextEditorDecorationType({
      light: { gutterIconPath: icon('light') },
      dark: { gutterIconPath: icon('dark') },
      gutterIconSize: 'contain',
      border: '1px dashed',
      borderColor: new vscode.ThemeColor('editorGhostText.foreground'),
      overviewRulerColor: new vscode.ThemeColor('editorGhostText.foreground'),
      overviewRulerLane: vscode.OverviewRulerLane.Center,
    });
    this.subscriptions = [
      documents.onDidChange(({ document, change, reason }) => {
        const tracked = documents.peek(document);
        if (tracked === undefined || change === undefined) {
          return;
        }
        const byHand = reason === undefined && change.applied === null;
        if (byHand) {
          this.follow(tracked).changed(change);
        } else {
          this.follow(tracked).forget();
        }
        this.soon();
      }),
      documents.onDidClose((document) => {
        const tracked = documents.peek(document);
        if (tracked !== undefined) {
          this.followed.delete(tracked);
        }
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.draw();
      }),
      onChange(['nextEdit.enabled', 'enabled'], () => {
        this.draw();
      }),
    ];
  }

  /** Go to the next place; where the cursor is at one already, make the change and go on. */
  next(): Promise<void> {
    // The key may come again before the last one has done its work.
    this.busy = this.busy.then(
      () => this.step(),
      () => this.step(),
    );
    return this.busy;
  }

  private async step(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return;
    }
    const { document } = editor;
    const at = document.offsetAt(editor.selection.active);
    const here = this.places(document).find(({ start, end }) => start <= at && at <= end);
    if (here !== undefined) {
      const queue = new EditQueue(document);
      const made = await queue.serially(() => queue.replace([here], { undoStopBefore: true, undoStopAfter: true }));
      if (made !== 'made') {
        return; // something was typed first: the places are others now
      }
    }
    const [next] = this.places(document, document.offsetAt(editor.selection.active));
    if (next !== undefined) {
      const start = document.positionAt(next.start);
      editor.selection = new vscode.Selection(start, start);
      editor.revealRange(new vscode.Range(start, document.positionAt(next.end)), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
    this.draw();
  }

  dismiss(): void {
    for (const edits of this.followed.values()) {
      edits.forget();
    }
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.mark.dispose();
  }

  private follow(tracked: Document): NextEdits {
    const known = this.followed.get(tracked) ?? new NextEdits(tracked);
    this.followed.set(tracked, known);
    return known;
  }

  private places(document: vscode.TextDocument, cursor = 0): NextEdit[] {
    const tracked = this.documents.peek(document);
    const edits = tracked && this.followed.get(tracked);
    const wanted = setting('enabled') && setting('nextEdit.enabled') && (tracked?.length ?? 0) <= LONGEST;
    return edits !== undefined && wanted ? edits.places(cursor) : [];
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.draw();
    }, PAUSE);
  }

  private draw(): void {
    clearTimeout(this.timer);
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return;
    }
    const { document } = editor;
    const places = this.places(document);
    editor.setDecorations(
      this.mark,
      places.map((place) => ({
        range: new vscode.Range(document.positionAt(place.start), document.positionAt(place.end)),
        hoverMessage: hover(place),
      })),
    );
    void vscode.commands.executeCommand('setContext', 'warmline.nextEdit', places.length > 0);
  }
}

function hover({ kind, text }: NextEdit): vscode.MarkdownString {
  const what = kind === 'rename' ? 'The same name was changed to ' : 'The function now takes other arguments: ';
  return new vscode.MarkdownString().appendText(what).appendCodeblock(text).appendMarkdown('`Alt+Enter` goes there and, once more, accepts.');
}
