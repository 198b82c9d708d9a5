"""Edits as the default model really writes them, against its raw text from an engine without a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from warmline.client import connect
from warmline.engine import EngineOptions, GenerationRequest, LocalEngine, SamplingParams, load_tokenizer, pack_tokens
from warmline.realtime.documents.document import Document
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Open


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def raw_engine(default_model: Path) -> AsyncIterator[LocalEngine]:
    """An engine of our own, with the default model."""
    engine = LocalEngine(EngineOptions(model=str(default_model)))
    await engine.start()
    yield engine
    await engine.close()


async def written(engine: LocalEngine, prompts: PromptBuilder, record, max_tokens: int) -> tuple[str, str]:
    """How the model answers an edit, as text of the range, and why it ended; plain decoding, nothing shared."""
    text = record.context + record.before
    plan = prompts.edit(
        Document(Open(record.id, 0, record.language, text), Limits()),
        len(record.context),
        len(text),
        record.instruction,
        max_tokens,
        (),
        None,
    ).plan()
    events = []
    done = asyncio.Event()

    def on_event(event):
        events.append(event)
        if event.finished:
            done.set()

    sampling = SamplingParams(max_tokens=max_tokens, stop=plan.stop)
    request = GenerationRequest(
        engine.next_id(), pack_tokens(plan.prompt), sampling, salt=record.id, speculation=False
    )
    engine.submit(request, on_event)
    await done.wait()
    answer = "".join(event.text for event in events)
    reason = events[-1].finished.reason
    if answer.startswith(plan.fence):
        return "", "stop"
    return answer + "\n" * (reason == "stop" and plan.final_newline), reason


async def check(server, engine, tokenizer, records, max_tokens: int) -> None:
    async with connect(server.url) as session:
        prompts = PromptBuilder(tokenizer, session.context_length)
        for record in records:
            answer, reason = await written(engine, prompts, record, max_tokens)
            document = await session.open(record.id, record.context + record.before, language=record.language)
            span = (len(record.context), len(document.text))
            result = await session.edit(document, span, record.instruction, max_tokens=max_tokens).result()
            assert result.reason == reason, record.id
            if reason == "stop":
                assert result.text == answer, record.id
            else:
                assert cut_in_step(record.before, answer, result.text), record.id
            await document.apply(result)
            assert document.text == record.context + result.text
            await document.close()


def cut_in_step(before: str, answer: str, text: str) -> bool:
    """Whether a text is a beginning of the answer, then an end of the original."""
    return any(answer.startswith(text[:cut]) and before.endswith(text[cut:]) for cut in range(len(text) + 1))


@pytest.mark.asyncio(loop_scope="module")
async def test_twenty_edits_are_what_the_model_wrote(server, raw_engine, default_model, edit_records):
    """The operations of real edits turn the range into the model's text, or a beginning of it and the original."""
    await check(server, raw_engine, load_tokenizer(default_model), edit_records[:: len(edit_records) // 20][:20], 48)


@pytest.mark.verify
@pytest.mark.asyncio(loop_scope="module")
async def test_all_edits_are_what_the_model_wrote(server, raw_engine, default_model, edit_records):
    """The same for every record."""
    await check(server, raw_engine, load_tokenizer(default_model), edit_records, 200)
