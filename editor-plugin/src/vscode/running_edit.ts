/** One edit in a document: puts its operations in as they come, while whoever types goes on typing. */
import * as vscode from 'vscode';
import type { EditSession, Span, TextEdit } from '../core/index.js';
import { besideCursor } from './beside_cursor.js';
import { EditQueue, type Replacement } from './edit_queue.js';

/** About a frame: what comes within it is put in together. */
const FRAME = 16;
/** A save that takes longer than this has probably failed. */
const LONGEST_SAVE = 5000;

/** Where an edit stands: `pending` is done and not reviewed yet. */
export type EditState = 'running' | 'pending' | 'over';

/** How it ended, for whoever started it. */
export interface EditEnd {
  readonly reason: string;
  /** Whether it changed anything. */
  readonly changed: boolean;
}

export class RunningEdit implements vscode.Disposable {
  state: EditState = 'running';
  /** Settles when no more comes and all that stands is in the document. */
  readonly ended: Promise<EditEnd>;
  private resolveEnded!: (end: EditEnd) => void;
  private readonly queue: EditQueue;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private saving: ReturnType<typeof setTimeout> | undefined;
  private touched: Span | undefined; // before the change that is looked at
  private broken: string | undefined;
  private undoStop = true; // before the first of ours, and before the next one when somebody else wrote

  /** `changed` is called whenever there is something else to show. */
  constructor(
    readonly document: vscode.TextDocument,
    readonly session: EditSession,
    private readonly changed: () => void,
  ) {
    this.queue = new EditQueue(document);
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    session.onProgress(() => {
      this.wake();
    });
    void session.ended.then(() => {
      this.wake();
    });
  }

  /** Whether anything is left of what it did. */
  get hasChanged(): boolean {
    return !this.session.own.empty;
  }

  /** Put in what is there, soon. Called when something came, the document is shown again, or a save is over. */
  wake(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.queue.serially(() => this.put());
    }, FRAME);
  }

  /** The document changed, and the core has taken that. */
  documentChanged(edits: readonly TextEdit[], own: boolean, undone: boolean): void {
    if (own) {
      this.undoStop = false;
    } else if (this.state !== 'over') {
      this.undoStop = true;
      if (undone && this.touches(edits)) {
        this.undoByHand();
      }
    }
    this.touched = this.session.own.extent;
    if (this.state === 'pending' && !this.hasChanged) {
      this.finish(); // all of it was deleted by hand: there is nothing to review
    }
    this.wake();
    this.changed();
  }

  /** A save begins: what formats on save must not race with us. */
  willSave(): void {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      this.saved();
    }, LONGEST_SAVE);
  }

  saved(): void {
    clearTimeout(this.saving);
    this.saving = undefined;
    this.wake();
  }

  stop(): void {
    this.session.interrupt();
  }

  /** Keep what was done. */
  accept(): void {
    this.finish();
  }

  /** Take ours back and leave what others wrote. */
  async reject(): Promise<void> {
    this.session.cancel();
    await this.queue.serially(async () => {
      while (!this.document.isClosed && this.state !== 'over') {
        const replacements = this.session.reverting();
        if (replacements.length === 0) {
          return;
        }
        const made = await this.queue.replace(replacements, { undoStopBefore: true, undoStopAfter: true });
        if (made === 'made') {
          return;
        }
        if (made === 'hidden') {
          await vscode.window.showTextDocument(this.document, { preview: false });
        } else if (made === 'unchangeable') {
          throw new Error(`${this.document.uri.path} can't be changed now`);
        }
      }
    });
    this.finish('rejected');
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.saving);
    this.finish('closed');
  }

  private async put(): Promise<void> {
    while (this.state === 'running' && this.saving === undefined) {
      const plan = this.session.plan();
      if (plan === undefined) {
        break;
      }
      const last = !this.session.running && plan.operations === this.session.ready;
      const stops = { undoStopBefore: this.undoStop, undoStopAfter: last };
      const made = await this.queue.replace(this.placed(plan.edits), stops);
      if (made !== 'made' || this.session.applied < plan.operations) {
        this.session.rejected();
      }
      if (made === 'hidden') {
        return; // it goes on when the document is shown again
      }
      if (made === 'unchangeable') {
        this.broken = "the document can't be changed";
        this.session.cancel();
        break;
      }
    }
    const done = !this.session.running && (this.session.settled || this.broken !== undefined);
    if (this.state === 'running' && done && this.saving === undefined) {
      this.settle();
    }
  }

  private placed(edits: readonly TextEdit[]): Replacement[] {
    const { editor } = this.queue;
    const cursors = (editor?.selections ?? []).map((selection) => this.document.offsetAt(selection.active));
    return edits.map((edit) => besideCursor(edit, cursors, (offset) => this.behind(offset)));
  }

  /** The character behind an offset, if the range has it: replacing one outside would be somebody else's change. */
  private behind(offset: number): string {
    const start = this.document.positionAt(offset);
    const { end } = this.session.tracker;
    const at = (from: number, to: number): string =>
      this.document.getText(new vscode.Range(this.document.positionAt(from), this.document.positionAt(to)));
    const { range } = this.document.lineAt(start.line);
    if (start.isEqual(range.end)) {
      const next = offset + (this.document.eol === vscode.EndOfLine.CRLF ? 2 : 1);
      return next <= end ? at(offset, next) : '';
    }
    const two = at(offset, offset + 2);
    const next = String.fromCodePoint(two.codePointAt(0) ?? 0);
    return offset + next.length <= end ? next : '';
  }

  private touches(edits: readonly TextEdit[]): boolean {
    const { touched } = this;
    return touched !== undefined && edits.some(({ start, end }) => start <= touched.end && end >= touched.start);
  }

  /** Undo reached our text. Half an edit is of no use to anybody, so the rest of it is not put in. */
  private undoByHand(): void {
    this.finish('undone');
  }

  private settle(): void {
    const { outcome } = this.session;
    const reason = this.broken ?? (outcome === undefined ? 'cancel' : outcome.ok ? outcome.reason : outcome.error.message);
    this.state = this.hasChanged ? 'pending' : 'over';
    this.resolveEnded({ reason, changed: this.hasChanged });
    if (this.state === 'over') {
      this.session.forget();
    }
    this.changed();
  }

  private finish(reason = 'accepted'): void {
    if (this.state === 'over') {
      return;
    }
    this.state = 'over';
    this.resolveEnded({ reason, changed: this.hasChanged });
    this.session.forget();
    this.changed();
  }
}
