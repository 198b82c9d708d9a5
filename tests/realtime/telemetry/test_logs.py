"""The service's log goes to stderr, and writing it never fails a request."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from warmline.realtime.telemetry.logs import configure_logging


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Configure logging anew; it is as it was afterwards."""
    root = logging.getLogger()
    level = root.level

    def configure() -> None:
        monkeypatch.setattr(root, "handlers", [])
        monkeypatch.setattr(logging, "raiseExceptions", True)  # so that it is restored
        configure_logging()

    yield configure
    root.setLevel(level)
    structlog.reset_defaults()


def test_both_kinds_of_loggers_write_one_line_an_event(
    configure: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """structlog's with their fields, the standard library's with their message; debug is left out."""
    configure()
    structlog.get_logger("warmline.test").warning("client reads too slowly", session="abc")
    logging.getLogger("websockets").error("opening handshake failed")
    structlog.get_logger("warmline.test").debug("hidden")
    slow, failed = capsys.readouterr().err.splitlines()
    assert "warning" in slow and "client reads too slowly" in slow and "session=abc" in slow
    assert "error" in failed and "opening handshake failed" in failed


def test_a_log_that_cannot_be_written_raises_nothing(
    configure: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed stderr is the log's trouble, not the request's."""
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    configure()
    stderr.close()
    structlog.get_logger("warmline.test").error("nobody reads this")


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("logger", [structlog.get_logger("warmline.test"), logging.getLogger("uvicorn")])
def test_a_fault_is_logged_without_the_values_of_variables(
    configure: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    logger: Any,
) -> None:
    """They may be a client's text, an API key or its salt; where the fault is, is said."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    configure()

    def fail(text: str, credentials: dict[str, str]) -> None:
        raise RuntimeError("it broke")

    try:
        fail("PASSWORD = 'hunter2'", {"key": "sk-hidden", "salt": "pepper"})
    except RuntimeError as error:
        logger.exception("request failed")
        logger.error("request failed", exc_info=error)
    logged = capsys.readouterr().err
    assert logged.count("in fail") == logged.count("RuntimeError: it broke") == 2
    assert not [value for value in ("hunter2", "sk-hidden", "pepper") if value in logged.replace(_own_lines(), "")]


def _own_lines() -> str:
    """The line of this file that a traceback shows, which has the values as they are written above."""
    (line,) = [line for line in Path(__file__).read_text().splitlines() if line.strip().startswith('fail("PASSWORD')]
    return line.strip()
