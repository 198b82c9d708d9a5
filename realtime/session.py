"""What one client has: its documents and its running requests. Knows no socket, only how to send a message."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from .access.accounts import Usage
from .access.over_limit import over_limit
from .documents.document import Document
from .errors import FAULT, Refused, shown
from .protocol import (
    Ack,
    Cancel,
    Change,
    Chat,
    ClientMessage,
    Close,
    Complete,
    Edit,
    EndChat,
    ErrorCode,
    Hello,
    Interrupt,
    Nack,
    Open,
    Ping,
    Pong,
    Steer,
    Warm,
)
from .requests.requests import Requests
from .requests.surroundings import Send
from .service import Service
from .telemetry.tracing import clock
from .warming import Warmer

__all__ = ["Service", "Session"]

logger = structlog.get_logger("warmline.session")


class Session:
    """Carries out a client's messages, in their order.

    A request answers for the version of its document that it named, whatever is changed meanwhile; closing the
    document ends it. ``names`` is what all log lines about the session and its requests say; ``usage`` counts what it
    uses for its key and its address, if anybody does.
    """

    def __init__(
        self,
        service: Service,
        salt: str,
        send: Send,
        names: Mapping[str, object] | None = None,
        usage: Usage | None = None,
    ) -> None:
        self._service = service
        self._usage = usage
        self._limits = service.limits if usage is None else usage.narrowed(service.limits)
        self._names = names or {}
        self._send = send
        self._closed = False
        self._documents: dict[str, Document] = {}
        self._warmer = Warmer(service, salt, self._names)
        self._requests = Requests(service, salt, send, self._documents, self._warmer, self._names, usage)
        service.metrics.sessions.inc()

    def handle(self, message: ClientMessage, received: int, parsed: int) -> None:
        """Carry out a message that arrived and was decoded at these readings of the clock (ns).

        Answers go out through ``send``; a refusal is one of them, nothing is raised. A closed session does nothing.
        """
        if self._closed:
            return
        match message:
            case Change() | Open() | Close():
                self._update(message)
            case Complete() | Edit() | Chat():
                self._requests.start(message, received, parsed)
            case Steer():
                self._requests.steer(message)
            case Interrupt():
                self._requests.stop(message.request, "interrupted")
            case Cancel():
                self._requests.stop(message.request, "cancel")
            case Warm():
                self._warm(message)
            case EndChat():
                self._requests.end_chat(message.conversation)
            case Ping():
                self._send(Pong(message.sent, received // 1000, clock() // 1000))
            case Ack():
                pass  # nothing is kept
            case Hello():
                self.refuse(None, Refused(ErrorCode.HELLO_REQUIRED, "hello opens a connection and is sent once"))

    @property
    def running(self) -> int:
        """How many requests have not ended."""
        return len(self._requests)

    def pause(self) -> None:
        """The client takes nothing: let the engine compute nothing for its requests, new ones too, until `resume`."""
        self._requests.pause(True)

    def resume(self) -> None:
        """The client takes what was sent: go on."""
        self._requests.pause(False)

    def drain(self, seconds: float) -> None:
        """The server goes away in so many seconds: take no more requests. Those that run go on."""
        self._requests.drain(seconds)
        self._warmer.close()

    def stop_requests(self) -> None:
        """End all requests."""
        self._requests.stop_all()

    def close(self) -> None:
        """The client is gone: end all its requests and forget its documents. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._warmer.close()
        self._requests.stop_all()
        self._count_documents(-len(self._documents))
        self._service.metrics.sessions.dec()
        self._documents.clear()

    def refuse(self, request: int | None, refusal: Refused) -> None:
        """Answer a message with an error.

        It carries the request's id, unless a request of that id is running: to the client it would end that one.
        """
        self._requests.refuse(request, refusal)

    def refuse_frame(self, request: int | None, refusal: Refused) -> None:
        """Answer a frame that is no message."""
        self.refuse(request, refusal)

    def _warm(self, message: Warm) -> None:
        try:
            document = self._document(message.document)
            if message.version != document.version:
                raise Refused(
                    ErrorCode.STALE_VERSION,
                    f"warm is for version {message.version}; version {document.version} is held",
                )
            self._warmer.asked(document, message.position, message.end)
        except Refused as refusal:
            self.refuse(None, refusal)
        except Exception:
            logger.exception("a place could not be warmed", **self._names)
            self.refuse(None, Refused(ErrorCode.INTERNAL_ERROR, FAULT))

    # Documents -------------------------------------------------------------------------------------------------

    def _update(self, message: Open | Change | Close) -> None:
        try:
            match message:
                case Open():
                    self._open(message)
                case Change():
                    self._change(message)
                case Close():
                    self._close(message)
        except Refused as refusal:
            self._service.metrics.message_refused(refusal.code)
            if refusal.code == ErrorCode.DOCUMENT_TOO_LARGE:
                self._service.metrics.limited(self._limits.document_bytes_scope, "document_bytes")
            document = self._documents.get(message.document)
            held = None if document is None else document.version
            self._send(Nack(message.document, held, refusal.code, refusal.message))

    def _document(self, name: str) -> Document:
        document = self._documents.get(name)
        if document is None:
            raise Refused(ErrorCode.UNKNOWN_DOCUMENT, f"document {shown(name)} is not open")
        return document

    def _open(self, message: Open) -> None:
        limits = self._limits
        held = self._documents.get(message.document)
        if held is not None and not _replaces(message, held):
            raise Refused(
                ErrorCode.STALE_VERSION,
                f"version {held.version} is held; another text needs a greater one, not {message.version}",
            )
        if held is None and len(self._documents) >= limits.max_documents:
            raise over_limit(
                self._service.metrics,
                "connection",
                "documents",
                ErrorCode.TOO_MANY_DOCUMENTS,
                f"may have {limits.max_documents} documents open; close one first",
            )
        if held is None and self._usage is not None:
            self._usage.check_document()
        document = self._documents[message.document] = Document(message, limits)
        if held is None:
            self._count_documents(1)
        elif held.text != message.text:
            self._requests.replaced(message.document)
        self._warmer.opened(document)

    def _change(self, message: Change) -> None:
        document = self._document(message.document)
        edits = document.change(message, self._limits)
        applied = message.applied
        # What has ended, or is about to, is followed no more: there the client is believed.
        believed = applied is not None and self._requests.knows(applied.request)
        ours = self._requests.changed(message.document, edits, applied) or believed
        if not ours:
            self._warmer.changed(document, edits)
        self._service.metrics.change_taken(ours)

    def _close(self, message: Close) -> None:
        self._document(message.document)
        del self._documents[message.document]
        self._count_documents(-1)
        self._requests.stop_all(message.document)
        self._warmer.closed(message.document)

    def _count_documents(self, change: int) -> None:
        self._service.metrics.documents.inc(change)
        if self._usage is not None:
            self._usage.documents_opened(change)


def _replaces(opened: Open, held: Document) -> bool:
    """Whether a document may be replaced: by a later version, or by itself."""
    return opened.version > held.version or (opened.version == held.version and opened.text == held.text)
