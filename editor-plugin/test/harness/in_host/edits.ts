/** In-place edits in a real editor, against the real server. */
import * as vscode from 'vscode';
import { cursor, edit, opened, run, select, type, untilText, untilTextIs } from './editor.js';
import { equal, ok, test, until } from './runner.js';
import * as wire from './wire.js';

const BEFORE = 'a = 1\nb = 2\nc = 3\n';
const AFTER = 'a = 1\nb = 20\nc = 30\nd = 40\n';

test('a streamed edit lands, and one undo takes it back', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 30 });
  equal(await edit('more'), { reason: 'stop', changed: true });
  equal(editor.document.getText(), AFTER);
  await run('undo');
  equal(editor.document.getText(), BEFORE, 'after undo');
});

test('accepting an edit keeps it, and it is one undo step then, too', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 10 });
  await edit('more');
  await run('warmline.acceptEdit');
  equal(editor.document.getText(), AFTER);
  await run('undo');
  equal(editor.document.getText(), BEFORE, 'after undo');
});

test('typing during a streamed edit loses no key, whatever it races with (microsoft/vscode#114656, #9874, sim#6122)', async () => {
  const editor = await opened(`${BEFORE}\nnotes: \n`);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 40 });
  const ended = edit('more');
  await until('the edit is under way', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  cursor(editor, 4, 7);
  const typed = 'every key of this is kept';
  await type(typed);
  equal(await ended, { reason: 'stop', changed: true });
  equal(editor.document.getText(), `${AFTER}\nnotes: ${typed}\n`);
});

test('the cursor is neither moved nor held, also where the edit inserts (microsoft/vscode#256851)', async () => {
  const editor = await opened('first\nsecond\nthird\n');
  select(editor, 0, 2);
  await wire.direct({ edits: { longer: 'first and more\nsecond\nthird\n' }, hold: true });
  const ended = edit('longer');
  await until('the edit is under way', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  cursor(editor, 0, 5);
  await wire.direct({ hold: false });
  await ended;
  equal(editor.document.getText(), 'first and more\nsecond\nthird\n');
  equal([editor.selection.active.line, editor.selection.active.character], [0, 5], 'cursor');
});

test('reject restores our text and keeps what was typed meanwhile', async () => {
  const editor = await opened(`${BEFORE}end\n`);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER } });
  await edit('more');
  cursor(editor, 1, 6);
  await type('7');
  cursor(editor, 4, 0);
  await type('the ');
  equal(editor.document.getText(), 'a = 1\nb = 207\nc = 30\nd = 40\nthe end\n');
  await run('warmline.rejectEdit');
  equal(editor.document.getText(), 'a = 1\nb = 27\nc = 3\nthe end\n');
});

test('rejecting a running edit ends it on the server and takes back what was put in', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 200 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text !== BEFORE, 'begun');
  await run('warmline.rejectEdit');
  equal((await ended)?.reason, 'rejected');
  await wire.direct({ pace: 0 });
  await untilText(editor, BEFORE);
});

test('Esc stops the model and what it has made stays (TabbyML/tabby#965)', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: `${AFTER}${'e = 50\n'.repeat(200)}` }, pace: 5 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text.includes('b = 20'), 'begun');
  await run('warmline.stop');
  const end = await ended;
  ok(end?.reason === 'interrupted' || end?.reason === 'cancel', `the edit ended with ${String(end?.reason)}`);
  ok(editor.document.getText().startsWith('a = 1\nb = 20'), 'what was made is gone');
});

test('steering goes on behind what was made', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: `${AFTER}${'e = 50\n'.repeat(300)}` } });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text.includes('c = 30'), 'begun');
  await run('warmline.edit', { instruction: 'and less' });
  equal((await wire.sent(wire.Tag.steer)).map((message) => message[2]), ['and less'], 'steered by');
  equal((await wire.sent(wire.Tag.edit)).length, 1, 'edits asked for');
  await run('warmline.stop');
  await ended;
  ok(editor.document.getText().startsWith('a = 1\nb = 20\nc = 30\n'), `what was made did not stay: ${editor.document.getText()}`);
});

