"""What all sessions of a server share."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

from warmline.engine import EngineHandle

from .chat_prompts import ChatPrompts
from .limits import Limits
from .metrics import Metrics
from .planning import planning_threads
from .prompts import PromptBuilder


@dataclass(frozen=True, slots=True)
class Service:
    """What all sessions of a server share.

    Attributes:
        chat: prompts of conversations; ``prompts`` are those of everything else.
        threads: where long prompts are tokenised.
        warm_threads: where those are that nobody waits for.
    """

    engine: EngineHandle
    prompts: PromptBuilder
    chat: ChatPrompts
    metrics: Metrics
    limits: Limits
    allow_replay: bool = False
    threads: Executor = field(default_factory=planning_threads)
    warm_threads: Executor = field(default_factory=planning_threads)
