"""A session's warm work: what is expected is computed ahead, and nothing piles up, whatever a client does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.engine import BLOCK_SIZE, Finished, unpack_tokens
from warmline.realtime import warming
from warmline.realtime.documents.document import Document
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.planning import planning_threads
from warmline.realtime.prompting.prompts import Layout, PromptPlan
from warmline.realtime.protocol import Change, Complete, Edit, ErrorCode, Open, TextEdit
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.request_end import RequestEnd
from warmline.realtime.warming import TokenBucket, Warmer

BLOCK = "x" * BLOCK_SIZE
NAME = "file:///a"


class Letters:
    """Prompts of which each character is a token: a completion's is the text before it, an edit's the range.

    Attributes:
        chars: how much text the layouts claim to have.
        gate: plans wait for it.
        planned: the threads that plans were made in.
        open: whether completions have the head of the document in common.
        next: what the prompt of a later completion begins with, if that is something else.
    """

    def __init__(self) -> None:
        self.chars = 0
        self.gate = threading.Event()
        self.gate.set()
        self.planned: list[int] = []
        self.open = False
        self.next: str | None = None
        self.error: Exception | None = None

    def warm_complete(self, document: Document, index: int) -> Layout:
        return self._layout(document.text[:index])

    def warm_edit(self, document: Document, start: int, end: int) -> Layout:
        if end - start > 5000:
            raise Refused(ErrorCode.PROMPT_TOO_LONG, "too long")
        return self._layout(">" + document.text[start:end])

    def warm_open(self, document: Document) -> Layout | None:
        return self._layout(document.text) if self.open else None

    def warm_ahead(self, document: Document, index: int) -> Layout | None:
        return None if self.next is None else self._layout(self.next)

    def _layout(self, prompt: str) -> Layout:
        def plan() -> PromptPlan:
            self.planned.append(threading.get_ident())
            self.gate.wait(10)
            if self.error is not None:
                raise self.error
            return PromptPlan([ord(letter) for letter in prompt], (), "\n")

        return Layout(self.chars, plan)


class Typist:
    """A document, the warmer of its session, and what reaches the engine."""

    def __init__(self, engine: Any, text: str = "", **limits: Any) -> None:
        self.engine = engine
        self.prompts = Letters()
        self.limits = Limits(**limits)
        self.metrics = Metrics(lambda: engine.stats, lambda: 0.0)
        self.threads = planning_threads()
        self.observed: list[RequestEnd] = []
        self.document = Document(Open(NAME, 1, "python", text), self.limits)
        self.warmer = self.session("salt")

    def session(self, salt: str) -> Warmer:
        """Another session of the same server."""
        service: Any = SimpleNamespace(
            observers=(self.observed.append,),
            engine=self.engine,
            prompts=self.prompts,
            metrics=self.metrics,
            limits=self.limits,
            warm_threads=self.threads,
        )
        return Warmer(service, salt)

    def type(self, text: str, at: int | None = None, remove: int = 0) -> None:
        """Change the document, at its end if not told otherwise."""
        start = self.document.length - remove if at is None else at
        self.change(TextEdit(start, start + remove, text))

    def change(self, *edits: TextEdit) -> None:
        """Change the document in one message."""
        version = self.document.version
        self.document.change(Change(NAME, version, version + 1, list(edits)), self.limits)
        self.warmer.changed(self.document, edits)

    def complete(self, request: int, position: int) -> Complete:
        """A completion of the newest version."""
        return Complete(request, NAME, self.document.version, position)

    @property
    def warmed(self) -> list[str]:
        """The prompts that were given to the engine."""
        return ["".join(map(chr, unpack_tokens(request.prompt))) for request in self.engine.warmed]

    def counted(self, event: str) -> float:
        """How often the metrics saw an event."""
        return self.metrics.warm_requests.labels(event)._value.get()

    async def idle(self) -> None:
        """Wait until nothing is on its way, but for what the engine holds."""
        async with asyncio.timeout(10):
            while self._busy():
                await asyncio.sleep(0)

    def _busy(self) -> bool:
        warmer = self.warmer
        if warmer._planning is not None:
            return True
        if warmer._running is not None:
            return bool(warmer._timer) or not self.engine.warming or warmer._running.dropped
        return bool(warmer._wanted) or warmer._ahead is not None


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for what may come with it."""
    monkeypatch.setattr(warming, "_SETTLE_SECONDS", 0.0)


