"""Every message of the Warmline wire, typed. This is the one module that knows the wire.

Both subprotocols, ``warmline.v1.msgpack`` (binary frames) and ``warmline.v1.json`` (text frames), carry the
same messages: arrays whose first item is a small integer tag. New fields go at the end and have defaults, so an
older peer ignores them. Offsets and lengths are counted in UTF-16 code units; durations in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_args

import msgspec

MSGPACK: Final = "warmline.v1.msgpack"
JSON: Final = "warmline.v1.json"
SUBPROTOCOLS: Final = (MSGPACK, JSON)

MAX_STREAMS: Final = 128  # a stream number stays in one byte of MessagePack
MAX_INT: Final = 2**53 - 1  # what a JavaScript client can hold

Natural = Annotated[int, msgspec.Meta(ge=0, le=MAX_INT)]
DocumentId = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
Language = Annotated[str, msgspec.Meta(max_length=64)]
Instruction = Annotated[str, msgspec.Meta(max_length=16384)]
TraceParent = Annotated[str, msgspec.Meta(max_length=128)]
"""A W3C ``traceparent``; what is none is ignored, as the recommendation says."""
Reason = Literal["stop", "length", "cancel", "superseded", "interrupted", "conflict", "error"]
Operation = int | str
"""One step over the named range: ``n`` keeps n units, ``-n`` deletes n units, a string is inserted."""


class ErrorCode(StrEnum):
    """The stable codes of ``error`` and ``nack`` frames."""

    MALFORMED_MESSAGE = "malformed_message"  # not MessagePack / JSON, or not an array that starts with a tag
    UNKNOWN_MESSAGE = "unknown_message"  # the tag is not one of ours
    INVALID_MESSAGE = "invalid_message"  # a field is missing, of the wrong type, or out of its range
    WRONG_FRAME_TYPE = "wrong_frame_type"  # text on the binary subprotocol, or the other way round
    HELLO_REQUIRED = "hello_required"  # the first message must be `hello`, and only the first
    UNAUTHORIZED = "unauthorized"
    UNKNOWN_DOCUMENT = "unknown_document"
    STALE_VERSION = "stale_version"
    INVALID_RANGE = "invalid_range"  # an offset outside the text, inside a surrogate pair, or reversed
    HASH_MISMATCH = "hash_mismatch"  # length or content hash differ after a change
    DOCUMENT_TOO_LARGE = "document_too_large"
    TOO_MANY_DOCUMENTS = "too_many_documents"
    DUPLICATE_REQUEST = "duplicate_request"
    TOO_MANY_REQUESTS = "too_many_requests"
    INVALID_PARAMETER = "invalid_parameter"
    PROMPT_TOO_LONG = "prompt_too_long"
    REPLAY_DISABLED = "replay_disabled"
    UNKNOWN_REQUEST = "unknown_request"  # steer names a request that isn't a running edit
    TOO_MANY_CONVERSATIONS = "too_many_conversations"
    TOO_MANY_CONNECTIONS = "too_many_connections"  # of this key
    RATE_LIMITED = "rate_limited"  # more tokens a minute than are allowed
    RESULT_LOST = "result_lost"  # a resumed request whose client lacks more of it than was kept
    ENGINE_UNAVAILABLE = "engine_unavailable"
    INTERNAL_ERROR = "internal_error"


class CloseCode:
    """WebSocket close codes that Warmline sends beside the standard ones."""

    UNSUPPORTED_DATA: Final = 1003
    SERVICE_RESTART: Final = 1012
    TRY_AGAIN_LATER: Final = 1013
    UNAUTHORIZED: Final = 4401
    FORBIDDEN: Final = 4403
    HELLO_TIMEOUT: Final = 4408
    SESSION_TAKEN: Final = 4409


class _Array(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A record that travels as an array."""


