/** Shows in the editor what an edit has put in and what it may still reach. */
import * as vscode from 'vscode';
import type { EditSession } from '../core/index.js';

export class EditMarks implements vscode.Disposable {
  private readonly inserted = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('warmline.insertedBackground'),
    overviewRulerColor: new vscode.ThemeColor('warmline.insertedBackground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly pending = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('warmline.pendingBackground'),
    isWholeLine: true,
  });

  draw(document: vscode.TextDocument, session: EditSession | undefined, running: boolean): void {
    const range = (start: number, end: number): vscode.Range =>
      new vscode.Range(document.positionAt(start), document.positionAt(end));
    const inserted = (session?.own.inserted ?? []).map(({ start, end }) => range(start, end));
    const pending = session !== undefined && running ? [lastLineLess(range(session.tracker.start, session.tracker.end))] : [];
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document === document) {
        editor.setDecorations(this.inserted, inserted);
        editor.setDecorations(this.pending, pending);
      }
    }
  }

  dispose(): void {
    this.inserted.dispose();
    this.pending.dispose();
  }
}

/** A range of whole lines ends where the next line begins, which is not part of it. */
function lastLineLess(range: vscode.Range): vscode.Range {
  const { start, end } = range;
  return end.character === 0 && end.line > start.line
    ? range.with({ end: new vscode.Position(end.line - 1, Number.MAX_SAFE_INTEGER) })
    : range;
}
