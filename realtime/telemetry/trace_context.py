"""W3C Trace Context: which of a caller's traces a request belongs to (https://www.w3.org/TR/trace-context/)."""

from __future__ import annotations

import re
from typing import Final

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.ASCII)
_FIRST_VERSION: Final = "00"
_NO_VERSION: Final = "ff"


def valid_traceparent(value: str | None) -> str | None:
    """A ``traceparent``, or None for what is none and is to be ignored.

    Of a version after 00, more may follow behind a dash.
    """
    match = None if value is None else _TRACEPARENT.fullmatch(value)
    if match is None:
        return None
    version, trace, parent, more = match.groups()
    if version == _NO_VERSION or (version == _FIRST_VERSION and more is not None):
        return None
    if not trace.strip("0") or not parent.strip("0"):  # all zeros are invalid
        return None
    return value


def trace_names(traceparent: str | None) -> dict[str, str]:
    """What log lines of a request say of its trace: nothing if it has none."""
    return {} if traceparent is None else {"traceparent": traceparent}
