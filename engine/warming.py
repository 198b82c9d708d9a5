"""Prompts computed ahead of their requests: which one has the next idle pass. Pure logic, as the scheduler."""

from __future__ import annotations

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
        sequences: those that have not ended, oldest first. One that was begun holds its blocks.
        ended: those that ended here, with the reason: to be taken out by the engine.
    """

    def __init__(self, cache: KVCache, chunk: int, most: int) -> None:
        self.cache = cache
        self.chunk = chunk
        self.most = most
        self.sequences: list[Sequence] = []
        self.ended: list[tuple[Sequence, FinishReason]] = []
        self._turns: list[Sequence] = []  # the last is next

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. One whose blocks are all in the cache ends at once; that counts as using them lately."""
        self.sequences.append(sequence)
        self._turns.append(sequence)
        self._take_over(sequence)
        if not sequence.remaining:
            self._end(sequence, "stop")
        else:
            self._release(sequence)
        if len(self.sequences) > self.most:
            self._end(self.sequences[0], "cancel")

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever it is doing, and free its blocks."""
        self.sequences.remove(sequence)
        self._turns.remove(sequence)
        self._release(sequence)

    def next(self, spare: int) -> tuple[Sequence, int] | None:
        """The sequence to compute, and how many of its tokens; room for them is reserved.

        One that does not fit as a whole, with ``spare`` blocks left over, is dropped rather than begun: it would push
        out what others come back for, to end unfinished.
        """
        while self._turns:
            sequence = self._turns[-1]
            self._take_over(sequence)
            if not sequence.remaining:
                self._end(sequence, "stop")
                continue
            rows = min(sequence.remaining, self.chunk)
            assert sequence.table is not None
            if self.cache.has_room(sequence.table, len(sequence.tokens), spare):
                self.cache.reserve(sequence.table, sequence.computed + rows)
                self._turns.insert(0, self._turns.pop())
                return sequence, rows
            self._end(sequence, "cancel")
        return None

    def give_way(self) -> bool:
        """Drop the oldest sequence that holds blocks; False if none does."""
        for sequence in self.sequences:
            if sequence.table is not None:
                self._end(sequence, "cancel")
                return True
        return False

    def _take_over(self, sequence: Sequence) -> None:
        """Share what the tree holds by now. All of it: a warm request wants no logits."""
        if sequence.table is None:
            sequence.table = self.cache.open(sequence.request.salt)
        sequence.reuse(self.cache.match(sequence.table, sequence.tokens, logits=False))

    def _end(self, sequence: Sequence, reason: FinishReason) -> None:
        self.remove(sequence)
        self.ended.append((sequence, reason))

    def _release(self, sequence: Sequence) -> None:
        if sequence.table is not None:
            self.cache.release(sequence.table)
            sequence.table = None
            sequence.computed = 0
