"""The listener keeps RFC 6455 as Autobahn's cases ask: its own options and socket, with an echo behind them."""

from __future__ import annotations

from typing import Any

import pytest
from warmline.realtime import server as server_module
from warmline.realtime.sockets.framing import frame
from warmline.realtime.sockets.gateway_socket import GatewaySocket
from websockets.asyncio.server import serve as websockets_serve

kosoku = pytest.importorskip("kosoku", reason="kosoku has no wheel for this machine")

CASES = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"]
"""Framing, pings, reserved bits, opcodes, fragments, UTF-8, closing, messages in pieces. The others are about speed,
and about compression, of which the listener has none."""
ALLOWED = {"7.1.5"}
"""A close in the midst of a fragmented message: the library answers it, with 1000, and drops the message."""


@pytest.fixture
async def echo_url(serve, monkeypatch, request):
    """The address of a service's listener whose messages come back, read in the way that ``request.param`` says."""
    direct = request.param == "in the socket's callback"

    async def echo(ws: GatewaySocket) -> None:
        def at_once(payload: bytes) -> bool:
            ws.write(frame(payload, text=False))
            return True

        ws.on_message = at_once if direct else None
        async for message in ws:
            ws.took_from_queue()
            await ws.send(message)

    async def listen(_: object, host: str, port: int, **options: Any) -> object:
        # The cases' client offers no subprotocol, without which the gateway lets nobody in.
        return await websockets_serve(echo, host, port, **{**options, "subprotocols": None, "process_request": None})

    monkeypatch.setattr(server_module, "serve", listen)
    return (await serve()).url


@pytest.mark.parametrize("echo_url", ["in the socket's callback", "through the library's queue"], indirect=True)
async def test_every_case_of_the_protocol_is_passed(echo_url):
    """Strictly or not: a case is failed only where it says so."""
    results = await _run(echo_url)
    failed = {result.case_id for result in results if not _passed(result)}
    assert failed == ALLOWED
    assert len(results) > 240


async def _run(url: str) -> list[Any]:
    try:
        return list(await kosoku.run_fuzzingclient(url, cases=CASES, concurrency=4))
    except kosoku.FailureError as error:
        return list(error.results)


def _passed(result: Any) -> bool:
    return result.behavior.value in ("OK", "NON-STRICT", "INFORMATIONAL")
