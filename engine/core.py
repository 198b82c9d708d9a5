"""The engine proper: one step plans a pass, runs it, verifies, samples, detokenises and says what came out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from .admission import TOKEN_BYTES, RefusedError, check_request
from .backends.base import Backend, PassAborted
from .batch import BLOCK_SIZE, Batch, SequenceSlice
from .budget import StepBudget
from .counters import Counters
from .kv_cache import KVCache
from .messages import (
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    SequenceEvent,
    WarmRequest,
    pack_tokens,
)
from .sampling import Logits, sample, token_logprobs
from .scheduler import Scheduled, Scheduler
from .sequence import END_OF_REPLAY, Sequence
from .speculation.create import CreateDrafter, create_drafter
from .speculation.draft_model import DraftModel
from .speculation.drafter import Drafter
from .speculation.earlier_texts import EarlierTexts
from .speculation.learning import LearnedCost
from .speculation.measuring import measure_cost, scored_part
from .speculation.verify import verify

_WARM_ROWS: Final = 64
_FAILED: Final = "the engine failed on this request; its log says why"

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
        self._counters = Counters()
        self._texts = EarlierTexts()
        self._learned: LearnedCost | None = None  # what passes cost, once that was measured
        self._should_abort: Callable[[], bool] | None = None  # that of the step under way, and what it said or raised
        self._abort = False
        self._raised: Exception | None = None
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
        self._begin(request)

    def warm(self, request: WarmRequest) -> None:
        """Queue a prompt to be computed in time that no other sequence needs. See `WarmRequest`.

        Raises:
            ValueError: a sequence with this id is running.

        """
        self._begin(request)

    def fail(self, request: GenerationRequest | WarmRequest) -> None:
        """End a request with an error event, in whatever state: also one whose `add` or `warm` raised.

        Not one whose id another has that is running: its end would be taken for that one's.
        """
        sequence = self._sequences.get(request.id)
        if sequence is None:
            self._refuse(request, time.monotonic_ns(), "internal_error", _FAILED)
        elif sequence.message is request:
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

        ``should_abort`` is asked between layers, and between drafts. The pass is also given up when all its sequences
        were cancelled meanwhile, or all but a warm one and another request came. Nothing of a pass that was given up
        counts.

        Returns: what happened since the last step ended, cancellations and refusals included.

        Raises:
            Exception: what ``should_abort`` raised, once the pass is given up, or over. The next step goes on from
                there, and has the events of this one.

        """
        self._should_abort, self._abort = should_abort, False
        try:
            if self.draft_model is not None:
                self._compute_drafts(self.draft_model)
            plan = self.scheduler.schedule(self.hear)
            self._end_warmed()
            if plan and not self._abort:
                self._run(plan)
            raised = self._raised
        finally:
            self._should_abort = self._raised = None
        if raised is not None:
            raise raised
        return self.take_events()

    def hear(self) -> bool:
        """Ask the ``should_abort`` of the step under way; whether to give up what is being computed.

        What takes long in a step calls it between its pieces. Sequences may be added and may end in it. What
        ``should_abort`` raises is no fault of whoever asks: it comes out of the step.
        """
        if not self._abort and self._should_abort is not None:
            try:
                self._abort = self._should_abort()
            except Exception as error:
                self._raised, self._abort = error, True
        return self._abort

    def take_events(self) -> list[SequenceEvent]:
        """What happened up to now. In the middle of a step, these are ends that need no pass: cancels, for one."""
        events, self._events = self._events, []
        return events

    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""
        counters = self._counters
        return EngineStats(
            running=len(self.scheduler.running),
            waiting=self.scheduler.num_waiting,
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
            gaps=tuple(counters.gaps),
            gap_seconds=counters.gap_seconds,
        )

    def check_integrity(self) -> None:
        """Verify that every block and every sequence is where it should be.

        Raises:
            AssertionError: something is not.

        """
        self.scheduler.check_integrity()
        warming = self.scheduler.warming.sequences
        scheduled = {*self.scheduler.running, *self.scheduler.waiting, *warming}
        assert scheduled == set(self._sequences.values()), "a sequence is lost or was kept"
        assert not any(sequence.ended for sequence in scheduled)

    def warm_up(self) -> None:
        """Run a short and a longer pass, so that what is done once is done before the first request. Only when idle.

        A pass of a prompt's many rows does no more than these but to make larger buffers, and would take seconds on
        a slow machine. It also measures what passes cost, by which drafts and chunks get their length. From then on
        each pass corrects that.
        """
        for rows in sorted({1, min(_WARM_ROWS, self.max_sequence_tokens)}):
            table = list(range(-(-rows // BLOCK_SIZE)))
            self.backend.forward(Batch([0] * rows, [SequenceSlice(0, rows, 0, table)], [rows - 1]))
        self._learned = _learn(self.backend, self.max_sequence_tokens)
        self.scheduler.cost = self._learned.cost
        if self.draft_model is not None:
            self.draft_model.learned = _learn(self.draft_model.backend, self.draft_model.max_tokens)
            self.draft_model.cost = self.draft_model.learned.cost
            self._price_drafts(self.draft_model)

    def _create_drafter(self, request: GenerationRequest, tokens: list[int], most_tokens: int) -> Drafter:
        return create_drafter(request, tokens, most_tokens, self._texts.of(request.salt), self.draft_model)

    def _begin(self, request: GenerationRequest | WarmRequest) -> None:
        if request.id in self._sequences:
            raise ValueError(f"sequence {request.id} is already running")
        now = time.monotonic_ns()
        try:
            prompt = check_request(request, self.backend.config.vocab_size, self.max_sequence_tokens)
        except RefusedError as refused:
            self._refuse(request, now, refused.code, str(refused))
            return
        try:
            if isinstance(request, WarmRequest):
                sequence = Sequence.create_warm(request, prompt, now)
            else:
                most = min(request.sampling.max_tokens, self.max_sequence_tokens - len(prompt))
                sequence = Sequence.create(request, prompt, most, now, self.drafting)
            # Known before the scheduler has it: whatever happens there, its end is told, and takes it out again.
            self._sequences[request.id] = sequence
            self.scheduler.add(sequence)
        except Exception:
            logger.exception("sequence %d can't begin", request.id)
            self.fail(request)
        self._end_warmed()

    def _refuse(self, request: GenerationRequest | WarmRequest, received_ns: int, code: str, message: str) -> None:
        """Say that a request ended for which nothing was made."""
        now, tokens = time.monotonic_ns(), len(request.prompt) // TOKEN_BYTES
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

    def _compute_drafts(self, model: DraftModel) -> None:
        """Let the draft model compute for all sequences that the next pass brings a token, together."""
        decoding = [one for one in self.scheduler.active if one.remaining == 1]
        for sequence in decoding:
            sequence.prepare(self.scheduler.budget.decode)
        self._price_drafts(model)
        model.draft(len(decoding), self.hear)

    def _price_drafts(self, model: DraftModel) -> None:
        if self._learned is not None and model.learned is not None:
            model.effort = model.learned.row_seconds / self._learned.row_seconds

    def _run(self, plan: list[Scheduled]) -> None:
        now = time.monotonic_ns()
        for item in plan:
            item.sequence.started_ns = item.sequence.started_ns or now

        def given_up() -> bool:
            if self.hear():
                return True
            if any(not item.sequence.ended and not item.sequence.warm for item in plan):
                return False
            return self.scheduler.busy or all(item.sequence.ended for item in plan)

        batch = _batch(plan)
        began = time.perf_counter()
        try:
            logits = self.backend.forward(batch, given_up)
        except PassAborted:
            return
        except Exception:
            logger.exception("a forward pass failed; sequences in it: %d", len(plan))
            self._run_each(plan)
            return
        # A pass of warm work alone comes after a pause, with cold caches, and nobody waits for it.
        if self._learned is not None and not all(item.sequence.warm for item in plan):
            self._learned.observe_pass(batch, time.perf_counter() - began)
            self.scheduler.cost = self._learned.cost
        self._counters.forward_passes += 1
        rows = logits.numpy()
        first = 0
        for index, item in enumerate(plan):
            if index:
                self.hear()  # choosing tokens takes a while, too; what is computed counts, whatever it says
            count = 1 + len(item.draft.tokens) if item.samples else 0
            if not item.sequence.ended:  # cancelled during the pass
                try:
                    self._take(item, rows[first : first + count])
                except Exception:
                    logger.exception("sequence %d failed", item.sequence.request.id)
                    self._fail(item.sequence)
            first += count

    def _run_each(self, plan: list[Scheduled]) -> None:
        """Run a pass that failed again, each sequence by itself: only those fail that fail alone, too."""
        if len(plan) == 1:
            self._fail(plan[0].sequence)
            return
        for item in plan:
            if not item.sequence.ended and not self._abort:
                self._run([item])

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
        now = time.monotonic_ns()
        if sequence.first_token_ns:
            self._counters.count_gap((now - sequence.last_token_ns) / 1e9)
        else:
            sequence.first_token_ns = now
        sequence.last_token_ns = now
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


def _learn(backend: Backend, most_tokens: int) -> LearnedCost:
    return LearnedCost(measure_cost(backend, most_tokens), scored_part(backend.config))


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
