"""Reading /metrics of a service."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from warmline.realtime.telemetry.scrape import MetricsPage, Unreadable


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        allowed = self.headers.get("Authorization") == "Bearer secret" and self.path == "/metrics"
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(b"sessions 1\n" if allowed else b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """That of a service which wants the key ``secret``."""
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_it_is_read_beside_the_websocket(port: int) -> None:
    """At the same host and port, with the key."""
    assert MetricsPage(f"ws://127.0.0.1:{port}/any", "secret").read() == b"sessions 1\n"


def test_a_key_that_is_missing_is_asked_for(port: int) -> None:
    """The answer says so."""
    with pytest.raises(Unreadable, match="answers 401 Unauthorized: give its API key with --api-key"):
        MetricsPage(f"ws://127.0.0.1:{port}", None).read()


def test_a_service_that_is_not_there_is_said_so() -> None:
    """With where it was looked for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Unreadable, match=r"/metrics can't be read: .*; is the service running there\?"):
            MetricsPage(url, None).read()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ws://h:1", "http://h:1/metrics"),
        ("wss://h/x", "https://h/metrics"),
        ("https://h", "https://h/metrics"),
        ("http://h:2/", "http://h:2/metrics"),
    ],
)
def test_a_secure_service_has_secure_metrics(url: str, expected: str) -> None:
    """And any of the four ways to write its address will do."""
    assert MetricsPage(url, None).url == expected
