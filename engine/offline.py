"""`OfflineEngine`: an engine in this process, for evaluations."""

from __future__ import annotations

from .messages import EngineStats, GenerationRequest, ModelInfo, SequenceEvent, WarmRequest
from .options import EngineOptions


class OfflineEngine:
    """Generates as the engine process does, but in steps that the caller takes, and scores given tokens.

    Attributes:
        model: what the engine runs.
        tokenizer: the model's.
    """

    def __init__(self, options: EngineOptions) -> None:
        """Load the model.

        Raises:
            EngineError: it can't be run.

        """
        from .backends import create_backend  # imports torch
        from .core import Engine
        from .process import model_info
        from .speculation.draft_model import load_draft_model

        backend, self.tokenizer = create_backend(options)
        self._engine = Engine(backend, self.tokenizer, draft_model=load_draft_model(options))
        self._engine.warm_up()
        self.model: ModelInfo = model_info(self._engine, options)

    @property
    def has_work(self) -> bool:
        """Whether a step would do or say anything. While all sequences are paused, it would not."""
        return self._engine.has_work

    @property
    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""
        return self._engine.stats()

    def submit(self, request: GenerationRequest) -> None:
        """Queue a sequence; the events of `step` tell what comes of it.

        Raises:
            ValueError: a sequence with this id is running.

        """
        self._engine.add(request)

    def warm(self, request: WarmRequest) -> None:
        """Queue a prompt to be computed into the prefix cache; it has one event, with ``finished`` set.

        Raises:
            ValueError: a sequence with this id is running.

        """
        self._engine.warm(request)

    def pause(self, sequence: int, paused: bool) -> None:
        """Compute nothing more for a sequence, or go on with it; an unknown id is ignored."""
        self._engine.pause(sequence, paused)

    def cancel(self, sequence: int) -> None:
        """End a sequence; an unknown id is ignored."""
        self._engine.cancel(sequence)

    def step(self) -> list[SequenceEvent]:
        """Run one pass; returns what came of it."""
        return self._engine.step()

    def log_probabilities(self, prompt: list[int], answer: list[int], salt: str = "") -> list[float]:
        """The natural logarithm of each answer token's probability. Keys and values of the prompt are reused.

        Raises:
            EngineError: there is no room for so many tokens beside what is running.

        """
        from .scoring import log_probabilities

        return log_probabilities(self._engine.backend, self._engine.cache, prompt, answer, salt)
