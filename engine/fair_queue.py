"""Whose turn it is: sequences that wait to start, in an order that is fair between clients; and even shares."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Final

from .batch import BLOCK_SIZE
from .sequence import Sequence

Client = tuple[str, str]
"""The salt of a request and the client that it names: whose requests share one account."""

OUTPUT_WEIGHT: Final = 2
"""What an emitted token counts, where a computed token of a prompt counts 1. Both figures are the paper's."""
MAX_IDLE: Final = 1024
"""Accounts that are kept of clients who have nothing unfinished."""
_FEW: Final = 64

_Place = tuple[int, int, bool, int, int]  # what the client was served, and has started; then what orders the first


@dataclass(slots=True, eq=False)
class _Account:
    served: int
    unfinished: int = 0
    waiting: list[Sequence] = field(default_factory=list)  # those that had started first, then in order of arrival
    place: _Place | None = None  # in the order of those who want to start something; None if it does not

    @property
    def backlogged(self) -> bool:
        return self.place is not None

    @property
    def due(self) -> _Place:
        """The place for what it was served and has started by now."""
        return self.served, self.unfinished - len(self.waiting), *_order(self.head or self.waiting[0])

    @property
    def head(self) -> Sequence | None:
        return next((sequence for sequence in self.waiting if not sequence.paused), None)


