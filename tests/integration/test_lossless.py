"""The text does not depend on speculation, company or the cache: the default model on the CPU backend."""

from __future__ import annotations

import asyncio

import pytest
from warmline.client import connect

pytestmark = pytest.mark.lossless

TOKENS = 32


@pytest.fixture
def edits(edit_records):
    """Twenty edits of all sizes."""
    return edit_records[:: max(len(edit_records) // 20, 1)][:20]


async def generate(session, record, name, temperature, speculation):
    document = await session.open(f"{record.id}/{name}", record.context + record.before, language=record.language)
    edit = session.edit(
        document,
        (len(record.context), len(document.text)),
        record.instruction,
        max_tokens=TOKENS,
        temperature=temperature,
        seed=11,
        speculation=speculation,
    )
    completion = session.complete(
        document,
        len(document.text),
        max_tokens=TOKENS // 2,
        temperature=temperature,
        seed=12,
        speculation=speculation,
    )
    results = await asyncio.gather(edit.result(), completion.result())
    await document.close()
    return [(result.reason, result.text, result.receipt.output_tokens) for result in results]


async def in_eights(session, edits, temperature, speculation):
    """Every edit beside seven others."""
    results = []
    for first in range(0, len(edits), 8):
        batch = edits[first : first + 8]
        batch += edits[: 8 - len(batch)]
        results += await asyncio.gather(
            *(generate(session, record, f"{first + i}", temperature, speculation) for i, record in enumerate(batch))
        )
    return results[: len(edits)]


async def check(server, edits, temperature):
    async with connect(server.url) as session:
        expected = [await generate(session, record, "alone", temperature, "off") for record in edits]
        assert [await generate(session, record, "alone", temperature, "auto") for record in edits] == expected
        assert await in_eights(session, edits, temperature, "off") == expected
        assert await in_eights(session, edits, temperature, "auto") == expected


@pytest.mark.parametrize("temperature", [0.0, 0.8])
async def test_lossless_edits(server, edits, temperature):
    """Alone and beside seven others, without drafts and with: the same texts."""
    await check(server, edits, temperature)


@pytest.mark.verify
@pytest.mark.parametrize("temperature", [0.0, 0.8])
async def test_every_edit_is_lossless(server, edit_records, temperature):
    """The same for every record."""
    await check(server, edit_records, temperature)


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
