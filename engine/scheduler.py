"""Which tokens of which sequences the next pass computes. Pure logic: no clock, no tensors, no I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .batch import BLOCK_SIZE
from .kv_cache import KVCache
from .sequence import NO_DRAFT, Draft, Sequence


@dataclass(frozen=True, slots=True)
class StepBudget:
    """Bounds on one pass, in tokens unless said otherwise."""

    sequences: int = 64
    """Sequences that run at a time."""
    decode: int = 128
    """Rows of decoding sequences, drafts included."""
    prefill: int = 512
    """Rows of prompts while nobody decodes."""
    prefill_beside_decode: int = 64
    """Rows of prompts while somebody decodes: what bounds the wait for the next token."""

    def __post_init__(self) -> None:
        if min(self.decode, self.prefill, self.prefill_beside_decode) < self.sequences:
            raise ValueError("every running sequence needs at least a row of each budget")


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a pass computes for a sequence: its next ``rows`` known tokens, and a draft behind the last known one."""

    sequence: Sequence
    rows: int
    samples: bool
    """Whether the pass reaches the last known token, so that new ones come out."""
    draft: Draft


class Scheduler:
    """Continuous batching without phases (as in vLLM v1): every sequence has ``computed`` chasing its tokens.

    Sequences start in the order of arrival, once there is room for all they know. When a running one finds no room
    for its next token, the newest is put back to the head of the queue and computed again later; the oldest never
    is, so it always ends and everybody gets a turn.
    """

    def __init__(self, cache: KVCache, budget: StepBudget | None = None) -> None:
        self.cache = cache
        self.budget = budget or StepBudget()
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []  # in the order they started

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. Its tokens and ``max_tokens`` must fit the cache when it runs alone."""
        self.waiting.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever it is doing, and free its blocks."""
        if sequence.table is None:
            self.waiting.remove(sequence)
        else:
            self.running.remove(sequence)
            self._release(sequence)

    def schedule(self) -> list[Scheduled]:
        """Plan the next pass: every running sequence has its part in it. Empty only if there is nothing to do."""
        self._admit()
        for sequence in self.running:
            self._reuse(sequence)
        decoding = [sequence for sequence in self.running if sequence.remaining == 1]
        # The shortest first, each an even share of what is left: a short prompt does not wait for a long one.
        prefilling = sorted(
            (sequence for sequence in self.running if sequence.remaining > 1),
            key=lambda sequence: sequence.remaining,
        )
        plan: dict[Sequence, Scheduled] = {}
        self._share_out(plan, decoding, self.budget.decode)
        self._share_out(plan, prefilling, self.budget.prefill_beside_decode if decoding else self.budget.prefill)
        return list(plan.values())

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self.budget.sequences:
            sequence = self.waiting[0]
            table = sequence.table = self.cache.open(sequence.request.salt)
            self.cache.match(table, sequence.tokens)
            # Leave the others a block each to grow into, or the newcomer is soon put back.
            if not self.cache.reserve(table, len(sequence.tokens), spare=len(self.running)):
                self._release(sequence)
                return
            self.running.append(self.waiting.popleft())

    def _reuse(self, sequence: Sequence) -> None:
        """Take over what the tree holds by now of a prompt, unless it is in the middle of a block."""
        table = sequence.table
        assert table is not None
        if sequence.remaining > 1 and sequence.computed <= table.shared * BLOCK_SIZE:
            sequence.reuse(self.cache.match(table, sequence.tokens))

    def _share_out(self, plan: dict[Sequence, Scheduled], sequences: list[Sequence], budget: int) -> None:
        for index, sequence in enumerate(sequences):
            share = budget // (len(sequences) - index)
            rows = min(sequence.remaining, share)
            # One that was put back to make room for an earlier one has no table any more.
            if sequence.table is not None and self._make_room(plan, sequence, rows):
                samples = rows == sequence.remaining
                draft = self._draft(sequence, share - rows) if samples else NO_DRAFT
                plan[sequence] = Scheduled(sequence, rows, samples, draft)
                budget -= rows + len(draft.tokens)

    def _make_room(self, plan: dict[Sequence, Scheduled], sequence: Sequence, rows: int) -> bool:
        """Reserve what the rows need, putting back the newest sequences; False if that was this one itself."""
        while sequence.table is not None:
            if self.cache.reserve(sequence.table, sequence.computed + rows):
                return True
            newest = self.running.pop()
            plan.pop(newest, None)
            self._release(newest)
            self.waiting.appendleft(newest)
        return False

    def _draft(self, sequence: Sequence, limit: int) -> Draft:
        """A draft if there is room for it without putting anybody back."""
        assert sequence.table is not None
        draft = sequence.propose(limit)
        room = self.cache.reserve(sequence.table, len(sequence.tokens) + len(draft.tokens))
        return draft if room else NO_DRAFT

    def _release(self, sequence: Sequence) -> None:
        assert sequence.table is not None
        self.cache.release(sequence.table)
        sequence.table = None
        sequence.computed = 0
