/**
 * The core of Warmline's editor support: no editor in it, for browsers, web workers and Node.
 *
 * `Client` keeps a connection and documents, asks for completions and edits, and talks. `Suggestions` decides when to ask for
 * a completion and what of it to show. The rest are pure functions beside them.
 */

export { Client } from './client.js';
export type { ClientOptions } from './client.js';
export { Completion } from './completion.js';
export type { CompletionOptions } from './completion.js';
export { Connection } from './connection.js';
export type { ConnectionOptions } from './connection.js';
export { CloseCode } from './connection_state.js';
export type { ConnectionState, Final } from './connection_state.js';
export { Conversation, Reply } from './conversation.js';
export type { ChatOptions } from './conversation.js';
export { Document } from './document.js';
export type { DocumentChange } from './document.js';
export { EditSession } from './edit_session.js';
export type { EditOptions, EditPlan } from './edit_session.js';
export { OwnChanges } from './own_changes.js';
export type { Span } from './own_changes.js';
export { systemEnvironment } from './environment.js';
export type { Environment } from './environment.js';
export { WarmlineError } from './errors.js';
export { Emitter, silent } from './events.js';
export type { Disposable, Event, Log } from './events.js';
export { draftTotals, endToEnd, histogram, HOPS, percentile, tokensPerSecond, warmShare } from './hops.js';
export type { HopName, Hops } from './hops.js';
export { applyOperations } from './operations.js';
export { Request } from './request.js';
export type { Outcome, RequestOptions } from './request.js';
export { floorOffset, replaceLoneSurrogates, splitsLineEnd, splitsPair } from './text.js';
export { applyEdits, placesOf } from './text_edits.js';
export { webSocketConnect } from './transport.js';
export type { Address, Connect, Transport, TransportEvents, WebSocketConstructor } from './transport.js';
export { JSON_TEXT, MSGPACK } from './wire.js';
export type { Operation, Reason, Receipt, Sampling, Subprotocol, TextEdit, Timing, TokenLogprob, Welcome } from './wire.js';
export { DocumentSuggestions } from './document_suggestions.js';
export { Prefetch } from './prefetch.js';
export { firstLine, inOneLine } from './presentation.js';
export { SuggestionCache } from './suggestion_cache.js';
export type { SuggestionSource } from './suggestion_source.js';
export { cursorAfter } from './cursor.js';
export { filterSuggestion } from './filters.js';
export type { Filtered, Surroundings, TextStyle } from './filters.js';
export { DEFAULT_SETTINGS, Suggestions } from './suggestions.js';
export type { ProvideOptions, Suggestion, SuggestionSettings } from './suggestions.js';
export { REASONS, WhyLog } from './why.js';
export type { Why, WhyCode } from './why.js';
export { DEFAULT_EXCLUSIONS, DEFAULT_RULES, DEFAULT_SCHEMES, exclusionReason, languageEnabled } from './exclusions.js';
export type { ExclusionRules } from './exclusions.js';
export { NextEdits } from './next_edit.js';
export type { NextEdit } from './next_edit.js';
