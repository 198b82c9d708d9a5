"""Which traceparent is one."""

from __future__ import annotations

import pytest
from warmline.realtime.telemetry.trace_context import valid_traceparent

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.mark.parametrize("form", ["00-{}-{}-01", "00-{}-{}-00", "cc-{}-{}-01-more"])
def test_what_is_well_formed_is_taken(form):
    """As it came, also of a later version."""
    value = form.format(TRACE, PARENT)
    assert valid_traceparent(value) == value


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "traceparent",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}-01\n",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-0g",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"cc-{TRACE}-{PARENT}-01more",
    ],
)
def test_what_is_not_is_ignored(value):
    """Without a word, as the recommendation says."""
    assert valid_traceparent(value) is None
