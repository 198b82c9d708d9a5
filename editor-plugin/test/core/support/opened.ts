import type { Document } from '../../../src/core/document.js';
import { connected } from './connected.js';
import type { Connected } from './connected.js';

export const URI = 'file:///a.py';
export const TEXT = 'def f(x):\n    return x\n';

/** A client with one open document. */
export async function opened(text = TEXT): Promise<Connected & { document: Document }> {
  const connection = await connected();
  return { ...connection, document: connection.client.open(URI, 'python', text) };
}
