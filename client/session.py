"""A session: one connection, its documents and its requests."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self, Unpack

from warmline.realtime import (
    Change,
    Chat,
    ClientMessage,
    Codec,
    Complete,
    Edit,
    ErrorCode,
    PlaceTracker,
    RangeTracker,
    Sampling,
    ServerMessage,
    Warm,
    Welcome,
    replace_lone_surrogates,
)

from .arguments import check_bounded_text, check_instruction, check_text, most, number_pair, whole_number
from .clock import ClockSample
from .conversation import Conversation
from .document import Document
from .errors import InvalidArgument, RequestError, WarmlineError, WrongType
from .link import Dial, Link
from .mirror import DocumentMirror
from .operations import RangeWalk
from .parameters import Parameters, clean, sampling_of
from .reconnecting import OnConnection, Reconnect
from .state import EditState, Probe, SessionState, TextState
from .streams import Completion, EditStream, Reply
from .transport import Transport

PENDING_BYTES: Final = 256 * 1024
"""Above this many unsent bytes, `Document.change` waits until the server has caught up."""

ROOM_TO_GROW: Final = 128
"""Tokens by which an edit may outgrow its range unless ``max_tokens`` says otherwise."""

MAX_SHOWN: Final = most(Chat, "documents")
"""Documents that one chat message may show."""

MAX_NAME: Final = most(Chat, "conversation")
"""Characters of a conversation's name."""

DEFAULT_TOKENS: Final = 512
MAX_TOKENS: Final = most(Sampling, "max_tokens")


