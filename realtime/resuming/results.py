"""What was sent of each request of a session, until its client says that it has all of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from ..limits import Limits
from ..protocol import (
    MSGPACK,
    Accepted,
    Chat,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    HeldRequest,
    Ops,
    ScoredDelta,
    ServerMessage,
    Steered,
    client_codec,
)
from .record import RECORD_BYTES, Record

_encode: Final = client_codec(MSGPACK).encode


def _digest(message: Complete | Edit | Chat) -> bytes:
    return blake2b(_encode(message), digest_size=16).digest()


class Results:
    """Keeps the frames of requests, bounded in bytes; the time is the caller's (`expire`).

    What has ended is given up first, the oldest first; then what is most of those that run. A client that lacks
    something of what was given up can't resume that request.

    Attributes:
        size: about what all takes in memory, in bytes.
    """

    def __init__(self, limits: Limits) -> None:
        self.size = 0
        self._most = min(limits.max_kept_bytes, limits.max_unsent_bytes)
        self._records: dict[int, Record] = {}
        self._streams: dict[int, Record] = {}
        self._ended: OrderedDict[int, float] = OrderedDict()  # when each ended, the oldest first

    def __contains__(self, request: int) -> bool:
        return request in self._records

    def __len__(self) -> int:
        return len(self._records)

    @property
    def requests(self) -> list[int]:
        """The ids of those that are known."""
        return list(self._records)

    def asked(self, message: Complete | Edit | Chat) -> None:
        """A request arrived, and is going to be accepted or refused."""
        known = self._records.get(message.request)
        if known is not None and known.accepted is None and known.end is not None:
            self._drop(known.request)  # it was refused, so its id may be used again
            known = None
        if known is None:
            self._records[message.request] = Record(message.request, _digest(message))
            self._grow(RECORD_BYTES)

    def same(self, message: Complete | Edit | Chat) -> bool:
        """Whether a request that is known was asked for with the same message."""
        return self._records[message.request].body == _digest(message)

    def record(self, message: ServerMessage, now: float) -> bool:
        """Keep a message, at a time in seconds. Returns whether it is to be sent, too."""
        if type(message) is Delta or isinstance(message, ScoredDelta | Ops):
            record = self._streams.get(message.stream)
            if record is None:
                return True
            self._grow(record.add(message))
            return record.live
        if not isinstance(message, Accepted | Steered | Done | Error) or message.request is None:
            return True
        record = self._records.get(message.request)
        if record is None or record.end is not None:
            return True  # about an id that was used before
        if isinstance(message, Accepted):
            record.accepted = message
            self._streams[message.stream] = record
        elif isinstance(message, Steered):
            self._grow(record.add(message))
        else:
            record.end = message
            self._ended[record.request] = now
            if record.accepted is not None:
                del self._streams[record.accepted.stream]
        return record.live

    def acknowledge(self, requests: Iterable[int]) -> None:
        """The client has all of these; those that run, or aren't known, are ignored."""
        for request in requests:
            if request in self._ended:
                self._drop(request)

    def expire(self, before: float) -> float | None:
        """Give up what ended before a time. Returns when the oldest that is left ended; None if none is."""
        while self._ended:
            request, ended = next(iter(self._ended.items()))
            if ended > before:
                return ended
            self._drop(request)
        return None

    def suspend(self) -> None:
        """Send nothing of what is known until `rest` was asked for it."""
        for record in self._records.values():
            record.live = False

    def rest(self, held: HeldRequest) -> list[ServerMessage]:
        """What a client lacks of a request; what comes of it from now on is sent again, unless this fails.

        Raises:
            ValueError: what it lacks was given up, or it has what was never sent.

        """
        record = self._records[held.request]
        messages = record.rest(held)
        record.live = True
        return messages

    def in_order(self, requests: Iterable[HeldRequest]) -> list[HeldRequest]:
        """Those that are known, the ended ones first: the stream number of one may be another's by now."""
        known = {held.request: held for held in requests if held.request in self._records}
        ended = [request for request in self._ended if request in known]
        return [known[request] for request in dict.fromkeys([*ended, *(r for r in self._records if r in known)])]

    def _drop(self, request: int) -> None:
        self._ended.pop(request, None)
        self.size -= self._records.pop(request).size

    def _grow(self, size: int) -> None:
        self.size += size
        while self.size > self._most and self._ended:
            self._drop(next(iter(self._ended)))
        if self.size > self._most and self._records:
            self.size -= max(self._records.values(), key=lambda record: record.size).forget()
