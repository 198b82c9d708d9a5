"""A short soak: what `make soak` does for ten minutes."""

from __future__ import annotations

from tools.soak import Plan, report, soak


async def test_many_sessions_and_a_network_that_breaks_lose_nothing(server):
    """No character lost, doubled or another's, all sessions alive, and nothing left of them."""
    outcome = await soak(server.url, Plan(idle=100, active=4, seconds=10, flaky=0.5))
    assert not outcome.faults, report(outcome)
    assert outcome.answers >= 4 and outcome.breaks
    assert outcome.per_idle < 64 * 1024
