"""A session: one connection, its documents and its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Literal, Self

import msgspec
from warmline.realtime import (
    Change,
    ClientMessage,
    Codec,
    Complete,
    Edit,
    ErrorCode,
    ProtocolError,
    Sampling,
    ServerMessage,
    Welcome,
    replace_lone_surrogates,
)
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.connection import broadcast
from websockets.exceptions import ConnectionClosed

from .document import Document
from .errors import ConnectionLost, RequestError, ServerMisbehaved, SessionClosed, WarmlineError, connection_error
from .mirror import DocumentMirror
from .operations import RangeWalk
from .state import CompletionState, EditState, Probe, SessionState
from .streams import Completion, EditStream

PENDING_BYTES: Final = 256 * 1024
"""Above this many unsent bytes, `Document.change` waits until the server has caught up."""

ROOM_TO_GROW: Final = 128
"""Tokens by which an edit may outgrow its range unless ``max_tokens`` says otherwise."""

MAX_TOKENS: Final = 1_000_000  # the largest number that the wire takes

Speculation = Literal["auto", "off"]


class Session:
    """What `connect` gives: opens documents, asks for completions and edits.

    Attributes:
        url: where the server is.
        server, model: what serves, by name.
        context_length: how many tokens the model can attend to.
    """

    def __init__(self, connection: ClientConnection, codec: Codec[ServerMessage], welcome: Welcome, url: str) -> None:
        self.url = url
        self.server = welcome.server
        self.model = welcome.model
        self.context_length = welcome.context_length
        self._max_document_bytes = welcome.max_document_bytes
        self._max_frame_bytes = 2 * welcome.max_document_bytes + 64 * 1024
        self._connection = connection
        self._codec = codec
        self._state = SessionState(self._send)
        self._ended: WarmlineError | None = None
        self._reader = asyncio.create_task(self._read(), name=f"warmline reader of {url}")
        self._state.probe()  # a first reading of the server's clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def closed(self) -> bool:
        """Whether the session has ended, by whichever side."""
        return self._ended is not None

    async def close(self) -> None:
        """End the session: whatever still waits raises `SessionClosed`. Idempotent."""
        self._end(SessionClosed())
        await self._connection.close()
        await asyncio.wait([self._reader])

    async def open(self, uri: str, text: str, language: str = "") -> Document:
        """Hand a document to the server; returns when it has been taken.

        Raises:
            ValueError: the document is open already, or has no name.
            RequestError: the server won't take it (too large, too many).
            ConnectionLost: the connection ended.

        """
        mirror = DocumentMirror(uri, text, language)
        if not uri:
            raise ValueError("a document needs a name, usually its URI")
        if mirror.uri in self._state.documents:
            raise ValueError(f"{uri} is open already: change it, or close it first")
        self.check_size(mirror.text)
        self._state.documents[mirror.uri] = mirror
        try:
            await self._ended_probe(self._state.hand_over(mirror))
        except BaseException:
            self.forget(mirror)
            raise
        return Document(self, mirror)

    def complete(
        self,
        document: Document,
        position: int,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float = 0.0,
        seed: int | None = None,
        stop: str | Iterable[str] = (),
        speculation: Speculation = "auto",
        replay: str | None = None,
    ) -> Completion:
        """Ask for the text that belongs at a position. The request leaves at once.

        Args:
            document: a document of this session.
            position: an index into its text.
            max_tokens: where to stop at the latest.
            temperature: 0 takes the likeliest token each time.
            top_p, top_k, min_p: which tokens to sample from; 1, 0 and 0 are off.
            seed: makes a sampled result repeatable; without it the server draws one and the receipt names it.
            stop: texts that end the completion; they are not part of it.
            speculation: "off" to compute every token by itself. The text is the same either way.
            replay: for benchmarks, on servers that allow it: the text to emit instead of the model's.

        Raises:
            ValueError: the position is outside the text, or a parameter out of its range.
            DocumentClosed, ConnectionLost: the request can't be sent.

        """
        called = self._state.now()
        mirror = self._mirror_of(document)
        if not 0 <= position <= len(mirror.text):
            raise ValueError(f"position {position} is not within a text of {len(mirror.text)} characters")
        sampling = _sampling(max_tokens, temperature, top_p, top_k, min_p, seed, stop, speculation)
        state = CompletionState(self._state.next_request(), called)
        message = Complete(
            state.request, mirror.uri, mirror.version, mirror.offset(position), sampling, _clean(replay)
        )
        self._state.start(state, message)
        return Completion(state, document, mirror.version, self._state.cancel, position)

    def edit(
        self,
        document: Document,
        span: tuple[int, int],
        instruction: str,
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float = 0.0,
        seed: int | None = None,
        stop: str | Iterable[str] = (),
        speculation: Speculation = "auto",
        replay: str | None = None,
    ) -> EditStream:
        """Ask for the new text of the characters [start, end), as operations over them. The request leaves at once.

        Parameters and errors are those of `complete`, except that ``max_tokens`` follows from the range if it is not
        given: a token for each byte in UTF-8, so that any text can be written anew (code has about three bytes a
        token), and `ROOM_TO_GROW`.
        """
        called = self._state.now()
        mirror = self._mirror_of(document)
        start, end = span
        mirror.check_range(start, end)
        if max_tokens is None:
            max_tokens = min(len(mirror.text[start:end].encode()) + ROOM_TO_GROW, MAX_TOKENS)
        sampling = _sampling(max_tokens, temperature, top_p, top_k, min_p, seed, stop, speculation)
        state = EditState(self._state.next_request(), called, RangeWalk(mirror.text[start:end], start))
        message = Edit(
            state.request,
            mirror.uri,
            mirror.version,
            mirror.offset(start),
            mirror.offset(end),
            replace_lone_surrogates(instruction),
            sampling,
            _clean(replay),
        )
        self._state.start(state, message)
        return EditStream(state, document, mirror.version, self._state.cancel, (start, end))

    async def ping(self) -> int:
        """The round trip to the server and back, in microseconds."""
        return await self._ended_probe(self._state.probe())

    # What documents need ---------------------------------------------------------------------------------------

    def check_size(self, text: str) -> None:
        """Raise RequestError if a document's text is larger than the server takes."""
        limit = self._max_document_bytes
        if 4 * len(text) > limit and (size := len(text.encode())) > limit:
            raise RequestError(
                ErrorCode.DOCUMENT_TOO_LARGE, f"the document would have {size} bytes; the server takes {limit}"
            )

    async def send_change(self, change: Change) -> None:
        """Send a change, and wait if the server lags far behind."""
        self._send(change)
        if self._connection.transport.get_write_buffer_size() > PENDING_BYTES:
            await self.ping()

    def forget(self, mirror: DocumentMirror) -> None:
        """Drop a document here and there."""
        if self._state.documents.pop(mirror.uri, None) is not None and not self.closed:
            self._send(mirror.close())

    # ------------------------------------------------------------------------------------------------------------

    def _mirror_of(self, document: Document) -> DocumentMirror:
        mirror = document.usable_mirror()
        if self._state.documents.get(mirror.uri) is not mirror:
            raise ValueError(f"{mirror.uri} is a document of another session")
        return mirror

    async def _ended_probe(self, probe: Probe) -> int:
        await probe.ended.wait()
        if probe.error is not None:
            raise probe.error.with_traceback(None)
        return probe.delay

    def _send(self, message: ClientMessage) -> int:
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        frame = self._codec.encode(message)
        if len(frame) > self._max_frame_bytes:
            raise ValueError(f"a message of {len(frame)} bytes; the server takes {self._max_frame_bytes}")
        written = self._state.now()
        # Unlike `send`, `broadcast` writes without awaiting, so a request leaves before `complete` returns.
        broadcast((self._connection,), frame.decode() if self._codec.text else frame)
        return written

    def _end(self, error: WarmlineError) -> None:
        if self._ended is None:
            self._ended = error
            self._state.fail(error)

    async def _read(self) -> None:
        state, decode, receive = self._state, self._codec.decode, self._connection.recv
        try:
            while True:
                frame = await receive()
                state.receive(decode(frame), state.now())
        except ConnectionClosed as closed:
            self._end(closed_error(closed))
        except (ProtocolError, ServerMisbehaved) as error:
            self._end(ServerMisbehaved(str(error)))
            await self._connection.close(1002)
        finally:
            self._end(ConnectionLost("the session's reader was stopped"))


msgspec.convert([], Sampling)  # makes msgspec prepare the check now and not within the first request


def closed_error(closed: ConnectionClosed) -> WarmlineError:
    """The exception for a closed WebSocket."""
    frame = closed.rcvd
    if frame is None:
        cause = closed.__cause__
        return connection_error(1006, str(cause) if cause is not None else "")
    return connection_error(frame.code, frame.reason)


def _clean(text: str | None) -> str | None:
    return None if text is None else replace_lone_surrogates(text)


def _sampling(
    max_tokens: int,
    temperature: float,
    top_p: float,
    top_k: int,
    min_p: float,
    seed: int | None,
    stop: str | Iterable[str],
    speculation: Speculation,
) -> Sampling:
    """The parameters, checked here so that a wrong one is reported where it was written."""
    stops = [stop] if isinstance(stop, str) else stop
    values = [max_tokens, temperature, top_p, top_k, min_p, seed, [*map(replace_lone_surrogates, stops)], speculation]
    try:
        return msgspec.convert(values, Sampling)
    except msgspec.ValidationError as error:
        message = str(error)
        for index, name in enumerate(Sampling.__struct_fields__):
            message = message.replace(f"`$[{index}]", f"`{name}", 1)
        raise ValueError(message) from None
