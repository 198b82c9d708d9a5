/** The WebSocket of this host: a browser's, that of a recent Node (which VS Code teaches about proxies), or `ws`. */
import { WebSocket as NodeWebSocket } from 'ws';
import type { WebSocketConstructor } from '../core/index.js';

const { WebSocket: own } = globalThis as { WebSocket?: unknown };

export const socketClass = (own ?? NodeWebSocket) as WebSocketConstructor;
