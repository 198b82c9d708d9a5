"""What the README and the pages of the protocol, the SDK and the HTTP API show is what happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

ROOT = Path(__file__).parent.parent.parent
VARIES = "..."


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def matches(found, expected) -> bool:
    """Whether a message is the one shown, apart from what varies."""
    return len(found) == len(expected) and all(
        shown in (VARIES, item) for item, shown in zip(found, expected, strict=True)
    )


async def test_the_exchange_of_the_protocol_page_happens(scripted_server):
    """Each line that the page shows is what the server says; deltas and operations may come in parts."""
    (exchange,) = [block for block in blocks("docs/protocol.md", "text") if block.startswith(">")]
    async with connect(scripted_server.url, subprotocols=["warmline.v1.json"]) as socket:
        for line in exchange.splitlines():
            message = json.loads(line[2:])
            if line.startswith(">"):
                await socket.send(json.dumps(message))
                continue
            found = json.loads(await socket.recv())
            while found[0] in (3, 4) and found != message:
                more = json.loads(await socket.recv())
                assert more[:2] == found[:2], f"{found} and {more} instead of {message}"
                found = [*found[:2], found[2] + more[2]]
                if isinstance(found[2], list):
                    found[2] = merged(found[2])
            assert matches(found, message), f"{found} instead of {message}"


def merged(operations):
    """Operations with neighbours of one kind joined."""
    joined: list = []
    for operation in operations:
        if (
            joined
            and isinstance(operation, int)
            and isinstance(joined[-1], int)
            and (operation > 0) == (joined[-1] > 0)
        ):
            joined[-1] += operation
        else:
            joined.append(operation)
    return joined


def test_the_sdk_example_of_the_readme_runs(server):
    """Pasted as it stands (on another port), it prints operations and a result."""
    (example,) = blocks("README.md", "python")
    result = subprocess.run(
        [sys.executable, "-c", example.replace("ws://127.0.0.1:8765", server.url)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert "Receipt(" in result.stdout


@pytest.mark.parametrize(
    "example", blocks("docs/sdk.md", "python"), ids=["typing", "edit", "conversation", "connection"]
)
def test_the_examples_of_the_sdk_page_run(server, example):
    """Pasted as they stand (on another port), whatever the model says."""
    assert "ws://127.0.0.1:8765" in example
    result = subprocess.run(
        [sys.executable, "-c", example.replace("ws://127.0.0.1:8765", server.url)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout
    if "Conflict" in example:
        document = result.stdout.partition("# typed meanwhile\n")[2]
        assert document.startswith("LIMIT = 3\n") and "amount = 0" not in document
