"""For locust: ``locust -f loadtest/locustfile.py --headless -u 4 -t 30s --host ws://127.0.0.1:8765``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

import locust.stats
from locust import events
from warmline.loadtest.buckets import bucket_response_time
from warmline.loadtest.users import EditorUser, TypingUser

__all__ = ["EditorUser", "TypingUser"]


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this load test."""
    parser.add_argument("--api-key", env_var="WARMLINE_API_KEY", default=None, help="The service's API key")


def say_unit(**event: Any) -> None:
    """Say what the numbers of the tables are; on stderr, where the tables are, too."""
    print("times are in microseconds: locust's columns say ms, the rows [us] are right", file=sys.stderr, flush=True)


events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]
events.test_start.add_listener(say_unit)  # type: ignore[no-untyped-call]
events.quit.add_listener(say_unit)  # type: ignore[no-untyped-call]
locust.stats.bucket_response_time = bucket_response_time
