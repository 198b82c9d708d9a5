"""Runs a model over records, greedily, as the service would, and compares its answers with the right ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol

import msgspec
from rapidfuzz.distance import Indel
from warmline.engine import (
    DraftCount,
    EngineError,
    EngineStats,
    Finished,
    GenerationRequest,
    ModelInfo,
    SamplingParams,
    SequenceEvent,
    pack_tokens,
)

from ..documents.document_text import DocumentText
from ..errors import Refused
from ..prompting.fill_in_middle import choose_form
from ..prompting.prompts import PromptBuilder, PromptPlan, PromptTokenizer
from ..protocol import Operation, Ops
from ..requests.outputs import EditOutput
from .planned import plan_edit
from .records import CompletionRecord, EditRecord, Record
from .scores import CompletionScores, EditScores, score_completion, score_edit
from .syntax import parses

EDIT_ROOM: Final = 128
"""Tokens by which an edit may outgrow its range, as in the SDK."""
COMPLETION_ROOM: Final = 32
"""Tokens that a completion may have beyond those of the text that was there."""


class Model(Protocol):
    """What an evaluation needs of an engine; see `warmline.engine.OfflineEngine`."""

    model: ModelInfo

    @property
    def tokenizer(self) -> PromptTokenizer: ...
    @property
    def has_work(self) -> bool: ...
    @property
    def stats(self) -> EngineStats: ...
    def submit(self, request: GenerationRequest) -> None: ...
    def cancel(self, sequence: int) -> None: ...
    def step(self) -> list[SequenceEvent]: ...
    def log_probabilities(self, prompt: list[int], answer: list[int], salt: str = "") -> list[float]: ...


class Likelihood(msgspec.Struct, frozen=True):
    """How likely the right answer is to the model: sums of its tokens' log-probabilities, and how many they are.

    Of an edit the tokens after the opened fence count, the closing fence included. ``changed`` counts those where
    the answer leaves the text of the range: new ones, and the one that follows a deletion.
    """

    tokens: int
    total: float
    changed: int
    changed_total: float


class Speed(msgspec.Struct, frozen=True):
    """Where the time of one request went that ran alone, with nothing of its prompt cached.

    Attributes:
        prefill_ms: of computing the prompt.
        first_token_ms: from its arrival to its first token.
        decode_ms: from its first token to its end.
        decode_passes: forward passes in that time, and ``decode_tokens`` that came of them.
        drafts: drafted and accepted tokens of each source.
    """

    prompt_tokens: int
    output_tokens: int
    prefill_ms: float
    first_token_ms: float
    decode_ms: float
    decode_passes: int
    decode_tokens: int
    drafts: tuple[DraftCount, ...] = ()

    @property
    def tokens_per_second(self) -> float | None:
        """The rate of decoding; None if all came with the first token."""
        return self.decode_tokens / self.decode_ms * 1e3 if self.decode_tokens and self.decode_ms else None

    @property
    def total_ms(self) -> float:
        """From its arrival to its end."""
        return self.first_token_ms + self.decode_ms


@dataclass
class Outcome:
    """What came of one record.

    Attributes:
        answer: the text of the range after the edit, or the completion.
        reason: why it ended, as in a receipt; "refused" if it has no room.
        nothing: an edit's scores if the range had been left as it was.
        plain: the speed of the same request without speculation, where asked for.
        plain_agrees: the answer was the same then.
    """

    record: Record
    answer: str
    reason: str
    error: str = ""
    edit: EditScores | None = None
    completion: CompletionScores | None = None
    nothing: EditScores | None = None
    likelihood: Likelihood | None = None
    speed: Speed | None = None
    plain: Speed | None = None
    plain_agrees: bool | None = None

    @property
    def exact(self) -> bool:
        """Whether the answer is the right one."""
        scores = self.edit or self.completion
        return scores is not None and scores.exact


@dataclass(eq=False)
class _Job:
    """One request: of a record, or once more without speculation for its outcome."""

    record: Record
    again: Outcome | None = None
    plan: PromptPlan | None = None
    output: EditOutput | None = None
    operations: list[Operation] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    first_tokens: int = 0
    """Those that came with its first pass that brought any, and ``first_passes`` up to it."""
    first_passes: int = 0


class Evaluation:
    """One run over some records.

    Attributes:
        outcomes: what has come so far, in the order in which it came; complete once `run` has returned.
        tokens: how many were generated with speculation.
        seconds: what the passes took in which that was done.
    """

    def __init__(
        self, model: Model, *, likelihood: bool = True, concurrency: int = 1, plain: int = 0, salt: str = ""
    ) -> None:
        """Measure with a model.

        ``concurrency`` requests run at once; speed is measured where it is 1. The first ``plain`` records run once
        more without speculation. ``salt`` sets this run's cached prompts apart.

        Raises:
            ValueError: ``plain`` is asked for with requests beside each other.

        """
        if plain and concurrency > 1:
            raise ValueError("speed is compared for requests that run alone")
        self.outcomes: list[Outcome] = []
        self.tokens = 0
        self.seconds = 0.0
        self._model = model
        info = model.model
        fill = choose_form("auto", info.name, model.tokenizer, info.fill_marks)
        self._prompts = PromptBuilder(model.tokenizer, info.max_sequence_tokens, fill)
        self._likelihood = likelihood
        self._concurrency = concurrency
        self._plain = plain
        self._salt = salt
        self._ids = count(1)
        self._running: dict[int, _Job] = {}
        self._unscored: deque[Outcome] = deque()

    def steps(self, records: Sequence[Record]) -> int:
        """How many steps of progress a run over these records has."""
        return len(records) * (2 if self._likelihood else 1) + min(self._plain, len(records))

    def run(self, records: Iterable[Record], advance: Callable[[], None] = lambda: None) -> None:
        """Take each record; ``advance`` is called after each step of progress."""
        waiting = deque(_Job(record) for record in records)
        plain_left = self._plain
        while waiting or self._running or self._unscored:
            if not self._running:  # the engine has room, and alone a prompt that was just answered is still cached
                while self._unscored:
                    self._score_likelihood(self._unscored.popleft())
                    advance()
            while waiting and len(self._running) < self._concurrency:
                refused = self._start(waiting.popleft())
                if refused is not None:
                    self._ended(refused)
                    advance()
            if not self._running:
                continue
            for job, outcome in self._step():
                advance()
                if job.again is not None:
                    job.again.plain = outcome.speed
                    job.again.plain_agrees = outcome.answer == job.again.answer
                    continue
                self._ended(outcome)
                if plain_left:
                    plain_left -= 1
                    waiting.appendleft(_Job(job.record, again=outcome))

    def _ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self._likelihood:
            self._unscored.append(outcome)

    def _start(self, job: _Job) -> Outcome | None:
        """Give a request to the engine; returns the outcome if it has no room."""
        record = job.record
        max_tokens = self._max_tokens(record)
        try:
            plan = self._plan(record, max_tokens)
        except Refused as refused:
            return _judge(record, "", "refused", refused.message)
        job.plan = plan
        if isinstance(record, EditRecord):
            job.output = EditOutput(0, plan, record.before)
        plain = job.again is not None
        sequence = next(self._ids)
        request = GenerationRequest(
            id=sequence,
            prompt=pack_tokens(plan.prompt),
            sampling=SamplingParams(max_tokens=max_tokens, stop=plan.stop),
            salt=f"{self._salt_of(record)} plain" if plain else self._salt_of(record),
            speculation=not plain,
            draft=None if plan.draft is None else pack_tokens(plan.draft),
        )
        self._running[sequence] = job
        self._model.submit(request)
        return None

    def _step(self) -> list[tuple[_Job, Outcome]]:
        """Run a pass; returns what has ended with it."""
        before = self._model.stats
        began = time.perf_counter()
        events = self._model.step()
        if any(job.again is None for job in self._running.values()):
            self.seconds += time.perf_counter() - began
        after = self._model.stats
        emitted = after.output_tokens - before.output_tokens
        for job in self._running.values():
            if job.first_tokens == 0:
                job.first_tokens = emitted  # read only where it ran alone
                job.first_passes += after.forward_passes - before.forward_passes
        ended: list[tuple[_Job, Outcome]] = []
        for event in events:
            job = self._running[event.id]
            if event.text:
                if job.output is None:
                    job.pieces.append(event.text)
                else:
                    _take(job, job.output.feed(event.text))
                    if job.output.ended and event.finished is None:
                        self._model.cancel(event.id)
            if event.finished is not None:
                del self._running[event.id]
                ended.append((job, self._finish(job, event.finished)))
        return ended

    def _finish(self, job: _Job, finished: Finished) -> Outcome:
        assert job.plan is not None
        record, reason, newline = job.record, str(finished.reason), job.plan.newline
        if job.output is not None:
            assert isinstance(record, EditRecord)
            if job.output.ended and reason != "error":
                reason = "stop"
            _take(job, job.output.finish(reason == "stop"))
            answer = apply_operations(record.before, job.operations)
        else:
            answer = "".join(job.pieces).replace("\n", newline)
        if job.again is None:
            self.tokens += finished.output_tokens
        outcome = _judge(record, answer, reason, finished.error)
        if self._concurrency == 1 and reason != "error":
            outcome.speed = _speed(finished, job)
        return outcome

    def _score_likelihood(self, outcome: Outcome) -> None:
        record = outcome.record
        right = record.after if isinstance(record, EditRecord) else record.middle
        try:
            plan = self._plan(record, self._max_tokens(record), right)
            assert plan.replay is not None
            if not plan.replay:
                return
            found = self._model.log_probabilities(plan.prompt, plan.replay, self._salt_of(record))
        except (Refused, EngineError):
            return  # no room
        changed = changed_tokens(plan.draft or [], plan.replay)
        outcome.likelihood = Likelihood(len(found), sum(found), len(changed), sum(found[index] for index in changed))

    def _plan(self, record: Record, max_tokens: int, replay: str | None = None) -> PromptPlan:
        if isinstance(record, EditRecord):
            return plan_edit(self._prompts, record, max_tokens, replay)
        document = DocumentText(record.prefix + record.suffix, record.language)
        return self._prompts.complete(document, len(record.prefix), max_tokens, (), replay).plan()

    def _max_tokens(self, record: Record) -> int:
        if isinstance(record, EditRecord):
            return len(record.before.encode("utf-8", "replace")) + EDIT_ROOM
        return len(self._model.tokenizer.encode(record.middle)) + COMPLETION_ROOM

    def _salt_of(self, record: Record) -> str:
        return f"{self._salt}/{record.id}"


def changed_tokens(draft: list[int], answer: list[int]) -> list[int]:
    """The indices of the answer's tokens that depart from the draft: new ones, and the one after a deletion."""
    changed: list[int] = []
    draft_at = answer_at = 0
    for block in Indel.opcodes(draft, answer).as_matching_blocks():  # the last one is empty, at both ends
        if answer_at < block.b:
            changed += range(answer_at, block.b)
        elif draft_at < block.a and block.b < len(answer):
            changed.append(block.b)
        draft_at, answer_at = block.a + block.size, block.b + block.size
    return changed


