"""Running requests as a program sees them: iterate, cancel, interrupt, steer, await the result."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from warmline.realtime import PlaceTracker, Reason, TokenLogprob, replace_lone_surrogates

from .arguments import check_instruction, whole_number
from .errors import InvalidArgument, WarmlineError
from .operations import EditOperation, Void
from .results import ChatResult, CompletionResult, EditResult, Result
from .state import EditState, RequestState, SessionState, TextState

if TYPE_CHECKING:
    from .document import Document

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result", bound=Result)
_State = TypeVar("_State", bound=RequestState)


class RequestStream(ABC, Generic[_Piece, _Result, _State]):
    """An async iterator over what a request brings, with `cancel`, `interrupt` and `result`.

    Leaving the loop early keeps the request running, so that `result` can still be awaited; to end it, `cancel`, or
    use ``async with``. A stream that nothing refers to any more is cancelled. If the request or the connection fails,
    iteration raises once, after what had come before; `result` raises every time.
    """

    def __init__(self, state: _State, session: SessionState) -> None:
        self._state = state
        self._session = session
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
            await state.ready.wait(self._loop)
        if state.error is not None and not state.cancelled and not self._raised:
            self._raised = True
            raise state.error.with_traceback(None)
        raise StopAsyncIteration

    def cancel(self) -> None:
        """End the request now: iteration stops at once. Does nothing when the request has ended.

        The server is told at once and nothing is waited for, so there is nothing to await; so it is of `interrupt`.
        """
        self._session.cancel(self._state)

    def interrupt(self) -> None:
        """Stop the model and keep what it has made: iteration goes on to the end of that.

        The result's reason is ``interrupted``, unless the request ended by itself before. Does nothing when it has.
        """
        self._session.interrupt(self._state)

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
                self._loop.call_soon_threadsafe(self._session.cancel, state)

    @property
    def request(self) -> int:
        """The request's number in the session."""
        return self._state.request

    @property
    def ended(self) -> bool:
        """Whether everything has come."""
        return self._state.ended.is_set()

    @property
    def reason(self) -> Reason | None:
        """Why it ended; None while it runs, and if it failed."""
        return None if self._state.done is None else self._state.done.reason

    @property
    def error(self) -> WarmlineError | None:
        """What it failed with; None while it runs, and where it has a `reason`."""
        return self._state.error

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
            "request": state.request,
            "text": self.text,
            "reason": state.done.reason,
            "receipt": state.done.receipt,
            "timing": state.timing,
            "ttft": None if state.first is None else state.first - state.called,
        }


class TextStream(RequestStream[str, _Result, TextState]):
    """A request that brings text: iterates over pieces of it. A reader that lags gets fewer, longer pieces."""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._state.pieces)

    @property
    def logprobs(self) -> tuple[TokenLogprob, ...]:
        """The log probabilities of the tokens so far; none unless they were asked for."""
        return tuple(self._state.logprobs)

    def _common(self) -> dict[str, Any]:
        return {**super()._common(), "logprobs": self.logprobs}

    def _take(self) -> str | None:
        state = self._state
        piece = "".join(state.pieces[state.taken :])
        state.taken = len(state.pieces)
        return piece or None


class Completion(TextStream[CompletionResult]):
    """A running completion.

    Attributes:
        document: what it was asked for, and ``version`` at that time.
        position: where the text belonged then; ``place`` follows it and says what is left of the text.
    """

    def __init__(
        self, state: TextState, session: SessionState, document: Document, position: int, place: PlaceTracker
    ) -> None:
        super().__init__(state, session)
        self.document = document
        self.version = document.version
        self.position = position
        self.place = place

    @property
    def continued(self) -> int | None:
        """The request whose text this one goes on with, since the person typed what that had suggested; or None."""
        return None if self._state.continued is None else self._state.continued.request

    @property
    def replaces(self) -> int:
        """How many characters behind ``position`` the text takes the place of: see `CompletionResult`."""
        return 0 if self._state.continued is None else self._state.continued.replaces

    def _result(self) -> CompletionResult:
        return CompletionResult(
            **self._common(),
            document=self.document,
            version=self.version,
            position=self.position,
            continued=self.continued,
            replaces=self.replaces,
            place=self.place,
        )


class Reply(TextStream[ChatResult]):
    """A running reply in a conversation."""

    def __init__(self, state: TextState, session: SessionState, conversation: str) -> None:
        super().__init__(state, session)
        self.conversation = conversation

    def _result(self) -> ChatResult:
        return ChatResult(**self._common(), conversation=self.conversation)


class EditStream(RequestStream[EditOperation | Void, EditResult, EditState]):
    """A running edit: iterates over its operations, in order.

    Among them is a `Void` only if operations that iteration had brought already don't stand: `steer` gave them up, or
    the edit ended with ``conflict``.

    Attributes:
        document: what it was asked for, and ``version`` at that time.
        start, end: the range then; ``range`` follows it through later changes.
    """

    def __init__(self, state: EditState, session: SessionState, document: Document, span: tuple[int, int]) -> None:
        super().__init__(state, session)
        self.document = document
        self.version = document.version
        self.start, self.end = span
        self.range = state.tracker
        self._steering = asyncio.Lock()

    @property
    def text(self) -> str:
        """The range so far: the operations that came applied, the rest as it was."""
        return self._state.walk.text

    @property
    def operations(self) -> tuple[EditOperation, ...]:
        """The operations so far."""
        return tuple(self._state.walk.operations)

    @property
    def ready(self) -> int:
        """How many operations could be in the document now: all that came, stand, and are not being given up."""
        return min(self._state.keep, self._state.tracker.standing)

    async def steer(self, instruction: str, operations: int | None = None) -> None:
        """Give the edit a further instruction while it runs; returns when it goes on under it.

        What was accepted stays: by default all that the server has sent until it hears of this, so that nothing is
        given up. With ``operations``, the first so many of those that came; the others are void. Iteration then
        leaves out those it has not brought yet, brings a `Void` for the others, and goes on with what follows
        instead. A second steer waits for the first.

        Raises:
            InvalidArgument: the instruction is empty or too long, there are not that many operations, or more are in
                the document already.
            WrongType: ``instruction`` is no string, or ``operations`` no whole number.
            RequestError: the edit has ended (``unknown_request``), or has no room for more instructions; it then goes
                on as it was.
            ConnectionLost: there is nobody to tell.

        """
        state = self._state
        check_instruction(instruction)
        operations = None if operations is None else whole_number("operations", operations)
        async with self._steering:
            if operations is not None and not state.tracker.applied <= operations <= state.tracker.known:
                raise InvalidArgument(
                    f"{operations} operations can't stay: {state.tracker.known} came, "
                    f"and {state.tracker.applied} of them are in the document"
                )
            probe = self._session.steer(state, replace_lone_surrogates(instruction), operations)
            await probe.ended.wait()
            if probe.error is not None:
                raise probe.error.with_traceback(None)

    def _take(self) -> EditOperation | Void | None:
        state = self._state
        if state.void:
            void, state.void = state.void, 0
            return Void(void)
        operations = state.walk.operations
        if state.taken >= min(state.keep, len(operations)):
            return None
        state.taken += 1
        return operations[state.taken - 1]

    def _result(self) -> EditResult:
        return EditResult(
            **self._common(),
            document=self.document,
            version=self.version,
            start=self.start,
            end=self.end,
            operations=self.operations,
            range=self.range,
        )
