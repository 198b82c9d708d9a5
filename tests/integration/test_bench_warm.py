"""`warmline bench warm` against a service that runs, and with one of its own; a tiny model computes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = (sys.executable, "-m", "warmline.realtime.main", "bench", "warm", "--quick")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("own", [False, True], ids=["URL", "own service"])
def test_it_measures_cold_and_warm_requests_and_typing(own: bool, request: Any, tmp_path: Path) -> None:
    """Every condition is in the file, and the receipts say what was warm."""
    if own:
        arguments = ["--model", str(request.getfixturevalue("tiny_model")), "--threads", "1"]
    else:
        arguments = ["--url", request.getfixturevalue("scripted_server").url]
    ended = run(*arguments, "--json", str(tmp_path / "figures.json"))
    assert ended.returncode == 0, ended.stderr
    assert "cold/warm" in ended.stdout and "left out" not in ended.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["machine"]["torch"] and figures["service"]["model"] and figures["left_out"] == []
    assert not own or figures["service"]["runs"].startswith("tiny.gguf, cpu backend, 1 threads")
    requests = {(row["kind"], row["state"], row["others"]): row for row in figures["requests"]}
    assert set(requests) == {
        (kind, state, others)
        for kind in ("complete", "edit")
        for state, others in (("cold", False), ("warm", False), ("warm", True))
    }
    for (_, state, others), row in requests.items():
        assert row["requests"] == row["with_text"] == 2
        assert row["ttft_quartiles"][0] <= row["ttft"] <= row["ttft_quartiles"][1]
        if state == "cold":
            assert row["warmed_share"] == 0
        elif not others:
            assert row["tail_tokens_max"] <= 48
            assert row["warmed_share"] > 0
            assert row["warming"] is not None
    assert set(figures["ratios"]) == {
        f"{kind}_200{suffix}" for kind in ("complete", "edit") for suffix in ("", "_beside_others")
    }
    cancels = {row["moment"]: row for row in figures["cancels"]}
    assert set(cancels) == {"prefill", "decode"}
    for row in cancels.values():
        assert row["requests"] == 2 and row["cancelled"] <= 2
        assert not row["cancelled"] or 0 < row["to_end"] <= row["to_end_max"]
    typed = {(row["where"], row["every"], row["others"]): row for row in figures["typing"]}
    assert set(typed) == {
        (where, every, others) for where in ("middle", "end") for every in (1, 3) for others in (False, True)
    }
    for (_, every, _), row in typed.items():
        assert row["requests"] == 6 // every
        assert row["ready_share"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("/nowhere.jsonl",), 1, "/nowhere.jsonl has no edits to read"),
        (("--url", "ws://127.0.0.1:9", "--threads", "1"), 2, "leave out --url"),
        (("--url", "ws://127.0.0.1:9"), 1, "nothing listens there"),
        (("--model", "/nowhere.gguf"), 1, "the service did not start"),
    ],
)
def test_what_it_can_not_do_is_one_line(arguments: tuple[str, ...], code: int, message: str) -> None:
    """With the exit code of its kind."""
    ended = run(*arguments)
    assert ended.returncode == code
    assert message in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
