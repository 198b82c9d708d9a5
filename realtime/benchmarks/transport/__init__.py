"""`warmline bench transport`: the way of a token from the engine's socket to a client, ours and others'.

A process that plays a recording takes the engine's place behind every server, over the same socket with the same
messages. What is left is the wire: a server that turns tokens into frames or chunks, and a client that reads them.

Every side keeps its connection alive, checks an API key, tokenises the same short prompt, and ends its answer with
what it used. All of them run on uvloop where they can choose.
"""

from __future__ import annotations

from pathlib import Path

from .terms import MissingPackages, ServerFailed

__all__ = ["MissingPackages", "ServerFailed", "run_transport_benchmark"]


def run_transport_benchmark(model: str, json_file: Path | None = None, quick: bool = False) -> None:
    """Compare our wire with SSE over HTTP; print tables, and write ``json_file`` if given.

    ``model`` is the file or folder that the tokenizer comes from. With ``quick`` everything is done a few times only.

    Raises:
        MissingPackages: what the other sides are built with is not installed.
        ServerFailed: one of the servers did not start.

    """
    from .runner import main

    main(model, json_file, quick)
