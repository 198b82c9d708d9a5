"""How the HTTP servers ask the engine: one sequence, its events in a queue."""

from __future__ import annotations

import asyncio

from warmline.engine import EngineHandle, GenerationRequest, SamplingParams, SequenceEvent, Tokenizer, pack_tokens


def generate(engine: EngineHandle, tokenizer: Tokenizer, prompt: str, tokens: int) -> asyncio.Queue[SequenceEvent]:
    """Start a sequence. Its last event has ``finished`` set."""
    events: asyncio.Queue[SequenceEvent] = asyncio.Queue()
    request = GenerationRequest(
        engine.next_id(), pack_tokens(tokenizer.encode(prompt)), SamplingParams(max_tokens=tokens)
    )
    engine.submit(request, events.put_nowait)
    return events