@pytest.fixture
async def make(engine):
    """A typist with a text and limits."""
    typists = []

    def make(text: str = "", **limits: Any) -> Typist:
        typists.append(Typist(engine, text, **limits))
        return typists[-1]

    yield make
    for typist in typists:
        typist.prompts.gate.set()
        typist.warmer.close()
        typist.threads.shutdown()
    await engine.close()


# Where the next request will come ------------------------------------------------------------------------------


async def test_what_was_typed_is_warmed_up_to_its_end(make):
    """A completion behind the newest edit, under the session's salt."""
    typist = make("def f():\n\n\ndef g():\n")
    typist.type("    return 1", at=9)
    await typist.idle()
    assert typist.warmed == ["def f():\n    return 1"]
    assert typist.engine.warmed[0].salt == "salt"
    assert (typist.counted("started"), typist.counted("finished")) == (1, 1)


async def test_offsets_are_utf16_units(make):
    """A character beyond the basic plane counts as two."""
    typist = make("\U0001f600" * BLOCK_SIZE + "\n")
    typist.type("\U0001f601!", at=2 * BLOCK_SIZE)
    await typist.idle()
    assert typist.warmed == ["\U0001f600" * BLOCK_SIZE + "\U0001f601!"]


async def test_a_deletion_is_warmed_where_it_was(make):
    """Backspace leaves the cursor there."""
    typist = make("a = 1  # nothing\nb = 2  # nothing\nc\n")
    typist.type("", at=22, remove=11)
    await typist.idle()
    assert typist.warmed == ["a = 1  # nothing\nb = 2"]


async def test_of_a_change_with_several_edits_the_last_counts(make):
    """Its offsets are those of the text after the others."""
    typist = make("first\nsecond\nthird\nfourth\n")
    typist.change(TextEdit(0, 0, "# "), TextEdit(15, 15, "# "))
    await typist.idle()
    assert typist.warmed == ["# first\nsecond\n# "]


async def test_keys_that_come_together_are_warmed_once(make):
    """Up to the newest."""
    typist = make(BLOCK)
    for key in "return":
        typist.type(key)
    await typist.idle()
    assert typist.warmed == [BLOCK + "return"]


async def test_a_client_says_what_it_expects(make):
    """A completion, or an edit of a range; each gets its turn, the newest first, one at a time."""
    typist = make(BLOCK + "one\ntwo\n")
    typist.engine.warming = True
    typist.warmer.asked(typist.document, 19, None)
    typist.warmer.asked(typist.document, 0, 20)
    await typist.idle()
    assert typist.warmed == [">" + BLOCK + "one\n"]
    typist.engine.warming = False
    typist.engine.finish(typist.engine.warmed[0].id, Finished("stop"))
    await typist.idle()
    assert typist.warmed == [">" + BLOCK + "one\n", BLOCK + "one"]


async def test_a_place_that_is_none_is_refused(make):
    """Beyond the text, reversed, or within a character."""
    typist = make("ab\U0001f600")
    for position, end in ((5, None), (2, 1), (0, 5), (3, None)):
        with pytest.raises(Refused) as refused:
            typist.warmer.asked(typist.document, position, end)
        assert refused.value.code == ErrorCode.INVALID_RANGE
    await typist.idle()
    assert typist.warmed == []


async def test_a_range_without_room_is_left_to_its_request(make):
    """That one will be told; a hint is not answered."""
    typist = make("x" * 6000)
    typist.warmer.asked(typist.document, 0, 6000)
    typist.prompts.error = Refused(ErrorCode.PROMPT_TOO_LONG, "too long")
    typist.warmer.asked(typist.document, 0, 4000)
    await typist.idle()
    assert typist.warmed == []
    assert typist.warmer._planning is None


async def test_a_prompt_that_can_not_be_made_stops_nothing(make, monkeypatch):
    """It is logged, and the next one is made."""
    typist = make(BLOCK)
    typist.prompts.error = RuntimeError("a bug")
    typist.type("a")
    await typist.idle()
    typist.prompts.error = None
    monkeypatch.setattr(typist.prompts, "warm_open", lambda document: 1 / 0)
    typist.warmer.opened(typist.document)
    typist.type("b")
    await typist.idle()
    assert typist.warmed == [BLOCK + "ab"]