test('CRLF: line ends stay, and what is put in has them', async () => {
  const crlf = BEFORE.replaceAll('\n', '\r\n');
  const editor = await opened(crlf);
  equal(editor.document.eol, vscode.EndOfLine.CRLF, 'line ends');
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 20 });
  equal(await edit('more'), { reason: 'stop', changed: true });
  equal(editor.document.getText(), AFTER.replaceAll('\n', '\r\n'));
  await run('undo');
  equal(editor.document.getText(), crlf, 'after undo');
});

test('several cursors: the first selection is edited, all cursors stay', async () => {
  const editor = await opened(`${BEFORE}x\ny\n`);
  const main = new vscode.Selection(0, 0, 2, 5);
  const other = new vscode.Selection(4, 1, 4, 1);
  editor.selections = [main, other];
  await wire.direct({ edits: { more: AFTER } });
  await edit('more');
  equal(editor.document.getText(), `${AFTER}x\ny\n`);
  equal(editor.selections.length, 2, 'cursors');
  equal(editor.selections[1]?.active.line, 5, 'line of the second cursor');
});

test('read-only: nothing is asked for', async () => {
  const files = new ReadOnlyFiles();
  const registered = vscode.workspace.registerFileSystemProvider('warmline-fixture', files, { isReadonly: true });
  try {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse('warmline-fixture:/fixed.txt'));
    await vscode.window.showTextDocument(document);
    await wire.direct({ edits: { more: AFTER } });
    equal((await edit('more')) ?? null, null);
    equal((await wire.sent(wire.Tag.edit)).length, 0, 'edits asked for');
    equal(document.getText(), BEFORE);
  } finally {
    registered.dispose();
  }
});

test('save mid-stream: the edit waits for it and goes on', async () => {
  const editor = await file('saved.txt', BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 60 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text !== BEFORE, 'begun');
  ok(await editor.document.save(), 'it was not saved');
  equal((await ended)?.reason, 'stop');
  equal(editor.document.getText(), AFTER);
});

test('format on save mid-stream: outside the range both come out', async () => {
  const editor = await file('formatted.txt', `${BEFORE}\nlast   line\n`);
  const formats = vscode.languages.registerDocumentFormattingEditProvider(
    { pattern: '**/formatted.txt' },
    {
      provideDocumentFormattingEdits: (document) => {
        const line = document.lineCount - 2;
        return [vscode.TextEdit.replace(document.lineAt(line).range, 'last line')];
      },
    },
  );
  const settings = vscode.workspace.getConfiguration('editor');
  await settings.update('formatOnSave', true, vscode.ConfigurationTarget.Workspace);
  try {
    select(editor, 0, 2);
    await wire.direct({ edits: { more: AFTER }, pace: 60 });
    const ended = edit('more');
    await untilTextIs(editor, (text) => text.includes('20'), 'begun');
    ok(await editor.document.save(), 'it was not saved');
    equal((await ended)?.reason, 'stop');
    equal(editor.document.getText(), `${AFTER}\nlast line\n`);
  } finally {
    formats.dispose();
    await settings.update('formatOnSave', undefined, vscode.ConfigurationTarget.Workspace);
  }
});

test('hidden tab: the edit waits, and goes on when the tab is shown again', async () => {
  const editor = await opened(BEFORE);
  const { document } = editor;
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, hold: true });
  const ended = edit('more');
  await until('the edit is under way', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  await opened('another file\n');
  await wire.direct({ hold: false });
  // What comes is not put in behind a person's back, nor lost.
  await until('the edit has come', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  equal(document.getText(), BEFORE, 'while it is hidden');
  await vscode.window.showTextDocument(document);
  equal(await ended, { reason: 'stop', changed: true });
  equal(document.getText(), AFTER);
});

test('closed file: the edit is given up, and the server told', async () => {
  const editor = await file('closed.txt', BEFORE);
  const uri = editor.document.uri.toString();
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, hold: true });
  const ended = edit('more');
  await until('the edit is under way', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  await run('workbench.action.closeActiveEditor');
  equal(await ended, { reason: 'closed', changed: false });
  await until('the server was told', async () => (await wire.sent(wire.Tag.close)).some((message) => message[1] === uri));
});

