"""`warmline bench transport` compares everybody in one run, and says where a delay went."""

from __future__ import annotations

import json
import socket
import time

import pytest
from rich.console import Console
from warmline.realtime.benchmarks.judging import TOO_SHORT
from warmline.realtime.benchmarks.transport import MissingPackages, ServerFailed, peers, run_transport_benchmark
from warmline.realtime.benchmarks.transport import runner as runner_module
from warmline.realtime.benchmarks.transport.children import Child
from warmline.realtime.benchmarks.transport.delays import hold_up
from warmline.realtime.benchmarks.transport.hops import DELAYED, delays_of_all
from warmline.realtime.benchmarks.transport.measure import Figures, one_way
from warmline.realtime.benchmarks.transport.peers.warmline_peer import WarmlinePeer
from warmline.realtime.benchmarks.transport.proxy import Proxy
from warmline.realtime.benchmarks.transport.ratios import DEFAULT, FLOOR, TARGETS, ratios, verdict
from warmline.realtime.benchmarks.transport.report import print_report
from warmline.realtime.benchmarks.transport.terms import Reply
from warmline.realtime.cli import app as cli

PEERS = {
    "warmline, websockets",
    "warmline, picows",
    "FastAPI, httpx",
    "FastAPI, aiohttp",
    "FastAPI, openai",
    "Starlette + msgspec, aiohttp",
    "tuned SSE, aiohttp",
    "warmline HTTP, aiohttp",
    "bare TCP (the floor)",
}


def test_everything_is_measured_and_printed(default_model, tmp_path, capsys, monkeypatch):
    """All peers on one core and two, bytes, ratios, and each hop's own delay; tables and the file say the same."""
    monkeypatch.setattr(runner_module, "table_console", lambda _: Console(width=200))
    file = tmp_path / "transport.json"
    run_transport_benchmark(str(default_model), file, quick=True)
    report = json.loads(file.read_text())
    assert set(report["placements"]) in ({"one core", "two cores"}, {"one core"})
    for by_peer in report["placements"].values():
        assert set(by_peer) == PEERS
        for figures in by_peer.values():
            assert set(figures) == {"round_trip", "ttft", "one_way", "server_cpu", "client_cpu"}
            for spread in figures.values():
                assert 0 < spread["low"] <= spread["median"] <= spread["high"]
            assert figures["ttft"]["median"] <= figures["round_trip"]["median"]
    sizes, text = report["bytes_a_token"], report["text_bytes_a_token"]
    assert set(sizes) == PEERS
    for ours in ("warmline, websockets", "warmline, picows"):
        assert text < sizes[ours] <= text + 7
    assert all(size > text + 7 for peer, size in sizes.items() if peer.endswith(("aiohttp", "httpx", "openai")))
    assert set(report["ratios"]) == set(TARGETS)
    assert set(report["picows_client_ratios"]) == set(TARGETS)
    kinds = ("ratios", "overhead_ratios", "picows_client_ratios", "picows_client_overhead_ratios")
    assert report["verdicts"] == {kind: dict.fromkeys(TARGETS, TOO_SHORT) for kind in kinds}
    assert [change["delay"] for change in report["hops"]["changes"]] == list(DELAYED)
    assert report["machine"]["openai"]
    printed = capsys.readouterr().out
    for shown in (*PEERS, *TARGETS, "two cores" if "two cores" in report["placements"] else "one core", *DELAYED):
        assert shown in printed
    assert "too short to judge" in printed
    assert not any(word in printed for word in ("met", "missed", "within 5%"))


@pytest.mark.parametrize(("rounds", "verdicts"), [(1, []), (7, ["met", "missed", "within 5%", "not within 5%"])])
def test_a_short_run_is_held_against_no_target(capsys, rounds, verdicts):
    """One disturbance would decide it."""
    changes = [
        {"delay": "ipc.in", "own": own, "others": others, "most": most}
        for own, others, most in ((1000.0, 0.0, 0.0), (700.0, 0.0, 0.0), (1000.0, 0.0, -80.0), (1000.0, 80.0, 20.0))
    ]
    figures = Figures(9.0, 9.0, 9.0, 1.0, 1.0)
    by_peer = {peer: [figures] * rounds for peer in PEERS} | {FLOOR: [Figures(8.0, 8.0, 8.0, 1.0, 1.0)] * rounds}
    by_peer[DEFAULT] = [Figures(8.1, 1.0, 4.0, 1.0, 1.0)] * rounds
    report = {
        "machine": {"processor": "p", "cores": 2, "system": "s", "python": "3", "openai": "9"},
        "plan": {"rounds": rounds, "requests": 3, "tokens": 30},
        "placements": {},
        "bytes_a_token": {},
        "text_bytes_a_token": 3.0,
        "hops": {"delay": 1000.0, "changes": changes},
        **ratios(by_peer),
    }
    print_report(report, Console(width=200))
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.split("│")] for line in lines]
    assert {cell for line in cells for cell in line} & {"met", "missed", "within 5%", "not within 5%"} == set(
        verdicts
    )
    assert any(TOO_SHORT in line for line in cells) == (not verdicts)
    if verdicts:
        assert [line[-2] for line in cells if "ipc.in" in line] == ["within 5%"] + 3 * ["not within 5%"]
        row = next(line for line in cells if "roundtrip_vs_httpx" in line)
        assert (row[5], row[7]) == ("missed", "met"), "the ratio less the floor has a verdict of its own"


