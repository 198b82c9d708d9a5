import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyOperations } from '../../src/core/operations.js';
import { RangeTracker } from '../../src/core/range_tracker.js';
import { applyEdits, placesOf } from '../../src/core/text_edits.js';
import type { Operation, TextEdit } from '../../src/core/wire.js';
import { ServerRange } from './support/server_range.js';
import { vectors } from './support/vectors.js';

type Plain = [start: number, end: number, text: string];

interface Step {
  readonly operations?: Operation[];
  readonly change?: Plain[];
  readonly applied?: number;
  readonly ours?: boolean;
  readonly void?: number;
  readonly finish?: number | null;
  readonly then: {
    start: number;
    end: number;
    applied: number;
    known: number;
    standing: number;
    conflict: boolean;
    range: string;
    edits: Plain[];
  };
}

interface RangeVector {
  readonly kind: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly steps: Step[];
}

const REQUEST = 7;

function edit([start, end, text]: Plain): TextEdit {
  return { start, end, text };
}

function plain({ start, end, text }: TextEdit): Plain {
  return [start, end, text];
}

/** Operations that a model may make of a text, all of it. */
function operationsOver(original: string): fc.Arbitrary<Operation[]> {
  const step = fc.tuple(fc.constantFrom('keep', 'delete', 'insert'), fc.integer({ min: 1, max: 4 }));
  return fc.array(step, { maxLength: 12 }).map((steps) => {
    const operations: Operation[] = [];
    let left = original.length;
    for (const [kind, size] of steps) {
      const length = Math.min(size, left);
      if (kind === 'insert') {
        operations.push('+'.repeat(size));
      } else if (length > 0) {
        operations.push(kind === 'keep' ? length : -length);
        left -= length;
      }
    }
    return operations;
  });
}

const personEdit = fc.tuple(fc.nat(40), fc.nat(3), fc.constantFrom('', 'x', 'yz'));

function within(text: string, [at, length, inserted]: [number, number, string]): TextEdit {
  const start = Math.min(at, text.length);
  return { start, end: Math.min(start + length, text.length), text: inserted };
}

