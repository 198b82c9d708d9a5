"""Computed ahead by a real service: the receipt says so, the text is that of a cold run, and no other key sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from warmline.client import Receipt, Result, Session, connect

KEYS = ("typist", "stranger")
TAIL = 32
"""Prompt tokens that may be left to compute: less than a block, the instruction, and what opens the answer."""


@pytest.fixture(scope="module")
def keyed(default_model: Any, serve: Any) -> Iterator[Any]:
    """A server with two API keys, which share no cache. Its model fills in, so that opening a file warms nothing."""
    keys = [argument for key in KEYS for argument in ("--api-key", key)]
    with serve("--threads", "1", *keys) as running:
        yield running


@pytest.fixture(scope="module")
def source(edit_records: Any) -> str:
    """Some code, of 300 tokens or more."""
    return "\n".join(record.context + record.after for record in edit_records[:4])[:1400]


async def settled(server: Any) -> None:
    """Wait until what is to be warmed is warm."""

    def warm(event: str) -> float:
        return server.metric(f'warmline_warm_requests_total{{event="{event}"}}')

    async with asyncio.timeout(60):
        calm = 0
        while calm < 3:
            await asyncio.sleep(0.1)
            calm = calm + 1 if warm("started") == sum(map(warm, ("finished", "cancelled", "dropped"))) else 0


def ready(receipt: Receipt) -> int:
    """Prompt tokens that were there when the request came."""
    assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens
    return receipt.warmed_tokens + receipt.cached_tokens


async def type_into(session: Session, name: str, text: str, at: int, keys: str) -> Any:
    """Open a text and type into it."""
    document = await session.open(name, text, language="python")
    for number, key in enumerate(keys):
        await document.change(at + number, at + number, key)
        await asyncio.sleep(0.01)
    return document


def check(warm: Result, cold: Result) -> None:
    """The warm request found all but the tail computed, the cold one nothing, and both have the same text."""
    assert warm.receipt.prompt_tokens == cold.receipt.prompt_tokens > 200
    assert warm.receipt.warmed_tokens > 0
    assert ready(warm.receipt) >= warm.receipt.prompt_tokens - TAIL
    assert ready(cold.receipt) == 0
    assert (warm.text, warm.reason) == (cold.text, cold.reason)


@pytest.mark.parametrize("place", ["middle", "end"])
async def test_what_is_typed_is_warm_when_a_completion_is_asked_for(keyed, source, place):
    """Also in the middle of a file; the session of another key finds nothing of it."""
    name = f"file:///{place}.py"
    text = f"# {name}\n{source}"
    at = text.index("\n", len(text) // 2) + 1 if place == "middle" else len(text)
    keys = "def total(items):\n    return "
    async with connect(keyed.url, token=KEYS[0]) as typist, connect(keyed.url, token=KEYS[1]) as stranger:
        document = await type_into(typist, name, text, at, keys)
        await settled(keyed)
        warm = await typist.complete(document, at + len(keys), max_tokens=24).result()
        unseen = await stranger.open(name, document.text, language="python")
        cold = await stranger.complete(unseen, at + len(keys), max_tokens=24).result()
    check(warm, cold)


async def test_what_a_client_expects_is_warm_when_it_asks(keyed, source):
    """An edit of a range, whatever its instruction, and a completion elsewhere."""
    text = f"# expected\n{source}"
    start = text.index("\n", len(text) // 4) + 1
    end = text.index("\n", start + 700) + 1
    async with connect(keyed.url, token=KEYS[0]) as typist, connect(keyed.url, token=KEYS[1]) as stranger:
        ours = await typist.open("file:///expected.py", text, language="python")
        theirs = await stranger.open("file:///expected.py", text, language="python")
        await ours.warm(start, end)
        await ours.warm(end)
        await settled(keyed)
        for position in ((start, end), end):
            results = []
            for session, document in ((typist, ours), (stranger, theirs)):
                if isinstance(position, int):
                    request: Any = session.complete(document, position, max_tokens=24)
                else:
                    request = session.edit(document, position, "Add a docstring", max_tokens=24)
                results.append(await request.result())
            check(*results)


async def test_a_second_request_finds_the_same_tokens_cached(keyed, source):
    """Warmed are those that no request had used before."""
    async with connect(keyed.url, token=KEYS[0]) as session:
        document = await session.open("file:///twice.py", "# twice\n" + source, language="python")
        await document.warm(len(document.text))
        await settled(keyed)
        first, second = [
            (await session.complete(document, len(document.text), max_tokens=1).result()).receipt for _ in range(2)
        ]
    assert first.warmed_tokens >= first.prompt_tokens - TAIL
    assert (second.warmed_tokens, ready(second)) == (0, ready(first))


async def test_a_session_that_goes_leaves_no_warm_work(keyed, source):
    """What it wanted is cancelled, and the engine holds nothing for it."""
    async with connect(keyed.url, token=KEYS[0]) as session:
        document = await session.open("file:///gone.py", "# gone\n" + source * 2, language="python")
        await document.warm(len(document.text))
        await asyncio.sleep(0.02)
    await settled(keyed)
    async with asyncio.timeout(10):
        while keyed.metric("warmline_engine_sequences_warming") or keyed.metric(
            'warmline_engine_kv_blocks{state="used"}'
        ):
            await asyncio.sleep(0.1)
