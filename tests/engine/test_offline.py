"""The engine in this process: it generates as ever, and scores given tokens."""

from __future__ import annotations

import math

import pytest
import torch
from warmline.engine import (
    EngineError,
    EngineOptions,
    GenerationRequest,
    OfflineEngine,
    SamplingParams,
    WarmRequest,
    pack_tokens,
)
from warmline.engine.backends import create_backend
from warmline.engine.batch import Batch, SequenceSlice
from warmline.engine.kv_cache import KVCache
from warmline.engine.scoring import log_probabilities

PROMPT = list(range(10, 50))
ANSWER = [60, 61, 7, 300, 12]


@pytest.fixture(scope="module", params=["reference", "cpu"])
def options(request, tiny_folder) -> EngineOptions:
    """A tiny random model on each backend."""
    return EngineOptions(str(tiny_folder), backend=request.param, threads=1, kv_memory=1 << 20)


def test_probabilities_are_those_of_a_pass_over_everything(options) -> None:
    """Whatever the chunks; those of all tokens add up to 1."""
    backend, _ = create_backend(options)
    tokens = PROMPT + ANSWER
    blocks = list(range(-(-len(tokens) // 16)))
    rows = list(range(len(PROMPT) - 1, len(tokens) - 1))
    logits = backend.forward(Batch(tokens, [SequenceSlice(0, len(tokens), 0, blocks)], rows))
    expected = [float(row.double().softmax(-1)[token].log()) for row, token in zip(logits, ANSWER, strict=True)]
    cache = KVCache(backend.num_blocks)
    for chunk in (1, 3, 39, 40, 41, 256):
        found = log_probabilities(backend, cache, PROMPT, ANSWER, chunk=chunk)
        assert found == pytest.approx(expected, abs=1e-9)
    cache.check_integrity()
    assert cache.used == 0 and cache.cached == 0
    total = sum(math.exp(log_probabilities(backend, cache, PROMPT, [token])[0]) for token in range(320))
    assert total == pytest.approx(1)


def test_the_prompt_that_is_cached_is_not_computed_again(options) -> None:
    """The probabilities are the same to the last bit."""
    engine = OfflineEngine(options)
    cold = engine.log_probabilities(PROMPT, ANSWER, "a")
    request = GenerationRequest(1, pack_tokens(PROMPT), SamplingParams(max_tokens=4), salt="a")
    engine.submit(request)
    while engine.has_work:
        engine.step()
    assert engine.stats.blocks_cached == 2
    rows = []
    backend = engine._engine.backend
    forward = backend.forward

    def counted(batch: Batch) -> torch.Tensor:
        rows.append(len(batch.token_ids))
        return forward(batch)

    backend.forward = counted
    assert engine.log_probabilities(PROMPT, ANSWER, "a") == cold
    assert engine.log_probabilities(PROMPT, ANSWER, "b") == cold
    assert rows == [len(PROMPT) + len(ANSWER) - 1 - 32, len(PROMPT) + len(ANSWER) - 1]


def test_a_prompt_is_warmed_and_a_sequence_paused(options) -> None:
    """As in the engine process, in the caller's steps."""
    engine = OfflineEngine(options)
    engine.warm(WarmRequest(1, pack_tokens(PROMPT)))
    assert [event.finished.reason for event in engine.step()] == ["stop"]
    engine.submit(GenerationRequest(2, pack_tokens(PROMPT), SamplingParams(max_tokens=1)))
    engine.pause(2, True)
    assert not engine.has_work
    engine.pause(2, False)
    (event,) = [event for event in engine.step() if event.finished]
    assert (event.finished.warmed_tokens, event.finished.computed_tokens) == (32, 8)


def test_greedy_tokens_are_the_likeliest(options) -> None:
    """What the engine generates is scored as it was chosen: no other token is likelier."""
    engine = OfflineEngine(options)
    engine.submit(GenerationRequest(1, pack_tokens(PROMPT), SamplingParams(max_tokens=1)))
    (event,) = [event for event in engine.step() if event.finished]
    (token,) = list(memoryview(event.tokens).cast("i"))
    chosen = engine.log_probabilities(PROMPT, [token])[0]
    assert all(engine.log_probabilities(PROMPT, [other])[0] <= chosen for other in range(0, 320, 16))


def test_what_can_t_be_scored(options) -> None:
    """Too much for the context or the cache, or nothing to come after."""
    engine = OfflineEngine(options)
    with pytest.raises(EngineError, match=r"1104 tokens are to be scored, and there is room for 1024"):
        engine.log_probabilities(PROMPT * 25, ANSWER * 21)
    with pytest.raises(ValueError, match="no tokens"):
        engine.log_probabilities([], ANSWER)
    assert engine.log_probabilities(PROMPT, []) == []


def test_the_model_is_told(options, tiny_folder) -> None:
    """What runs and how, and its tokenizer."""
    engine = OfflineEngine(options)
    assert (engine.model.name, engine.model.backend) == (tiny_folder.name, options.backend)
    assert engine.tokenizer.encode("add")
