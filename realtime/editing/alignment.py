"""Aligns lines as they are written with the lines of an original, settling each as early as it is safe to.

While the new lines copy the original there is nothing to decide. After the first line that differs, several
readings are open: lines were inserted, replaced, deleted, or the text goes on further down. The aligner keeps the
best few *chains* (which new line pairs with which original line), in the manner of sparse dynamic programming for
the longest common subsequence, and settles pairs once three things hold: every chain of comparable score agrees on
them, one more line has confirmed them, and no open reading would make the settled part a noticeably longer character
difference than that reading's own best. So the result stays close to an offline difference, a line or two behind.

Where nearly every line changed so much that no chain pairs it, the lines wait until they are `HELD_LINES`. Then they
are paired by what all of them say together (`resemblance`), and from then on every few lines. Where not even that
tells, the oldest are taken for an insertion; if they were not one, the lines that they replaced are deleted once the
text is found again. At worst all of the original is deleted and all of the new text inserted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Indel

from .resemblance import pair_by_resemblance

# Measured over 214 commits of eight projects: these keep every one of them within 1.15 times a character difference,
# and values around them do as well. A score is counted in matched characters, indentation left out.
SKIP_COST: Final = 0.5
"""Of a skipped original character: a jump has to be earned by half as many copied ones, or a moved block fools it."""
SKIP_LIMIT: Final = 200.0
"""The most that a jump can cost, so that the text is found again after a deletion of any size."""
HUNK_COST: Final = 3.0
"""Of each separate place of change: two changes are less likely than one."""
SIMILAR: Final = 0.65
"""From this similarity on a new line may be an original line, modified. Unrelated code reaches 0.5."""
MARGIN: Final = 12.0
"""How far behind a chain must be to have no say about a modified line."""
DOUBT: Final = 120.0
"""How far behind a chain must be to be no longer a reading worth guarding against."""
EXCESS: Final = 1.1
"""How much longer than the best difference a settled part may turn out, whichever open reading comes true."""

WINDOW: Final = 48  # original lines below the cursor that are searched for similar ones
CANDIDATES: Final = 8  # similar lines considered for a new line
PLACES: Final = 4  # equal lines considered for a new line, however far down
CHAINS: Final = 8
COMPARED: Final = 200  # characters of a line that similarity looks at

HELD_LINES: Final = 20
RESEMBLING_LINES: Final = 5
"""How often lines are paired by resemblance, in lines, while that is what pairs them."""
HELD_CHARACTERS: Final = 4000
GUARDED_AREA: Final = 1 << 26  # longest product of two lengths that is compared before settling (half a millisecond)


class Hunk(NamedTuple):
    """The next ``lines`` lines of the original become ``text``; None: they stay as they are."""

    lines: int
    text: str | None


class _Chain(NamedTuple):
    score: float
    path: tuple[tuple[int, int], ...]
    """Pairs of an index into the pending lines and one into the original, both rising."""
    end: int
    """The original line that comes next."""
    changing: bool
    """Whether the last pair is a modified line, so that a change is under way."""


class LineAligner:
    """Turns new lines, one at a time, into hunks over the original's lines; together the hunks give the new text.

    Lines carry their line end, as `str.splitlines` with ``keepends`` leaves them; a last one may lack it.

    A line takes bounded time, whatever the original's length: 50 us, or some 0.2 ms of 80 characters where no chain
    settles, as every few lines one takes up to 3 ms. At most `HELD_LINES` lines wait for their hunk, and no more than
    three where they have over `HELD_CHARACTERS` characters; what is held back beyond that leaves by resemblance, by
    the best chain, or as inserted text.
    """

    def __init__(self, original: Sequence[str]) -> None:
        self._original = original
        self._keys = [line.strip()[:COMPARED] for line in original]
        self._weights = list(accumulate((len(key) + 1 for key in self._keys), initial=0))
        self._places: dict[str, list[int]] = {}
        for index, line in enumerate(original):
            self._places.setdefault(line, []).append(index)
        self._cursor = 0
        self._pending: list[str] = []
        self._chains: list[_Chain] = []
        self._resembles = False  # lines were last let go by resemblance
        self._guessed = 0  # lines let go as inserted since the last whose place is known

    def push(self, line: str) -> list[Hunk]:
        """Take the next new line; returns the hunks that are settled by it."""
        hunks: list[Hunk] = []
        self._take(line, hunks)
        return hunks

    def finish(self, rest: str) -> list[Hunk]:
        """End the new text with ``rest``, what follows its last line end; returns the hunks that remain."""
        text = "".join(self._pending) + rest
        lines = len(self._original) - self._cursor
        self._cursor = len(self._original)
        self._pending.clear()
        return [Hunk(lines, text)] if text or lines else []

    def _take(self, line: str, hunks: list[Hunk]) -> None:
        if not self._pending:
            if self._cursor == len(self._original):
                hunks.append(Hunk(0, line))
                return
            if self._original[self._cursor] == line:  # a common prefix belongs to some shortest difference
                self._cursor += 1
                self._guessed = 0
                hunks.append(Hunk(1, None))
                return
            self._chains = [_Chain(0.0, (), self._cursor, False)]
        self._pending.append(line)
        self._extend_chains(line)
        if settled := self._settled():
            self._settle(settled, hunks)
        elif len(self._pending) > HELD_LINES or (
            len(self._pending) > 3 and sum(map(len, self._pending)) > HELD_CHARACTERS
        ):
            self._let_go(hunks)
        elif self._resembles and len(self._pending) % RESEMBLING_LINES == 0:
            path = self._resembling()
            if path and self._is_safe(cuts := self._cuts(path)):
                self._settle(cuts, hunks)

    def _matches(self, line: str) -> dict[int, float]:
        """The original lines that a new line may be, with the score of pairing them."""
        key = line.strip()[:COMPARED]
        matches: dict[int, float] = {}
        if len(key) > 2:
            window = self._keys[self._cursor : self._cursor + WINDOW]
            for similar, ratio, offset in process.extract(
                key, window, scorer=Indel.normalized_similarity, score_cutoff=SIMILAR, limit=CANDIDATES
            ):
                matches[self._cursor + offset] = min(len(key), len(similar)) * (2 * ratio - 1)
        places = self._places.get(line, [])
        first = bisect_left(places, self._cursor)
        for place in places[first : first + PLACES]:
            matches[place] = len(key) + 1
        return matches

    def _extend_chains(self, line: str) -> None:
        new = len(self._pending) - 1
        extended = list(self._chains)
        for old, gain in self._matches(line).items():
            same = self._original[old] == line
            best: tuple[float, _Chain] | None = None
            for chain in self._chains:
                if chain.end > old:
                    continue
                skipped = self._weights[old] - self._weights[chain.end]
                score = chain.score + gain - min(SKIP_COST * skipped, SKIP_LIMIT)
                follows = chain.end == old and (not chain.path or chain.path[-1][0] == new - 1)
                if not chain.changing and not (same and follows):
                    score -= HUNK_COST
                if best is None or score > best[0]:
                    best = score, chain
            if best is not None:
                extended.append(_Chain(best[0], (*best[1].path, (new, old)), old + 1, not same))
        extended.sort(key=lambda chain: chain.score, reverse=True)
        distinct: dict[tuple[int, bool], _Chain] = {}
        for chain in extended:
            distinct.setdefault((chain.end, bool(chain.path) and chain.path[-1][0] == new), chain)
        self._chains = list(distinct.values())[:CHAINS]

    def _settled(self) -> list[tuple[int, int]]:
        """The ends, in pending and in original lines, of the hunks and copied lines that can leave; [] for none."""
        best, last = self._chains[0], len(self._pending) - 1
        ends: list[int] = []  # how many pairs of the best chain could leave
        for count, (new, old) in enumerate(best.path, 1):
            same = self._original[old] == self._pending[new]
            # A modified line waits one line longer than a copied one, to see whether the change ends with it.
            if new > last - (1 if same else 2):
                break
            floor = best.score - (0.0 if same else MARGIN)
            if any(chain.score > floor and chain.path[:count] != best.path[:count] for chain in self._chains):
                break
            if same or best.path[count : count + 1] == ((new + 1, old + 1),):
                ends.append(count)
        for count in reversed(ends):
            cuts = self._cuts(best.path[:count])
            if self._is_safe(cuts):
                return cuts
        for count in reversed(ends):  # a chain may pin down a line that a shorter difference would not keep
            new, old = best.path[count - 1]
            if self._original[old] == self._pending[new] and self._is_safe(cuts := [(new + 1, old + 1)]):
                return cuts
        return []

    def _cuts(self, path: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where the hunks of a path end: before and after each copied line, and after its last pair."""
        cuts = [(0, self._cursor)]
        pair = (-1, -1)
        for pair in path:
            if self._original[pair[1]] == self._pending[pair[0]]:
                cuts += [pair, (pair[0] + 1, pair[1] + 1)]
        cuts.append((pair[0] + 1, pair[1] + 1))
        return list(dict.fromkeys(cuts))[1:]

    def _is_safe(self, cuts: Sequence[tuple[int, int]]) -> bool:
        """Whether cutting there stays near a shortest difference, whichever open chain comes true."""
        ends = {chain.end for chain in self._chains if chain.score > self._chains[0].score - DOUBT}
        new, old = cuts[-1]
        written, rest = "".join(self._pending), "".join(self._pending[new:])
        settled = 0
        before_new, before_old = 0, self._cursor
        for after_new, after_old in cuts:
            removed = "".join(self._original[before_old:after_old])
            settled += _distance(removed, "".join(self._pending[before_new:after_new]))
            before_new, before_old = after_new, after_old
        for end in ends:
            if end < old:
                continue
            whole = "".join(self._original[self._cursor : end])
            below = "".join(self._original[old:end])
            if settled + _distance(below, rest) > EXCESS * _distance(whole, written):
                return False
        return True

    def _settle(self, cuts: Iterable[tuple[int, int]], hunks: list[Hunk]) -> None:
        start = 0
        for new, old in cuts:
            removed = self._original[self._cursor : old]
            added = self._pending[start:new]
            hunks.append(Hunk(len(removed), None if added == removed else "".join(added)))
            self._guessed = 0 if removed else self._guessed + len(added)
            start, self._cursor = new, old
        again = self._pending[start:]
        self._pending = []
        for line in again:
            self._take(line, hunks)

    def _let_go(self, hunks: list[Hunk]) -> None:
        """Send off the older half of the pending lines if it is known where they stand, or a quarter as inserted."""
        half, quarter = len(self._pending) // 2, max(1, len(self._pending) // 4)
        path = self._resembling()
        self._resembles = bool(path)
        path = path or [pair for pair in self._chains[0].path if pair[0] < half]
        self._settle(self._cuts(path) if path else [(quarter, self._cursor)], hunks)

    def _resembling(self) -> list[tuple[int, int]]:
        """Pairs for the older half of the pending lines, where all of them together tell; [] where they don't.

        What was taken for an insertion may have been a change: the originals of what follows come so much later.
        """
        first = self._cursor + max(0, self._guessed - WINDOW // 2)
        window = self._keys[first : first + WINDOW]
        free = self._cursor + self._guessed - first
        pairs = pair_by_resemblance([line.strip()[:COMPARED] for line in self._pending], window, free)
        return [(new, first + old) for new, old in pairs if new < len(self._pending) // 2]


def _distance(removed: str, added: str) -> int:
    """The characters a shortest difference deletes and inserts; an upper bound where finding it would take long."""
    if len(removed) * len(added) > GUARDED_AREA:
        return len(removed) + len(added)
    return int(Indel.distance(removed, added))
