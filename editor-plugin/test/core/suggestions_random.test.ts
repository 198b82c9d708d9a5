import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answer, supersede, typing } from './support/typing.js';

describe('suggestions for a random person', () => {
  it('a burst leaves at most two alive, whatever is typed', async () => {
    const keys = fc.array(fc.oneof(fc.constantFrom('a', 'b', '(', '\n'), fc.constant('back')), { minLength: 40, maxLength: 40 });
    const answers = fc.array(fc.constantFrom('', 'a', 'ab', 'abc'), { minLength: 40, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(keys, answers, async (script, texts) => {
        const editor = await typing('x\n', { prefetch: true });
        const answered = new Set<number>();
        editor.server.onRequest = (message) => supersede(editor, message);
        for (const [index, key] of script.entries()) {
          if (key !== 'back') {
            editor.type(key);
          } else if (editor.cursor() > 0) {
            editor.backspace();
          }
          const running = [...editor.server.running].at(-1);
          const text = texts[index]!;
          if (running !== undefined && text !== '' && !answered.has(running)) {
            answered.add(running);
            answer(editor, running, text, index % 3 === 0);
          }
          void editor.ask();
          await editor.environment.pass(60);
          expect(editor.server.running.size).toBeLessThanOrEqual(2);
        }
        expect(editor.client.state.name).toBe('ready');
      }),
      { numRuns: 100 },
    );
  });

  it('always fits the text it is for, whatever is typed (a random person against a server with a plan)', async () => {
    const plan = 'foo(bar, [1, 2])\nreturn {"a": 1}\n';
    const key = fc.oneof(
      { weight: 6, arbitrary: fc.constant('next') },
      fc.constantFrom('x', '(', '\n'),
      fc.constant('back'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(key, { maxLength: 40 }), async (script) => {
        const editor = await typing('', { multiline: true });
        editor.server.onRequest = (message) => {
          supersede(editor, message);
          if (message.type === 'complete') {
            const before = editor.document.slice(0, message.position);
            const rest = plan.startsWith(before) ? plan.slice(before.length) : 'zzz';
            answer(editor, message.request, rest);
          }
        };
        for (const step of script) {
          if (step === 'back') {
            if (editor.cursor() > 0) {
              editor.backspace();
            }
          } else {
            editor.type(step === 'next' ? (plan.charAt(editor.cursor()) || 'x') : step);
          }
          const shown = await editor.ask();
          const before = editor.document.slice(0, editor.cursor());
          if (shown !== undefined && plan.startsWith(before)) {
            const whole = before + shown.text;
            expect(plan.startsWith(whole) || whole.startsWith('zzz')).toBe(true);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});