class TextEdit(_Array, frozen=True):
    """Replace the UTF-16 range [start, end) by text. Edits of one change apply in order, each to the result."""

    start: Natural
    end: Natural
    text: str


class Applied(_Array, frozen=True):
    """Says that a change applies the first ``operations`` operations of a request of this session."""

    request: Natural
    operations: Natural


# What each way of choosing tokens may be set to, on whatever door it comes in.
MaxTokens = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=100)]
TopP = Annotated[float, msgspec.Meta(ge=0, le=1)]
MinP = Annotated[float, msgspec.Meta(ge=0, le=1)]
StopString = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
MAX_STOP_STRINGS: Final = 16
RepetitionPenalty = Annotated[float, msgspec.Meta(gt=0, le=100)]
Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
"""Of a token's presence in the output, or of each time that it is there."""
LogitBias = Annotated[
    dict[Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)], Annotated[float, msgspec.Meta(ge=-100, le=100)]],
    msgspec.Meta(max_length=1024),
]
"""What is added to the logits of tokens, by their ids."""
Logprobs = Annotated[int, msgspec.Meta(ge=0, le=20)]
"""How many of the likeliest tokens come with each one."""


class Sampling(_Array, frozen=True):
    """How to choose tokens. Temperature 0 is greedy; top_p 1, top_k 0, min_p 0, and None are off.

    With ``logprobs`` the text of a completion or a chat comes as `ScoredDelta`, with so many of the likeliest tokens.
    """

    max_tokens: MaxTokens = 512
    temperature: Temperature = 0.0
    top_p: TopP = 1.0
    top_k: Natural = 0
    min_p: MinP = 0.0
    seed: Natural | None = None
    stop: Annotated[tuple[StopString, ...], msgspec.Meta(max_length=MAX_STOP_STRINGS)] = ()
    speculation: Literal["auto", "off"] = "auto"
    repetition_penalty: RepetitionPenalty | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: LogitBias | None = None
    logprobs: Logprobs | None = None


# Client to server ----------------------------------------------------------------------------------------------


class HeldDocument(_Array, frozen=True):
    """A document as the client has it, by its version and its content hash."""

    document: DocumentId
    version: Natural
    hash: Natural


class HeldRequest(_Array, frozen=True):
    """How much of a request that has not ended yet its client has.

    ``characters`` are UTF-16 units of its deltas; ``operations`` all that came, void ones included; ``steered`` its
    frames of that name; ``logprobs`` the tokens that came with theirs.
    """

    request: Natural
    characters: Natural = 0
    operations: Natural = 0
    steered: Natural = 0
    logprobs: Natural = 0


class Resume(_Array, frozen=True):
    """Go on with a session whose socket was lost: what ``welcome`` called it, and what the client has of it."""

    session: Annotated[str, msgspec.Meta(max_length=64)]
    secret: Annotated[str, msgspec.Meta(max_length=64)]
    documents: Annotated[list[HeldDocument], msgspec.Meta(max_length=4096)] = []
    requests: Annotated[list[HeldRequest], msgspec.Meta(max_length=4096)] = []


class Hello(_Array, tag=1, frozen=True):
    """The first message of a socket. ``token`` is needed when the upgrade carried no credential.

    A ``resumable`` session outlives its socket for a while; so does one that is resumed.
    """

    token: str | None = None
    client: Annotated[str, msgspec.Meta(max_length=256)] = ""
    resumable: bool = False
    resume: Resume | None = None


class Open(_Array, tag=2, frozen=True):
    """Hand over a document, or replace it after a nack."""

    document: DocumentId
    version: Natural
    language: Language
    text: str


class Change(_Array, tag=3, frozen=True):
    """Turn version ``base`` into ``version``. ``length`` (UTF-16 units) and ``hash`` describe the result."""

    document: DocumentId
    base: Natural
    version: Natural
    edits: Annotated[list[TextEdit], msgspec.Meta(max_length=16384)]  # of which `Limits.max_edits` are taken
    applied: Applied | None = None
    length: Natural | None = None
    hash: Natural | None = None


