"""What one session has computed ahead: the place where its next request will come, in time that nobody else needs.

A completion is expected at the end of what a person typed last; whatever else a client expects, it says with
`warm`. Shortly before the part of a text that prompts show begins elsewhere, the prompt that begins there is
computed, too, when nothing else is to be. The engine computes only where no request needs it, and drops warm work
under pressure. Its cache shares full blocks of `BLOCK_SIZE` tokens, so up to that many at a prompt's end stay for the
request to compute, and a key that completes no block costs nothing here.

Nothing piles up, however fast a client is: of each kind (completion, edit, the next window) the newest place waits,
one is being tokenised, one computed, and a budget bounds what is computed in the long run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog
from warmline.engine import BLOCK_SIZE, SequenceEvent, WarmRequest, pack_tokens

from .documents.document import Document
from .documents.text import utf16_length
from .errors import Refused
from .prompting.planning import PlanQueue
from .prompting.prompts import Layout, PromptPlan
from .protocol import Complete, Edit, TextEdit
from .service import Service
from .telemetry.request_end import observe_warmed

logger = structlog.get_logger("warmline.warming")

_T = TypeVar("_T")

_SETTLE_SECONDS: Final = 0.003
"""How long a place waits before it is worked on: a request, or the next key, often comes with the change."""
_PRESSURE_SECONDS: Final = 0.25
"""How long nothing is tried after the engine has dropped warm work."""
_INLINE_CHARS: Final = 1000
"""Characters that take half a millisecond to tokenise. More are tokenised in a thread."""
_BLOCK_BYTES: Final = len(pack_tokens([0])) * BLOCK_SIZE
_LOST_BLOCKS: Final = 2
"""What is being computed goes on for a newer prompt if at most so many blocks of it are of no use to that one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request is expected, in UTF-16 units; without an end, a completion, or one that is ``ahead``."""

    document: str
    version: int
    start: int
    end: int | None
    ahead: bool = False

    @classmethod
    def of(cls, request: Complete | Edit) -> Place:
        """The place of a request."""
        if isinstance(request, Complete):
            return cls(request.document, request.version, request.position, None)
        return cls(request.document, request.version, request.start, request.end)

    @property
    def kind(self) -> str:
        """Of each kind the newest place counts."""
        return "ahead" if self.ahead else "complete" if self.end is None else "edit"


@dataclass(slots=True, eq=False)
class _Work:
    """A place on its way: laid out, then tokenised, then computed.

    Attributes:
        typed: it follows from a key, nobody asked for it.
        prompt: its packed tokens; empty before it is tokenised.
        put_off: it was counted as over budget.
        dropped: nobody wants it any more.
    """

    place: Place
    layout: Layout
    typed: bool
    prompt: bytes = b""
    sequence: int = 0
    put_off: bool = False
    dropped: bool = False

    def serves(self, newer: _Work) -> bool:
        """Whether this, being computed, may go on while a newer place waits.

        So it may if it is, but for its end, the beginning of the newer one's prompt. Cancelled, it would keep the
        blocks that are complete, but lose the pass it is in, and somebody who types would cancel every pass. What is
        computed for a later key keeps no place waiting that is wanted now.
        """
        if self.place.ahead:
            return False
        common = max(len(self.prompt) - _LOST_BLOCKS * _BLOCK_BYTES, 0)
        return newer.place.kind != self.place.kind or newer.prompt.startswith(self.prompt[:common])


class TokenBucket:
    """A budget that refills with time, up to ``burst`` tokens. It may be overdrawn once; that is paid back first."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = burst
        self._at = now

    def spend(self, tokens: int, now: float) -> None:
        """Take tokens out at a time in seconds."""
        self._level = min(self._level + (now - self._at) * self._rate, self._burst) - tokens
        self._at = now

    def wait(self, now: float) -> float:
        """Seconds until nothing is owed; 0 if nothing is."""
        return max(-self._level / self._rate - (now - self._at), 0.0)


