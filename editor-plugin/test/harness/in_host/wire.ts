/** The harness's wire as tests in the extension host reach it: what was sent, and what is to come. */
import * as vscode from 'vscode';
import type { Message, Script } from '../support/wire_proxy.js';

export const Tag = { open: 2, change: 3, close: 4, complete: 6, edit: 7, steer: 9, interrupt: 10, cancel: 11 } as const;

function address(): string {
  const url = vscode.workspace.getConfiguration('warmline').get<string>('url') ?? '';
  return url.replace(/^ws/, 'http');
}

async function post(path: string, body: unknown = {}): Promise<void> {
  await fetch(`${address()}/${path}`, { method: 'POST', body: JSON.stringify(body) });
}

/** Change what the wire does; what is not named stays. */
export function direct(script: Script): Promise<void> {
  return post('script', script);
}

/** Forget what was sent and let everything through. */
export function reset(): Promise<void> {
  return post('reset');
}

export function cut(): Promise<void> {
  return post('cut');
}

export async function sent(tag: number): Promise<Message[]> {
  const all = (await (await fetch(`${address()}/sent`)).json()) as Message[];
  return all.filter((message) => message[0] === tag);
}
