"""Which tokens of which sequences the next pass computes. Pure logic: no clock, no tensors, no I/O."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter

from .batch import BLOCK_SIZE
from .kv_cache import KVCache
from .sequence import Sequence
from .speculation.cost import USUAL_COST, PassCost
from .speculation.drafter import NO_DRAFT, Draft
from .speculation.sharing import share_rows
from .warming import Warming

_ARRIVAL = attrgetter("arrival")


@dataclass(frozen=True, slots=True)
class StepBudget:
    """Bounds on one pass, in tokens unless said otherwise."""

    sequences: int = 64
    """Sequences that run at a time."""
    decode: int = 128
    """Rows of sequences that bring a token, all drafts included."""
    prefill: int = 512
    """Rows of prompts while nobody decodes."""
    prefill_beside_decode: int = 64
    """Rows of prompts while somebody decodes: what bounds the wait for the next token."""
    warm: int = 64
    """Rows of a warm request, in full blocks. Up to so many are lost when a request comes, and a layer of the pass
    is what it waits for; but passes of fewer rows compute fewer tokens a second."""
    warm_beside_decode: int = 2
    """Rows of a warm request in a pass over decoding sequences alone. On the CPU such a pass mostly waits for the
    weights: two rows more cost nothing beside one and 2 to 6 % beside 2 to 32; four cost 3 to 22 %."""
    warm_requests: int = 64
    """Warm requests that are kept."""

    def __post_init__(self) -> None:
        if self.warm < BLOCK_SIZE or self.warm % BLOCK_SIZE or self.warm_requests < 1:
            raise ValueError(f"warm rows must be a multiple of {BLOCK_SIZE}, and a warm request must be kept")
        if self.warm_beside_decode < 0:
            raise ValueError("there can't be fewer than no warm rows beside decoding sequences")
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
    for its next token, the newest is put back to its place in the queue and computed again later; the oldest never
    is, so it always ends and everybody gets a turn.

    A paused sequence keeps its place, and its blocks as long as nobody needs them: it is put back before any that
    is not paused, also for one that waits to start. So the paused hold up nobody.

    Warm requests have the passes in which no other has anything to compute, and a few rows in those in which the
    others decode. They give up their blocks first.
    """

    def __init__(self, cache: KVCache, budget: StepBudget | None = None, cost: PassCost = USUAL_COST) -> None:
        self.cache = cache
        self.budget = budget or StepBudget()
        self.cost = cost
        self.waiting: list[Sequence] = []  # this and the next in the order of arrival
        self.running: list[Sequence] = []
        self.warming = Warming(cache, self.budget.warm, self.budget.warm_requests)
        self._arrivals = count(1)

    @property
    def busy(self) -> bool:
        """Whether some request, not counting paused and warm ones, has something to compute."""
        return not all(sequence.paused for sequence in self.running) or not all(
            sequence.paused for sequence in self.waiting
        )

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. Its tokens and ``max_tokens`` must fit the cache when it runs alone."""
        if sequence.warm:
            self.warming.add(sequence)
            return
        sequence.arrival = next(self._arrivals)
        self.waiting.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever it is doing, and free its blocks."""
        if sequence.warm:
            self.warming.remove(sequence)
        elif sequence.table is None:
            self.waiting.remove(sequence)
        else:
            self.running.remove(sequence)
            self._release(sequence)

    def schedule(self) -> list[Scheduled]:
        """Plan the next pass: every running sequence that is not paused has its part in it.

        With no such sequence, the pass is that of a warm request, which may also come last in one of decoding
        sequences. Empty only if there is nothing to do.
        """
        self._admit()
        # More than the budget allows may run where some were paused for a while: then the oldest go on.
        active = [sequence for sequence in self.running if not sequence.paused][: self.budget.sequences]
        for sequence in active:
            self._reuse(sequence)
        decoding = [sequence for sequence in active if sequence.remaining == 1]
        # The shortest first, each an even share of what is left: a short prompt does not wait for a long one.
        prefilling = sorted(
            (sequence for sequence in active if sequence.remaining > 1),
            key=lambda sequence: sequence.remaining,
        )
        plan: dict[Sequence, Scheduled] = {}
        self._share_out(plan, decoding, self.budget.decode)
        self._share_out(plan, prefilling, self.budget.prefill_beside_decode if decoding else self.budget.prefill)
        self._add_drafts(plan)
        return [*plan.values(), *self._warm_part(idle=not plan, decoding=not prefilling)]

    def _warm_part(self, idle: bool, decoding: bool) -> list[Scheduled]:
        spare, most = len(self.running), self.budget.warm_beside_decode
        chosen = None
        if idle:
            chosen = self.warming.next(spare)
        elif decoding and most:
            chosen = self.warming.beside(most, spare)
        return [] if chosen is None else [Scheduled(*chosen, samples=False, draft=NO_DRAFT)]

    def _admit(self) -> None:
        while sum(not sequence.paused for sequence in self.running) < self.budget.sequences:
            sequence = next((sequence for sequence in self.waiting if not sequence.paused), None)
            if sequence is None or not self._start(sequence):
                return

    def _start(self, sequence: Sequence) -> bool:
        """Begin with a sequence if there is room, or can be had from those that give way."""
        table = sequence.table = self.cache.open(sequence.request.salt)
        self.cache.match(table, sequence.tokens)
        # Leave the others a block each to grow into, or the newcomer is soon put back.
        growing = sum(not sequence.paused for sequence in self.running)
        while not self.cache.reserve(table, len(sequence.tokens), spare=growing):
            if not self._give_way():
                self._release(sequence)
                return False
        self.waiting.remove(sequence)
        insort(self.running, sequence, key=_ARRIVAL)
        return True

    def _reuse(self, sequence: Sequence) -> None:
        """Take over what the tree holds by now of a prompt, unless it is in the middle of a block."""
        table = sequence.table
        assert table is not None
        if sequence.remaining > 1 and sequence.computed <= table.shared * BLOCK_SIZE:
            known = sequence.computed // BLOCK_SIZE
            tokens = self.cache.match(table, sequence.tokens)
            sequence.reuse(tokens, self.cache.use(table, known))

    def _share_out(self, plan: dict[Sequence, Scheduled], sequences: list[Sequence], budget: int) -> None:
        for index, sequence in enumerate(sequences):
            share = budget // (len(sequences) - index)
            rows = min(sequence.remaining, share)
            # One that was put back to make room for an earlier one has no table any more.
            if sequence.table is not None and self._make_room(plan, sequence, rows):
                samples = rows == sequence.remaining
                plan[sequence] = Scheduled(sequence, rows, samples, NO_DRAFT)
                budget -= rows

    def _make_room(self, plan: dict[Sequence, Scheduled], sequence: Sequence, rows: int) -> bool:
        """Reserve what the rows need, putting back the newest sequences; False if that was this one itself."""
        while sequence.table is not None:
            if self.cache.reserve(sequence.table, sequence.computed + rows):
                return True
            if not self._give_way():
                newest = self.running[-1]
                plan.pop(newest, None)
                self._put_back(newest)
        return False

    def _give_way(self) -> bool:
        """Free what those hold who are not computing: the oldest warm request, or else the newest paused sequence."""
        if self.warming.give_way():
            return True
        paused = next((sequence for sequence in reversed(self.running) if sequence.paused), None)
        if paused is not None:
            self._put_back(paused)
        return paused is not None

    def _put_back(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._release(sequence)
        insort(self.waiting, sequence, key=_ARRIVAL)

    def _add_drafts(self, plan: dict[Sequence, Scheduled]) -> None:
        """Give drafts what pays of the decode budget, as far as there is room without putting anybody back."""
        sampling = [item for item in plan.values() if item.samples]
        most = self.budget.decode - len(sampling)
        drafts = [item.sequence.propose(most) for item in sampling]
        if not any(draft.tokens for draft in drafts):
            return
        contexts = [len(item.sequence.tokens) for item in sampling]
        rows = sum(item.rows for item in plan.values())
        lengths = share_rows(drafts, contexts, rows, most, self.cost)
        for item, draft, length in zip(sampling, drafts, lengths, strict=True):
            sequence = item.sequence
            assert sequence.table is not None
            if length and self.cache.reserve(sequence.table, len(sequence.tokens) + length):
                plan[sequence] = replace(item, draft=draft.cut(length))

    def _release(self, sequence: Sequence) -> None:
        assert sequence.table is not None
        self.cache.release(sequence.table)
        sequence.table = None
        sequence.computed = 0
