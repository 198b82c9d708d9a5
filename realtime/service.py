"""What all sessions of a server share."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

from warmline.engine import EngineHandle

from .limits import Limits
from .prompting.chat_prompts import ChatPrompts
from .prompting.planning import planning_threads
from .prompting.prompts import PromptBuilder
from .telemetry.metrics import Metrics
from .telemetry.request_end import Observer


@dataclass(frozen=True, slots=True)
class Service:
    """What all sessions of a server share.

    Attributes:
        chat: prompts of conversations; ``prompts`` are those of everything else.
        observers: told of each request's end, beside metrics and the log.
        threads: where long prompts are tokenised.
        warm_threads: where those are that nobody waits for.
    """

    engine: EngineHandle
    prompts: PromptBuilder
    chat: ChatPrompts
    metrics: Metrics
    limits: Limits
    allow_replay: bool = False
    observers: tuple[Observer, ...] = ()
    threads: Executor = field(default_factory=planning_threads)
    warm_threads: Executor = field(default_factory=planning_threads)
