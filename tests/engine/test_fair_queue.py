"""Whose turn it is to start, by what each client was served."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import GenerationRequest, SamplingParams
from warmline.engine.fair_queue import MAX_IDLE, OUTPUT_WEIGHT, FairQueue, even_shares
from warmline.engine.sequence import Sequence
from warmline.engine.speculation.drafter import NO_DRAFT


class Arriving:
    """A queue, and sequences that come to it in order."""

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.arrivals = self.turns = 0

    def add(self, client="", prompt=10, salt=""):
        """One more of a client, in the queue."""
        self.arrivals += 1
        request = GenerationRequest(self.arrivals, b"", SamplingParams(), salt, speculation=False, client=client)
        sequence = Sequence.create(request, [1] * prompt, 100, 0)
        sequence.arrival = self.arrivals
        self.queue.add(sequence)
        return sequence

    def start(self):
        """Start the next; gives its client."""
        sequence = self.queue.next()
        self.queue.start(sequence)
        self.turns += 1
        sequence.turn = sequence.turn or self.turns
        return sequence


def serve(queue, sequence, outputs):
    """Its prompt is computed, and so many tokens come."""
    sequence.advance(sequence.remaining, NO_DRAFT, 0, [1])
    for _ in range(outputs - 1):
        sequence.advance(1, NO_DRAFT, 0, [1])
    queue.settle(sequence)


def test_one_client_starts_in_the_order_of_arrival():
    """Nothing is to be shared."""
    arriving = Arriving()
    sequences = [arriving.add() for _ in range(5)]
    assert [arriving.start() for _ in range(5)] == sequences
    assert arriving.queue.next() is None


def test_many_of_one_client_hold_up_nobody_elses():
    """Prompts are charged as they start, so clients take turns although nothing was computed yet."""
    arriving = Arriving()
    for _ in range(4):
        arriving.add("many")
    for _ in range(2):
        arriving.add("few")
    assert [arriving.start().request.client for _ in range(6)] == ["many", "few", "many", "few", "many", "many"]


def test_turns_are_by_tokens():
    """Whoever asks for three times as much starts a third as often."""
    arriving = Arriving()
    for _ in range(9):
        arriving.add("long", prompt=30)
        arriving.add("short", prompt=10)
    started = [arriving.start().request.client for _ in range(12)]
    assert started.count("short") == 3 * started.count("long")


def test_output_counts_while_it_comes():
    """A client whose answers are long has had its share though it asked for no more than another."""
    arriving = Arriving()
    first = arriving.add("talks")
    arriving.start()
    arriving.add("talks"), arriving.add("talks"), arriving.add("listens"), arriving.add("listens")
    arriving.queue.next()  # both wait from here on
    serve(arriving.queue, first, outputs=20)
    assert [arriving.start().request.client for _ in range(4)] == ["listens", "listens", "talks", "talks"]
    assert first.charged == 10 + OUTPUT_WEIGHT * 20


def test_nobody_saves_up_turns():
    """Who was away while another was served has no more than its share when it is back."""
    arriving = Arriving()
    resting = arriving.add("rests")
    arriving.start()
    for _ in range(10):
        arriving.add("works")
        arriving.start()
    for _ in range(4):
        arriving.add("works"), arriving.add("rests")
    started = [arriving.start().request.client for _ in range(8)]
    assert started[:5].count("works") == 2
    arriving.queue.end(resting)


def test_a_paused_client_saves_up_no_turns_either():
    """It waits for itself, not for the others."""
    arriving = Arriving()
    paused = [arriving.add("rests") for _ in range(4)]
    for sequence in paused:
        sequence.paused = True
    for _ in range(14):
        arriving.add("works")
    assert {arriving.start().request.client for _ in range(10)} == {"works"}
    for sequence in paused:
        sequence.paused = False
    assert [arriving.start().request.client for _ in range(4)].count("works") == 2


@pytest.mark.parametrize("computed", [0, 300])
def test_what_was_not_computed_is_given_back(computed):
    """A request that is cancelled costs its client what was computed of its prompt, and no more."""
    arriving = Arriving()
    started, waiting = arriving.add("a", prompt=1000), arriving.add("a")
    other, _ = arriving.add("b", prompt=200), arriving.add("b")
    served = arriving.queue.served(waiting)
    assert arriving.start() is started and arriving.queue.served(waiting) == served + 1000
    assert arriving.start() is other
    started.advance(computed, NO_DRAFT, 0, [])
    arriving.queue.end(started)
    assert arriving.queue.served(waiting) == served + computed
    assert arriving.start().request.client == ("b" if computed else "a")


def test_of_clients_served_alike_the_one_without_any_started_is_next():
    """Who comes anew is served as much as who waits already; that one has something."""
    arriving = Arriving()
    arriving.add("has"), arriving.add("has")
    arriving.start()
    arriving.add("new")
    assert [arriving.start().request.client for _ in range(2)] == ["new", "has"]


def test_what_ends_before_it_starts_costs_nothing():
    """Nothing was charged for it."""
    arriving = Arriving()
    stays = arriving.add("a")
    served = arriving.queue.served(stays)
    arriving.queue.end(arriving.add("a", prompt=1000))
    assert arriving.queue.served(stays) == served


def test_one_that_was_put_back_goes_before_those_of_its_client_that_have_not_started():
    """It is not charged again for what it had."""
    arriving = Arriving()
    first, second, third = (arriving.add() for _ in range(3))
    arriving.start(), arriving.start()
    serve(arriving.queue, second, outputs=3)
    charged = second.charged
    arriving.queue.put_back(second)
    assert arriving.start() is second and second.charged == charged
    assert arriving.start() is third
    arriving.queue.check_integrity([first, second, third])


def test_the_same_name_under_two_keys_is_two_clients():
    """Names mean something within a key."""
    arriving = Arriving()
    arriving.add("same", salt="a"), arriving.add("same", salt="a"), arriving.add("same", salt="b")
    assert [arriving.start().request.salt for _ in range(3)] == ["a", "b", "a"]


def test_accounts_of_those_who_left_do_not_pile_up():
    """Nor does it matter how many clients there were; when all have ended, nothing is kept."""
    arriving = Arriving()
    lasting = arriving.add("lasting", prompt=1)
    arriving.start()
    for index in range(3 * MAX_IDLE):
        sequence = arriving.add(str(index), prompt=5)
        arriving.start()
        serve(arriving.queue, sequence, outputs=1)
        arriving.queue.end(sequence)
    arriving.queue.check_integrity([lasting])
    arriving.queue.end(lasting)
    arriving.queue.check_integrity([])
    assert not arriving.queue._accounts


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(0, 200))
def test_shares_are_even(wanted, total):
    """All is shared out that is wanted, and nobody has more than one token above somebody who wants more."""
    shares = even_shares(wanted, total)
    assert sum(shares) == min(total, sum(wanted))
    assert all(0 <= share <= wish for share, wish in zip(shares, wanted, strict=True))
    for share, wish in zip(shares, wanted, strict=True):
        assert share == wish or share >= max(shares) - 1


def test_the_first_have_what_does_not_suffice():
    """Fewer tokens than takers go to the head of the row, whatever the others want."""
    assert even_shares([9, 1, 9, 1], 2) == [1, 1, 0, 0]


class Scanning:
    """Who is next by looking at every client, as the queue is described."""

    def __init__(self) -> None:
        self.served: dict[str, int] = {}
        self.backlogged: set[str] = set()
        self.level = 0

    def least(self, wanting):
        """What the next to start was served, after whoever is new among those that want to is raised."""
        stayed = [self.served[client] for client in wanting & self.backlogged]
        level = min(stayed, default=self.level)
        for client in wanting - self.backlogged:
            self.served[client] = max(self.served[client], level)
        self.backlogged = wanting
        return min((self.served[client] for client in wanting), default=None)


@given(st.data())
def test_the_next_is_who_a_look_at_all_of_them_would_find(data):
    """Whatever comes, starts, is served, paused and ended: the heap has everybody in the right place."""
    arriving, scanning = Arriving(), Scanning()
    queue = arriving.queue
    queue.add(lasting := Sequence.create(GenerationRequest(0, b"", SamplingParams(), client="lasting"), [1], 9, 0))
    queue.start(queue.next())
    scanning.level = scanning.served["lasting"] = 0
    waiting, started = [], [lasting]

    def known(account_of, change):
        before = queue.served(account_of)
        change()
        return queue.served(account_of) - before

    for _ in range(data.draw(st.integers(1, 40))):
        match data.draw(st.sampled_from(["add", "add", "next", "start", "serve", "pause", "end", "put back"])):
            case "add":
                client = data.draw(st.sampled_from("abcde"))
                sequence = arriving.add(client, data.draw(st.integers(1, 30)))
                scanning.served.setdefault(client, queue.served(sequence))
                waiting.append(sequence)
            case "serve" if started:
                sequence = data.draw(st.sampled_from(started))
                scanning.served[sequence.request.client] += known(sequence, lambda s=sequence: serve(queue, s, 3))
            case "pause" if waiting:
                sequence = data.draw(st.sampled_from(waiting))
                sequence.paused = not sequence.paused
            case "put back" if started[1:]:
                sequence = started.pop()
                queue.put_back(sequence)
                waiting.append(sequence)
            case "end" if waiting or started[1:]:
                sequence = data.draw(st.sampled_from(waiting + started[1:]))
                (waiting if sequence in waiting else started).remove(sequence)
                client, alike = sequence.request.client, [*waiting, *started]
                queue.end(sequence)
                left = [other for other in alike if other.request.client == client]
                if all(other.paused or other in started for other in left):
                    scanning.backlogged.discard(client)
                if left:
                    scanning.served[client] = queue.served(left[0])
                else:
                    scanning.served.pop(client)  # whether it was kept shows when it comes again
            case "next" | "start" as what:
                least = scanning.least({one.request.client for one in waiting if not one.paused})
                sequence = queue.next()
                assert (None if sequence is None else queue.served(sequence)) == least
                for one in waiting:
                    assert queue.served(one) == scanning.served[one.request.client]
                if sequence is not None:
                    its = [one for one in waiting if one.request.client == sequence.request.client]
                    assert sequence is min(
                        (one for one in its if not one.paused), key=lambda one: (not one.turn, one.turn, one.arrival)
                    )
                    if what == "start":
                        client = sequence.request.client
                        scanning.level = max(scanning.level, scanning.served[client])
                        scanning.served[client] += known(sequence, lambda s=sequence: queue.start(s))
                        arriving.turns += 1
                        sequence.turn = sequence.turn or arriving.turns
                        waiting.remove(sequence)
                        started.append(sequence)
                        if not any(one.request.client == client and not one.paused for one in waiting):
                            scanning.backlogged.discard(client)
        queue.check_integrity(started)


def test_asking_again_who_is_next_looks_at_no_client_but_that_one():
    """In a full cache it is asked in each pass, whoever waits."""
    arriving = Arriving()
    for index in range(300):
        arriving.add(str(index))
    first = arriving.queue.next()
    looked = []

    class Looking(list):
        def __iter__(self):
            looked.append(self)
            return super().__iter__()

    for account in arriving.queue._accounts.values():
        account.waiting = Looking(account.waiting)
    assert arriving.queue.next() is first and len({*map(id, looked)}) == 1
