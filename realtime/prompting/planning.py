"""Where prompts are tokenised: the short ones where they are asked for, the long ones beside the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from .prompts import Layout, PromptPlan

LONG_PLAN_CHARS: Final = 4000
"""Characters that take 1 to 5 ms to tokenise. More are not tokenised on the event loop."""
_THREADS: Final = 2

Planned = Callable[[Callable[[], PromptPlan]], None]
"""Takes what returns a plan or raises why there is none."""


def planning_threads() -> Executor:
    """The threads that the sessions of a server share."""
    return ThreadPoolExecutor(_THREADS, "warmline-prompts")


@dataclass(frozen=True, slots=True)
class _Waiting:
    layout: Layout
    wanted: Callable[[], bool]
    then: Planned


class PlanQueue:
    """Makes one session's long plans, one at a time in the shared threads, so that sessions take turns."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._waiting: deque[_Waiting] = deque()
        self._worker: asyncio.Task[None] | None = None

    def add(self, layout: Layout, wanted: Callable[[], bool], then: Planned) -> None:
        """Make a plan in its turn, unless it isn't ``wanted`` any more.

        ``then`` is called on the event loop.
        """
        self._waiting = deque(waiting for waiting in self._waiting if waiting.wanted())
        self._waiting.append(_Waiting(layout, wanted, then))
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                waiting = self._waiting.popleft()
                if waiting.wanted():
                    planned = loop.run_in_executor(self._threads, waiting.layout.plan)
                    await asyncio.wait((planned,))
                    if waiting.wanted():
                        waiting.then(planned.result)
                    elif not planned.cancelled():
                        planned.exception()  # nobody is told
        finally:
            self._worker = None
