const QUIET = 700;

/** Tells who listens what happened, once it is quiet: a stream of pieces is one sentence at its end. */
export class Announcer {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly region: { textContent: string | null }) {}

  /** Say it soon, unless something else is to be said before. */
  say(text: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.region.textContent = text;
    }, QUIET);
  }

  /** What was to be said is not so any more. */
  hush(): void {
    clearTimeout(this.timer);
  }
}
