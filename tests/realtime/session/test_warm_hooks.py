"""A session tells its warmer what happens, and answers a hint only where it is wrong."""

from __future__ import annotations

import pytest
from warmline.realtime.protocol import Change, Error, ErrorCode, TextEdit, Warm

URI = "file:///a"


async def test_a_hint_is_not_answered(client):
    """For a completion or an edit; it is computed ahead."""
    assert client.say(Warm(URI, 1, 22), Warm(URI, 1, 0, 22)) == []
    await client.until(lambda: bool(client.engine.warmed))


async def test_typing_warms(client):
    """Where the next completion will come, but not for what our own operations change."""
    client.say(Change(URI, 1, 2, [TextEdit(22, 22, "def another_one(values):\n    return ")]))
    await client.until(lambda: bool(client.engine.warmed))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Warm("file:///b", 1, 0), ErrorCode.UNKNOWN_DOCUMENT),
        (Warm(URI, 2, 0), ErrorCode.STALE_VERSION),
        (Warm(URI, 1, 99), ErrorCode.INVALID_RANGE),
        (Warm(URI, 1, 9, 4), ErrorCode.INVALID_RANGE),
    ],
)
async def test_a_wrong_hint_is_answered(client, message, code):
    """Without a request, as it has none."""
    (error,) = client.say(message)
    assert isinstance(error, Error)
    assert (error.request, error.code) == (None, code)


async def test_a_session_that_ends_leaves_nothing_to_warm(client):
    """Neither does one that drains."""
    client.say(Warm(URI, 1, 22))
    client.session.drain(0)
    client.session.close()
    await client.drained()
    assert client.engine.warmed == []


async def test_typing_warms_again_after_the_engine_came_back(client):
    """What was warm is gone with its cache, also for a key that completes no block."""
    text = "value = 1\n" * 30
    client.open(text, version=2)
    client.say(Change(URI, 2, 3, [TextEdit(len(text), len(text), "y")]))
    await client.until(lambda: len(client.engine.warmed) == 1 and not client.engine.running)
    client.engine.fail("it died")
    client.engine.come_back()
    client.say(Change(URI, 3, 4, [TextEdit(len(text) + 1, len(text) + 1, "z")]))
    await client.until(lambda: len(client.engine.warmed) == 2)
