"""Prompts computed ahead of their requests: which one is next, and how far. Pure logic, as the scheduler."""

from __future__ import annotations

from collections.abc import Callable

from .kv_cache import KVCache
from .messages import FinishReason
from .sequence import Sequence


class Warming:
    """Warm requests, computed into the prefix cache a chunk at a time: the newest at once, then all in turn.

    A person's latest keystroke says best what comes next, and mostly needs a block or two, so a newcomer's first
    chunk goes before a long prompt of somebody else. That one is not starved: each has its turn. Of more than
    ``most`` requests the oldest are dropped. What is given up leaves full blocks in the cache, where they stay until
    room is needed.

    Attributes:
        sequences: those that have not ended, oldest first. They hold what was computed for them, and what the cache
            held of them when they came.
        ended: those that ended here, with the reason: to be taken out by the engine.
    """

    def __init__(self, cache: KVCache, chunk: int, most: int) -> None:
        self.cache = cache
        self.chunk = chunk
        self.most = most
        self.sequences: list[Sequence] = []
        self.ended: list[tuple[Sequence, FinishReason]] = []
        self._turns: list[Sequence] = []  # the last is next
        self._lacked: dict[Sequence, int] = {}  # blocks that one without any found missing

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. One whose blocks are all in the cache ends at once; that counts as using them lately."""
        self.sequences.append(sequence)
        self._turns.append(sequence)
        if self._done(sequence):
            self._end(sequence, "stop")
        elif not sequence.computed:
            self._release(sequence)
        if len(self.sequences) > self.most:
            self._end(self.sequences[0], "cancel")

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever it is doing, and free its blocks."""
        self.sequences.remove(sequence)
        self._turns.remove(sequence)
        self._lacked.pop(sequence, None)
        self._release(sequence)

    def next(self, spare: int, rows: Callable[[int], int]) -> tuple[Sequence, int] | None:
        """The sequence to compute in a pass of its own, and how many of its tokens; room for them is reserved.

        ``rows`` says how many a pass may have of one that is computed up to a position: only full blocks are kept if
        it is given up later on, so it should get to the end of one.

        One that does not fit as a whole, with ``spare`` blocks left over, is dropped rather than begun: it would push
        out what others come back for, to end unfinished.
        """
        while (sequence := self._whose_turn()) is not None:
            if (taken := self._take(sequence, rows(sequence.computed), spare)) is not None:
                return taken
            self._end(sequence, "cancel")
        return None

    def beside(self, spare: int, rows: Callable[[int], int]) -> tuple[Sequence, int] | None:
        """The sequence to compute in a pass of others, and how many of its tokens; as `next`, but drops none.

        There may be room for one that does not fit once those others have ended. It keeps its turn, and holds up
        nobody: the next that fits goes before it. What it lacked is remembered, so that it looks again for what the
        cache holds only when there is that much room: in a full cache, a pass looks for nobody.
        """
        for sequence in self._turns[::-1]:
            if sequence.table is None and self.cache.available < self._lacked.get(sequence, 0) + spare:
                continue
            if self._done(sequence):
                self._end(sequence, "stop")
            elif (taken := self._take(sequence, rows(sequence.computed), spare)) is not None:
                return taken
            elif not sequence.computed:
                self._let_go(sequence)
        return None

    def give_way(self) -> bool:
        """Have the oldest sequence that holds blocks free them; False if none does.

        It ends, unless nothing was computed for it: then it looks again in its turn for what the cache holds.
        """
        for sequence in self.sequences:
            if sequence.table is not None:
                if sequence.forward_passes:
                    self._end(sequence, "cancel")
                else:
                    self._release(sequence)
                return True
        return False

    def _whose_turn(self) -> Sequence | None:
        """The sequence whose turn it is, after those that have become complete ended."""
        while self._turns:
            sequence = self._turns[-1]
            if not self._done(sequence):
                return sequence
            self._end(sequence, "stop")
        return None

    def _take(self, sequence: Sequence, most: int, spare: int) -> tuple[Sequence, int] | None:
        assert sequence.table is not None
        if not self.cache.has_room(sequence.table, len(sequence.tokens), spare):
            return None
        rows = min(sequence.remaining, most)
        upto = sequence.computed + rows
        self.cache.reserve(sequence.table, upto)
        if upto // self.chunk > sequence.computed // self.chunk:
            self._turns.remove(sequence)
            self._turns.insert(0, sequence)
        return sequence, rows

    def _done(self, sequence: Sequence) -> bool:
        """Whether all is computed, after sharing what the tree holds by now: also the end, as nobody wants logits."""
        if sequence.table is None:
            sequence.table = self.cache.open(sequence.request.salt)
        found = self.cache.match(sequence.table, sequence.tokens, logits=False)
        if found > sequence.computed:  # and not in the middle of a block
            sequence.reuse(found)
        return not sequence.remaining

    def _let_go(self, sequence: Sequence) -> None:
        """Release one for which there is no room, and note how many blocks must be available before there may be."""
        assert sequence.table is not None
        lacked, before = self.cache.missing(sequence.table, len(sequence.tokens)), self.cache.available
        self._release(sequence)
        self._lacked[sequence] = lacked + self.cache.available - before

    def _end(self, sequence: Sequence, reason: FinishReason) -> None:
        self.remove(sequence)
        self.ended.append((sequence, reason))

    def _release(self, sequence: Sequence) -> None:
        if sequence.table is not None:
            self.cache.release(sequence.table)
            sequence.table = None
            sequence.computed = 0