async def test_an_opened_document_is_warmed_as_far_as_its_prompts_share(make):
    """Its head, or nothing: nobody knows yet where a request will come."""
    typist = make(BLOCK + "text")
    typist.warmer.opened(typist.document)
    await typist.idle()
    assert typist.warmed == []
    typist.prompts.open = True
    typist.warmer.opened(typist.document)
    await typist.idle()
    assert typist.warmed == [BLOCK + "text"]


# What is on its way already ------------------------------------------------------------------------------------


async def test_a_prompt_that_the_next_key_extends_is_computed_to_its_end(make):
    """Each key would cancel the pass of the one before otherwise, and no block would ever be complete."""
    typist = make(3 * BLOCK)
    typist.engine.warming = True
    for key in "abc":
        typist.type(key)
        await typist.idle()
    assert typist.warmed == [3 * BLOCK + "a"]
    typist.engine.finish(typist.engine.warmed[0].id, Finished("stop"))
    typist.type(BLOCK)
    await typist.idle()
    assert typist.warmed == [3 * BLOCK + "a", 3 * BLOCK + "abc" + BLOCK]
    assert typist.engine.cancelled == []


async def test_a_prompt_that_ends_otherwise_by_a_pass_goes_on(make):
    """What is lost of it is less than what a cancelled pass would lose."""
    typist = make(4 * BLOCK)
    typist.engine.warming = True
    typist.type("abcd")
    await typist.idle()
    typist.type("", remove=BLOCK_SIZE)
    await typist.idle()
    assert (len(typist.warmed), typist.engine.cancelled) == (1, [])


async def test_a_jump_cancels_what_is_of_no_use_any_more(make):
    """The new place begins when the old one has ended, so that there is never more than one."""
    typist = make("a" * 100 + "b" * 100)
    typist.engine.warming = True
    typist.type("!", at=200)
    await typist.idle()
    typist.type("?", at=0)
    await typist.idle()
    assert typist.engine.cancelled == [typist.engine.warmed[0].id]
    typist.warmer.asked(typist.document, 150, None)
    await typist.idle()
    assert typist.warmed == ["a" * 100 + "b" * 100 + "!", "?" + "a" * 100 + "b" * 49]
    assert (typist.engine.running, typist.counted("cancelled")) == (1, 1)


async def test_the_window_that_comes_next_is_warmed_when_nothing_else_is_wanted(make):
    """Behind the place itself, once for all keys up to there, and anew when it has grown by a block."""
    typist = make(BLOCK)
    typist.prompts.next = "next" + BLOCK
    for key in "ab":
        typist.type(key)
        await typist.idle()
    assert typist.warmed == [BLOCK + "a", "next" + BLOCK]
    typist.prompts.next += BLOCK
    typist.type(BLOCK)
    await typist.idle()
    assert typist.warmed[2:] == [BLOCK + "ab" + BLOCK, "next" + BLOCK + BLOCK]


async def test_the_window_behind_a_version_that_is_gone_is_not_warmed(make):
    """Operations were applied since the key: where it was typed is somewhere else by now."""
    typist = make(BLOCK)
    typist.prompts.next = "next" + BLOCK
    typist.type("a")
    typist.document.change(Change(NAME, 2, 3, [TextEdit(0, 1, "yy")]), typist.limits)
    await typist.idle()
    assert typist.warmed == [BLOCK + "a"]


async def test_it_is_warmed_beside_the_request_that_came_with_the_key(make):
    """Which computes its own place."""
    typist = make()
    typist.prompts.next = "next" + BLOCK
    typist.type("a")
    typist.warmer.request_started(typist.complete(1, 1))
    await typist.idle()
    assert typist.warmed == ["next" + BLOCK]


async def test_the_next_window_keeps_no_place_waiting(make):
    """What somebody expects now takes the engine from it, and it is begun again after that."""
    typist = make()
    typist.prompts.next = "next" + BLOCK
    typist.type("a")
    typist.warmer.request_started(typist.complete(1, 1))
    typist.engine.warming = True
    await typist.idle()
    assert typist.warmed == ["next" + BLOCK]
    typist.engine.warming = False
    typist.type(BLOCK)
    await typist.idle()
    assert typist.warmed == ["next" + BLOCK, "a" + BLOCK, "next" + BLOCK]
    assert typist.counted("cancelled") == 1