class Close(_Array, tag=4, frozen=True):
    """Forget a document; its running requests end with ``cancel``."""

    document: DocumentId


class Warm(_Array, tag=5, frozen=True):
    """A completion at ``position``, or an edit of [position, end), will probably be asked for: prepare it.

    A hint: nothing answers it, unless the document or the range is wrong.
    """

    document: DocumentId
    version: Natural
    position: Natural
    end: Natural | None = None


class Complete(_Array, tag=6, frozen=True):
    """Ask for the text that belongs at a position. A running completion of the document is superseded."""

    request: Natural
    document: DocumentId
    version: Natural
    position: Natural
    sampling: Sampling = Sampling()
    replay: str | None = None
    """Replay mode (benchmarks and tests): emit this text, computing every pass as if it had been sampled."""
    traceparent: TraceParent | None = None
    parallel: bool = False
    """Leave running completions of the document alone."""


class Edit(_Array, tag=7, frozen=True):
    """Ask for the new text of [start, end), as operations over it."""

    request: Natural
    document: DocumentId
    version: Natural
    start: Natural
    end: Natural
    instruction: Instruction
    sampling: Sampling = Sampling()
    replay: str | None = None
    traceparent: TraceParent | None = None
    accepted: str = ""
    """What the new text begins with: the model goes on after it, and the operations say it, too."""


class Chat(_Array, tag=8, frozen=True):
    """Say something in a conversation, which begins with its first message and keeps its turns.

    ``documents`` are shown to the model as they are now, each again only once it has changed.
    """

    request: Natural
    conversation: DocumentId
    text: str
    documents: Annotated[tuple[DocumentId, ...], msgspec.Meta(max_length=16)] = ()
    sampling: Sampling = Sampling()
    replay: str | None = None
    traceparent: TraceParent | None = None


class Steer(_Array, tag=9, frozen=True):
    """Give a running edit a further instruction. The first ``operations`` operations stay as they are.

    Without a number those are all that have been sent when this arrives. The answer is `Steered`.
    """

    request: Natural
    instruction: Instruction
    operations: Natural | None = None


class Interrupt(_Array, tag=10, frozen=True):
    """Stop a request and keep what is done. Its terminal frame is ``done`` with reason ``interrupted``."""

    request: Natural


class Cancel(_Array, tag=11, frozen=True):
    """End a request now. Its terminal frame is ``done`` with reason ``cancel``, unless it ended before."""

    request: Natural


class Ack(_Array, tag=12, frozen=True):
    """The client has the terminal frames of these requests, so that nothing of them need be kept."""

    requests: Annotated[list[Natural], msgspec.Meta(max_length=4096)]


class Ping(_Array, tag=13, frozen=True):
    """Measure the round trip; ``sent`` is the client's clock and comes back as it was."""

    sent: Natural


class EndChat(_Array, tag=14, frozen=True):
    """Forget a conversation; its running request ends with ``cancel``. An unknown one is ignored."""

    conversation: DocumentId


ClientMessage = (
    Hello | Open | Change | Close | Warm | Complete | Edit | Chat | Steer | Interrupt | Cancel | Ack | Ping | EndChat
)

# Server to client ----------------------------------------------------------------------------------------------


class HeldVersion(_Array, frozen=True):
    """The version of a document that the server holds."""

    document: str
    version: Natural


class Resumed(_Array, frozen=True):
    """What the server has of a session that goes on.

    Of the client's messages but ``hello``, ``ping`` and ``ack``, the first so many ``messages`` were handled.
    ``documents`` are those of ``hello`` that are open here, without any whose text is another than the client's in
    the same version. ``requests`` are those of ``hello`` that are known: the rest of each follows.
    """

    messages: Natural = 0
    documents: list[HeldVersion] = []
    requests: list[Natural] = []