class Warmer:
    """The warm work of one session. Everything is called on the event loop, and nothing waits.

    ``names`` is what log lines about it say.
    """

    def __init__(self, service: Service, salt: str, names: Mapping[str, object] | None = None) -> None:
        limits = service.limits
        self._names = names or {}
        self._engine = service.engine
        self._prompts = service.prompts
        self._count = service.metrics.warm_requests.labels
        self._observers = service.observers
        self._salt = salt
        self._plans = PlanQueue(service.warm_threads)
        self._loop = asyncio.get_running_loop()
        self._budget = TokenBucket(limits.warm_tokens_per_second, limits.warm_burst_tokens, self._loop.time())
        self._wanted: dict[str, _Work] = {}  # by kind, the newest last
        self._planning: _Work | None = None
        self._running: _Work | None = None
        self._warm: dict[str, bytes] = {}  # of each kind, the newest computed to its end by the engine as it is now
        self._warm_since = service.engine.starts
        self._ahead: tuple[Place, Document] | None = None  # typed last, and not looked ahead from yet
        self._expected: dict[str, tuple[Document, Place]] = {}  # by kind, the place where a request was expected last
        self._forget_engine = service.engine.on_start(self._warm_again)
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._requests: dict[int, Place] = {}
        self._closed = False

    # What happens in the session -------------------------------------------------------------------------------

    def opened(self, document: Document) -> None:
        """A document was opened, or replaced.

        Nobody knows yet where in it a request will come. What completions anywhere in it have in common is warmed:
        the head of the text, for models whose prompts begin with it.
        """
        self.closed(document.id)
        self._want(Place(document.id, document.version, 0, None), lambda: self._prompts.warm_open(document))

    def changed(self, document: Document, edits: Sequence[TextEdit]) -> None:
        """A person changed a document: a completion will be wanted where they are, at the end of the last edit."""
        self._forget(lambda place: place.document == document.id and place.end is not None)
        if edits:
            with suppress(Refused):  # no request may come there
                position = edits[-1].start + utf16_length(edits[-1].text)
                self._expect(document, position, None, typed=True)
                if not self._closed:
                    self._ahead = Place(document.id, document.version, position, None, ahead=True), document
                    self._later(_SETTLE_SECONDS)

    def asked(self, document: Document, position: int, end: int | None) -> None:
        """A completion at an offset, or an edit of [position, end), is expected. Offsets are UTF-16 units.

        Raises:
            Refused: INVALID_RANGE.

        """
        self._expect(document, position, end, typed=False)

    def closed(self, document: str) -> None:
        """A document was closed, or its text replaced."""
        self._forget(lambda place: place.document == document)
        self._expected = {kind: seen for kind, seen in self._expected.items() if seen[1].document != document}
        if self._ahead is not None and self._ahead[0].document == document:
            self._ahead = None

    def request_started(self, request: Complete | Edit) -> None:
        """A request computes its place itself."""
        place = self._requests[request.request] = Place.of(request)
        self._forget(lambda other: other == place)

    def request_ended(self, request: int) -> None:
        """A request is over; unknown ones are ignored."""
        self._requests.pop(request, None)

    def close(self) -> None:
        """The session ends or drains: nothing more is warmed. Idempotent."""
        self._closed = True
        self._forget(lambda _: True)
        self._planning = None
        self._requests.clear()
        self._expected.clear()
        self._forget_engine()
        self._ahead = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # From place to place ---------------------------------------------------------------------------------------

    def _expect(self, document: Document, position: int, end: int | None, typed: bool) -> None:
        start, stop = document.range(position, position if end is None else end)

        def lay_out() -> Layout:
            if end is None:
                return self._prompts.warm_complete(document, start)
            return self._prompts.warm_edit(document, start, stop)

        place = Place(document.id, document.version, position, end)
        self._expected[place.kind] = document, place
        self._want(place, lay_out, typed)

    def _warm_again(self) -> None:
        """The engine has come up anew and holds nothing: prepare what was expected last, where that is still so."""
        self._not_before = 0.0
        for document, place in list(self._expected.values()):
            if document.version == place.version:
                with suppress(Refused):
                    self._expect(document, place.start, place.end, typed=False)

    def _want(self, place: Place, lay_out: Callable[[], Layout | None], typed: bool = False) -> None:
        if self._closed or place in self._requests.values():
            return
        layout = self._unless_it_fails(lay_out)
        if layout is not None:
            self._wanted.pop(place.kind, None)
            self._wanted[place.kind] = _Work(place, layout, typed)
            self._later(_SETTLE_SECONDS)

    def _unless_it_fails(self, make: Callable[[], _T]) -> _T | None:
        """What is not warmed for want of a prompt harms nobody: the request will be told why there is none."""
        try:
            return make()
        except Refused:
            return None
        except Exception:
            logger.exception("a prompt to warm could not be prepared", **self._names)
            return None

    def _forget(self, which: Callable[[Place], bool]) -> None:
        self._wanted = {kind: work for kind, work in self._wanted.items() if not which(work.place)}
        if self._planning is not None and which(self._planning.place):
            self._planning.dropped = True
        if self._running is not None and which(self._running.place):
            self._cancel(self._running)

    def _later(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self._go_on()

    def _go_on(self) -> None:
        """Take the newest place a step further, if it can be."""
        if self._planning is None and self._running is None and not self._wanted:
            self._look_ahead()
        if self._planning is not None or not self._wanted:
            return
        kind = next((kind for kind in reversed(self._wanted) if kind != "ahead"), "ahead")
        work = self._wanted[kind]
        if not self._may_begin(work):
            return
        if not work.prompt:
            del self._wanted[kind]
            self._plan(work)
        elif self._running is None:
            del self._wanted[kind]
            self._start(work)
        elif not self._running.serves(work):
            self._cancel(self._running)  # its end comes back here

    def _look_ahead(self) -> None:
        """Nothing else is wanted: see to the window that comes next where somebody types."""
        looked, self._ahead = self._ahead, None
        if looked is None or looked[1].version != looked[0].version:
            return
        place, document = looked
        layout = self._unless_it_fails(lambda: self._prompts.warm_ahead(document, document.index(place.start)))
        if layout is not None:
            self._wanted[place.kind] = _Work(place, layout, typed=True)

    def _may_begin(self, work: _Work) -> bool:
        now = self._loop.time()
        unpaid = self._budget.wait(now)
        if unpaid and not work.put_off:
            work.put_off = True
            self._count("over_budget").inc()
        seconds = max(unpaid, self._not_before - now)
        if seconds > 0:
            self._later(seconds)
        return seconds <= 0

    def _plan(self, work: _Work) -> None:
        self._planning = work
        if work.layout.chars <= _INLINE_CHARS:
            self._planned(work, work.layout.plan)
        else:
            # Dropped or not, its end is waited for: there is one at a time.
            self._plans.add(work.layout, lambda: not self._closed, lambda plan: self._planned(work, plan))

    def _planned(self, work: _Work, plan: Callable[[], PromptPlan]) -> None:
        self._planning = None
        made = self._unless_it_fails(plan)
        if made is not None and not work.dropped:
            work.prompt = pack_tokens(made.prompt)
            if work.place.kind not in self._wanted:
                self._wanted[work.place.kind] = work
            elif self._running is None and self._may_begin(work):
                # There is a newer place by now, which this one mostly serves, too: keys may come faster than plans.
                self._start(work)
        self._go_on()

    def _start(self, work: _Work) -> None:
        if self._warm_since != self._engine.starts:
            self._warm, self._warm_since = {}, self._engine.starts
        if work.typed and self._warm.get(work.place.kind, b"").startswith(_full_blocks(work.prompt)):
            self._go_on()  # the key has completed no block
            return
        work.sequence = self._engine.next_id()
        self._running = work
        self._count("started").inc()
        request = WarmRequest(work.sequence, work.prompt, self._salt)
        self._engine.warm(request, lambda event: self._on_event(work, event))

    def _cancel(self, work: _Work) -> None:
        if not work.dropped:
            work.dropped = True
            self._engine.cancel(work.sequence)

    def _on_event(self, work: _Work, event: SequenceEvent) -> None:
        finished = event.finished
        if finished is None or self._running is not work:
            return
        self._running = None
        now = self._loop.time()
        if finished.computed_tokens:
            observe_warmed(self._observers, self._names, finished.computed_tokens)
        # Also what is warm already takes the engine time to find out.
        self._budget.spend(max(finished.computed_tokens, BLOCK_SIZE), now)
        if finished.reason == "stop":
            self._count("finished").inc()
            self._warm[work.place.kind] = work.prompt
        elif work.dropped:
            self._count("cancelled").inc()
        else:
            self._count("dropped").inc()
            self._warm.clear()
            self._not_before = now + _PRESSURE_SECONDS
        self._go_on()


def _full_blocks(prompt: bytes) -> bytes:
    """The part of a prompt that the cache can hold for a request: the last token is always computed."""
    return prompt[: max(len(prompt) - 1, 0) // _BLOCK_BYTES * _BLOCK_BYTES]
