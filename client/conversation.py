"""A conversation of a session."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from .parameters import Parameters
from .streams import Reply

if TYPE_CHECKING:
    from .document import Document
    from .session import Session


class Conversation:
    """Turns that the server keeps: each message is sent, and computed, once.

    ``async with`` ends it when the block is left.

    Attributes:
        name: what the server calls it.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._session.closed:
            await self.end()

    def say(self, text: str, *, documents: Iterable[Document] = (), **parameters: Unpack[Parameters]) -> Reply:
        """Say something; the arguments and errors are those of `Session.chat`."""
        return self._session.chat(self.name, text, documents=documents, **parameters)

    async def end(self) -> None:
        """Let the server forget it. What is said afterwards begins anew.

        Raises:
            ConnectionLost: there is nobody to tell.

        """
        await self._session.end_chat(self.name)
