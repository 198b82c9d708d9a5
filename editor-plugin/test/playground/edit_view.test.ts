import { undo } from '@codemirror/commands';
import { EditorState } from '@codemirror/state';
import type { TransactionSpec } from '@codemirror/state';
import { describe, expect, it } from 'vitest';
import { asEdit, editView } from '../../src/playground/edit_view.js';

/** An editor without a view. */
class Editor {
  state = EditorState.create({ doc: 'one\ntwo\n', extensions: editView });

  apply(spec: TransactionSpec): void {
    this.state = this.state.update(spec).state;
  }

  /** A piece of an edit, at the end. */
  edit(text: string, id = 1): void {
    this.apply({ changes: { from: this.state.doc.length, insert: text }, annotations: asEdit(this.state, id) });
  }

  type(text: string, at: number): void {
    this.apply({ changes: { from: at, insert: text }, userEvent: 'input.type' });
  }

  undo(): string {
    undo({ state: this.state, dispatch: (transaction) => (this.state = transaction.state) });
    return this.state.doc.toString();
  }
}

describe('undo', () => {
  it('takes back a whole edit at once, wherever the cursor went meanwhile', () => {
    const editor = new Editor();
    editor.type('x', 0);
    editor.edit('three');
    editor.apply({ selection: { anchor: 2 } });
    editor.edit(' four');
    editor.edit(' five');
    expect(editor.undo()).toBe('xone\ntwo\n');
    expect(editor.undo()).toBe('one\ntwo\n');
  });

  it('takes back only what came after what was typed in between', () => {
    const editor = new Editor();
    editor.edit('three');
    editor.type('x', 0);
    editor.edit(' four');
    expect(editor.undo()).toBe('xone\ntwo\nthree');
    expect(editor.undo()).toBe('one\ntwo\nthree');
    expect(editor.undo()).toBe('one\ntwo\n');
  });

  it('keeps two edits apart', () => {
    const editor = new Editor();
    editor.edit('three');
    editor.edit(' four', 2);
    expect(editor.undo()).toBe('one\ntwo\nthree');
  });

  it('does not join what is typed right behind an edit to it', () => {
    const editor = new Editor();
    editor.edit('three');
    editor.type('!', editor.state.doc.length);
    expect(editor.undo()).toBe('one\ntwo\nthree');
  });
});
