"""Requests that are ended or turned while the default model really writes them: a session over a real engine."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from warmline.engine import BLOCK_SIZE, EngineOptions, LocalEngine, load_tokenizer
from warmline.realtime.editing.steering import divide
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.chat_prompts import ChatPrompts
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Change,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    Error,
    Interrupt,
    Open,
    Ops,
    Sampling,
    Steer,
    Steered,
    TextEdit,
)
from warmline.realtime.session import Service, Session
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.tracing import HOPS, clock

pytestmark = pytest.mark.asyncio(loop_scope="module")

URI = "file:///cart.py"
FUNCTION = (
    "def total_{0}(prices, amount):\n    result = {0}\n    for price in prices:\n"
    "        result += price * amount\n    return result\n\n\n"
)
CODE = "".join(map(FUNCTION.format, range(8)))
SALTS = itertools.count()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(default_model: Path) -> AsyncIterator[LocalEngine]:
    engine = LocalEngine(EngineOptions(model=str(default_model)))
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture
def connect(engine: LocalEngine, default_model: Path) -> Callable[[], Editor]:
    """Make a session with the document open."""
    tokenizer = load_tokenizer(default_model)
    metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age)
    service = Service(engine, PromptBuilder(tokenizer, 8192), ChatPrompts(tokenizer, 8192), metrics, Limits(), True)
    return lambda: Editor(engine, service)


class Editor:
    """A session, whose prompts nobody has computed before, and what it sent."""

    def __init__(self, engine: LocalEngine, service: Service, text: str = CODE) -> None:
        self.engine = engine
        self.sent: list[Any] = []
        self.session = Session(service, f"salt {next(SALTS)}", self._send)
        self.say(Open(URI, 1, "python", text))

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.session.handle(message, clock(), clock())

    def of(self, *kinds: type) -> list[Any]:
        return [message for message in self.sent if isinstance(message, kinds)]

    def operations(self) -> list[int | str]:
        """Those of the one edit that stand."""
        operations: list[int | str] = []
        for frame in self.of(Ops, Steered):
            if isinstance(frame, Ops):
                operations += frame.operations
            else:
                del operations[frame.operations :]
        return operations

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.001)

    async def ended(self) -> None:
        """No request runs, and the engine holds nothing for one."""
        await self.until(lambda: self.session.running == 0)
        await self.until(lambda: self.engine.stats.running == self.engine.stats.blocks_used == 0)

    def _send(self, message: Any) -> int:
        self.sent.append(message)
        return clock()


def edit(request: int, **fields: Any) -> Edit:
    sampling = Sampling(max_tokens=200, temperature=0.6, seed=11)
    return Edit(
        request, URI, 1, 0, len(CODE), fields.pop("instruction", "rename amount to count"), sampling, **fields
    )


GOING_ON = Sampling(max_tokens=400, temperature=1.5, seed=11, logit_bias=dict.fromkeys((0, 2, 3, 5), -100.0))
"""Text that goes on as long as it may: the model's end tokens are never chosen."""
ENDINGS: dict[str, Callable[[], list[Any]]] = {
    "cancel": lambda: [Cancel(1)],
    "interrupted": lambda: [Interrupt(1)],
    "superseded": lambda: [Complete(2, URI, 1, 0, Sampling(max_tokens=1))],
    "conflict": lambda: [Change(URI, 1, 2, [TextEdit(0, len(CODE), "")])],
}


@pytest.mark.parametrize("state", ["submitted", "writing", "steered", "paused"])
@pytest.mark.parametrize("reason", ENDINGS)
async def test_a_request_ends_once_and_frees_its_memory(connect, state, reason):
    """With its reason, at once, in whatever state it is."""
    editor = connect()
    is_edit = reason == "conflict" or state == "steered"
    if is_edit and reason == "superseded":
        pytest.skip("an edit is not superseded")
    editor.say(edit(1) if is_edit else Complete(1, URI, 1, len(CODE), GOING_ON))
    if state in ("writing", "paused", "steered"):
        await editor.until(lambda: bool(editor.of(Delta, Ops)))
    if state == "paused":
        editor.session.pause()
    if state == "steered":
        editor.say(Steer(1, "and return 0 for no prices"))
    editor.say(*ENDINGS[reason]())
    shown = len([frame for frame in editor.of(Delta, Ops) if frame.stream == 0])
    editor.session.resume()
    await editor.ended()
    ends = [end for end in editor.of(Done, Error) if end.request == 1]
    assert [end.reason for end in ends] == [reason]
    assert len([frame for frame in editor.of(Delta, Ops) if frame.stream == 0]) == shown
    timing = ends[0].timing
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    editor.session.close()


