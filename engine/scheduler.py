"""Which tokens of which sequences the next pass computes. Pure logic: no clock, no tensors, no I/O."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace
from itertools import count, islice
from operator import attrgetter

from .batch import BLOCK_SIZE
from .budget import StepBudget, attended, rows_within
from .fair_queue import Client, FairQueue, client_of, even_shares
from .kv_cache import BlockTable, KVCache
from .sequence import Sequence
from .speculation.cost import USUAL_COST, PassCost
from .speculation.drafter import NO_DRAFT, Draft
from .speculation.sharing import share_rows
from .warming import Warming

_ARRIVAL = attrgetter("arrival")
_REMAINING = attrgetter("remaining")
_TURN = attrgetter("turn")


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

    Every pass has a row of each decoding sequence. Prompts, and drafts beside them, have so many more that nobody's
    next token comes later than the budget's stretch allows, by what passes cost; drafts leave prompts half. Rows
    of prompts are split evenly between the clients. Of a client's, the one that started first and the one that is
    nearest to its end have half each: they end one after the other, and a short one doesn't wait for a long one. A
    block that several prompts lack is computed for one of them, and the others wait for it.

    Who starts is the `FairQueue`'s choice, once there is room for all it knows. Nobody goes before it meanwhile, so a
    long prompt finds room some time. When a running sequence finds no room for its next token, one is put back and
    computed again later, in its old place among those that run: of the client that holds most, slots or blocks, the
    one that started last; where each has only one, the last of all. Of those that run, paused ones apart, the one
    that started first is never put back and is in every pass, so it ends, and then the next is first.

    Others are put back, too, for one whose turn it is and that finds no slot or no room, if its client has nothing
    running, or will have no more than theirs keep: whatever a client holds, others start beside it. Each keeps one,
    and as much as the other has then, so that nobody is put back for one that was put back for it.

    A paused sequence keeps its place, and its blocks as long as nobody needs them: it is put back before any that
    is not paused, also for one that waits to start. So the paused hold up nobody.

    Warm requests have the passes in which no other has anything to compute, and a few rows in those in which the
    others decode. They give up their blocks first. Nobody gives way unless all who do make room enough together.

    Attributes:
        running: sequences that have started and hold blocks, in the order in which they first did.
    """

    def __init__(self, cache: KVCache, budget: StepBudget | None = None, cost: PassCost = USUAL_COST) -> None:
        self.cache = cache
        self.budget = budget or StepBudget()
        self.cost = cost
        self.running: list[Sequence] = []
        self.warming = Warming(cache, self.budget.warm, self.budget.warm_requests)
        self._queue = FairQueue()
        self._blocked: _Blocked | None = None
        self._arrivals = count(1)
        self._turns = count(1)

    @property
    def waiting(self) -> list[Sequence]:
        """Those that hold no blocks, in the order of arrival: they have not started, or were put back."""
        return sorted(self._queue, key=_ARRIVAL)

    @property
    def num_waiting(self) -> int:
        """How many are waiting."""
        return len(self._queue)

    @property
    def active(self) -> list[Sequence]:
        """Those that may have a part in the next pass, in the order in which they started.

        More than the budget allows may run where some were paused for a while. Then those are left out that would be
        the first to be put back.
        """
        running = self._unpaused
        excess = len(running) - self.budget.sequences
        if excess <= 0:
            return running
        left_out = {sequence for sequence, _ in islice(self._dispensable(), excess)}
        return [sequence for sequence in running if sequence not in left_out]

    @property
    def busy(self) -> bool:
        """Whether some request, not counting paused and warm ones, has something to compute."""
        return not all(sequence.paused for sequence in self.running) or self._queue.wanting

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence.

        Raises:
            ValueError: it would not fit the cache to its last token, even alone. (A warm one is dropped in its turn.)

        """
        if sequence.warm:
            self.warming.add(sequence)
            return
        room, needed = self.cache.num_blocks * BLOCK_SIZE, sequence.prompt_tokens + sequence.max_tokens
        if needed > room:
            raise ValueError(f"the sequence may have {needed} tokens, but at most {room} fit the cache")
        sequence.arrival = next(self._arrivals)
        self._queue.add(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever it is doing, and free its blocks. One that is not here is ignored."""
        if sequence.warm:
            if sequence in self.warming.sequences:
                self.warming.remove(sequence)
            return
        if not sequence.arrival:
            return
        if sequence.table is not None:
            self.running.remove(sequence)
            self._release(sequence)
        if self._blocked is not None and self._blocked.sequence is sequence:
            self._blocked = None
        self._queue.end(sequence)

    def schedule(self, between: Callable[[], object] | None = None) -> list[Scheduled]:
        """Plan the next pass.

        Every running sequence that decodes and is not paused has its part in it, and prompts share what is left. With
        no such sequence, the pass is that of a warm request, which may also come last in one of decoding sequences.
        ``between`` is called between the drafts of two sequences, as these may take time. It may add and remove
        sequences; what was removed is not in the plan.

        Returns: empty only if there is nothing to do.
        """
        for sequence in self.running:
            self._queue.settle(sequence)
            if sequence.table is not None:  # rows of rejected drafts
                self.cache.trim(sequence.table, len(sequence.tokens))
        self._admit()
        active = self.active
        for sequence in active:
            self._reuse(sequence)
        plan: dict[Sequence, Scheduled] = {}
        decoding = [sequence for sequence in active if sequence.remaining == 1]
        for sequence in decoding:
            self._plan(plan, sequence, 1)
        # Those that were put back to make room for the others have no table any more.
        prompts = [sequence for sequence in active if sequence.remaining > 1 and sequence.table is not None]
        usual = self._seconds(plan) if plan else self.cost.seconds(self.budget.prefill)
        most = self.budget.prefill_beside_decode if plan else self.budget.prefill
        # A prompt that comes to its end in this pass has a row of the decode budget.
        drafted = self.budget.decode - len(plan) - sum(sequence.remaining <= most for sequence in prompts)
        within = usual * self.budget.draft_stretch if prompts else None
        self._add_drafts(plan, [*plan.values()], drafted, within, between)
        prompts = [sequence for sequence in prompts if sequence.table is not None]
        for sequence, rows in self._prompt_rows(plan, prompts, most, usual * self.budget.prefill_stretch).items():
            self._plan(plan, sequence, rows)
        drafted = self.budget.decode - sum(1 + len(item.draft.tokens) for item in plan.values() if item.samples)
        complete = [item for item in plan.values() if item.samples and item.rows > 1]
        self._add_drafts(plan, complete, drafted, usual * self.budget.prefill_stretch, between)
        self._reserve_drafts(plan)
        return [*plan.values(), *self._warm_part(plan, beside=not prompts)]

    def check_integrity(self) -> None:
        """Verify that every block and every sequence is where it should be.

        Raises:
            AssertionError: something is not.

        """
        running, waiting, warming = self.running, self.waiting, self.warming.sequences
        self.cache.check_integrity(
            [sequence.table for sequence in running if sequence.table is not None],
            [sequence.table for sequence in warming if sequence.table is not None],
        )
        self._queue.check_integrity(running)
        assert all(sequence.table is not None for sequence in running)
        assert all(sequence.table is None for sequence in waiting)
        assert all(not sequence.computed for sequence in [*waiting, *warming] if sequence.table is None)
        assert len({*running, *waiting, *warming}) == len(running) + len(waiting) + len(warming)
        assert all(sequence.warm for sequence in warming)
        turns = [sequence.turn for sequence in running]
        assert turns == sorted({*turns}) and 0 not in turns, "not in the order in which they started"

    def _prompt_rows(
        self, plan: dict[Sequence, Scheduled], prompts: list[Sequence], most: int, within: float
    ) -> dict[Sequence, int]:
        """How many rows prompts have in a pass beside what is planned, so that it takes so long: one at least."""
        if not prompts:
            return {}
        clients: dict[Client, list[Sequence]] = {}
        for sequence in prompts:
            clients.setdefault(client_of(sequence), []).append(sequence)
        # The client of the one that started first has its part in any case; then who was served least.
        first, *others = clients.values()
        groups = [first, *sorted(others, key=lambda group: self._queue.served(group[0]))]
        groups = [group for group in self._without_followers(groups) if group]
        wanted = [sum(sequence.remaining for sequence in group) for group in groups]
        rows, keys = self._size(plan)

        def split(total: int) -> dict[Sequence, int]:
            parts: dict[Sequence, int] = {}
            for group, share in zip(groups, even_shares(wanted, total), strict=True):
                parts.update(_own_shares(group, share))
            return parts

        def seconds(total: int) -> float:
            its_keys = sum(attended(sequence.computed, part) for sequence, part in split(total).items())
            return self.cost.seconds(rows + total, keys + its_keys)

        return split(rows_within(within, 1, min(most, sum(wanted)), seconds))

    def _without_followers(self, groups: list[list[Sequence]]) -> list[list[Sequence]]:
        """The prompts of each client in the order in which they have rows, without those that wait for another's.

        That is the one that started first, and then by what they lack. A prompt waits if the block it lacks next is
        computed for one that has an earlier place there, or the same one with a client that comes before.
        """
        ordered = []
        for first, *others in groups:
            ordered.append([first, *sorted(others, key=_REMAINING)])
        lacked: set[object] = set()
        kept: list[list[Sequence]] = [[] for _ in groups]
        for place in range(max(map(len, ordered))):
            for group, its in zip(ordered, kept, strict=True):
                if place < len(group):
                    sequence = group[place]
                    assert sequence.table is not None
                    block = self.cache.next_block(sequence.table, sequence.tokens)
                    shareable = (sequence.table.shared + 1) * BLOCK_SIZE < len(sequence.tokens)
                    if block not in lacked or not shareable:
                        its.append(sequence)
                    if block is not None:
                        lacked.add(block)
        return kept

    def _size(self, plan: dict[Sequence, Scheduled]) -> tuple[int, int]:
        """The rows of a plan, drafts included, and the keys that they attend to."""
        parts = [(sequence.computed, item.rows + len(item.draft.tokens)) for sequence, item in plan.items()]
        return sum(rows for _, rows in parts), sum(attended(*part) for part in parts)

    def _seconds(self, plan: dict[Sequence, Scheduled]) -> float:
        return self.cost.seconds(*self._size(plan))

    def _warm_part(self, plan: dict[Sequence, Scheduled], beside: bool) -> list[Scheduled]:
        chosen = None
        if not plan:
            chosen = self.warming.next(len(self.running), self._warm_rows)
        elif beside and self.budget.warm_beside_decode:
            rows, keys = self._size(plan)
            within = self.cost.seconds(rows, keys) * self.budget.warm_stretch

            def fitting(position: int) -> int:
                def seconds(more: int) -> float:
                    return self.cost.seconds(rows + more, keys + attended(position, more))

                return rows_within(within, 1, self.budget.warm_beside_decode, seconds)

            chosen = self.warming.beside(len(self.running), fitting)
        return [] if chosen is None else [Scheduled(*chosen, samples=False, draft=NO_DRAFT)]

    def _warm_rows(self, position: int) -> int:
        """The rows of a pass of warm work alone, from a position on: up to the end of a block."""
        within = self.cost.seconds(self.budget.warm) * self.budget.prefill_stretch
        begun, most = position % BLOCK_SIZE, self.budget.warm - position % BLOCK_SIZE
        rows = rows_within(within, 1, most, lambda rows: self.cost.seconds(rows, attended(position, rows)))
        return max((begun + rows) // BLOCK_SIZE, 1) * BLOCK_SIZE - begun

    @property
    def _unpaused(self) -> list[Sequence]:
        return [sequence for sequence in self.running if not sequence.paused]

    def _admit(self) -> None:
        started: set[Sequence] = set()  # nobody starts twice in a pass, whoever is put back for whom
        while (sequence := self._queue.next()) is not None and sequence not in started and self._start(sequence):
            started.add(sequence)

    def _start(self, sequence: Sequence) -> bool:
        """Begin with a sequence if there are a slot and room, or can be had from those that give way to it."""
        growing = len(self._unpaused)
        excess = max(growing + 1 - self.budget.sequences, 0)
        giving_up = self._giving_up(sequence)
        if excess > len(giving_up) or self._is_blocked(sequence, growing, giving_up):
            return False
        table = sequence.table = self.cache.open(sequence.request.salt)
        self.cache.match(table, sequence.tokens)

        def fits(others: int) -> bool:
            """Whether there is room once so many are put back, and all who give way did."""
            gone = [*self._giving_way(), *_tables(giving_up[:others])]
            # Leave the others a block each to grow into, or the newcomer is soon put back.
            return self.cache.has_room(table, len(sequence.tokens), growing - others - self.cache.freed_by(gone))

        choices = range(excess, len(giving_up) + 1)
        fewest = bisect_left(choices, True, key=fits)
        if fewest == len(choices):
            missing, matched = self.cache.missing(table, len(sequence.tokens)), table.shared
            before = self.cache.available
            self._release(sequence)
            self._blocked = _Blocked(sequence, missing + self.cache.available - before, table, matched)
            return False
        for other in giving_up[: choices[fewest]]:
            self._put_back(other)
        reserved = self._reserve(table, len(sequence.tokens), growing - choices[fewest])
        assert reserved, "others had less room than they were thought to have"
        self._blocked = None
        self._queue.start(sequence)
        sequence.turn = sequence.turn or next(self._turns)
        insort(self.running, sequence, key=_TURN)
        return True

    def _is_blocked(self, sequence: Sequence, spare: int, giving_up: list[Sequence]) -> bool:
        """Whether a sequence that found no room will find none again, by a bound that takes no look at its prompt."""
        blocked = self._blocked
        if blocked is None or blocked.sequence is not sequence:
            return False
        tables = [*self._giving_way(), *_tables(giving_up)]
        most = self.cache.available + sum(len(table.blocks) for table in tables)
        return most < blocked.lacked + spare - len(giving_up) and not self.cache.holds_more(
            blocked.table, blocked.matched, sequence.tokens
        )

    def _giving_up(self, sequence: Sequence) -> list[Sequence]:
        """Those that may be put back for a sequence to start, in this order.

        Their clients keep one each, and no less than the sequence's would have then, if it has anything already.
        """
        own = [other for other in self._unpaused if client_of(other) == client_of(sequence)]
        its = 0.0
        if own:
            held = sum(len(table.blocks) for table in _tables(own))
            its = self._share(len(own) + 1, held + -(-len(sequence.tokens) // BLOCK_SIZE))
        others = []
        for other, kept in self._dispensable():
            if not kept or kept < its:
                break
            others.append(other)
        return others

    def _dispensable(self) -> Iterator[tuple[Sequence, float]]:
        """In which order those that run are put back, paused ones apart, and the share that each one's client keeps.

        It is the last of the client that has the greatest share, as long as one has several; then the last of all.
        The one that started first isn't among them.
        """
        held: dict[Client, list[Sequence]] = {}
        for sequence in self._unpaused:
            held.setdefault(client_of(sequence), []).append(sequence)
        blocks = {client: sum(len(table.blocks) for table in _tables(its)) for client, its in held.items()}
        # Of equal shares, that of the one that started last.
        shares = [
            (-self._share(len(its), blocks[client]), -its[-1].turn, client)
            for client, its in held.items()
            if len(its) > 1
        ]
        heapify(shares)
        while shares:
            _, _, client = shares[0]
            its = held[client]
            last = its.pop()
            blocks[client] -= sum(len(table.blocks) for table in _tables([last]))
            kept = self._share(len(its), blocks[client])
            if len(its) > 1:
                heapreplace(shares, (-kept, -its[-1].turn, client))
            else:
                heappop(shares)
            yield last, kept
        left = sorted((its[0] for its in held.values()), key=_TURN)
        for last in reversed(left[1:]):
            yield last, 0.0

    def _share(self, sequences: int, blocks: int) -> float:
        """A client's share of what it has most of: slots or blocks (dominant resource fairness, NSDI 2011)."""
        return max(sequences / self.budget.sequences, blocks / self.cache.num_blocks)

    def _reuse(self, sequence: Sequence) -> None:
        """Take over what the tree holds by now of a prompt; also of a block that is computed in part."""
        table = sequence.table
        assert table is not None
        if sequence.remaining > 1:
            known = sequence.computed // BLOCK_SIZE
            tokens = self.cache.match(table, sequence.tokens)
            if tokens > sequence.computed:
                sequence.reuse(tokens, self.cache.use(table, known))

    def _plan(self, plan: dict[Sequence, Scheduled], sequence: Sequence, rows: int) -> None:
        """Give a sequence rows if there is room, and if it was not put back for an earlier one."""
        if sequence.table is not None and self._make_room(plan, sequence, rows):
            plan[sequence] = Scheduled(sequence, rows, rows == sequence.remaining, NO_DRAFT)

    def _make_room(self, plan: dict[Sequence, Scheduled], sequence: Sequence, rows: int) -> bool:
        """Reserve what the rows need, putting back others; False if it came to be this one itself."""
        while sequence.table is not None:
            if self._reserve(sequence.table, sequence.computed + rows):
                return True
            other, _ = next(self._dispensable())
            plan.pop(other, None)
            self._put_back(other)
        return False

    def _reserve(self, table: BlockTable, num_tokens: int, spare: int = 0) -> bool:
        """Reserve room in a table, having others give way for it only if that suffices."""
        if self.cache.reserve(table, num_tokens, spare):
            return True
        if not self.cache.has_room(table, num_tokens, spare - self.cache.freed_by(self._giving_way())):
            return False
        while not self.cache.reserve(table, num_tokens, spare):
            gave = self._give_way()
            assert gave, "others had less room than they were thought to have"
        return True

    def _giving_way(self) -> list[BlockTable]:
        """What those hold that give way to others."""
        return _tables([*self.warming.sequences, *(sequence for sequence in self.running if sequence.paused)])

    def _give_way(self) -> bool:
        """Free what the oldest warm request holds, or else the paused sequence that started last."""
        if self.warming.give_way():
            return True
        paused = next((sequence for sequence in reversed(self.running) if sequence.paused), None)
        if paused is not None:
            self._put_back(paused)
        return paused is not None

    def _put_back(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._release(sequence)
        self._queue.put_back(sequence)

    def _add_drafts(
        self,
        plan: dict[Sequence, Scheduled],
        sampling: list[Scheduled],
        most: int,
        within: float | None,
        between: Callable[[], object] | None,
    ) -> None:
        """Give those of a plan that bring a token drafts: what pays, of so many rows, so that it takes so long."""
        rows, keys = self._size(plan)
        if within is not None and sampling:
            longest = max(len(item.sequence.tokens) for item in sampling)

            def seconds(more: int) -> float:
                return self.cost.seconds(rows + more, keys + attended(longest, more))

            most = rows_within(within, 0, most, seconds)
        drafts: list[Draft] = []
        for item in sampling:
            if drafts and between is not None:
                between()
            gone = most <= 0 or item.sequence.table is None
            drafts.append(NO_DRAFT if gone else item.sequence.propose(most))
        # What was heard meanwhile: one that was paused gives way to others from now on, also to those of this pass.
        for sequence in [sequence for sequence in plan if sequence.table is None or sequence.paused]:
            del plan[sequence]
        if not any(draft.tokens for draft in drafts):
            return
        left = [(item, draft) for item, draft in zip(sampling, drafts, strict=True) if item.sequence in plan]
        contexts = [len(item.sequence.tokens) for item, _ in left]
        rows, _ = self._size(plan)
        lengths = share_rows([draft for _, draft in left], contexts, rows, most, self.cost)
        for (item, draft), length in zip(left, lengths, strict=True):
            if length:
                plan[item.sequence] = replace(item, draft=draft.cut(length))

    def _reserve_drafts(self, plan: dict[Sequence, Scheduled]) -> None:
        """Cut drafts to the room there is without anybody giving way."""
        for sequence, item in plan.items():
            if item.draft.tokens:
                assert sequence.table is not None
                room = (len(sequence.table.blocks) + self.cache.available) * BLOCK_SIZE - len(sequence.tokens)
                length = min(len(item.draft.tokens), room)
                self.cache.reserve(sequence.table, len(sequence.tokens) + length)
                plan[sequence] = replace(item, draft=item.draft.cut(length) if length else NO_DRAFT)

    def _release(self, sequence: Sequence) -> None:
        assert sequence.table is not None
        self.cache.release(sequence.table)
        sequence.table = None
        sequence.computed = 0


@dataclass(frozen=True, slots=True)
class _Blocked:
    """The sequence whose turn it is and that found no room."""

    sequence: Sequence
    lacked: int
    """Blocks that must be available before there may be."""
    table: BlockTable
    """Where it found what the cache held of it, though this was released."""
    matched: int
    """How many blocks that were."""


def _tables(sequences: list[Sequence]) -> list[BlockTable]:
    return [sequence.table for sequence in sequences if sequence.table is not None]


def _own_shares(prompts: list[Sequence], total: int) -> dict[Sequence, int]:
    """How many rows each of a client's prompts has: half the first, unless it ends before the second, and so on."""
    wanted = [sequence.remaining for sequence in prompts]
    parts = even_shares(wanted[:2], total) if wanted[1:] and wanted[1] < wanted[0] else []
    for want in wanted[len(parts) :]:
        parts.append(min(want, total - sum(parts)))
    return {sequence: part for sequence, part in zip(prompts, parts, strict=True) if part}
