/** What can go wrong, typed. `message` is for people and says what to do where that is known. */
export class WarmlineError extends Error {
  override name = 'WarmlineError';

  constructor(
    /** One of the wire's error codes, or `disconnected`, `document_closed`. */
    readonly code: string,
    message: string,
    /** Whether the same may succeed later. */
    readonly retryable = false,
    /** Milliseconds to wait before that, if the server said so. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** The connection ended, or was not there. */
export function disconnected(message: string): WarmlineError {
  return new WarmlineError('disconnected', message, true);
}