async def test_a_steered_edit_is_what_a_fresh_one_makes_of_the_same(connect, apply_operations):
    """With the accepted text, both instructions and the same seed: the same text, sampled with the same numbers."""
    steered = connect()
    steered.say(edit(1))
    await steered.until(lambda: len(steered.operations()) >= 2)
    steered.say(Steer(1, "and return 0 for no prices"))
    (frame,) = steered.of(Steered)
    accepted, _ = divide(CODE, steered.operations()[: frame.operations])
    await steered.ended()
    fresh = connect()
    fresh.say(
        edit(1, instruction="rename amount to count\nInstruction: and return 0 for no prices", accepted=accepted)
    )
    await fresh.ended()
    result = apply_operations(CODE, steered.operations())
    assert result.startswith(accepted)
    assert result == apply_operations(CODE, fresh.operations())
    done, again = steered.of(Done)[0], fresh.of(Done)[0]
    assert (done.reason, done.receipt.seed) == (again.reason, again.receipt.seed)
    for end in (done, again):
        receipt = end.receipt
        assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens
    assert done.receipt.prompt_tokens > again.receipt.prompt_tokens


class Burst:
    """Forty keys at 60 ms behind a text, each a change and a request for what comes next.

    Attributes:
        typed: what the keys are.
        answers: what was sent at once at each key.
        shown: what each request suggested by the time of the next key.
        most: how many generations were alive at a time.
    """

    def __init__(self, editor: Editor, typed: str) -> None:
        self.typed = typed
        self.answers: list[list[Any]] = []
        self.shown: list[str] = []
        self.most = 0
        self._editor = editor

    async def play(self, sampling: Sampling, suggested: Callable[[int], str | None]) -> None:
        """Type; ``suggested`` is what the model is to say after a key, or None for what it would say."""
        editor, text = self._editor, CODE
        for key, letter in enumerate(self.typed):
            before = len(editor.sent)
            editor.say(Change(URI, key + 1, key + 2, [TextEdit(len(text), len(text), letter)]))
            text += letter
            editor.say(Complete(key, URI, key + 2, len(text), sampling, replay=suggested(key)))
            self.answers.append(editor.sent[before:])
            for _ in range(30):
                await asyncio.sleep(0.002)
                self.most = max(self.most, editor.session.running)
            self.shown.append(self.text_of(key))
        await editor.ended()

    def accepted(self, request: int) -> Accepted:
        """What a request was answered with."""
        (accepted,) = (frame for frame in self._editor.of(Accepted) if frame.request == request)
        return accepted

    def text_of(self, request: int) -> str:
        """What it has suggested so far."""
        stream, text = None, ""
        for frame in self._editor.sent:
            if isinstance(frame, Accepted) and frame.request == request:
                stream = frame.stream
            elif isinstance(frame, Delta) and frame.stream == stream:
                text += frame.text
            elif isinstance(frame, Done) and frame.request == request:
                break
        return text

    def ended_before(self, request: int, key: int) -> bool:
        """Whether a request had come to its end by itself before a key was pressed."""
        return all(done.request != request for done in self.answers[key] if isinstance(done, Done))


async def test_a_burst_of_keys_shows_suggestions(connect):
    """At most two generations are alive at any time, and the person sees what the model says.

    The model suggests what is typed (a replay). A key that says what the one before was shown sees the rest at once;
    when the keys cease, whatever was shown meanwhile, the whole rest is there.
    """
    editor, typed = connect(), FUNCTION.format(8)
    burst = Burst(editor, typed[:40])
    await burst.play(Sampling(max_tokens=200), lambda key: typed[key + 1 :])
    followed = [key for key in range(1, 40) if len(burst.shown[key - 1]) > 1 and not burst.ended_before(key - 1, key)]
    for key in followed:
        done, accepted, delta = burst.answers[key]
        assert (done.request, done.reason) == (key - 1, "superseded")
        assert accepted.continued == Continued(key - 1, key + 1, key + 2)
        assert delta.text == burst.shown[key - 1][1:]
    assert len(followed) >= 5, "the person saw suggestions while typing"
    assert sum(map(bool, burst.shown)) >= 8
    assert burst.most <= 2
    assert burst.text_of(39) == typed[40:]
    editor.session.close()