test("another extension's edit in the part that was not reached: theirs stays, the edit stops", async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, hold: true });
  const ended = edit('more');
  await until('the edit is under way', async () => (await wire.sent(wire.Tag.edit)).length > 0);
  const theirs = new vscode.WorkspaceEdit();
  theirs.replace(editor.document.uri, new vscode.Range(2, 4, 2, 5), '333');
  ok(await vscode.workspace.applyEdit(theirs), 'their edit was refused');
  await wire.direct({ hold: false });
  const end = await ended;
  ok(editor.document.getText().includes('c = 333'), `theirs is gone: ${editor.document.getText()}`);
  equal(end?.reason, 'conflict');
});

test("another extension's edit in what the edit has put in: both stay", async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 150 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text.includes('b = 20'), 'begun');
  const theirs = new vscode.WorkspaceEdit();
  theirs.insert(editor.document.uri, new vscode.Position(1, 0), '# ');
  ok(await vscode.workspace.applyEdit(theirs), 'their edit was refused');
  await wire.direct({ pace: 0 });
  const end = await ended;
  ok(editor.document.getText().includes('# b = 20'), `theirs is gone: ${editor.document.getText()}`);
  equal(end?.reason, 'stop');
  equal(editor.document.getText(), AFTER.replace('b = 20', '# b = 20'));
});

test('undo mid-stream stops the edit, and nothing more is put in', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER }, pace: 150 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text !== BEFORE, 'begun');
  await run('undo');
  equal((await ended)?.reason, 'undone');
  await wire.direct({ pace: 0 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  equal(editor.document.getText(), BEFORE);
});

test('an emoji before the range shifts nothing (emacs-lsp/lsp-mode#2080, pygls#117)', async () => {
  const editor = await opened(`# \u{1F469}\u200d\u{1F4BB} \u{1F680}\n${BEFORE}`);
  select(editor, 1, 3);
  await wire.direct({ edits: { more: AFTER }, pace: 10 });
  equal((await edit('more'))?.reason, 'stop');
  equal(editor.document.getText(), `# \u{1F469}\u200d\u{1F4BB} \u{1F680}\n${AFTER}`);
});

test('an own edit that VS Code reports in another form is still known as our own (teamtype#378)', async () => {
  const editor = await opened('a\n');
  select(editor, 0, 0);
  await wire.direct({ edits: { wrap: 'AaA\n' } });
  equal(await edit('wrap'), { reason: 'stop', changed: true });
  equal(editor.document.getText(), 'AaA\n');
  const applied = (await wire.sent(wire.Tag.change)).filter((message) => Array.isArray(message[5]));
  ok(applied.length > 0, 'the server was not told that its operations were applied');
});

test('the connection is cut mid-stream: what was put in stays, and the next edit works', async () => {
  const editor = await opened(BEFORE);
  select(editor, 0, 2);
  await wire.direct({ edits: { more: AFTER, again: AFTER }, pace: 300 });
  const ended = edit('more');
  await untilTextIs(editor, (text) => text !== BEFORE, 'begun');
  await wire.cut();
  ok((await ended)?.reason !== 'stop', 'the edit came out over no connection');
  await wire.direct({ pace: 0 });
  await run('warmline.rejectEdit');
  equal(editor.document.getText(), BEFORE);
  select(editor, 0, 2);
  await until('it is edited', async () => (await edit('again'))?.reason === 'stop');
  equal(editor.document.getText(), AFTER);
});

/** A file of the workspace, shown. */
async function file(name: string, content: string): Promise<vscode.TextEditor> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  ok(folder !== undefined, 'no folder is open');
  const uri = vscode.Uri.joinPath(folder.uri, name);
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(content));
  const editor = await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
  await until('the server has the document', async () =>
    (await wire.sent(wire.Tag.open)).some((message) => message[1] === uri.toString()),
  );
  return editor;
}

class ReadOnlyFiles implements vscode.FileSystemProvider {
  readonly onDidChangeFile = new vscode.EventEmitter<vscode.FileChangeEvent[]>().event;

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(): vscode.FileStat {
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: BEFORE.length };
  }

  readFile(): Uint8Array {
    return new TextEncoder().encode(BEFORE);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  writeFile(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
}
