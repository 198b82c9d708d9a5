"""Where the service's log goes: stderr, one line an event, coloured on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor


def configure_logging(level: int = logging.INFO) -> None:
    """Send structlog's and the standard library's records of this level and above to stderr.

    structlog's go through the standard library, too, whose handlers can be told not to raise: a log that can't be
    written ends nobody's request. Tracebacks have no values of variables, which may be a client's text or an API key,
    and take long to show.
    """
    logging.raiseExceptions = False
    described: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=described,
            processors=[
                ProcessorFormatter.remove_processors_meta,
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(),
                    exception_formatter=structlog.dev.plain_traceback,  # that of the Rich library shows locals
                ),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level)
    structlog.configure(
        processors=[*described, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