class Welcome(_Array, tag=1, frozen=True):
    """The answer to ``hello``: who serves, with which model and limits.

    With ``secret`` the session may be resumed until ``resume_ms`` after its socket was lost; ``resumed`` says that
    this one was.
    """

    session: str
    server: str
    model: str
    context_length: Natural
    max_document_bytes: Natural
    max_requests: Natural
    secret: str | None = None
    resume_ms: Natural = 0
    resumed: Resumed | None = None


class Continued(_Array, frozen=True):
    """A completion goes on with what was generated for another request, whose suggestion the person typed.

    ``request`` was made for version ``base``; ``version`` is the one it goes on for.
    """

    request: Natural
    base: Natural
    version: Natural
    replaces: Natural = 0
    """UTF-16 units behind the position that the text takes the place of: what the editor closed there by itself."""


class Accepted(_Array, tag=2, frozen=True):
    """A request was taken; its frames carry ``stream``, free again after its terminal frame."""

    request: Natural
    stream: Natural
    continued: Continued | None = None


class Delta(_Array, tag=3, frozen=True):
    """The next text of a completion."""

    stream: Natural
    text: str


class Logprob(_Array, frozen=True):
    """A token, and the natural logarithm of its probability; at least -9999.

    ``text`` is what it stands for alone: empty for a special token, U+FFFD for each part of a character.
    """

    token: Natural
    text: str
    logprob: float


class TokenLogprob(Logprob, frozen=True):
    """A token that was chosen, and the likeliest at its place, likeliest first."""

    top: list[Logprob] = []


class ScoredDelta(Delta, tag=11, frozen=True):
    """A `Delta` of a request that asked for log probabilities, with those of the tokens that came with its text.

    Only such a delta may have an empty text. Together they have as many as there are output tokens.
    """

    logprobs: list[TokenLogprob] = []


class Ops(_Array, tag=4, frozen=True):
    """The next operations of an edit over the range it named."""

    stream: Natural
    operations: list[Operation]


class Drafts(_Array, frozen=True):
    """Draft tokens of one source: how many were proposed, how many accepted."""

    source: str
    proposed: Natural
    accepted: Natural


class Receipt(_Array, frozen=True):
    """What a request cost. Prompt tokens = ``warmed`` + ``cached`` + ``computed``, once the prompt was computed."""

    prompt_tokens: Natural = 0
    warmed_tokens: Natural = 0
    cached_tokens: Natural = 0
    computed_tokens: Natural = 0
    output_tokens: Natural = 0
    thinking_tokens: Natural = 0
    forward_passes: Natural = 0
    drafts: list[Drafts] = []
    seed: Natural | None = None


class Timing(_Array, frozen=True):
    """Server-side hops in microseconds, contiguous from ``received`` to ``sent`` (both on the server's clock)."""

    received: Natural = 0
    first_sent: Natural = 0
    sent: Natural = 0
    server_parse: Natural = 0
    session_prompt: Natural = 0
    ipc_in: Natural = 0
    engine_queue: Natural = 0
    engine_prefill: Natural = 0
    engine_first_token: Natural = 0
    engine_step: Natural = 0
    ipc_out: Natural = 0
    server_encode: Natural = 0
    server_write: Natural = 0


class Done(_Array, tag=5, frozen=True):
    """The terminal frame of an accepted request that did not fail."""

    request: Natural
    reason: Reason
    receipt: Receipt = Receipt()
    timing: Timing = Timing()
    operations: Natural | None = None
    """Of an edit that ended with ``conflict``: how many of its operations stand."""


class Error(_Array, tag=6, frozen=True):
    """A failure. With ``request`` it is that request's terminal frame; without, it is about a message."""

    request: Natural | None
    code: str
    message: str
    retryable: bool = False
    retry_after_ms: Natural | None = None


