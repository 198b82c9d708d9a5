"""Hops: every microsecond belongs to one of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.client.timing import HopTiming, measure_hops
from warmline.realtime.protocol import Timing

durations = st.integers(0, 1_000_000)
SERVER = ["server_parse", "session_prompt", "ipc_in", "engine_queue", "engine_prefill", "engine_first_token"]
SERVER += ["engine_step", "ipc_out", "server_encode", "server_write"]


def play(hops: dict[str, int], offset: int, believed: float) -> HopTiming:
    """A request whose hops take these times, on a server whose clock is ``offset`` ahead."""
    sent = 5_000 + hops["client_queue"]
    inside = sum(hops[name] for name in SERVER)
    received = sent + hops["net_up"]
    arrived = received + inside + hops["net_down"]
    timing = Timing(
        received=received + offset, sent=received + inside + offset, **{name: hops[name] for name in SERVER}
    )
    return measure_hops(timing, believed, 5_000, sent, arrived, arrived + hops["client_decode"])


ALL = ["client_queue", "net_up", *SERVER, "net_down", "client_decode"]


@given(
    st.lists(durations, min_size=len(ALL), max_size=len(ALL)), st.integers(0, 10**12), st.integers(-(10**7), 10**7)
)
def test_the_hops_sum_to_the_end_to_end_time_whatever_the_clock_error(
    values: list[int], offset: int, error: int
) -> None:
    """A wrong idea of the other clock moves time between net.up and net.down, never out of the sum."""
    hops = dict(zip(ALL, values, strict=True))
    timing = play(hops, offset, offset + error)
    assert timing.end_to_end == sum(values)
    assert timing.net_up >= 0 and timing.net_down >= 0
    assert all(getattr(timing, name) == hops[name] for name in [*SERVER, "client_queue", "client_decode"])


def test_a_delay_in_one_hop_shows_there_and_nowhere_else() -> None:
    """Each hop in turn is made 7,000 us longer; only that hop grows."""
    usual = {name: 100 * (index + 1) for index, name in enumerate(ALL)}
    for slow in ALL:
        before, after = play(usual, 10**9, 10**9), play({**usual, slow: usual[slow] + 7_000}, 10**9, 10**9)
        grown = {name: after.hops[name] - before.hops[name] for name in after.hops}
        assert grown == {name: 7_000 * (name == slow.replace("_", ".", 1)) for name in grown}


def test_the_hops_are_named_in_the_order_they_happen() -> None:
    """The names are those of the documentation, in order."""
    timing = HopTiming(*range(14))
    assert list(timing.hops) == [
        "client.queue",
        "net.up",
        "server.parse",
        "session.prompt",
        "ipc.in",
        "engine.queue",
        "engine.prefill",
        "engine.first_token",
        "engine.step",
        "ipc.out",
        "server.encode",
        "server.write",
        "net.down",
        "client.decode",
    ]
    assert list(timing.hops.values()) == list(range(14))
