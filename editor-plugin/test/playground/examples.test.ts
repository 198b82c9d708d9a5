import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXAMPLES, LONG_TEXT } from '../../src/playground/examples.js';
import { exampleEdit } from '../../src/playground/experiments.js';

describe('the examples', () => {
  it.each(EXAMPLES)('$file is that of the documentation, and has the places that it names', ({ file, text, cursor, edit }) => {
    expect(text).toBe(readFileSync(new URL(`../../../docs/demo/${file}`, import.meta.url), 'utf8'));
    expect(text).toContain(cursor);
    expect(text).toContain(edit.from);
  });

  it('have one that is long, for prompts that take a while', () => {
    expect(LONG_TEXT.split('\n').length).toBeGreaterThan(40);
  });

  it('have an edit of a whole function', () => {
    const { text, start, end } = exampleEdit();
    expect(text.slice(start, end)).toMatch(/^def total[^]*discount\)\n$/);
  });
});
