"""`$/progress` of a command: under the editor's token if it gave one, else under one of ours if it shows such."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

if TYPE_CHECKING:
    from .server import WarmlineServer

INTERVAL: Final = 0.1
"""Seconds between two reports, at least."""


class WorkDone:
    """Progress of one command, which the editor may cancel. Where it shows none, nothing is sent."""

    def __init__(
        self, server: WarmlineServer, token: types.ProgressToken | None, title: str, cancel: Callable[[], None]
    ) -> None:
        self._progress = server.work_done_progress
        self._cancel = cancel
        self._loop = asyncio.get_running_loop()
        self._reported = (0, self._loop.time())  # percent, and when
        self._ended: str | None = None
        self._token: types.ProgressToken | None = None
        window = server.client_capabilities.window
        if token is not None:
            self._begin(token, title)
        elif window is not None and window.work_done_progress:
            ours = str(uuid.uuid4())
            self._progress.create(ours).add_done_callback(lambda asked: self._created(asked, ours, title))

    def report(self, percentage: int) -> None:
        """So much is done."""
        percent, at = self._reported
        if self._token is not None and percentage > percent and self._loop.time() - at >= INTERVAL:
            self._reported = percentage, self._loop.time()
            self._progress.report(self._token, types.WorkDoneProgressReport(percentage=percentage))

    def end(self, how: str) -> None:
        """It is over."""
        self._ended = how
        if self._token is not None:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=None if how == "stop" else how))
            self._progress.tokens.pop(self._token, None)
            self._token = None

    def _created(self, asked: Future[Any], token: types.ProgressToken, title: str) -> None:
        if not asked.cancelled() and asked.exception() is None and self._ended is None:
            self._begin(token, title)

    def _begin(self, token: types.ProgressToken, title: str) -> None:
        self._token = token
        begin = types.WorkDoneProgressBegin(title=f"Warmline: {title}"[:80], cancellable=True, percentage=0)
        self._progress.begin(token, begin)
        self._progress.tokens[token].add_done_callback(lambda asked: self._cancel() if asked.cancelled() else None)
