"""The engine proper: one step plans a pass, runs it, verifies, samples, detokenises and says what came out."""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from .backends.base import Backend, PassAborted
from .batch import BLOCK_SIZE, Batch, SequenceSlice
from .kv_cache import KVCache
from .messages import (
    FREE_SECONDS,
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    SamplingParams,
    SequenceEvent,
    WarmRequest,
    pack_tokens,
    unpack_tokens,
)
from .sampling import Logits, sample, token_logprobs
from .scheduler import Scheduled, Scheduler, StepBudget
from .sequence import END_OF_REPLAY, Sequence
from .speculation.create import CreateDrafter, create_drafter
from .speculation.draft_model import DraftModel
from .speculation.drafter import Drafter
from .speculation.earlier_texts import EarlierTexts
from .speculation.measuring import measure_cost
from .speculation.verify import verify

_FAILED: Final = "the engine failed on this request; its log says why"
_TOKEN_BYTES: Final = len(pack_tokens([0]))

logger = logging.getLogger(__name__)


class TokenText(Protocol):
    """What the engine needs of a tokenizer."""

    @property
    def eos_ids(self) -> frozenset[int]:
        """The tokens that end a text."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token; none for a special one."""


class Engine:
    """Generates for many sequences at once over one backend. Synchronous and not thread-safe.

    `add`, `warm`, `pause`, `cancel` and `take_events` may be called between steps, and from the ``should_abort`` of
    a running one. Every added sequence has exactly one event with ``finished`` set, and it is its last.

    Attributes:
        draft_model: what foresees tokens by computing, if anything does.
        drafting: makes what drafts for a request; another may be set while idle.
    """

    def __init__(
        self,
        backend: Backend,
        tokenizer: TokenText,
        budget: StepBudget | None = None,
        draft_model: DraftModel | None = None,
    ) -> None:
        self.backend = backend
        self.draft_model = draft_model
        if draft_model is not None:
            draft_model.vocabulary = min(draft_model.vocabulary, backend.config.vocab_size)
        self.max_sequence_tokens = min(backend.config.context_length, backend.num_blocks * BLOCK_SIZE)
        self.cache = KVCache(backend.num_blocks)
        self.scheduler = Scheduler(self.cache, budget)
        self._tokenizer = tokenizer
        self._sequences: dict[int, Sequence] = {}
        self._events: list[SequenceEvent] = []
        self._counters = _Counters()
        self._texts = EarlierTexts()
        self.drafting: CreateDrafter = self._create_drafter

    @property
    def has_work(self) -> bool:
        """Whether a step would do or say anything. While all sequences are paused, it would not."""
        return bool(self._events or self.scheduler.busy or self.scheduler.warming.sequences)

    def add(self, request: GenerationRequest) -> None:
        """Queue a sequence. One that can't run ends at once with an error event, before anything is made for it.

        Raises:
            ValueError: a sequence with this id is running.

        """
        now = self._receive(request)
        try:
            prompt = self._check_prompt(request.prompt)
            self._check_vocabulary("draft", _unpack("draft", request.draft or b""))
            self._check_vocabulary("replay", _unpack("replay", request.replay or b""))
            self._check_vocabulary("logit bias", list(request.sampling.logit_bias))
            _check_sampling(request.sampling)
        except _RefusedError as refused:
            self._refuse(request, now, refused.code, str(refused))
            return
        most = min(request.sampling.max_tokens, self.max_sequence_tokens - len(prompt))
        self._start(Sequence.create(request, prompt, most, now, self.drafting))

    def warm(self, request: WarmRequest) -> None:
        """Queue a prompt to be computed in time that no other sequence needs. See `WarmRequest`.

        Raises:
            ValueError: a sequence with this id is running.

        """
        now = self._receive(request)
        try:
            prompt = self._check_prompt(request.prompt)
        except _RefusedError as refused:
            self._refuse(request, now, refused.code, str(refused))
            return
        self._start(Sequence.create_warm(request, prompt, now))

    def fail(self, request: GenerationRequest | WarmRequest) -> None:
        """End a request with an error event, in whatever state: also one whose `add` or `warm` raised."""
        sequence = self._sequences.get(request.id)
        if sequence is None:
            self._refuse(request, time.monotonic_ns(), "internal_error", _FAILED)
        else:
            self._fail(sequence)

    def pause(self, sequence_id: int, paused: bool) -> None:
        """Leave a sequence out of the passes from the next on, or take it in again. Ids are treated as by `cancel`.

        What a pass under way computes for it still comes.
        """
        sequence = self._sequences.get(sequence_id)
        if sequence is not None:
            sequence.paused = paused

    def cancel(self, sequence_id: int, sent_ns: int = 0) -> None:
        """End a sequence and free its blocks, whatever it is doing; an unknown id is ignored.

        If it is told when that was asked for (`time.monotonic_ns`), it counts how long a request took to free.
        """
        sequence = self._sequences.get(sequence_id)
        if sequence is not None:
            self._say(sequence, finished=self._end(sequence, "cancel"))
            if sent_ns and not sequence.warm:
                self._counters.count_freed((time.monotonic_ns() - sent_ns) / 1e9)

    def step(self, should_abort: Callable[[], bool] | None = None) -> list[SequenceEvent]:
        """Run one pass, if there is anything to compute.

        ``should_abort`` is asked between layers. The pass is also given up when all its sequences were cancelled
        meanwhile, or all but a warm one and another request came. Nothing of a pass that was given up counts.

        Returns: what happened since the last step ended, cancellations and refusals included.

        Raises:
            Exception: what ``should_abort`` raised, once the pass is given up. The next step goes on from there.

        """
        plan = self.scheduler.schedule()
        self._end_warmed()
        if plan:
            self._run(plan, should_abort)
        return self.take_events()

    def take_events(self) -> list[SequenceEvent]:
        """What happened up to now. In the middle of a step, these are ends that need no pass: cancels, for one."""
        events, self._events = self._events, []
        return events

    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""
        counters = self._counters
        return EngineStats(
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            blocks_used=self.cache.used,
            blocks_cached=self.cache.cached,
            blocks_total=self.cache.num_blocks,
            forward_passes=counters.forward_passes,
            prompt_tokens=counters.prompt_tokens,
            cached_tokens=counters.cached_tokens,
            output_tokens=counters.output_tokens,
            draft_tokens=counters.draft_tokens,
            accepted_tokens=counters.accepted_tokens,
            finished=counters.finished,
            cancelled=counters.cancelled,
            warming=len(self.scheduler.warming.sequences),
            warm_computed_tokens=counters.warm_computed_tokens,
            warm_used_tokens=counters.warm_used_tokens,
            warm_dropped=counters.warm_dropped,
            freed=tuple(counters.freed),
            free_seconds=counters.free_seconds,
        )

    def check_integrity(self) -> None:
        """Verify that every block and every sequence is where it should be.

        Raises:
            AssertionError: something is not.

        """
        running, waiting = self.scheduler.running, self.scheduler.waiting
        warming = self.scheduler.warming.sequences
        self.cache.check_integrity(
            [sequence.table for sequence in running if sequence.table is not None],
            [sequence.table for sequence in warming if sequence.table is not None],
        )
        assert all(sequence.table is not None for sequence in running)
        assert all(not sequence.computed for sequence in [*waiting, *warming] if sequence.table is None)
        assert all(sequence.table is None for sequence in waiting)
        scheduled = {*running, *waiting, *warming}
        assert len(scheduled) == len(running) + len(waiting) + len(warming)
        assert scheduled == set(self._sequences.values()), "a sequence is lost or was kept"
        assert not any(sequence.ended for sequence in scheduled)
        assert all(sequence.warm for sequence in warming)
        for queue in (running, waiting):
            assert queue == sorted(queue, key=lambda sequence: sequence.arrival), "out of the order of arrival"

    def warm_up(self) -> None:
        """Run passes of some sizes, so that what is done once is done before the first request. Only when idle.

        It also measures what passes cost, by which drafts get their length.
        """
        capacity = min(self.scheduler.budget.prefill, self.max_sequence_tokens)
        for rows in sorted({1, 16, capacity}):
            table = list(range(-(-rows // BLOCK_SIZE)))
            self.backend.forward(Batch([0] * rows, [SequenceSlice(0, rows, 0, table)], [rows - 1]))
        cost = self.scheduler.cost = measure_cost(self.backend, self.max_sequence_tokens)
        if self.draft_model is not None:
            its_cost = measure_cost(self.draft_model.backend, self.draft_model.max_tokens)
            self.draft_model.effort = its_cost.seconds(1) / cost.seconds(1)

    def _create_drafter(self, request: GenerationRequest, prompt: list[int], most_tokens: int) -> Drafter:
        return create_drafter(request, prompt, most_tokens, self._texts.of(request.salt), self.draft_model)

    def _receive(self, request: GenerationRequest | WarmRequest) -> int:
        if request.id in self._sequences:
            raise ValueError(f"sequence {request.id} is already running")
        return time.monotonic_ns()

    def _start(self, sequence: Sequence) -> None:
        self.scheduler.add(sequence)
        self._sequences[sequence.request.id] = sequence
        self._end_warmed()

    def _refuse(self, request: GenerationRequest | WarmRequest, received_ns: int, code: str, message: str) -> None:
        """Say that a request ended for which nothing was made."""
        now, tokens = time.monotonic_ns(), len(request.prompt) // _TOKEN_BYTES
        if isinstance(request, WarmRequest):
            tokens -= tokens % BLOCK_SIZE  # its receipt is about full blocks
        else:
            self._counters.finished += 1
        finished = Finished(
            "error",
            prompt_tokens=tokens,
            received_ns=received_ns,
            queue_ns=now - received_ns,
            sent_ns=now,
            error_code=code,
            error=message,
        )
        self._events.append(SequenceEvent(request.id, "", finished=finished))

    def _check_prompt(self, packed: bytes) -> list[int]:
        prompt = _unpack("prompt", packed)
        if not prompt:
            raise _RefusedError("invalid_parameter", "the prompt has no tokens")
        if len(prompt) >= self.max_sequence_tokens:
            raise _RefusedError(
                "prompt_too_long",
                f"the prompt has {len(prompt)} tokens, but at most {self.max_sequence_tokens - 1} fit",
            )
        self._check_vocabulary("prompt", prompt)
        return prompt

    def _check_vocabulary(self, name: str, tokens: list[int]) -> None:
        if tokens and not 0 <= min(tokens) <= max(tokens) < self.backend.config.vocab_size:
            raise _RefusedError("invalid_parameter", f"the {name} has tokens outside the vocabulary")

    def _run(self, plan: list[Scheduled], should_abort: Callable[[], bool] | None) -> None:
        now = time.monotonic_ns()
        for item in plan:
            item.sequence.started_ns = item.sequence.started_ns or now

        raised: Exception | None = None

        def given_up() -> bool:
            nonlocal raised
            try:
                asked = raised is not None or (should_abort is not None and should_abort())
            except Exception as error:  # no fault of the pass: it is raised where nothing takes it for one
                raised, asked = error, True
            wanted = [item.sequence for item in plan if not item.sequence.ended]
            return asked or not wanted or (self.scheduler.busy and all(sequence.warm for sequence in wanted))

        try:
            logits = self.backend.forward(_batch(plan), given_up)
        except PassAborted:
            if raised is not None:
                raise raised from None
            return
        except Exception:
            logger.exception("a forward pass failed")
            for item in plan:
                self._fail(item.sequence)
            return
        self._counters.forward_passes += 1
        rows = logits.numpy()
        first = 0
        for item in plan:
            count = 1 + len(item.draft.tokens) if item.samples else 0
            if not item.sequence.ended:  # cancelled during the pass
                try:
                    self._take(item, rows[first : first + count])
                except Exception:
                    logger.exception("sequence %d failed", item.sequence.request.id)
                    self._fail(item.sequence)
            first += count

    def _take(self, item: Scheduled, rows: Logits) -> None:
        """Bring what a pass computed into its sequence."""
        sequence, draft = item.sequence, item.draft
        assert sequence.table is not None
        sequence.forward_passes += 1
        if not item.samples:
            sequence.advance(item.rows, draft, 0, [])
            self.cache.commit(sequence.table, sequence.tokens, sequence.computed, sequence.warm)
            if sequence.warm:
                self._counters.warm_computed_tokens += item.rows
                if not sequence.remaining:
                    self._say(sequence, finished=self._end(sequence, "stop"))
            return
        sequence.prefilled_ns = sequence.prefilled_ns or time.monotonic_ns()
        params, position = sequence.request.sampling, len(sequence.tokens)

        def target(ahead: int) -> int:
            row = sequence.adjusted(rows[ahead], draft.tokens[:ahead])
            return sequence.target(sample(row, params, position + ahead), ahead)

        targets = verify(draft.tokens, target)
        emitted, text, reason = self._emit(sequence, targets)
        if params.logprobs is not None:
            scored = zip(rows[: len(emitted)], emitted, strict=True)
            sequence.unsent_logprobs += [token_logprobs(row, token, params.logprobs) for row, token in scored]
        accepted = min(len(targets) - 1, len(emitted))
        sequence.advance(item.rows, draft, accepted, emitted)
        self.cache.commit(sequence.table, sequence.tokens, sequence.computed)
        self._counters.output_tokens += len(emitted)
        self._counters.draft_tokens += len(draft.tokens)
        self._counters.accepted_tokens += accepted
        sequence.unsent += emitted
        sequence.first_token_ns = sequence.first_token_ns or time.monotonic_ns()
        if reason is not None:
            self._say(sequence, text, self._end(sequence, reason))
        elif text:
            self._say(sequence, text)

    def _emit(self, sequence: Sequence, targets: list[int]) -> tuple[list[int], str, FinishReason | None]:
        """What of the target tokens comes before the end, their text, and the reason if the end is reached."""
        emitted: list[int] = []
        text = ""
        reason: FinishReason | None = None
        room = sequence.max_tokens - sequence.output_tokens
        for token in targets[:room]:
            if token == END_OF_REPLAY or token in self._tokenizer.eos_ids:
                reason = "stop"
                break
            emitted.append(token)
            text += sequence.detokenizer.push(self._tokenizer.token_bytes(token))
            if sequence.detokenizer.stopped:
                reason = "stop"
                break
        if reason is None and len(emitted) == room:
            reason = "length"
        if reason is not None:
            text += sequence.detokenizer.finish(cut=reason == "length")
        return emitted, text, reason

    def _fail(self, sequence: Sequence) -> None:
        if not sequence.ended:
            self._say(sequence, finished=self._end(sequence, "error", "internal_error", _FAILED))

    def _end(self, sequence: Sequence, reason: FinishReason, code: str = "", message: str = "") -> Finished:
        sequence.ended = True
        if self._sequences.pop(sequence.request.id, None) is not None:
            self.scheduler.remove(sequence)
        if not sequence.warm:
            self._counters.finished += 1
            self._counters.cancelled += reason == "cancel"
            self._counters.prompt_tokens += sequence.counted_tokens
            self._counters.cached_tokens += sequence.cached_tokens
            self._counters.warm_used_tokens += sequence.warmed_tokens
        self._let_go(sequence, reason)
        return sequence.finished(reason, time.monotonic_ns(), code, message)

    def _end_warmed(self) -> None:
        """Say which warm requests the scheduler ended: there was nothing to compute for them, or no room."""
        ended, self.scheduler.warming.ended = self.scheduler.warming.ended, []
        for sequence, reason in ended:
            sequence.ended = True
            del self._sequences[sequence.request.id]
            self._counters.warm_dropped += reason == "cancel"
            self._let_go(sequence, reason)
            self._say(sequence, finished=sequence.finished(reason, time.monotonic_ns()))

    def _let_go(self, sequence: Sequence, reason: FinishReason) -> None:
        """Let later requests of the same key draft from what a sequence said, and free what its drafters hold."""
        warmed = sequence.warm and sequence.computed_tokens > 0 and reason == "stop"
        if warmed or (sequence.request.speculation and reason != "error"):
            try:
                self._texts.remember(sequence.request.salt, sequence.tokens)
            except Exception:  # drafts are never worth a request, nor its end
                logger.exception("the text of sequence %d can't be drafted from", sequence.request.id)
        sequence.close_drafter()

    def _say(self, sequence: Sequence, text: str = "", finished: Finished | None = None) -> None:
        tokens, sequence.unsent = sequence.unsent, []
        logprobs, sequence.unsent_logprobs = sequence.unsent_logprobs, []
        packed = pack_tokens(tokens)
        self._events.append(SequenceEvent(sequence.request.id, text, packed, finished, tuple(logprobs)))


@dataclass(slots=True)
class _Counters:
    forward_passes: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    finished: int = 0
    cancelled: int = 0
    warm_computed_tokens: int = 0
    warm_used_tokens: int = 0
    warm_dropped: int = 0
    freed: list[int] = field(default_factory=lambda: [0] * (len(FREE_SECONDS) + 1))
    free_seconds: float = 0.0

    def count_freed(self, seconds: float) -> None:
        self.freed[bisect_left(FREE_SECONDS, seconds)] += 1
        self.free_seconds += seconds


class _RefusedError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _unpack(name: str, packed: bytes) -> list[int]:
    if len(packed) % _TOKEN_BYTES:
        raise _RefusedError("invalid_parameter", f"the {name} ends in the middle of a token")
    return unpack_tokens(packed)


def _check_sampling(params: SamplingParams) -> None:
    """Refuse what no distribution comes of. Written so that NaN is outside of every range."""
    demands = {
        "max_tokens must not be negative": params.max_tokens >= 0,
        "temperature must not be negative or NaN": params.temperature >= 0,
        "top_p must be from 0 to 1": 0 <= params.top_p <= 1,
        "min_p must be from 0 to 1": 0 <= params.min_p <= 1,
        "repetition_penalty must be above 0 and finite": 0 < params.repetition_penalty < math.inf,
        "presence_penalty must be finite": math.isfinite(params.presence_penalty),
        "frequency_penalty must be finite": math.isfinite(params.frequency_penalty),
        "logprobs must not be negative": params.logprobs is None or params.logprobs >= 0,
        "logit_bias must be finite": all(map(math.isfinite, params.logit_bias.values())),
    }
    for demand, met in demands.items():
        if not met:
            raise _RefusedError("invalid_parameter", demand)


def _batch(plan: list[Scheduled]) -> Batch:
    batch = Batch([], [])
    for item in plan:
        sequence = item.sequence
        assert sequence.table is not None
        first = len(batch.token_ids)
        batch.token_ids += sequence.tokens[sequence.computed : sequence.computed + item.rows]
        batch.token_ids += item.draft.tokens
        end = len(batch.token_ids)
        batch.slices.append(SequenceSlice(first, end - first, sequence.computed, sequence.table.blocks))
        if item.samples:
            batch.logit_rows += range(first + item.rows - 1, end)
    return batch
