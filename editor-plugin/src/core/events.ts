/** Something that can be given up. */
export interface Disposable {
  dispose(): void;
}

/** Subscribe; what is returned ends it. */
export type Event<T> = (listener: (value: T) => void) => Disposable;

/** One kind of event: `event` for those who listen, `fire` for who owns it. */
export class Emitter<T> implements Disposable {
  private readonly listeners = new Set<(value: T) => void>();

  readonly event: Event<T> = (listener) => {
    const own = (value: T): void => {
      listener(value);
    }; // the same function may subscribe twice
    this.listeners.add(own);
    return { dispose: () => void this.listeners.delete(own) };
  };

  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }

  dispose(): void {
    this.listeners.clear();
  }
}

/** Where the core says what it does; an editor's output channel has the same methods. Never given document text. */
export interface Log {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const silent: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // nobody wants to know
}
