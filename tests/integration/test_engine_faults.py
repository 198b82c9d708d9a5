"""An engine that is killed, or stopped, while sessions are at work or wait for a socket: the gateway lives on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from warmline.client import EngineUnavailable, Reconnect, Session, connect
from warmline.engine import EngineOptions, LocalEngine, load_tokenizer
from warmline.realtime.server import GatewayServer, ServerConfig

from tools.fault_proxy import FaultProxy

SILENCE = 2.0
SOON = Reconnect(first=0.01, longest=0.05)
LONG = "value = other + 1\n" * 1800
KILL, STOP = signal.SIGKILL, signal.SIGSTOP


@pytest.fixture
async def engine(tiny_model: Path) -> AsyncIterator[LocalEngine]:
    """A real engine process, whose silence is noticed soon."""
    engine = LocalEngine(EngineOptions(model=str(tiny_model), threads=1), silence_limit=SILENCE)
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture
async def proxy(engine: LocalEngine, tiny_model: Path) -> AsyncIterator[FaultProxy]:
    """A network before a gateway over that engine."""
    server = GatewayServer(engine, load_tokenizer(tiny_model), ServerConfig(port=0))
    async with server:
        proxy = FaultProxy(server.port)
        async with proxy:
            yield proxy


async def begin(session: Session, state: str, number: int) -> Any:
    """A request that is computing its prompt, or whose text is coming."""
    document = await session.open(f"file:///{number}", LONG if state == "prefill" else "x = 1\n")
    options: Any = {"max_tokens": 4000, "temperature": 1.0, "seed": number}
    if state == "prefill":
        return session.chat(f"talk {number}", "What is this?", documents=[document], **options)
    stream = session.complete(document, 6, **options)
    await anext(stream)
    return stream


@pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as Linux has them")
@pytest.mark.parametrize("state", ["prefill", "decode"])
@pytest.mark.parametrize("fault", [KILL, STOP], ids=["killed", "stopped"])
async def test_requests_end_with_an_error_and_sessions_go_on(
    proxy: FaultProxy, engine: LocalEngine, state: str, fault: signal.Signals
) -> None:
    """Each request has one end, retryable, also where its session had no socket just then; then all is as before."""
    async with (
        asyncio.timeout(120),
        connect(proxy.url, reconnect=SOON) as parked,
        connect(proxy.url.replace(str(proxy.port), str(proxy._target)), reconnect=SOON) as live,
    ):
        streams = [await begin(parked, state, 1), await begin(live, state, 2), await begin(live, state, 3)]
        await live.ping()
        await parked.ping()
        proxy.refuses = True
        proxy.reset()
        pid = engine.pid
        assert pid is not None
        os.kill(pid, fault)
        for stream in streams[1:]:
            with pytest.raises(EngineUnavailable) as failed:
                await stream.result()
            assert failed.value.retryable
            assert state == "decode" or stream.text == ""
        proxy.refuses = False
        with pytest.raises(EngineUnavailable):
            await streams[0].result()
        while engine.pid in (None, pid):
            await asyncio.sleep(0.05)
        for session in (parked, live):
            assert session.connected
            document = await session.open("file:///again", "def f():\n")
            result = await session.complete(document, 9, max_tokens=4).result()
            assert result.receipt.output_tokens > 0
        await wait_for_rest(engine)
        assert engine.stats.blocks_used == 0


async def wait_for_rest(engine: LocalEngine) -> None:
    """Until nothing is computed any more, as the engine tells twice a second."""
    while engine.stats.running or engine.stats.waiting or engine.stats.warming or engine.stats.blocks_used:
        await asyncio.sleep(0.05)


async def test_a_place_that_is_expected_is_warm_again_after_a_crash(proxy: FaultProxy, engine: LocalEngine) -> None:
    """The request that comes then finds its prompt computed."""
    async with asyncio.timeout(120), connect(proxy.url, reconnect=SOON) as session:
        text = "def mean(values):\n    return sum(values) / len(values)\n\n\n" * 12
        document = await session.open("file:///a", text, "python")
        await document.change(len(text), len(text), "print(")
        while not engine.stats.warm_computed_tokens:
            await asyncio.sleep(0.05)
        pid, told = engine.pid, engine.stats
        assert pid is not None
        os.kill(pid, KILL)
        while engine.stats is told or not engine.stats.warm_computed_tokens:
            told = engine.stats if engine.pid == pid else told
            await asyncio.sleep(0.05)
        result = await session.complete(document, len(document.text), max_tokens=2).result()
        assert result.receipt.warmed_tokens > 0.8 * result.receipt.prompt_tokens
