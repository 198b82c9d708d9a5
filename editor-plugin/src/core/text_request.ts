import { Request } from './request.js';

/** A request that brings text: a completion, or a reply in a conversation. */
export abstract class TextRequest extends Request {
  private pieces = '';

  /** What came so far; of a completion without what an earlier one had brought before the position. */
  get text(): string {
    return this.pieces;
  }

  // What the client needs ------------------------------------------------------------------------------------------

  received(text: string, at: number): void {
    this.pieces += text;
    this.arrived(at);
  }
}
