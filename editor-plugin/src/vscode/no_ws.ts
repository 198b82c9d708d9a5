/** In place of `ws` in the web bundle: every browser has a WebSocket. */
export const WebSocket = undefined;