def apply_operations(original: str, operations: Iterable[Operation]) -> str:
    """The text of a range once operations, counted in UTF-16 units, are applied to it."""
    units, at, parts = original.encode("utf-16-le", "surrogatepass"), 0, []
    for operation in operations:
        if isinstance(operation, str):
            parts.append(operation.encode("utf-16-le", "surrogatepass"))
            continue
        end = at + 2 * abs(operation)
        if operation > 0:
            parts.append(units[at:end])
        at = end
    return b"".join([*parts, units[at:]]).decode("utf-16-le", "surrogatepass")


def _take(job: _Job, message: Ops | None) -> None:
    if message is not None:
        job.operations += message.operations


def _judge(record: Record, answer: str, reason: str, error: str = "") -> Outcome:
    """Score an answer; an edit that was refused leaves the range as it was."""
    if isinstance(record, CompletionRecord):
        scores = score_completion(record.middle, answer, reason == "stop")
        return Outcome(record, answer, reason, error, completion=scores)
    if reason == "refused":
        answer = record.before
    before, after = record.before, record.after
    parsed = parses(record.language, record.prefix, before, after, record.suffix, answer)
    return Outcome(
        record,
        answer,
        reason,
        error,
        edit=score_edit(before, after, answer, parsed),
        nothing=score_edit(before, after, before, None if parsed is None else True),
    )


def _speed(finished: Finished, job: _Job) -> Speed:
    first = finished.queue_ns + finished.prefill_ns + finished.first_token_ns
    return Speed(
        prompt_tokens=finished.prompt_tokens,
        output_tokens=finished.output_tokens,
        prefill_ms=finished.prefill_ns / 1e6,
        first_token_ms=first / 1e6,
        decode_ms=finished.step_ns / 1e6,
        decode_passes=finished.forward_passes - job.first_passes,
        decode_tokens=finished.output_tokens - job.first_tokens,
        drafts=finished.drafts,
    )