async def test_of_a_text_that_has_changed_or_gone_no_window_comes_next(make):
    """The key is no longer the newest; nor does one come where a client only says what it expects."""
    typist = make(BLOCK)
    typist.prompts.next = "next" + BLOCK
    typist.warmer.asked(typist.document, BLOCK_SIZE, None)
    await typist.idle()
    typist.type("a")
    typist.warmer.closed(NAME)
    await typist.idle()
    typist.type("b")
    typist.document.change(Change(NAME, 3, 4, [TextEdit(0, 4, "")]), typist.limits)  # applies operations of an edit
    await typist.idle()
    assert typist.warmed == [BLOCK]


async def test_a_key_that_completes_no_block_asks_nothing_of_the_engine(make):
    """The cache holds full blocks, and the last token of a prompt is always computed."""
    typist = make(BLOCK)
    for _ in range(2 * BLOCK_SIZE):
        typist.type(".")
        await typist.idle()
    assert [len(prompt) for prompt in typist.warmed] == [17, 33]


async def test_what_a_client_asks_for_again_is_warmed_again(make):
    """It may know that it was away for long; what is still cached costs the engine nothing."""
    typist = make(BLOCK + "one")
    for _ in range(2):
        typist.warmer.asked(typist.document, 19, None)
        await typist.idle()
    assert typist.warmed == [BLOCK + "one"] * 2


async def test_a_change_forgets_the_edit_that_was_expected(make):
    """Its prompt has changed; who still expects it says so again."""
    typist = make(BLOCK + "one")
    typist.engine.warming = True
    typist.warmer.asked(typist.document, 0, 19)
    await typist.idle()
    typist.type("!")
    await typist.idle()
    assert typist.warmed == [">" + BLOCK + "one", BLOCK + "one!"]
    assert typist.engine.running == 1


async def test_a_long_prompt_is_made_in_a_thread_while_keys_come(make):
    """One at a time; the plan of an older key is used when it is ready, since the newer one extends it."""
    typist = make(BLOCK)
    typist.prompts.chars = 5000
    typist.prompts.gate.clear()
    for key in "abc":
        typist.type(key)
        await asyncio.sleep(0.002)
    assert len(typist.prompts.planned) == 1
    assert typist.prompts.planned[0] != threading.get_ident()
    typist.prompts.gate.set()
    await typist.idle()
    assert typist.warmed == [BLOCK + "a"]
    assert len(typist.prompts.planned) == 2


# Requests ------------------------------------------------------------------------------------------------------


async def test_a_request_that_comes_with_its_change_leaves_nothing_to_warm(make):
    """It computes its place itself."""
    typist = make(BLOCK)
    typist.type("a")
    typist.warmer.request_started(typist.complete(1, BLOCK_SIZE + 1))
    await typist.idle()
    assert typist.warmed == []


@pytest.mark.parametrize("planning", [True, False])
async def test_a_request_takes_over_from_the_warm_work_of_its_place(make, planning):
    """Whether that is being tokenised or computed."""
    typist = make(BLOCK + "one")
    typist.engine.warming = True
    typist.prompts.chars = 5000 * planning
    if planning:
        typist.prompts.gate.clear()
    typist.warmer.asked(typist.document, 0, 19)
    await asyncio.sleep(0.01)
    typist.warmer.request_started(Edit(1, NAME, 1, 0, 19, "shorter"))
    typist.prompts.gate.set()
    await typist.idle()
    assert len(typist.warmed) == (not planning)
    assert typist.engine.running == 0


async def test_other_places_are_warmed_beside_a_request(make):
    """The same one is not, until the request has ended."""
    typist = make(BLOCK + "one")
    typist.warmer.request_started(typist.complete(1, 19))
    typist.warmer.asked(typist.document, 19, None)
    await typist.idle()
    assert typist.warmed == []
    typist.warmer.asked(typist.document, 17, None)
    await typist.idle()
    assert typist.warmed == [BLOCK + "o"]
    typist.warmer.request_ended(1)
    typist.warmer.request_ended(99)
    typist.warmer.asked(typist.document, 19, None)
    await typist.idle()
    assert typist.warmed == [BLOCK + "o", BLOCK + "one"]


