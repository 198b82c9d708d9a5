"""Running requests as a program sees them: iterate, cancel, await the result."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from warmline.realtime import Reason, Receipt

from .operations import EditOperation
from .state import CompletionState, EditState, RequestState
from .timing import HopTiming

if TYPE_CHECKING:
    from .document import Document

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result", bound="Result")
_State = TypeVar("_State", bound=RequestState)


@dataclass(frozen=True, slots=True)
class Result:
    """How a request ended.

    Attributes:
        document: what it was asked for, and ``version`` at that time.
        request: its number in the session.
        text: the completion, or the new text of the range.
        reason: ``stop``, ``length``, ``cancel``, ...
        receipt: what it cost, in tokens and passes.
        timing: where the time went.
        ttft: microseconds from the call to the first text or operations; None if there were none.
    """

    document: Document = field(repr=False)
    version: int
    request: int
    text: str
    reason: Reason
    receipt: Receipt
    timing: HopTiming
    ttft: int | None

    @property
    def tokens_per_second(self) -> float:
        """Output tokens over the end-to-end time, time to first token included."""
        return self.receipt.output_tokens * 1e6 / max(self.timing.end_to_end, 1)


@dataclass(frozen=True, slots=True)
class CompletionResult(Result):
    """The result of `Session.complete`; ``position`` is where the text belongs."""

    position: int


@dataclass(frozen=True, slots=True)
class EditResult(Result):
    """The result of `Session.edit`.

    ``operations`` walk over the range [start, end) of the version; what they don't reach is kept. ``text`` is the
    range with all of them applied.
    """

    start: int
    end: int
    operations: tuple[EditOperation, ...]


class RequestStream(ABC, Generic[_Piece, _Result, _State]):
    """An async iterator over what a request brings, with `cancel` and `result`.

    Leaving the loop early keeps the request running, so that `result` can still be awaited; to end it, `cancel`, or
    use ``async with``. A stream that nothing refers to any more is cancelled. If the request or the connection fails,
    iteration raises once, after what had come before; `result` raises every time.
    """

    def __init__(
        self, state: _State, document: Document, version: int, cancel: Callable[[RequestState], None]
    ) -> None:
        self._state = state
        self._document = document
        self._version = version
        self._cancel = cancel
        self._raised = False
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Piece:
        state = self._state
        while not state.cancelled:
            piece = self._take()
            if piece is not None:
                return piece
            if state.ended.is_set():
                break
            state.ready.clear()
            await state.ready.wait()
        if state.error is not None and not state.cancelled and not self._raised:
            self._raised = True
            raise state.error.with_traceback(None)
        raise StopAsyncIteration

    def cancel(self) -> None:
        """End the request now: iteration stops at once. Does nothing when the request has ended."""
        self._cancel(self._state)

    async def result(self) -> _Result:
        """Wait for the end, whether or not anybody iterates.

        Raises:
            RequestError: the server refused or failed the request.
            ConnectionLost: the connection ended before the request did.

        """
        await self._state.ended.wait()
        if self._state.error is not None:
            raise self._state.error.with_traceback(None)
        return self._result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None and not state.ended.is_set():
            state.abandoned = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._cancel, state)

    @property
    @abstractmethod
    def text(self) -> str:
        """The text so far."""

    @abstractmethod
    def _take(self) -> _Piece | None:
        """Remove and return what came in since the last call; None if nothing did."""

    @abstractmethod
    def _result(self) -> _Result:
        """The result of a request that is done."""

    def _common(self) -> dict[str, Any]:
        state = self._state
        assert state.done is not None
        return {
            "document": self._document,
            "version": self._version,
            "request": state.request,
            "text": self.text,
            "reason": state.done.reason,
            "receipt": state.done.receipt,
            "timing": state.timing,
            "ttft": None if state.first is None else state.first - state.called,
        }


class Completion(RequestStream[str, CompletionResult, CompletionState]):
    """A running completion: iterates over pieces of its text. A reader that lags gets fewer, longer pieces."""

    def __init__(
        self,
        state: CompletionState,
        document: Document,
        version: int,
        cancel: Callable[[RequestState], None],
        position: int,
    ) -> None:
        super().__init__(state, document, version, cancel)
        self.position = position

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._state.pieces)

    def _take(self) -> str | None:
        state = self._state
        piece = "".join(state.pieces[state.taken :])
        state.taken = len(state.pieces)
        return piece or None

    def _result(self) -> CompletionResult:
        return CompletionResult(**self._common(), position=self.position)


class EditStream(RequestStream[EditOperation, EditResult, EditState]):
    """A running edit: iterates over its operations, in order."""

    def __init__(
        self,
        state: EditState,
        document: Document,
        version: int,
        cancel: Callable[[RequestState], None],
        span: tuple[int, int],
    ) -> None:
        super().__init__(state, document, version, cancel)
        self.start, self.end = span

    @property
    def text(self) -> str:
        """The range so far: the operations that came applied, the rest as it was."""
        return self._state.walk.text

    def _take(self) -> EditOperation | None:
        state = self._state
        if state.taken == len(state.walk.operations):
            return None
        state.taken += 1
        return state.walk.operations[state.taken - 1]

    def _result(self) -> EditResult:
        operations = tuple(self._state.walk.operations)
        return EditResult(**self._common(), start=self.start, end=self.end, operations=operations)
