"""What was sent, or waits to be, and may not have been handled: what a lost connection may have taken along."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from warmline.realtime import Chat, ClientMessage, Complete, Edit, Ping


@dataclass(eq=False, slots=True)
class Entry:
    """A message.

    Attributes:
        number: how many messages of the session there are up to it; None of a ping, which the server doesn't count.
        size: of its frame, in bytes.
        sent: it was written to a connection.
    """

    number: int | None
    message: ClientMessage
    size: int
    sent: bool


class Outgoing:
    """The messages of a session in their order, from the first that the server may not have handled.

    It handles them in order. So what it says of a request, and a pong, shows that all before has been.

    Attributes:
        size: of all of their frames, in bytes.
        unasked: how many frames were added since the last ping, and how many bytes.
    """

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque()
        self.size = 0
        self.unasked = (0, 0)
        self._count = 0
        self._requests: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, message: ClientMessage, size: int, sent: bool) -> None:
        """Append a message."""
        number = None
        if isinstance(message, Ping):
            self.unasked = (0, 0)
        else:
            self._count += 1
            number = self._count
            frames, length = self.unasked
            self.unasked = (frames + 1, length + size)
            if isinstance(message, Complete | Edit | Chat):
                self._requests[message.request] = number
        self.entries.append(Entry(number, message, size, sent))
        self.size += size

    def answered(self, request: int) -> None:
        """The server said something of a request."""
        number = self._requests.get(request)
        while number is not None and self._pop().number != number:
            pass

    def ponged(self) -> None:
        """The oldest ping was answered."""
        while self.entries and self._pop().number is not None:
            pass

    def after(self, messages: int) -> list[Entry]:
        """What a server has yet to handle that has handled so many: pings, too, since their answers are gone."""
        return [entry for entry in self.entries if entry.number is None or entry.number > messages]

    def restart(self, messages: int, entries: Iterable[tuple[ClientMessage, int, bool]]) -> None:
        """Begin anew with these messages, each with its size and whether it is sent, behind so many handled ones."""
        self.entries.clear()
        self._requests.clear()
        self.size, self._count = 0, messages
        for entry in entries:
            self.add(*entry)

    def _pop(self) -> Entry:
        entry = self.entries.popleft()
        self.size -= entry.size
        if isinstance(entry.message, Complete | Edit | Chat):
            self._requests.pop(entry.message.request, None)
        return entry
