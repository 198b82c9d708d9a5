"""A model that answers what it is told, and records to ask it about."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from warmline.engine import (
    DraftCount,
    EngineError,
    EngineStats,
    Finished,
    GenerationRequest,
    ModelInfo,
    SequenceEvent,
    Tokenizer,
    pack_tokens,
)
from warmline.realtime.evaluation.records import CompletionRecord, EditRecord


class ToldModel:
    """Gives its answers in turn, the first token of each in a pass of its own, the rest in a second pass.

    Attributes:
        answers: what the next requests get, up to the end of the text; an exception is raised by the step.
        reason: how they end.
        requests: what was submitted.
        scored: the prompts and answers whose probabilities were asked for; each token has ln p -0.5.
        most_at_once: the most requests that ran at a time.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int = 8192) -> None:
        self.model = ModelInfo("told", "none", max_tokens, "told", "", 1, max_tokens)
        self.tokenizer = tokenizer
        self.answers: deque[str | BaseException] = deque()
        self.reason: Any = "stop"
        self.requests: list[GenerationRequest] = []
        self.scored: list[tuple[list[int], list[int], str]] = []
        self.most_at_once = 0
        self.room = max_tokens
        self._running: dict[int, list[list[int]]] = {}
        self._emitted = self._passes = 0

    @property
    def has_work(self) -> bool:
        return bool(self._running)

    @property
    def stats(self) -> EngineStats:
        return EngineStats(output_tokens=self._emitted, forward_passes=self._passes)

    def submit(self, request: GenerationRequest) -> None:
        self.requests.append(request)
        answer = self.answers.popleft()
        if isinstance(answer, BaseException):
            raise answer
        for stop in request.sampling.stop:
            answer = answer.partition(stop)[0]
        tokens = self.tokenizer.encode(answer)
        self._running[request.id] = [tokens[:1], tokens[1:]]
        self.most_at_once = max(self.most_at_once, len(self._running))

    def cancel(self, sequence: int) -> None:
        self._running[sequence] = []

    def step(self) -> list[SequenceEvent]:
        self._passes += 1
        events = []
        for sequence, parts in list(self._running.items()):
            tokens = parts.pop(0) if parts else []
            self._emitted += len(tokens)
            finished = None
            if not parts:
                del self._running[sequence]
                finished = Finished(
                    self.reason,
                    prompt_tokens=10,
                    output_tokens=self._emitted,
                    forward_passes=self._passes,
                    drafts=(DraftCount("edit", 8, 6),),
                    queue_ns=1_000_000,
                    prefill_ns=20_000_000,
                    first_token_ns=3_000_000,
                    step_ns=100_000_000,
                )
            events.append(SequenceEvent(sequence, self.tokenizer.decode(tokens), pack_tokens(tokens), finished))
        return events

    def log_probabilities(self, prompt: list[int], answer: list[int], salt: str = "") -> list[float]:
        if len(prompt) + len(answer) > self.room:
            raise EngineError("no room")
        self.scored.append((prompt, answer, salt))
        return [-0.5] * len(answer)


@pytest.fixture
def told(tokenizer: Tokenizer) -> ToldModel:
    return ToldModel(tokenizer)


@pytest.fixture
def edit() -> Callable[..., EditRecord]:
    """An edit of two lines into two others, with changes."""

    def make(**changes: Any) -> EditRecord:
        fields: dict[str, Any] = {
            "id": "e1",
            "language": "python",
            "kind": "rename-variable",
            "category": "mechanical",
            "instructions": ["rename a to b"],
            "prefix": "import os\n\n",
            "before": "a = 1\nprint(a)\n",
            "after": "b = 1\nprint(b)\n",
            "suffix": "# end\n",
        }
        return EditRecord(**(fields | changes))

    return make


@pytest.fixture
def completion() -> Callable[..., CompletionRecord]:
    """A line that is missing."""

    def make(**changes: Any) -> CompletionRecord:
        fields: dict[str, Any] = {
            "id": "c1",
            "language": "python",
            "kind": "fill-line",
            "prefix": "def add(a, b):\n",
            "suffix": "\n\nprint(add(1, 2))\n",
            "middle": "    return a + b",
        }
        return CompletionRecord(**(fields | changes))

    return make
