import type { Frame } from './codec.js';
import type { Subprotocol } from './wire.js';

/** What happens on a socket. */
export interface TransportEvents {
  opened(): void;
  received(frame: string | ArrayBuffer): void;
  /** Once, and nothing after it; also when the socket never opened. */
  closed(code: number, reason: string): void;
}

/** An open or opening socket. */
export interface Transport {
  send(frame: Frame): void;
  close(code?: number, reason?: string): void;
  /** Bytes that were not sent yet. */
  readonly unsent: number;
}

export interface Address {
  readonly url: string;
  readonly subprotocol: Subprotocol;
  /** Browsers send no headers, so the key travels as a second subprotocol. */
  readonly token?: string | undefined;
}

/** How one gets a socket: a test's fake, a browser's WebSocket, or that of `ws`. */
export type Connect = (address: Address, events: TransportEvents) => Transport;

/** A constructor with the interface of a browser's WebSocket. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

/** Connect by a WebSocket constructor. One that throws, say at a URL that is none, closes with its message. */
export function webSocketConnect(constructor?: WebSocketConstructor): Connect {
  return (address, events) => {
    const WebSocketClass = constructor ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (WebSocketClass === undefined) {
      throw new Error('there is no WebSocket here: pass one');
    }
    const socket = new WebSocketClass(address.url, subprotocols(address));
    socket.binaryType = 'arraybuffer';
    let reported = false;
    const closed = (code: number, reason: string): void => {
      if (!reported) {
        reported = true;
        events.closed(code, reason);
      }
    };
    let said = '';
    socket.onopen = () => events.opened();
    socket.onmessage = (event: { data: string | ArrayBuffer }) => events.received(event.data);
    // Node's sockets say here what went wrong (a refused port, HTTP 401), browsers don't.
    socket.onerror = (event: { message?: unknown }) => {
      said = typeof event.message === 'string' ? event.message : '';
    };
    socket.onclose = (event: { code: number; reason: string }) => closed(event.code, event.reason || said);
    return {
      send: (frame) => socket.send(frame),
      close(code = 1000, reason = '') {
        // A socket whose other side is gone takes its time to say that it has closed, so nobody waits for it.
        closed(code, reason);
        socket.close(code === 1000 || code >= 3000 ? code : 1000, reason);
      },
      get unsent() {
        return socket.bufferedAmount;
      },
    };
  };
}

function subprotocols({ subprotocol, token }: Address): string[] {
  return token ? [subprotocol, `bearer.${base64url(token)}`] : [subprotocol];
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
