import { describe, expect, it } from 'vitest';
import type { Lane } from '../../src/playground/experiments.js';
import { raceVerdict } from '../../src/playground/verdict.js';

/** Ten rounds about these medians, a millisecond to and fro. */
const lane = (first: number, last: number): Lane => {
  const around = (middle: number): number[] => Array.from({ length: 10 }, (_, round) => middle + (round % 2 === 0 ? 1 : -1));
  return { first: around(first), last: around(last), bytes: 0 };
};

const verdict = (socket: Lane, http: Lane): string => raceVerdict({ socket, http, tokens: 4, same: true });

describe('the verdict of the race', () => {
  it('says of the first text and of the last token what came of them', () => {
    expect(verdict(lane(50, 120), lane(80, 100))).toMatch(/first text came 30.* ms sooner \(\d+ %\); the last token, 20.* ms later \(\d+ %\)/);
    expect(verdict(lane(80, 100), lane(50, 120))).toMatch(/first text came 30.* ms later \(\d+ %\); the last token, 20.* ms sooner \(\d+ %\)/);
  });

  it('takes no difference for one that is within the spread of the rounds', () => {
    expect(verdict(lane(50, 101), lane(80, 100))).toMatch(/sooner .*; the last token, as soon over either, within the spread\.$/);
    expect(verdict(lane(50, 100), lane(51, 99))).toBe('First text and last token came as soon over either, within the spread of the rounds.');
  });
});