describe('the range of an edit', () => {
  it.each(
    vectors<RangeVector>('operation_vectors')
      .filter(({ kind }) => kind === 'range')
      .map((vector, index) => [index, vector] as const),
  )('is where the server has it, in document %i', (_, vector) => {
    const tracker = new RangeTracker(REQUEST, vector.start, vector.text.slice(vector.start, vector.end));
    let { text } = vector;
    for (const step of vector.steps) {
      if (step.operations !== undefined) {
        tracker.operations(step.operations);
      }
      if (step.change !== undefined) {
        const edits = step.change.map(edit);
        const applied = step.applied === undefined ? null : { request: REQUEST, operations: step.applied };
        expect(tracker.changed(edits, applied)).toBe(step.ours ?? false);
        text = applyEdits(text, edits);
      }
      if (step.void !== undefined) {
        tracker.void(step.void);
      }
      if (step.finish !== undefined) {
        tracker.finish(step.finish);
      }
      const { start, end, applied, known, standing, conflict } = tracker;
      const edits = tracker.edits().map(plain);
      expect({ start, end, applied, known, standing, conflict, range: tracker.text, edits }).toEqual(step.then);
      expect(text.slice(start, end)).toBe(tracker.text);
    }
  });

  it('reads as the operations say when nobody types, however they are applied', () => {
    const original = 'one two three';
    fc.assert(
      fc.property(operationsOver(original), fc.array(fc.nat(20)), (operations, stops) => {
        const tracker = new RangeTracker(1, 4, original);
        tracker.operations(operations);
        let text = `<<< ${original} >>>`;
        for (const stop of [...stops.sort((one, other) => one - other), operations.length]) {
          const count = Math.min(stop, operations.length);
          const edits = tracker.edits(count);
          text = applyEdits(text, edits);
          expect(tracker.changed(edits, { request: 1, operations: count })).toBe(true);
        }
        expect(text).toBe(`<<< ${applyOperations(original, operations)} >>>`);
      }),
    );
  });

  it('is the same for both ends, however changes and operations interleave', () => {
    const original = 'abcdefghijkl';
    const events = fc.array(fc.oneof(personEdit, fc.constantFrom('send', 'deliver', 'apply', 'carry')), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(operationsOver(original), events, (operations, script) => {
        const server = new ServerRange(1, 4, original);
        const client = new RangeTracker(1, 4, original);
        let text = `>>> ${original} <<<`;
        let serverText = text;
        const down: (Operation | { done: number })[] = []; // on the way to the client
        const up: { edits: TextEdit[]; applied: number | null }[] = []; // on the way to the server
        let made = 0;
        let over = false;
        const change = (edits: TextEdit[], applied: number | null): void => {
          text = applyEdits(text, edits);
          client.changed(edits, applied === null ? null : { request: 1, operations: applied });
          up.push({ edits, applied });
        };
        const endIfConflict = (): void => {
          if (server.conflict && !over) {
            over = true;
            down.push({ done: server.standing });
          }
        };
        const carry = (): void => {
          const message = up.shift();
          if (message !== undefined) {
            serverText = applyEdits(serverText, message.edits);
            const applied = message.applied === null ? null : { request: 1, operations: message.applied };
            server.changed(message.edits, applied);
            endIfConflict();
          }
        };
        const send = (): void => {
          const operation = operations[made];
          if (operation !== undefined && !over) {
            made++;
            server.operations([operation]);
            endIfConflict();
            if (!over) {
              down.push(operation);
            }
          }
        };
        const deliver = (): void => {
          const message = down.shift();
          if (typeof message === 'object') {
            client.finish(message.done);
          } else if (message !== undefined) {
            client.operations([message]);
          }
        };
        const apply = (): void => {
          if (client.applied < client.standing) {
            change(client.edits(), client.standing);
          }
        };
        const steps = { send, deliver, apply, carry };
        for (const event of script) {
          if (typeof event === 'string') {
            steps[event]();
          } else {
            change([within(text, event)], null);
          }
        }
        while (up.length > 0 || down.length > 0 || (made < operations.length && !over)) {
          carry();
          send();
          deliver();
        }
        apply();
        while (up.length > 0) {
          carry();
        }
        expect(serverText).toBe(text);
        expect(client.applied).toBe(server.applied);
        expect(client.standing).toBe(server.standing);
        expect([client.start, client.text]).toEqual([server.start, server.text]);
        expect(text.slice(client.start, client.end)).toBe(client.text);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    { start: 13, end: 13, text: 'XX' },
    { start: 12, end: 13, text: 'XX' },
    { start: 12, end: 13, text: '' },
    { start: 12, end: 14, text: '' },
  ])('remembers a change where the applied part ends: %j', (change) => {
    for (const early of [true, false]) {
      const tracker = new RangeTracker(1, 10, 'abcdefgh');
      tracker.operations([3]);
      tracker.changed([change]);
      const { text } = tracker;
      if (early) {
        tracker.operations(['new', 5]);
      }
      tracker.changed(tracker.edits(1), { request: 1, operations: 1 });
      if (!early) {
        tracker.operations(['new', 5]);
      }
      expect([tracker.standing, tracker.text, tracker.conflict]).toEqual([1, text, true]);
    }
  });

  it('gives up what comes where a person has typed at the end of the applied part', () => {
    const tracker = new RangeTracker(1, 0, 'abcdef');
    tracker.operations(['X', 2, 'Y', 4]);
    tracker.changed(tracker.edits(2), { request: 1, operations: 2 });
    tracker.changed([{ start: 3, end: 3, text: 'p' }]);
    expect([tracker.standing, tracker.text]).toEqual([2, 'Xabpcdef']);
  });

  it('takes many changes for one of all between them', () => {
    const tracker = new RangeTracker(1, 10, 'ab'.repeat(100));
    for (let index = 0; index <= 64; index++) {
      tracker.changed([{ start: 11 + 3 * index, end: 11 + 3 * index, text: 'X' }]);
    }
    tracker.operations([4, -1]); // beside one, and now within all
    expect(tracker.standing).toBe(1);
  });

  it('never loses what a person typed outside of what the model deletes', () => {
    const original = 'abcdefghijkl';
    const typed = fc.array(fc.nat(20), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(operationsOver(original), typed, fc.nat(12), (operations, places, first) => {
        const tracker = new RangeTracker(1, 4, original);
        tracker.operations(operations.slice(0, first));
        let text = `>>> ${original} <<<`;
        for (const at of places) {
          const key = { start: Math.min(at, text.length), end: Math.min(at, text.length), text: '!' };
          text = applyEdits(text, [key]);
          tracker.changed([key]);
        }
        tracker.operations(operations.slice(first));
        text = applyEdits(text, tracker.edits());
        expect(text.split('!').length - 1).toBe(places.length);
      }),
    );
  });

  it('refuses operations that reach past it, and numbers that can not be', () => {
    const tracker = new RangeTracker(1, 0, 'abc');
    expect(() => tracker.operations([2, -2])).toThrow(/reaches unit 4 of a range of 3/);
    expect(tracker.known).toBe(1);
    expect(() => tracker.edits(2)).toThrow(RangeError);
    expect(() => tracker.void(2)).toThrow(RangeError);
  });

  it('gives its edits as places that an editor can take at once', () => {
    const tracker = new RangeTracker(1, 10, 'one two three');
    tracker.operations([-3, 'uno', 5, 'middle', -2]);
    expect(placesOf(tracker.edits())).toEqual([
      { start: 10, end: 13, text: 'uno' },
      { start: 18, end: 20, text: 'middle' },
    ]);
  });
});
