"""For locust: ``locust -f loadtest/locustfile.py --headless -u 4 -t 30s --host ws://127.0.0.1:8765``."""

from __future__ import annotations

from argparse import ArgumentParser

import locust.stats
from locust import events
from warmline.loadtest.buckets import bucket_response_time
from warmline.loadtest.users import EditorUser

__all__ = ["EditorUser"]


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this load test."""
    parser.add_argument("--api-key", env_var="WARMLINE_API_KEY", default=None, help="The service's API key")


events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]
locust.stats.bucket_response_time = bucket_response_time
