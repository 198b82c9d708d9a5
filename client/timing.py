"""Where the time of one request went, hop by hop."""

from __future__ import annotations

import msgspec
from warmline.realtime import Timing


class HopTiming(msgspec.Struct, frozen=True, gc=False):
    """Consecutive hops of a request in microseconds; they sum to `end_to_end`.

    `net_up` and `net_down` come from the estimated offset between the two clocks; their sum does not depend on it.
    """

    client_queue: int
    net_up: int
    server_parse: int
    session_prompt: int
    ipc_in: int
    engine_queue: int
    engine_prefill: int
    engine_first_token: int
    engine_step: int
    ipc_out: int
    server_encode: int
    server_write: int
    net_down: int
    client_decode: int

    @property
    def hops(self) -> dict[str, int]:
        """The hops in order, by name: ``client.queue``, ``net.up``, ... ``client.decode``."""
        return {name.replace("_", ".", 1): getattr(self, name) for name in self.__struct_fields__}

    @property
    def end_to_end(self) -> int:
        """From the call to the result in hand, in microseconds."""
        return sum(getattr(self, name) for name in self.__struct_fields__)


def measure_hops(server: Timing, offset: float, called: int, sent: int, arrived: int, finished: int) -> HopTiming:
    """Join the server's hops with what the client saw.

    Args:
        server: the timing of the terminal frame.
        offset: the server's clock minus ours, in microseconds.
        called: when the program asked, on our clock in microseconds.
        sent: when the request was encoded and about to be written.
        arrived: when the terminal frame was read from the socket.
        finished: when the result was ready.

    """
    network = (arrived - sent) - (server.sent - server.received)
    up = min(max(round(server.received - offset) - sent, 0), max(network, 0))
    return HopTiming(
        client_queue=sent - called,
        net_up=up,
        net_down=network - up,
        client_decode=finished - arrived,
        server_parse=server.server_parse,
        session_prompt=server.session_prompt,
        ipc_in=server.ipc_in,
        engine_queue=server.engine_queue,
        engine_prefill=server.engine_prefill,
        engine_first_token=server.engine_first_token,
        engine_step=server.engine_step,
        ipc_out=server.ipc_out,
        server_encode=server.server_encode,
        server_write=server.server_write,
    )
