"""Going on with a session over another connection: what the server is told, and what has to be said again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from warmline.realtime import (
    Cancel,
    Change,
    Chat,
    ClientMessage,
    Close,
    Complete,
    Edit,
    EndChat,
    ErrorCode,
    HeldDocument,
    Interrupt,
    Open,
    Ping,
    Resume,
    Resumed,
    Steer,
    content_hash,
)

from .errors import ConnectionLost, RequestError, SessionLost
from .mirror import DocumentMirror
from .outgoing import Entry, Outgoing
from .state import SessionState

_MOST_NAMED: Final = 4096
_LOST = "the session was lost while the connection was broken, and this request with it; ask again"

_LOST_TURN = (
    "the session was lost while the connection was broken, and with it this message and what was said before in its "
    "conversation; what is said now begins it anew"
)


def resume_of(name: str, secret: str, state: SessionState) -> Resume:
    """What is held of a session, for ``hello``. Documents beyond some thousand are handed over anew."""
    mirrors = [mirror for mirror in state.documents.values() if mirror.refused is None][:_MOST_NAMED]
    documents = [HeldDocument(mirror.uri, mirror.version, content_hash(mirror.text)) for mirror in mirrors]
    return Resume(name, secret, documents, [request.held() for request in state.requests])


def go_on(state: SessionState, outgoing: Outgoing, resumed: Resumed) -> list[ClientMessage]:
    """What to send to a server that has gone on with the session, in order.

    What it did not handle is sent again. A document that it holds as another text, or not at all, is handed over
    anew. A request that it has handled and doesn't know any more ends here.
    """
    state.streams.clear()
    pending = outgoing.after(resumed.messages)
    _unanswered_steers(state, pending)
    held = {document.document: document.version for document in resumed.documents}
    anew: list[ClientMessage] = []
    for mirror in state.documents.values():
        first = next(_about(mirror, pending), None)
        version = first.base if isinstance(first, Change) else mirror.version
        if isinstance(first, Open | Close) or mirror.refused is not None or held.get(mirror.uri) == version:
            continue
        pending = [entry for entry in pending if not _changes(entry.message, mirror)]
        mirror.supersede(max(held.get(mirror.uri, 0), mirror.version))
        anew.append(mirror.open())
    coming = _requests_of(entry.message for entry in pending) | set(resumed.requests)
    for request in state.requests:
        if request.request not in coming:
            why = "the server does not keep the result of this request any more; ask again"
            state.fail_request(request, RequestError(ErrorCode.RESULT_LOST, why, retryable=True))
    return [*anew, *(entry.message for entry in pending)]


def begin_anew(state: SessionState, outgoing: Outgoing) -> list[ClientMessage]:
    """What to send to a server that doesn't know the session, in order: the documents, and what it can still do.

    That are requests which have not been sent yet, if their document has not been changed since, or if nothing was
    sent of their conversation. All others end.
    """
    state.forget_server()
    state.forget_conversations(_requests_of(entry.message for entry in outgoing.entries if not entry.sent))
    possible = [entry.message for entry in outgoing.entries if _can_still_be(state, entry)]
    going = _requests_of(possible)
    kept = [
        message
        for message in possible
        if not isinstance(message, Cancel | Interrupt | Steer) or message.request in going
    ]
    _lose_others(state, going)
    for probe in state.probes:
        if probe.steered is not None and probe.steered not in going:
            probe.error = SessionLost(_LOST)
    opens = [mirror.open() for mirror in state.documents.values() if mirror.refused is None]
    return [*opens, *kept]


def give_up_sent(state: SessionState, outgoing: Outgoing) -> None:
    """The connection broke to a server that keeps no sessions: end all requests that were sent to it."""
    waiting = [entry.message for entry in outgoing.entries if not entry.sent]
    state.forget_conversations(_requests_of(waiting))
    going = _requests_of(
        message for message in waiting if not isinstance(message, Chat) or message.conversation not in state.forgotten
    )
    _lose_others(state, going)


def _lose_others(state: SessionState, going: set[int]) -> None:
    """End the requests that don't go on."""
    for request in state.requests:
        if request.request not in going:
            in_chat = request.conversation is not None
            state.told(request)
            state.fail_request(request, SessionLost(_LOST_TURN if in_chat else _LOST))


def _about(mirror: DocumentMirror, pending: list[Entry]) -> Iterator[Open | Change | Close]:
    for entry in pending:
        if isinstance(entry.message, Open | Change | Close) and entry.message.document == mirror.uri:
            yield entry.message


def _changes(message: ClientMessage, mirror: DocumentMirror) -> bool:
    return isinstance(message, Change) and message.document == mirror.uri


def _requests_of(messages: Iterable[ClientMessage]) -> set[int]:
    return {message.request for message in messages if isinstance(message, Complete | Edit | Chat)}


def _can_still_be(state: SessionState, entry: Entry) -> bool:
    """Whether a server that knows nothing but the documents as they are now can do what a message says."""
    message = entry.message
    if isinstance(message, Complete | Edit | Chat) and message.request not in state:
        return False  # it has ended here
    match message:
        case Ping():
            return True
        case Chat() as chat:
            return not entry.sent and chat.conversation not in state.forgotten
        case Complete() | Edit() as request:
            mirror = state.documents.get(request.document)
            return not entry.sent and mirror is not None and mirror.version == request.version
        case Cancel() | Interrupt() | Steer() | EndChat():
            return not entry.sent
        case _:
            return False


def _unanswered_steers(state: SessionState, pending: list[Entry]) -> None:
    """A steer that was handled: either `steered` comes again, or it was refused and that is not said again."""
    again = {entry.message.request for entry in pending if isinstance(entry.message, Steer)}
    for probe in state.probes:
        if probe.steered is not None and probe.steered not in again:
            probe.unless_steered = ConnectionLost(
                "the connection broke before the answer to this instruction came; the edit goes on without it"
            )
