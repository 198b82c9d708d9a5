"""Requests that are ended or turned while the default model really writes them: a session over a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from warmline.engine import EngineOptions, LocalEngine, load_tokenizer
from warmline.realtime.chat_prompts import ChatPrompts
from warmline.realtime.limits import Limits
from warmline.realtime.metrics import Metrics
from warmline.realtime.prompts import PromptBuilder
from warmline.realtime.protocol import (
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
from warmline.realtime.steering import divide
from warmline.realtime.tracing import HOPS, clock

pytestmark = pytest.mark.asyncio(loop_scope="module")

URI = "file:///cart.py"
FUNCTION = (
    "def total_{0}(prices, amount):\n    result = {0}\n    for price in prices:\n"
    "        result += price * amount\n    return result\n\n\n"
)
CODE = "".join(map(FUNCTION.format, range(8)))


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
    """A session, and what it sent."""

    def __init__(self, engine: LocalEngine, service: Service) -> None:
        self.engine = engine
        self.sent: list[Any] = []
        self.session = Session(service, "salt", self._send)
        self.say(Open(URI, 1, "python", CODE))

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
    editor.say(edit(1) if is_edit else Complete(1, URI, 1, len(CODE), Sampling(max_tokens=400, temperature=1.5)))
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


async def test_a_burst_of_keys_shows_suggestions(connect, engine):
    """Forty keys at 60 ms, each a change and a request: at most two generations are alive at any time.

    The model suggests what is typed (a replay). A key that says what the one before was shown sees the rest at once;
    when the keys cease, whatever was shown meanwhile, the whole rest is there.
    """
    editor = connect()
    typed = FUNCTION.format(8)
    text, most, shown = CODE, 0, ""
    for key in range(40):
        follows = len(shown) > 1 and all(done.request != key - 1 for done in editor.of(Done))
        editor.sent.clear()
        editor.say(Change(URI, key + 1, key + 2, [TextEdit(len(text), len(text), typed[key])]))
        text += typed[key]
        editor.say(Complete(key, URI, key + 2, len(text), Sampling(max_tokens=200), replay=typed[key + 1 :]))
        if follows:
            done, accepted, delta = editor.sent
            assert (done.request, done.reason) == (key - 1, "superseded")
            assert accepted.continued == Continued(key - 1, key + 1, key + 2)
            assert delta.text == shown[1:]
        for _ in range(30):
            await asyncio.sleep(0.002)
            most = max(most, editor.session.running)
        shown = "".join(delta.text for delta in editor.of(Delta))
    await editor.ended()
    assert most <= 2
    assert "".join(delta.text for delta in editor.of(Delta)) == typed[40:]
    editor.session.close()
