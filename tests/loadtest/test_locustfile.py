"""The load test against the real service."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

LOCUSTFILE = Path(__file__).parents[2] / "loadtest" / "locustfile.py"


@pytest.fixture(scope="module")
def service(default_model: Path) -> Iterator[str]:
    """The URL of a service started as a person would."""
    command = [sys.executable, "-m", "warmline.realtime.main", "serve", "--port", "0", "--api-key", "secret"]
    with subprocess.Popen([*command, "--model", str(default_model)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if line.startswith("ready at "):
                    break
            else:
                pytest.fail(f"the service did not start: {said}")
            yield line.split()[2]
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=30)[1]
    assert process.returncode == 0, rest
    assert "Traceback" not in rest


def locust(*options: str) -> subprocess.CompletedProcess[str]:
    """Run locust for some seconds, without its web page."""
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "--only-summary", "--json"]
    command += ["--stop-timeout", "60"]  # what runs at the end is waited for, however slow the machine
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=120)


def test_a_few_editors_have_no_failures(service: str) -> None:
    """Connecting, first output, end and hops of all kinds of requests are measured, in microseconds, as is said."""
    result = locust("-u", "4", "-r", "4", "-t", "8s", "--host", service, "--api-key", "secret")
    assert result.returncode == 0, result.stderr
    stats = {(entry["method"], entry["name"]): entry for entry in json.loads(result.stdout)}
    assert {("CONNECT", "session [us]"), ("TTFT", "complete [us]"), ("E2E", "complete [us]")} <= stats.keys()
    assert {("SUPERSEDE", "type [us]"), ("E2E", "type [us]")} <= stats.keys()
    assert {("HOP", f"complete {hop} [us]") for hop in ("net.up", "server", "engine", "net.down")} <= stats.keys()
    assert all(entry["num_failures"] == 0 for entry in stats.values()), stats
    assert stats["CONNECT", "session [us]"]["num_requests"] == 4
    assert stats["TTFT", "complete [us]"]["min_response_time"] > 100
    assert result.stderr.count("times are in microseconds") == 2


def test_a_wrong_key_is_counted_as_a_failure(service: str) -> None:
    """The load test fails, and says why."""
    result = locust("-u", "1", "-t", "2s", "--host", service, "--api-key", "wrong")
    assert result.returncode == 1
    assert [entry["method"] for entry in json.loads(result.stdout)] == ["CONNECT"]
    assert "401" in result.stderr
