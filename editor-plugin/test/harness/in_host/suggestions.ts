/** What of suggestions shows in the document or on the wire; what is seen is tested from outside. */
import * as vscode from 'vscode';
import { cursor, opened, run, type } from './editor.js';
import { equal, test, until } from './runner.js';
import * as wire from './wire.js';

/** Take what is suggested until the text is as it should be: a slow model's suggestion may be shown in parts. */
async function accepted(editor: vscode.TextEditor, text: string): Promise<void> {
  try {
    await until('all is accepted', async () => {
      await run('editor.action.inlineSuggest.commit');
      return editor.document.getText() === text;
    });
  } catch (error) {
    throw new Error(`${String(error)}: the text is ${JSON.stringify(editor.document.getText())}`, { cause: error });
  }
}

/** Whether a key asks for a suggestion. */
async function asks(editor: vscode.TextEditor, text: string): Promise<boolean> {
  const uri = editor.document.uri.toString();
  const count = async (): Promise<number> =>
    (await wire.sent(wire.Tag.complete)).filter((message) => message[2] === uri).length;
  const before = await count();
  await type(text);
  await until('the server was told of the key', async () =>
    (await wire.sent(wire.Tag.change)).some((message) => message[1] === uri && JSON.stringify(message[4]).includes(text)),
  );
  return (await count()) > before;
}

test('a suggestion in a file with tabs has tabs (Kilo-Org/kilocode#4340, sourcegraph#53743)', async () => {
  const editor = await opened('def tabs(x):\n\t\n', 'python');
  editor.options = { insertSpaces: false, tabSize: 4 };
  cursor(editor, 1, 1);
  await wire.direct({ completions: ['if x:\n        return 1', '\treturn 1'] });
  await type('if');
  await accepted(editor, 'def tabs(x):\n\tif x:\n\t\treturn 1\n');
});

test('a suggestion of several lines has the line ends of the document', async () => {
  const editor = await opened('def ends(x):\r\n    \r\n', 'python');
  cursor(editor, 1, 4);
  await wire.direct({ completions: ['if x:\n        return 1'] });
  await type('if');
  await accepted(editor, 'def ends(x):\r\n    if x:\r\n        return 1\r\n');
});

test('no suggestion is asked for with several cursors, in plain text, or while snoozed', async () => {
  const editor = await opened('x = 1\ny = 2\n', 'python');
  cursor(editor, 0, 5);
  equal(await asks(editor, '1'), true, 'with one cursor');
  editor.selections = [new vscode.Selection(0, 6, 0, 6), new vscode.Selection(1, 5, 1, 5)];
  equal(await asks(editor, '2'), false, 'with two');
  cursor(editor, 0, 7);
  await run('warmline.snooze', 5);
  equal(await asks(editor, '3'), false, 'while snoozed');
  await run('warmline.snooze', 0);
  equal(await asks(editor, '4'), true, 'afterwards');
  const plain = await opened('text\n', 'plaintext');
  cursor(plain, 0, 4);
  equal(await asks(plain, '5'), false, 'in plain text');
});