class Session:
    """What `connect` gives: opens documents, asks for completions and edits, and chats.

    `complete`, `edit` and `chat` take the parameters of `Parameters` as keywords. They send at once and return a
    stream to iterate over.

    When the connection breaks, another one is made and all goes on (unless `connect` was told otherwise): streams,
    from where they were; documents; what is asked for meanwhile, which waits. What the server has forgotten by then,
    since it restarted or the connection was gone for too long, ends with `SessionLost`.

    Attributes:
        url: where the server is.
        server, model: what serves, by name.
        context_length: how many tokens the model can attend to.
    """

    def __init__(
        self,
        transport: Transport,
        codec: Codec[ServerMessage],
        welcome: Welcome,
        url: str,
        *,
        dial: Dial | None = None,
        reconnect: Reconnect | None = None,
        ping_interval: float | None = None,
        on_connection: OnConnection | None = None,
    ) -> None:
        self.url = url
        self._link = Link(codec, dial, reconnect)
        self._state = SessionState(self._send)
        self._link.start(self._state, transport, welcome, ping_interval, on_connection, self._welcomed)
        if not self.closed:
            self._state.probe()  # a first reading of the server's clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def clock(self) -> ClockSample | None:
        """What is known of the server's clock, by which ``net.up`` and ``net.down`` of a request's timing are told
        apart; None until the server has answered for the first time.
        """
        return self._state.clock.best(self._state.now())

    @property
    def closed(self) -> bool:
        """Whether the session has ended, by whichever side."""
        return self._link.ended is not None

    @property
    def connected(self) -> bool:
        """Whether there is a connection at the moment. While there is none, requests and changes wait for one."""
        return self._link.online and not self.closed

    async def wait_closed(self) -> WarmlineError:
        """Wait until the session has ended, by whichever side; returns the error that says why."""
        return (await self._link.wait_ended()).with_traceback(None)

    async def close(self) -> None:
        """End the session: whatever still waits raises `SessionClosed`. Idempotent."""
        await self._link.close()

    async def open(self, uri: str, text: str, language: str = "") -> Document:
        """Hand a document to the server; returns when it has been taken.

        Raises:
            InvalidArgument: the document is open already, or has no name, or a name or a language too long to be one.
            WrongType: one of them is no string.
            RequestError: the server won't take it (too large, too many).
            ConnectionLost: the connection ended.

        """
        check_text("uri", uri)
        if not uri:
            raise InvalidArgument("a document needs a name, usually its URI")
        check_bounded_text("uri", uri)
        check_text("text", text)
        check_bounded_text("language", language)
        mirror = DocumentMirror(uri, text, language)
        if mirror.uri in self._state.documents:
            raise InvalidArgument(f"{uri} is open already: change it, or close it first")
        self.check_size(mirror.text)
        self._state.documents[mirror.uri] = mirror
        try:
            await self._ended_probe(self._state.hand_over(mirror))
        except BaseException:
            self.forget(mirror)
            raise
        return Document(self, mirror)

    def complete(
        self, document: Document, position: int, *, parallel: bool = False, **parameters: Unpack[Parameters]
    ) -> Completion:
        """Ask for the text that belongs at a position. The request leaves at once.

        A running completion of the document ends with reason ``superseded``. If what was typed since is what that one
        had suggested, and the sampling is the same, this one goes on with its text, and `Completion.continued` names
        it. Only ``max_tokens`` may be less, by what was typed; one with ``logprobs`` always starts afresh.
        docs/protocol.md ("Superseded and continued") has all conditions.

        Args:
            document: a document of this session.
            position: an index into its text.
            parallel: leave running completions of the document alone.
            **parameters: see `Parameters`; ``max_tokens`` is 512 unless it is given.

        Raises:
            InvalidRange: the position is outside the text, or inside a line end (CR LF).
            InvalidArgument: a parameter is out of its range.
            WrongType: something is of a wrong type, or there is no such parameter.
            DocumentClosed, ConnectionLost: the request can't be sent.

        """
        called = self._state.now()
        mirror, position = self._mirror_of(document), whole_number("position", position)
        mirror.check_place(position, position)
        if not isinstance(parallel, bool):
            raise WrongType(f"parallel is of type {type(parallel).__name__}, not bool")
        sampling = sampling_of(parameters, DEFAULT_TOKENS)
        offset = mirror.offset(position)
        place = PlaceTracker(offset)
        state = TextState(self._state.next_request(), called, place)
        if not parallel:
            state.earlier = self._state.earlier(mirror, offset)
        message = Complete(
            state.request,
            mirror.uri,
            mirror.version,
            offset,
            sampling,
            clean(parameters.get("replay")),
            clean(parameters.get("traceparent")),
            parallel,
        )
        self._state.start(state, message)
        mirror.trackers.add(place)
        return Completion(state, self._state, document, position, place)

    def edit(
        self,
        document: Document,
        span: tuple[int, int],
        instruction: str,
        *,
        accepted: str = "",
        **parameters: Unpack[Parameters],
    ) -> EditStream:
        """Ask for the new text of the characters [start, end), as operations over them. The request leaves at once.

        The document may be changed and the edit applied to it while it streams: see `Document.apply`.

        Args:
            document: a document of this session.
            span: the range, by indices into its text.
            instruction: what to do.
            accepted: what the new text begins with: the model goes on after it, and the operations say it, too.
            **parameters: see `Parameters`. Unless it is given, ``max_tokens`` follows from the range: a token for
                each byte in UTF-8, so that any text can be written anew (code has about three bytes a token), as many
                for what is accepted, and `ROOM_TO_GROW`.

        Raises:
            InvalidRange: the range is not within the text, or begins or ends inside a line end (CR LF).
            InvalidArgument: the instruction is empty or too long, or a parameter is out of its range or not for
                edits (``logprobs``).
            WrongType: something is of a wrong type, or there is no such parameter.
            DocumentClosed, ConnectionLost: the request can't be sent.

        """
        called = self._state.now()
        mirror = self._mirror_of(document)
        start, end = number_pair("span", span)
        check_instruction(instruction)
        check_text("accepted", accepted)
        mirror.check_place(start, end)
        if parameters.get("logprobs") is not None:
            raise InvalidArgument("logprobs can't be had of an edit, which brings operations; leave it out")
        original, accepted = mirror.text[start:end], replace_lone_surrogates(accepted)
        room = len(original.encode()) + len(accepted.encode()) + ROOM_TO_GROW
        sampling = sampling_of(parameters, min(room, MAX_TOKENS))
        request, offset = self._state.next_request(), mirror.offset(start)
        tracker = RangeTracker(request, offset, original)
        state = EditState(request, called, RangeWalk(original, start), tracker)
        message = Edit(
            request,
            mirror.uri,
            mirror.version,
            offset,
            mirror.offset(end),
            replace_lone_surrogates(instruction),
            sampling,
            clean(parameters.get("replay")),
            clean(parameters.get("traceparent")),
            accepted,
        )
        self._state.start(state, message)
        mirror.trackers.add(tracker)
        return EditStream(state, self._state, document, (start, end))

    def chat(
        self,
        conversation: str,
        text: str,
        *,
        documents: Iterable[Document] = (),
        **parameters: Unpack[Parameters],
    ) -> Reply:
        """Say something in a conversation, and get the reply. The request leaves at once.

        The server keeps what was said, so only the new text travels and is computed. A conversation begins with its
        first message; `conversation` gives an object that remembers its name.

        Args:
            conversation: its name, of this session.
            text: what to say.
            documents: what the model is shown as it is now, later only what has changed of each; at most 16.
            **parameters: see `Parameters`; ``max_tokens`` is 512 unless it is given.

        Raises:
            InvalidArgument: nothing is said or shown, the conversation has no name, there are too many documents, or
                a parameter is out of its range.
            WrongType: something is of a wrong type, or there is no such parameter.
            DocumentClosed, ConnectionLost: the request can't be sent.

        """
        called = self._state.now()
        name = _conversation_name(conversation)
        check_text("text", text)
        if not isinstance(documents, Iterable):
            raise WrongType(f"documents is of type {type(documents).__name__}, not a list of documents")
        shown = tuple(self._mirror_of(document).uri for document in documents)
        if len(shown) > MAX_SHOWN:
            raise InvalidArgument(f"{len(shown)} documents; at most {MAX_SHOWN} are shown at once")
        if not shown and not text.strip():
            raise InvalidArgument("text is empty: say something, or name a document")
        sampling = sampling_of(parameters, DEFAULT_TOKENS)
        state = TextState(self._state.next_request(), called)
        message = Chat(
            state.request,
            name,
            replace_lone_surrogates(text),
            shown,
            sampling,
            clean(parameters.get("replay")),
            clean(parameters.get("traceparent")),
        )
        self._state.start(state, message)
        return Reply(state, self._state, name)

    def conversation(self, name: str | None = None) -> Conversation:
        """A conversation to talk in; without a name it gets one that no other has.

        Raises:
            InvalidArgument: the name is empty.
            WrongType: it is no string.

        """
        return Conversation(self, uuid.uuid4().hex if name is None else _conversation_name(name))

    async def end_chat(self, conversation: str) -> None:
        """Let the server forget a conversation; its running reply ends with reason ``cancel``.

        Raises:
            InvalidArgument: the conversation has no name.
            WrongType: the name is no string.
            ConnectionLost: there is nobody to tell.

        """
        self._state.end_chat(_conversation_name(conversation))

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

    async def send_change(self, change: Change | Warm) -> None:
        """Send a change or a hint, and wait if the server lags far behind, or too much waits for a connection."""
        if isinstance(change, Warm) and not self._link.online and not self.closed:
            return  # a hint that is late is none
        self._send(change)
        if self._link.behind > PENDING_BYTES:
            await self.ping()

    def forget(self, mirror: DocumentMirror) -> None:
        """Drop a document here and there."""
        if self._state.documents.pop(mirror.uri, None) is not None and not self.closed:
            self._send(mirror.close())

    # ------------------------------------------------------------------------------------------------------------

    def _mirror_of(self, document: Document) -> DocumentMirror:
        if not isinstance(document, Document):
            raise WrongType(f"document is of type {type(document).__name__}, not what `open` gave")
        mirror = document.usable_mirror()
        if self._state.documents.get(mirror.uri) is not mirror:
            raise InvalidArgument(f"{mirror.uri} is a document of another session")
        return mirror

    async def _ended_probe(self, probe: Probe) -> int:
        await probe.ended.wait()
        if probe.error is not None:
            raise probe.error.with_traceback(None)
        return probe.delay

    def _send(self, message: ClientMessage) -> int:
        return self._link.send(message)

    def _welcomed(self, welcome: Welcome) -> None:
        self.server = welcome.server
        self.model = welcome.model
        self.context_length = welcome.context_length
        self._max_document_bytes = welcome.max_document_bytes


def _conversation_name(name: str) -> str:
    check_text("conversation", name)
    if not 1 <= len(name) <= MAX_NAME:
        raise InvalidArgument(f"a conversation needs a name of 1 to {MAX_NAME:,} characters")
    return replace_lone_surrogates(name)