def test_what_is_not_above_the_floor_has_no_verdict():
    """As it may be on a busy machine: there is no ratio of overheads then."""
    assert verdict(0.2, 0.2, 7) == "met"
    assert verdict(0.21, 0.2, 7) == "missed"
    assert verdict(None, 0.2, 7) == "not above the floor"
    assert verdict(None, 0.2, 1) == TOO_SHORT


async def test_a_delay_of_a_hop_shows_in_that_hop_alone(default_model, tmp_path):
    """Each of all the hops that a request's timing has; it is far longer than anything else takes."""
    delay = 150_000
    with (
        Child("warmline", tmp_path / "readings", str(default_model)) as child,
        Proxy(child.ports["warmline"]) as proxy,
    ):
        peer = WarmlinePeer("websockets")
        await peer.open(proxy.port)
        try:
            delays = delays_of_all(child, proxy, peer)
            covered = [hop for held_up in DELAYED for hop in held_up.split(" + ")]
            assert sorted(covered) == sorted(await peer.hops())
            for held_up in DELAYED:
                delays[held_up](delay * 1000)
                hops = await peer.hops()
                delays[held_up](0)
                own = [hops.pop(hop) for hop in held_up.split(" + ")]
                assert sum(own) >= delay - 1, held_up
                assert max(hops.values()) < delay, held_up
            assert max((await peer.hops()).values()) < delay
        finally:
            await peer.close()


def test_what_is_missing_is_named(monkeypatch, default_model):
    """Before anything is started."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name in ("httpx", "openai") else name)
    with pytest.raises(MissingPackages, match=r"httpx, openai not installed; .*pip install -e '\.\[bench\]'"):
        run_transport_benchmark(str(default_model))


def test_a_server_that_does_not_start_is_named(tmp_path, capfd):
    """Nothing is left waiting, and its own messages are shown."""
    with (
        Child("bare", tmp_path / "readings", str(tmp_path / "no.gguf")) as child,
        pytest.raises(ServerFailed, match="the server bare ended"),
    ):
        _ = child.ports
    assert "no.gguf" in capfd.readouterr().err


def test_the_command_says_where_it_cannot_write(capsys, tmp_path):
    """Before it measures for a minute."""
    assert cli.run(["bench", "transport", "--json", str(tmp_path / "none" / "x.json")]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_a_token_has_arrived_when_all_its_text_has():
    """Pieces may hold several tokens, or end within one."""
    reply = Reply(0, [(10, 3), (20, 4), (35, 9)])
    assert one_way(reply, ["ab", "cd", "efghi"], [1, 2, 3]) == [9, 18, 32]
    with pytest.raises(ServerFailed):
        one_way(reply, ["ab", "cd"], [1, 2])
    with pytest.raises(ServerFailed):
        one_way(Reply(0), ["ab"], [1])


def test_ratios_are_taken_round_by_round():
    """The median of the rounds' ratios, not the ratio of medians; the floor is taken off both for the overhead."""
    theirs = [Figures(100.0, 100.0, 100.0, 1.0, 1.0), Figures(1000.0, 1000.0, 1000.0, 1.0, 1.0)]
    rounds = dict.fromkeys(PEERS, theirs)
    rounds[DEFAULT] = [Figures(50.0, 50.0, 50.0, 1.0, 1.0), Figures(100.0, 100.0, 100.0, 1.0, 1.0)]
    rounds[FLOOR] = [Figures(25.0, 25.0, 25.0, 1.0, 1.0)] * 2
    found = ratios(rounds)
    assert found["ratios"] == pytest.approx(dict.fromkeys(TARGETS, (0.5 + 0.1) / 2))
    assert found["ratio_spread"]["roundtrip_vs_httpx"] == (0.1, 0.5)
    assert found["overhead_ratios"]["ttft_vs_tuned"] == pytest.approx((75 - 25) / (550 - 25))
    rounds[FLOOR] = theirs
    assert ratios(rounds)["overhead_ratios"]["ttft_vs_tuned"] is None


def test_a_proxy_delays_both_ways_and_counts():
    """What is read together stays together; nothing waits for what came before it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Proxy(listener.getsockname()[1]) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port)) as client,
        listener.accept()[0] as server,
    ):
        proxy.delay_ns = 20_000_000
        began = time.monotonic()
        client.sendall(b"ping")
        assert server.recv(100) == b"ping"
        for piece in (b"a", b"b", b"c"):
            server.sendall(piece)
            time.sleep(0.001)
        received = b""
        while len(received) < 3:
            received += client.recv(100)
        assert received == b"abc"
        assert time.monotonic() - began >= 0.04
        assert proxy.down == 3
        client.shutdown(socket.SHUT_WR)
        assert server.recv(100) == b""


def test_a_hold_up_is_no_shorter_than_it_should_be():
    """And nothing below zero."""
    began = time.monotonic_ns()
    hold_up(-5)
    hold_up(1_000_000)
    assert time.monotonic_ns() - began >= 1_000_000