class FairQueue:
    """The next to start is of the client that was served least (VTC: *Fairness in Serving LLMs*, arXiv 2401.00588).

    A client's account counts the prompt tokens that were computed for it, once each, and `OUTPUT_WEIGHT` times those
    it was sent: what the cache held is free, and being computed again after making room for others isn't paid for
    twice. A prompt is charged when it starts, so that one client's many don't all start at once. Who comes to wait
    anew is raised to the least of those who wait, or to where the last one was who did: nobody saves up turns. Of
    clients that were served alike, the one that has fewest started is next.

    While two clients both have something waiting, they are served alike, but for twice what the cache or the
    longest prompt holds (theorem 4.4 there). So a client's first in the queue waits for as much work of each other
    client as it has itself had, and that, and starts. When nothing is unfinished, all accounts are forgotten.

    Asking who is next takes no longer for more clients, however often: those that want to start something are in a
    heap. Accounts mostly rise, so a place is put right when it comes to the top; where one falls, at once.
    """

    def __init__(self) -> None:
        self._accounts: dict[Client, _Account] = {}
        self._idle: dict[Client, None] = {}  # whose accounts have nothing unfinished, the longest idle first
        self._queues: dict[Client, _Account] = {}  # those accounts in which some wait
        self._wanting: list[tuple[_Place, int, _Account]] = []  # a heap of those who are backlogged, and old places
        self._others: dict[_Account, None] = {}  # in which some wait that are not known to be backlogged
        self._entries = count()
        self._level = 0  # what the account had whose sequence started last
        self._unfinished = 0

    def __iter__(self) -> Iterator[Sequence]:
        for account in self._queues.values():
            yield from account.waiting

    def __len__(self) -> int:
        return sum(len(account.waiting) for account in self._queues.values())

    @property
    def wanting(self) -> bool:
        """Whether some wait that are not paused."""
        return any(account.head is not None for account in self._queues.values())

    def add(self, sequence: Sequence) -> None:
        """Queue one that is new here; `end` is to be called for it."""
        account = self._accounts.get(client_of(sequence))
        if account is None:
            account = self._accounts[client_of(sequence)] = _Account(self._level)
        self._idle.pop(client_of(sequence), None)
        account.unfinished += 1
        self._unfinished += 1
        self.put_back(sequence)

    def put_back(self, sequence: Sequence) -> None:
        """Queue one that had started: before those of its client that have not."""
        client = client_of(sequence)
        account = self._queues[client] = self._accounts[client]
        insort(account.waiting, sequence, key=_order)
        if account.backlogged:
            self._enter(account)
        else:
            self._others[account] = None

    def next(self) -> Sequence | None:
        """The one whose turn it is to start; None if none wants to."""
        first = self._first()
        level = self._level if first is None else first.served
        for account in [account for account in self._others if account.head is not None]:
            del self._others[account]
            account.served = max(account.served, level)
            self._enter(account)
        first = self._first()
        return None if first is None else first.head

    def start(self, sequence: Sequence) -> None:
        """Take out one that starts, and charge for its prompt, but for what its table shares."""
        account = self._accounts[client_of(sequence)]
        self._level = max(self._level, account.served)
        self._take_out(account, sequence)
        shared = sequence.table.shared * BLOCK_SIZE if sequence.table is not None else 0
        missing = sequence.prompt_tokens - max(sequence.counted_tokens, shared)
        self._charge(account, sequence, served_to(sequence) + max(missing, 0))

    def settle(self, sequence: Sequence) -> None:
        """Charge for what was computed for a running sequence."""
        self._charge(self._accounts[client_of(sequence)], sequence, served_to(sequence))

    def end(self, sequence: Sequence) -> None:
        """Forget a sequence, waiting or started, and give back what was charged for nothing."""
        client = client_of(sequence)
        account = self._accounts[client]
        if sequence in account.waiting:
            self._take_out(account, sequence)
        account.served += served_to(sequence) - sequence.charged
        sequence.charged = served_to(sequence)
        account.unfinished -= 1
        self._unfinished -= 1
        if account.backlogged:
            self._enter(account)
        if not account.unfinished:
            self._idle[client] = None
            self._forget_idle()

    def served(self, sequence: Sequence) -> int:
        """What the client of an unfinished sequence was served; only comparisons mean something."""
        return self._accounts[client_of(sequence)].served

    def check_integrity(self, running: Iterable[Sequence]) -> None:
        """Verify every count, given those that have started and not ended.

        Raises:
            AssertionError: something is wrong.

        """
        unfinished: dict[Client, int] = {}
        for sequence in [*self, *running]:
            unfinished[client_of(sequence)] = unfinished.get(client_of(sequence), 0) + 1
        counted = {client: account.unfinished for client, account in self._accounts.items() if account.unfinished}
        assert counted == unfinished and sum(counted.values()) == self._unfinished, "sequences are counted wrongly"
        assert self._accounts.keys() == counted.keys() or self._unfinished, "an account was kept for nobody"
        assert len(self._accounts) - len(counted) <= MAX_IDLE, "idle accounts pile up"
        for client, account in self._accounts.items():
            assert (self._queues.get(client) is account) == bool(account.waiting), "a queue is lost, or empty"
            assert account.waiting == sorted(account.waiting, key=_order), "out of order"
            assert account.backlogged + (account in self._others) == bool(account.waiting), "an account is lost"
        assert self._queues.keys() <= self._accounts.keys() and {*self._others} <= {*self._queues.values()}
        assert self._idle.keys() == self._accounts.keys() - counted.keys(), "who is idle is wrong"
        entered = {account: place for place, _, account in self._wanting if place == account.place}
        assert entered.keys() == {account for account in self._queues.values() if account.backlogged}
        assert all(place[:2] <= account.due[:2] for account, place in entered.items()), "a place is too late"

    def _take_out(self, account: _Account, sequence: Sequence) -> None:
        account.waiting.remove(sequence)
        if account.head is None:
            account.place = None
            self._others[account] = None
        if not account.waiting:
            del self._queues[client_of(sequence)]
            del self._others[account]

    def _first(self) -> _Account | None:
        """The account whose turn it is among those that are backlogged."""
        while self._wanting:
            place, _, account = self._wanting[0]
            if place != account.place:
                heappop(self._wanting)
            elif account.head is None:  # what it has was paused
                account.place = None
                self._others[account] = None
            elif place != account.due:
                account.place = account.due
                heapreplace(self._wanting, (account.place, next(self._entries), account))
            else:
                return account
        return None

    def _enter(self, account: _Account) -> None:
        """Give a client who wants to start something its place, in place of the one it had."""
        place = account.due
        if account.place == place:
            return
        account.place = place
        heappush(self._wanting, (account.place, next(self._entries), account))
        if len(self._wanting) > 2 * len(self._queues) + _FEW:
            self._wanting = [entry for entry in self._wanting if entry[0] == entry[2].place]
            heapify(self._wanting)

    @staticmethod
    def _charge(account: _Account, sequence: Sequence, due: int) -> None:
        if due > sequence.charged:
            account.served += due - sequence.charged
            sequence.charged = due

    def _forget_idle(self) -> None:
        """Drop accounts that would begin no higher for having been kept, and the longest idle of too many."""
        if not self._unfinished:
            for kept in (self._accounts, self._idle, self._wanting):
                kept.clear()
            self._level = 0
            return
        excess = len(self._idle) - MAX_IDLE
        for index, client in enumerate([*self._idle]):
            if index < excess or self._accounts[client].served <= self._level:
                del self._accounts[client], self._idle[client]


def client_of(sequence: Sequence) -> Client:
    """Whose account a sequence is on."""
    return sequence.request.salt, sequence.request.client


def served_to(sequence: Sequence) -> int:
    """What counts of what was done for a sequence so far."""
    return sequence.computed_tokens + OUTPUT_WEIGHT * sequence.output_tokens


def even_shares(wanted: Seq[int], total: int) -> list[int]:
    """A total split so that nobody has less than another unless that is all it wants (max-min fair).

    Those who want least have theirs first. If there is less than one for each, the first in the row have one.
    """
    if total < len(wanted):
        return [1] * total + [0] * (len(wanted) - total)
    shares, left = [0] * len(wanted), total
    by_wish = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, index in enumerate(by_wish):
        shares[index] = min(wanted[index], left // (len(wanted) - place))
        left -= shares[index]
    return shares


def _order(sequence: Sequence) -> tuple[bool, int, int]:
    return sequence.turn == 0, sequence.turn, sequence.arrival