# Bounds --------------------------------------------------------------------------------------------------------


async def test_a_session_over_its_budget_waits_with_its_newest_place(make, monkeypatch):
    """It is counted once, nothing is tokenised meanwhile, and the place is warmed when the budget has recovered."""
    typist = make(BLOCK, warm_burst_tokens=BLOCK_SIZE, warm_tokens_per_second=1)
    clock = 1000.0
    monkeypatch.setattr(typist.warmer, "_loop", SimpleNamespace(time=lambda: clock, call_later=_soon))
    typist.warmer._budget = TokenBucket(1, BLOCK_SIZE, clock)
    typist.engine.warming = True
    typist.type("a")
    await _turns()
    typist.engine.finish(typist.engine.warmed[0].id, Finished("stop", computed_tokens=100))
    assert [(end.kind, end.receipt.computed_tokens) for end in typist.observed] == [("warm", 100)]
    typist.engine.warming = False
    for key in "bcd":
        typist.type(BLOCK + key)
        await _turns()
    assert (len(typist.warmed), len(typist.prompts.planned)) == (1, 1)
    clock += 50
    await _turns()
    assert len(typist.warmed) == 1
    clock += 51
    await _turns()
    assert typist.warmed[1:] == [typist.document.text]
    assert typist.counted("over_budget") == 3


async def test_a_flood_of_documents_computes_no_more_than_the_budget(make):
    """The first few are warmed, the others have to wait."""
    typist = make(warm_burst_tokens=4 * BLOCK_SIZE, warm_tokens_per_second=1)
    typist.prompts.open = True
    for number in range(100):
        text = f"{number:04}" + 4 * BLOCK
        typist.warmer.opened(Document(Open(f"file:///{number}", 1, "python", text), typist.limits))
        for _ in range(5):
            await asyncio.sleep(0)
    assert len(typist.warmed) == 5  # the last one overdraws
    assert typist.engine.running == 0


async def test_what_the_engine_drops_is_not_tried_again_at_once(make, monkeypatch):
    """Under pressure there is a pause, after which the newest place gets its turn."""
    monkeypatch.setattr(warming, "_PRESSURE_SECONDS", 3600.0)
    typist = make(BLOCK)
    typist.engine.warming = True
    typist.type("a")
    await _turns()
    typist.type(BLOCK)
    await _turns()
    typist.engine.finish(typist.engine.warmed[0].id, Finished("cancel"))
    typist.type("b")
    await _turns()
    assert (len(typist.warmed), typist.counted("dropped"), typist.counted("cancelled")) == (1, 1, 0)
    typist.warmer._not_before = 0.0
    typist.warmer._go_on()
    await _turns()
    assert typist.warmed[1:] == [BLOCK + "a" + BLOCK + "b"]


async def test_an_engine_that_dies_is_left_alone_for_a_while(make, monkeypatch):
    """Its warm work has ended; nobody asks for more in a loop."""
    monkeypatch.setattr(warming, "_PRESSURE_SECONDS", 3600.0)
    typist = make(BLOCK)
    typist.engine.warming = True
    typist.type("a")
    await _turns()
    typist.engine.fail("it died")
    typist.type(BLOCK)
    await _turns()
    assert (len(typist.warmed), typist.counted("dropped")) == (1, 1)


def test_a_bucket_refills_with_time_and_pays_back_first():
    """It never holds more than its burst."""
    bucket = TokenBucket(rate=10, burst=100, now=0.0)
    assert bucket.wait(0.0) == 0
    bucket.spend(150, 0.0)
    assert bucket.wait(0.0) == pytest.approx(5)
    assert bucket.wait(2.0) == pytest.approx(3)
    assert bucket.wait(5.1) == 0
    bucket.spend(101, 1000.0)
    assert bucket.wait(1000.0) == pytest.approx(0.1)


@pytest.mark.parametrize("limit", ["warm_tokens_per_second", "warm_burst_tokens"])
def test_a_budget_of_nothing_is_an_error(limit):
    """It would wait for ever."""
    with pytest.raises(ValueError, match="at least 1"):
        Limits(**{limit: 0})


