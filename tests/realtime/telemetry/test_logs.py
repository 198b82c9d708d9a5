"""The service's log goes to stderr, and writing it never fails a request."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from warmline.realtime.telemetry.logs import configure_logging


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Configure logging anew; it is as it was afterwards."""
    root = logging.getLogger()
    level = root.level

    def configure(level: int = logging.INFO, as_json: bool = False) -> None:
        monkeypatch.setattr(root, "handlers", [])
        monkeypatch.setattr(logging, "raiseExceptions", True)  # so that it is restored
        configure_logging(level, as_json=as_json)

    yield configure
    root.setLevel(level)
    logging.getLogger("warmline").setLevel(logging.NOTSET)
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


def test_lines_for_machines_are_json(configure: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """Each an object, with the time in UTC, and a traceback without values within it."""
    configure(as_json=True)
    structlog.get_logger("warmline.test").warning("client reads too slowly", session="abc", client="a\nb")
    logging.getLogger("websockets").error("opening handshake failed")
    secret = "sk-hidden"
    try:
        raise ValueError(len(secret))
    except ValueError:
        structlog.get_logger("warmline.test").exception("request failed")
    slow, failed, raised = map(json.loads, capsys.readouterr().err.splitlines())
    assert datetime.fromisoformat(slow.pop("timestamp")).tzinfo is not None
    assert slow == {"event": "client reads too slowly", "level": "warning", "session": "abc", "client": "a\\nb"}
    assert (failed["event"], failed["level"]) == ("opening handshake failed", "error")
    assert "ValueError: 9" in raised["exception"] and secret not in raised["exception"]


LEVELS = ["debug", "info", "warning", "error"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_shows_what_is_at_least_as_grave(
    configure: Callable[..., None], capsys: pytest.CaptureFixture[str], level: str
) -> None:
    """Of our own. Others say nothing for debugging: what they say then may be a client's text."""
    configure(logging.getLevelNamesMapping()[level.upper()])
    for logger in (structlog.get_logger("warmline.test"), logging.getLogger("websockets")):
        for said in LEVELS:
            getattr(logger, said)(f"{said} of {getattr(logger, 'name', 'ours')}")
    lines = capsys.readouterr().err.splitlines()
    at_least = LEVELS[LEVELS.index(level) :]
    foreign = [said for said in at_least if said != "debug"]
    assert [line.partition("] ")[2].split()[0] for line in lines] == [*at_least, *foreign]


def test_what_a_client_calls_itself_can_forge_no_line(
    configure: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor reach the terminal: what isn't printable is escaped."""
    configure()
    for client in ("a\x1b[2J\u2028b", "a\x1b[2J\n[error] b"):
        structlog.get_logger("warmline.test").warning("x", client=client, session="ok")
        (line,) = capsys.readouterr().err.split("\n")[:-1]
        assert line.isprintable() and "session=ok" in line and r"x1b[2J" in line


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