class Nack(_Array, tag=7, frozen=True):
    """A change or close was refused; ``held`` is the version the server has (None: no such document)."""

    document: str
    held: Natural | None
    code: str
    message: str


class Pong(_Array, tag=8, frozen=True):
    """The answer to ``ping``: the client's clock as sent, the server's at receipt and at sending (us)."""

    sent: Natural
    received: Natural
    replied: Natural


class Steered(_Array, tag=10, frozen=True):
    """An edit goes on under an added instruction, after its first ``operations`` operations.

    Those that came after them are void; the next ones follow here.
    """

    request: Natural
    operations: Natural


class Notice(_Array, tag=9, frozen=True):
    """Something that a client had better know, whatever it is doing; what it doesn't know it ignores.

    ``draining``: the server goes away. It takes no new requests, finishes those that run if that takes no longer than
    ``milliseconds``, and then closes with 1012.
    """

    kind: str
    milliseconds: Natural | None = None


ServerMessage = Welcome | Accepted | Delta | ScoredDelta | Ops | Done | Error | Nack | Pong | Notice | Steered


class ProtocolError(Exception):
    """A frame that is no message. ``code`` is one of `ErrorCode`."""

    def __init__(self, code: ErrorCode, message: str, request: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request = request


_Message = TypeVar("_Message")


class Codec(Generic[_Message]):
    """Encodes messages to frames and decodes the frames of the other side, in one subprotocol."""

    def __init__(self, subprotocol: str, receives: Any) -> None:
        self.subprotocol = subprotocol
        self.text = subprotocol == JSON
        self._tags = {cls.__struct_config__.tag: cls for cls in get_args(receives)}
        codec: Any = msgspec.json if self.text else msgspec.msgpack
        self.encode: Callable[[object], bytes] = codec.Encoder().encode
        self._decode: Callable[[str | bytes], _Message] = codec.Decoder(receives).decode
        self._decode_raw: Callable[[str | bytes], object] = codec.Decoder().decode

    def decode(self, frame: str | bytes) -> _Message:
        """Read one frame.

        Raises:
            ProtocolError: the frame is of the wrong type, malformed, of an unknown tag, or has a wrong field.

        """
        if isinstance(frame, str) is not self.text:
            expected, got = ("text", "binary") if self.text else ("binary", "text")
            raise ProtocolError(
                ErrorCode.WRONG_FRAME_TYPE,
                f"{self.subprotocol} uses {expected} frames; this frame is {got}",
            )
        try:
            return self._decode(frame)
        except msgspec.ValidationError as error:
            raise self._explain(frame, str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(ErrorCode.MALFORMED_MESSAGE, f"the frame can't be read: {error}") from None

    def _explain(self, frame: str | bytes, reason: str) -> ProtocolError:
        try:
            raw = self._decode_raw(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return ProtocolError(ErrorCode.MALFORMED_MESSAGE, f"the frame can't be read: {error}")
        if not isinstance(raw, list) or not raw or type(raw[0]) is not int:
            return ProtocolError(ErrorCode.MALFORMED_MESSAGE, "a message is an array that starts with its tag")
        message = self._tags.get(raw[0])
        if message is None:
            return ProtocolError(ErrorCode.UNKNOWN_MESSAGE, f"there is no message with tag {raw[0]}")
        request = raw[1] if message in (Complete, Edit, Chat) and len(raw) > 1 and type(raw[1]) is int else None
        if request is not None and not 0 <= request <= MAX_INT:
            request = None
        return ProtocolError(ErrorCode.INVALID_MESSAGE, f"{message.__name__.lower()}: {reason}", request)


def server_codec(subprotocol: str) -> Codec[ClientMessage]:
    """The codec of the serving side: decodes what clients send."""
    return Codec(subprotocol, ClientMessage)


def client_codec(subprotocol: str) -> Codec[ServerMessage]:
    """The codec of the client side: decodes what servers send."""
    return Codec(subprotocol, ServerMessage)
