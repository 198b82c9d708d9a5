/** Why nothing appeared: each time that a suggestion could have been shown and was not leaves its reason here. */

export const REASONS = {
  disabled: 'Suggestions are off.',
  language: 'Suggestions are off for this language.',
  snoozed: 'Suggestions are snoozed.',
  excluded: 'This file is never sent: it matches an exclusion.',
  scheme: 'Documents of this kind are never sent.',
  disconnected: 'There is no connection to the server.',
  refused: 'The server did not take this document.',
  cursors: 'There are several cursors.',
  right: 'There is too much text to the right of the cursor; trigger a suggestion by hand to get one anyway.',
  widget: "The entry chosen in the list of completions is not what the model suggests.",
  cancelled: 'Something was typed, or the cursor moved, before the suggestion was there.',
  backOff: 'Suggestions come later for a while, since several were dismissed.',
  empty: 'The model suggests nothing here.',
  repeats: 'The suggestion only repeats what follows.',
  brackets: 'The suggestion begins with a bracket that closes nothing.',
  deleted: 'The suggestion is what was just deleted.',
  tail: 'The suggestion does not close the brackets that the editor has put behind the cursor.',
  manual: 'Suggestions come by hand only; the setting says so.',
  failed: 'The request failed.',
  shown: 'It was shown.',
} as const;

export type WhyCode = keyof typeof REASONS;

export interface Why {
  readonly code: WhyCode;
  /** For people; with what the server said, where it said something. */
  readonly message: string;
  readonly uri: string;
  /** The wall clock in milliseconds. */
  readonly at: number;
}

const KEPT = 50;

/** The newest reasons, newest first. */
export class WhyLog {
  private reasons: readonly Why[] = [];

  constructor(private readonly wallClock: () => number = Date.now) {}

  record(uri: string, code: WhyCode, detail = ''): Why {
    const message = detail === '' ? REASONS[code] : `${REASONS[code]} ${detail}`;
    const why = { code, message, uri, at: this.wallClock() };
    this.reasons = [why, ...this.reasons].slice(0, KEPT);
    return why;
  }

  get all(): readonly Why[] {
    return this.reasons;
  }

  /** The newest reason, of a document if one is named. */
  last(uri?: string): Why | undefined {
    return this.reasons.find((why) => uri === undefined || why.uri === uri);
  }
}
