"""Where the service's log goes: stderr, one line an event, for people (coloured on a terminal) or as JSON."""

from __future__ import annotations

import logging
import sys
from typing import Final

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

_OURS: Final = "warmline"
"""The logger above all of our own."""


def configure_logging(level: int = logging.INFO, *, as_json: bool = False) -> None:
    """Send our records of this level and above to stderr, and other packages' at least from `logging.INFO` on.

    What other packages say for debugging may be a client's text, which no log has.

    structlog's go through the standard library, too, whose handlers can be told not to raise: a log that can't be
    written ends nobody's request. Tracebacks have no values of variables, which may be a client's text or an API key,
    and take long to show.
    """
    logging.raiseExceptions = False
    described: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%Y-%m-%d %H:%M:%S", utc=as_json),
        _printable,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=described,
            processors=[
                ProcessorFormatter.remove_processors_meta,
                *(_json() if as_json else _console()),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.INFO))
    logging.getLogger(_OURS).setLevel(level)
    structlog.configure(
        processors=[*described, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _json() -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _console() -> list[Processor]:
    # The traceback of the Rich library shows locals.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]


def _printable(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Escape what a terminal would obey or a line would end at: a client names itself as it likes."""
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable() and name != "event":
            event[name] = value.encode("unicode_escape").decode()
    return event
