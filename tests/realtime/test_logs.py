"""The service's log goes to stderr, and writing it never fails a request."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog
from warmline.realtime.logs import configure_logging


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """A stderr of the test's own; logging is as it was afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_both_kinds_of_loggers_write_one_line_an_event(stderr: io.StringIO) -> None:
    """structlog's with their fields, the standard library's with their message; debug is left out."""
    configure_logging()
    structlog.get_logger("warmline.test").warning("client reads too slowly", session="abc")
    logging.getLogger("websockets").error("opening handshake failed")
    structlog.get_logger("warmline.test").debug("hidden")
    slow, failed = stderr.getvalue().splitlines()
    assert "warning" in slow and "client reads too slowly" in slow and "session=abc" in slow
    assert "error" in failed and "opening handshake failed" in failed


def test_a_log_that_cannot_be_written_raises_nothing(stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed stderr is the log's trouble, not the request's."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    configure_logging()
    stderr.close()
    structlog.get_logger("warmline.test").error("nobody reads this")
