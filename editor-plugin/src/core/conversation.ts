import type { Document } from './document.js';
import type { RequestLink, RequestOptions } from './request.js';
import { TextRequest } from './text_request.js';

export interface ChatOptions extends RequestOptions {
  /** What the model is shown as it is now, later only what has changed of each; at most 16. */
  readonly documents?: readonly Document[] | undefined;
}

/** A running or ended reply. */
export class Reply extends TextRequest {
  /** Made by `Client.chat`. */
  constructor(
    id: number,
    called: number,
    link: RequestLink,
    /** The conversation's name. */
    readonly conversation: string,
  ) {
    super(id, called, link);
  }
}

/** What a conversation asks of its client. */
export interface ConversationOwner {
  /** Changes whenever there is another connection, on which the server knows nothing of what was said. */
  readonly connections: number;
  chat(conversation: string, text: string, options?: ChatOptions): Reply;
  endChat(conversation: string): void;
}

/** Turns that the server keeps: each message is sent, and computed, once. */
export class Conversation {
  private heldOn: number | undefined; // the connection whose server has its turns

  /** Made by `Client.conversation`. */
  constructor(
    private readonly owner: ConversationOwner,
    /** What the server calls it. */
    readonly name: string,
  ) {}

  /**
   * Whether what is said next begins anew: nothing was said yet, it was ended, or the connection was lost since, and with
   * it what the server had.
   */
  get fresh(): boolean {
    return this.heldOn !== this.owner.connections;
  }

  /** Say something; what it throws is what `Client.chat` does. */
  say(text: string, options: ChatOptions = {}): Reply {
    const reply = this.owner.chat(this.name, text, options);
    if (reply.running) {
      this.heldOn = this.owner.connections;
    }
    return reply;
  }

  /** Let the server forget it; a running reply ends with reason `cancel`. What is said afterwards begins anew. */
  end(): void {
    this.heldOn = undefined;
    this.owner.endChat(this.name);
  }
}

/** A name that no other conversation has. */
export function ownName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