# The end -------------------------------------------------------------------------------------------------------


async def test_a_closed_document_is_forgotten(make):
    """Wherever it is on its way."""
    typist = make(BLOCK)
    typist.engine.warming = True
    typist.type("a")
    await typist.idle()
    typist.warmer.asked(typist.document, 0, 5)
    typist.warmer.closed("file:///other")
    typist.warmer.closed(NAME)
    await typist.idle()
    assert typist.warmed == [BLOCK + "a"]
    assert typist.engine.running == 0


@pytest.mark.parametrize("planning", [True, False])
async def test_a_closed_session_warms_nothing(make, planning):
    """What was on its way ends, and what is asked for later is ignored."""
    typist = make(BLOCK)
    typist.engine.warming = True
    typist.prompts.chars = 5000 * planning
    if planning:
        typist.prompts.gate.clear()
    typist.type("a")
    await asyncio.sleep(0.01)
    typist.warmer.close()
    typist.warmer.close()
    typist.type("b")
    typist.warmer.opened(typist.document)
    typist.prompts.gate.set()
    await asyncio.sleep(0.01)
    await typist.idle()
    assert (len(typist.warmed), typist.engine.running) == (not planning, 0)


async def test_sessions_of_different_keys_share_nothing(make):
    """Each warms under its own salt."""
    typist = make(BLOCK + "one")
    other = typist.session("pepper")
    for warmer in (typist.warmer, other):
        warmer.asked(typist.document, 19, None)
        await asyncio.sleep(0.01)
    other.close()
    assert [request.salt for request in typist.engine.warmed] == ["salt", "pepper"]


STEPS = st.one_of(
    st.tuples(st.just("type"), st.integers(0, 200), st.sampled_from(["a", "def ", BLOCK, "é\U0001f600"])),
    st.tuples(st.just("ask"), st.integers(0, 200), st.none() | st.integers(0, 200)),
    st.tuples(st.just("open"), st.just(0), st.just(0)),
    st.tuples(st.just("close"), st.just(0), st.just(0)),
    st.tuples(st.just("request"), st.integers(0, 200), st.integers(0, 3)),
    st.tuples(st.just("end"), st.integers(0, 3), st.sampled_from(["stop", "cancel", "error"])),
    st.tuples(st.just("turns"), st.integers(1, 6), st.just(0)),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=40), chars=st.sampled_from([0, 5000]))
def test_whatever_happens_one_prompt_at_a_time_and_none_after_the_end(engine, steps, chars):
    """Over random interleavings of keys, wishes, requests, drops and ends."""

    scripted = type(engine)

    async def play() -> None:
        engine = scripted()
        typist = Typist(engine, BLOCK * 8)
        engine.warming = typist.prompts.open = True
        typist.prompts.chars = chars
        for name, number, value in steps:
            at = min(number, len(typist.document.text))
            units = len(typist.document.text[:at].encode("utf-16-le")) // 2
            match name:
                case "type":
                    typist.type(value, at=units)
                case "ask" if value is None:
                    typist.warmer.asked(typist.document, units, None)
                case "ask":
                    end = max(at, min(value, len(typist.document.text)))
                    typist.warmer.asked(
                        typist.document, units, len(typist.document.text[:end].encode("utf-16-le")) // 2
                    )
                case "open":
                    typist.warmer.opened(typist.document)
                case "close":
                    typist.warmer.closed(NAME)
                case "request":
                    typist.warmer.request_started(typist.complete(value, units))
                case "end":
                    typist.warmer.request_ended(number)
                    if engine.warmed:
                        engine.finish(engine.warmed[-1].id, Finished(value, computed_tokens=7))
                case "turns":
                    for _ in range(number):
                        await asyncio.sleep(0)
            assert engine.running <= 1
        typist.warmer.close()
        await typist.idle()
        assert engine.running == 0
        asked = len(engine.warmed)
        await asyncio.sleep(0.001)
        assert len(engine.warmed) == asked
        assert sum(map(typist.counted, ("finished", "cancelled", "dropped"))) == typist.counted("started") == asked
        typist.threads.shutdown()

    asyncio.run(play())


def _soon(seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
    """A timer that asks again all the time."""
    return asyncio.get_running_loop().call_later(0, call)


async def _turns(turns: int = 30) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