async def test_a_burst_of_keys_that_are_not_what_was_suggested(connect):
    """Each such key starts afresh; suggestions for the text as it is are seen meanwhile, and at the end.

    The model says what it likes, and the person types something else.
    """
    editor, typed = connect(), "class Warehouse:\n    quartz = 'xylophone jumps'"[:40]
    burst = Burst(editor, typed)
    greedy = Sampling(max_tokens=24)
    await burst.play(greedy, lambda _: None)
    other = [key for key in range(1, 40) if burst.shown[key - 1] and not burst.shown[key - 1].startswith(typed[key])]
    for key in other:
        assert burst.accepted(key).continued is None
        if not burst.ended_before(key - 1, key):
            assert (burst.answers[key][0].request, burst.answers[key][0].reason) == (key - 1, "superseded")
    assert len(other) >= 3, "the person typed something else than was shown"
    assert sum(map(bool, burst.shown)) >= 5, "the person saw suggestions while typing"
    assert burst.most <= 2
    ends = [done.request for done in editor.of(Done, Error)]
    assert sorted(ends) == list(range(40))
    editor.session.close()
    fresh = connect()
    fresh.say(Open(URI, 2, "python", CODE + typed), Complete(1, URI, 2, len(CODE + typed), greedy))
    await fresh.ended()
    assert burst.text_of(39) == "".join(delta.text for delta in fresh.of(Delta))
    fresh.session.close()


# Before the first token ----------------------------------------------------------------------------------------

LONG = "".join(map(FUNCTION.format, range(20)))
NARROW = """
import functools
from warmline.engine import budget, process, scheduler
scheduler.StepBudget = functools.partial(budget.StepBudget, prefill=16, prefill_beside_decode=16)
process.HEARTBEAT_SECONDS = 0.01
process.main()
"""
"""An engine that computes prompts in many passes and tells of each."""
ROOM = 1088
"""Tokens that its cache has room for: one prompt of the long text, and not a second one."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow_engine(default_model: Path) -> AsyncIterator[LocalEngine]:
    options = EngineOptions(model=str(default_model), backend="cpu", kv_memory=24 << 20)
    engine = LocalEngine(options, command=(sys.executable, "-P", "-c", NARROW))
    await engine.start()
    assert engine.model.max_sequence_tokens == ROOM
    yield engine
    await engine.close()


@pytest.fixture
def narrow(narrow_engine: LocalEngine, default_model: Path) -> Callable[[], Editor]:
    """Make a session with the long document open; each has a prompt of its own to compute."""
    tokenizer = load_tokenizer(default_model)
    metrics = Metrics(lambda: narrow_engine.stats, lambda: narrow_engine.heartbeat_age)
    chat = ChatPrompts(tokenizer, ROOM)
    service = Service(narrow_engine, PromptBuilder(tokenizer, ROOM), chat, metrics, Limits(), True)
    return lambda: Editor(narrow_engine, service, LONG)


@pytest.mark.parametrize("state", ["queued", "mid-prefill"])
@pytest.mark.parametrize("turn", [*ENDINGS, "steered"])
async def test_a_request_is_turned_before_its_first_token(narrow, narrow_engine, state, turn):
    """While it waits for room, or when a part of its prompt is computed: its memory is free at once."""
    holder, editor = narrow(), narrow()
    if state == "queued":
        holder.say(Complete(1, URI, 1, len(LONG), GOING_ON))
        await holder.until(lambda: bool(holder.of(Delta)))
    is_edit = turn in ("conflict", "steered")
    sampling = Sampling(max_tokens=100, temperature=0.6, seed=11)
    passes, freed = narrow_engine.stats.forward_passes, sum(narrow_engine.stats.freed)
    if is_edit:
        editor.say(Edit(1, URI, 1, 0, len(FUNCTION), "rename amount to count", sampling))
    else:
        editor.say(Complete(1, URI, 1, len(LONG), sampling))
    if state == "queued":
        await editor.until(lambda: narrow_engine.stats.waiting == 1)
    else:
        await editor.until(lambda: narrow_engine.stats.forward_passes >= passes + 2)
    assert editor.of(Delta, Ops) == []
    if turn == "steered":
        editor.say(Steer(1, "and return 0 for no prices"))
        assert editor.of(Steered) == [Steered(1, 0)]
    else:
        editor.say(*ENDINGS[turn]())
    await editor.until(lambda: sum(narrow_engine.stats.freed) > freed)
    holder.say(Cancel(1))
    if turn == "steered":
        await editor.until(lambda: bool(editor.of(Ops)))
        editor.say(Interrupt(1))
    await editor.ended()
    ends = [end for end in editor.of(Done, Error) if end.request == 1]
    if turn == "steered":  # the answer is short, and may be at its end when it is interrupted
        assert [end.reason for end in ends] in (["interrupted"], ["stop"])
    else:
        assert [end.reason for end in ends] == [turn]
        assert [frame for frame in editor.of(Delta, Ops) if frame.stream == 0] == []
        assert ends[0].receipt.output_tokens == 0
        receipt = ends[0].receipt  # it counts no more of the prompt than was computed
        assert receipt.prompt_tokens == receipt.cached_tokens + receipt.computed_tokens
        assert receipt.computed_tokens <= BLOCK_SIZE * receipt.forward_passes  # the rows of a pass there
    assert narrow_engine.stats.blocks_used == narrow_engine.stats.waiting == 0
    editor.session.close()
    holder.session.close()
