/** One edit of a document after the other: VS Code drops the second of two that are not awaited. */
import * as vscode from 'vscode';

/** A replacement in the document as it is when the edit is made. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface UndoStops {
  readonly undoStopBefore: boolean;
  readonly undoStopAfter: boolean;
}

/** Why an edit was not made. */
export type Refusal = 'overtaken' | 'hidden' | 'unchangeable';

/** How often one edit is refused, with nothing typed that overtook it, before the document counts as unchangeable. */
const PATIENCE = 3;

/** The edits of one document. `replace` says what came of each; a caller that was overtaken asks again. */
export class EditQueue {
  private tail: Promise<unknown> = Promise.resolve();
  private refused = 0;

  constructor(readonly document: vscode.TextDocument) {}

  /** The editor to edit through: the one with the cursor, if it shows the document. */
  get editor(): vscode.TextEditor | undefined {
    const shows = (editor: vscode.TextEditor): boolean => editor.document === this.document;
    const active = vscode.window.activeTextEditor;
    return active && shows(active) ? active : vscode.window.visibleTextEditors.find(shows);
  }

  /** Run a job after those before it, whether or not they failed. */
  serially<T>(job: () => Promise<T>): Promise<T> {
    const run = this.tail.then(job, job);
    this.tail = run.catch(() => undefined);
    return run;
  }

  /**
   * Make replacements in one step. To be called from a job of `serially`, with places of the document as it is now:
   * nothing may be awaited between reading it and this.
   */
  async replace(replacements: readonly Replacement[], stops: UndoStops): Promise<'made' | Refusal> {
    const { document, editor } = this;
    if (editor === undefined) {
      return 'hidden';
    }
    const version = document.version;
    const made = await editor.edit((builder) => {
      for (const { start, end, text } of replacements) {
        const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
        if (range.isEmpty) {
          builder.insert(range.start, text);
        } else {
          builder.replace(range, text);
        }
      }
    }, stops);
    if (made) {
      this.refused = 0;
      return 'made';
    }
    if (document.version !== version) {
      return 'overtaken';
    }
    // The key that overtook it may be on its way.
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (document.version !== version || document.isClosed) {
      return 'overtaken';
    }
    this.refused++;
    return this.refused < PATIENCE ? 'overtaken' : 'unchangeable';
  }
}
