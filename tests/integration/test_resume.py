"""The default model answers over connections that break: what comes is what comes over one that doesn't."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from warmline.client import ConnectionEvent, Document, Reconnect, Session, connect

from tools.fault_proxy import FaultProxy

SOON = Reconnect(first=0.01, longest=0.05)
CODE = (
    "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n\n\n"
)
SAMPLED: Any = {"temperature": 0.8, "seed": 5}


async def requests(session: Session, name: str) -> tuple[Document, list[Any]]:
    """A completion, an edit and a turn of a chat, which run at once."""
    document = await session.open(f"file:///{name}.py", CODE * 3, "python")
    await document.change(0, 0, "# prices\n")
    start = document.text.index("def")
    return document, [
        session.complete(document, len(document.text), max_tokens=60, **SAMPLED),
        session.edit(document, (start, start + len(CODE)), "rename result to amount"),
        session.chat(name, "What does total do?", documents=[document], max_tokens=60, **SAMPLED),
    ]


@pytest.fixture
async def expected(server: Any) -> list[str]:
    """What comes over a connection that holds."""
    async with connect(server.url) as session:
        _, streams = await requests(session, "whole")
        return [(await stream.result()).text for stream in streams]


@pytest.mark.parametrize("fault", ["reset", "half-closed", "black hole"])
async def test_a_fault_in_mid_stream_loses_nothing(server: Any, expected: list[str], fault: str) -> None:
    """The texts are the same, the documents too, and the requests ran once."""
    heard: list[ConnectionEvent] = []
    options: Any = {"ping_interval": 0.5, "open_timeout": 2.0, "on_connection": heard.append}
    proxy = FaultProxy(server.port)
    async with asyncio.timeout(60), proxy, connect(proxy.url, reconnect=SOON, **options) as session:
        proxy.delay = 0.01
        document, streams = await requests(session, "whole")
        await anext(streams[0])
        match fault:
            case "reset":
                for count in (200, 400, 1):
                    proxy.reset_after("down", count)
                    await asyncio.sleep(0.3)
            case "half-closed":
                proxy.half_close("up")
            case "black hole":
                proxy.black_hole()
                while not heard:
                    await asyncio.sleep(0.01)
                proxy.heal()
        results = [await stream.result() for stream in streams]
        assert [result.text for result in results] == expected
        edit = results[1]
        await document.apply(edit)
        await document.change(0, 0, "# again\n")
        assert (await session.complete(document, 0, max_tokens=1).result()).reason in ("stop", "length")
        assert "resumed" in [event.state for event in heard]
        assert "renewed" not in [event.state for event in heard]


def test_the_server_counts_what_was_resumed(server: Any) -> None:
    """And none of those sessions is left."""
    assert server.metric("warmline_sessions_parked") == 0
    assert 'warmline_session_resumes_total{outcome="resumed"}' in server.get("/metrics")
