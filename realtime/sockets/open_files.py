"""How many files, and so sockets, a process may have open."""

from __future__ import annotations

import sys

SPARE = 256
"""For what is no client's socket: the engine's, model files, libraries."""


def allow_sockets(wanted: int) -> int:
    """Let the process have so many sockets open, as far as the system's hard limit goes; returns how many it may.

    Shells mostly allow 1,024 files, which a gateway would run into long before its own bound.
    """
    if sys.platform == "win32":  # sockets are no files there
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    needed = wanted + SPARE
    if soft == unlimited or soft >= needed:
        return wanted
    raised = needed if hard == unlimited else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (ValueError, OSError):  # macOS has a further limit, which it doesn't tell
        raised = soft
    return max(raised - SPARE, 1)
