"""The seam between the gateway and whatever generates: `EngineHandle`."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from .messages import EngineStats, GenerationRequest, ModelInfo, SequenceEvent, WarmRequest

logger = logging.getLogger(__name__)

OnEvent = Callable[[SequenceEvent], None]


class EngineHandle(ABC):
    """What the gateway sees of an engine. All methods are called on the gateway's event loop.

    Attributes:
        model: what the engine runs; set once `start` has returned.
        stats: the newest counters and gauges, up to half a second old.
        starts: how often it has come up; with each its cache is empty again.
    """

    model: ModelInfo
    stats: EngineStats
    starts: int = 0

    def on_start(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a listener called each time the engine comes up from now on. Returns what ends that."""
        listeners: dict[object, Callable[[], None]] = self.__dict__.setdefault("_start_listeners", {})
        key = object()
        listeners[key] = listener

        def end() -> None:
            listeners.pop(key, None)

        return end

    def came_up(self) -> None:
        """Tell the listeners. An implementation calls it when it is ready to take work."""
        self.starts += 1
        for listener in list(self.__dict__.get("_start_listeners", {}).values()):
            try:
                listener()
            except Exception:
                logger.exception("a listener failed")

    @abstractmethod
    async def start(self) -> None:
        """Come up, or raise `EngineError` saying why not and what to do."""

    @abstractmethod
    async def close(self) -> None:
        """End the engine and every running sequence. Idempotent."""

    @abstractmethod
    def submit(self, request: GenerationRequest, on_event: OnEvent) -> None:
        """Start a sequence. ``on_event`` is called on the loop, straight from the reader, for each event.

        Exactly one event has ``finished`` set and it is the last, under every fault: if the engine dies, the
        handle makes one with reason "error" and code "engine_unavailable".

        ``request.id`` must be unique among the handle's unfinished sequences (`next_id` gives one).
        """

    @abstractmethod
    def warm(self, request: WarmRequest, on_event: OnEvent) -> None:
        """Prepare a prompt in idle time. ``on_event`` is called once, with ``finished`` set; ids as in `submit`."""

    @abstractmethod
    def pause(self, sequence: int, paused: bool) -> None:
        """Stop computing for a sequence that `submit` started, or go on. Unknown and finished ones are ignored."""

    @abstractmethod
    def cancel(self, sequence: int) -> None:
        """Free a sequence at once. Its last event (reason "cancel", unless it ended before) still comes."""

    @abstractmethod
    def next_id(self) -> int:
        """A sequence id that was never used on this handle."""

    @property
    def retry_after(self) -> float | None:
        """Seconds until one that is gone probably serves again; None while it runs, or where nobody can tell."""
        return None

    @property
    @abstractmethod
    def heartbeat_age(self) -> float:
        """Seconds since the engine last gave a sign of life; infinity when it is gone."""
