"""The text does not depend on speculation, company or the cache: the default model, from the SDK to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from warmline.client import Result, Session, connect

from tools.invariance.report import keep_counts

pytestmark = pytest.mark.lossless

AT_ONCE = 8
COMPLETED = 16
LONG = 192

Outcome = list[tuple[str, str, int]]
"""Reason, text and output tokens of a record's edit, and of a completion at its end."""


@pytest.fixture
def edits(edit_records):
    """Twelve edits of all sizes."""
    return edit_records[:: max(len(edit_records) // 12, 1)][:12]


class Runner:
    """Has records edited in a session, and adds up the receipts."""

    def __init__(self, session: Session, max_tokens: int) -> None:
        self._session = session
        self._max_tokens = max_tokens
        self.requests = self.tokens = self.drafted = self.cached = 0

    async def run(self, record: Any, number: int, name: str, speculation: str) -> Outcome:
        """One record; every second is sampled, the others are greedy."""
        sampling = {"temperature": 0.8 * (number % 2), "seed": number, "speculation": speculation}
        document = await self._session.open(
            f"{record.id}/{name}", record.context + record.before, language=record.language
        )
        end = len(document.text)
        edit = self._session.edit(
            document, (len(record.context), end), record.instruction, max_tokens=self._max_tokens, **sampling
        )
        completion = self._session.complete(document, end, max_tokens=COMPLETED, **sampling)
        results = await asyncio.gather(edit.result(), completion.result())
        await document.close()
        for result in results:
            self._count(result)
        return [(result.reason, result.text, result.receipt.output_tokens) for result in results]

    async def one_at_a_time(self, records: Sequence[Any], speculation: str) -> list[Outcome]:
        """Each record by itself."""
        return [await self.run(record, number, "alone", speculation) for number, record in enumerate(records)]

    async def eight_at_once(self, records: Sequence[Any], order: int) -> list[Outcome]:
        """Each beside seven others, drafted, in an order of its own for each value of ``order``."""
        outcomes: dict[int, Outcome] = {}
        numbers = list(range(len(records)))
        Random(order).shuffle(numbers)
        waiting = iter(numbers)

        async def work() -> None:
            for number in waiting:
                outcomes[number] = await self.run(records[number], number, f"order {order}", "auto")

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return [outcomes[number] for number in range(len(records))]

    def _count(self, result: Result) -> None:
        self.requests += 1
        self.tokens += result.receipt.output_tokens
        self.drafted += sum(draft.accepted for draft in result.receipt.drafts)
        self.cached += result.receipt.cached_tokens


async def test_edits_are_the_same_in_any_company(server, edits):
    """One at a time without drafts and with, and twice eight at once with different mates: the same texts."""
    async with connect(server.url) as session:
        runner = Runner(session, max_tokens=32)
        expected = await runner.one_at_a_time(edits, "off")
        assert runner.drafted == 0
        assert await runner.one_at_a_time(edits, "auto") == expected
        for order in (1, 2):
            assert await runner.eight_at_once(edits, order) == expected
        assert runner.drafted > 0 and runner.cached > 0


@pytest.mark.verify
@pytest.mark.timeout(4 * 3600)
async def test_every_edit_is_the_same_in_any_company(server, edit_records):
    """The same for every record, with longer outputs."""
    async with connect(server.url) as session:
        alone = Runner(session, LONG)
        expected = await alone.one_at_a_time(edit_records, "off")
        together = Runner(session, LONG)
        differing = 0
        for order in (1, 2):
            outcomes = await together.eight_at_once(edit_records, order)
            differing += sum(one != other for one, other in zip(outcomes, expected, strict=True))
    keep_counts(
        "Edits through the SDK, one at a time without drafts against eight at once with drafts",
        {
            "edits, each with a completion beside it": f"{len(edit_records):,}, twice, with different mates",
            "requests alone / beside others": f"{alone.requests:,} / {together.requests:,}",
            "tokens beside others": f"{together.tokens:,}",
            "of them drafted": f"{together.drafted / together.tokens:.0%}",
            "prompt tokens from the cache": f"{together.cached:,}",
            "differences in text, reason or output tokens": str(differing),
        },
    )
    assert differing == 0 and together.drafted > 0


async def test_replay_is_drafted(server, edits):
    """When the model writes the real edit, at least half of its tokens come from drafts."""
    output = accepted = passes = 0
    async with connect(server.url) as session:
        for record in edits:
            document = await session.open(record.id, record.context + record.before, language=record.language)
            edit = session.edit(
                document,
                (len(record.context), len(document.text)),
                record.instruction,
                max_tokens=4000,
                replay=record.after,
            )
            result = await edit.result()
            assert result.text == record.after
            output += result.receipt.output_tokens
            passes += result.receipt.forward_passes
            accepted += sum(draft.accepted for draft in result.receipt.drafts)
            await document.close()
    assert accepted >= output / 2
    assert passes < output / 2
