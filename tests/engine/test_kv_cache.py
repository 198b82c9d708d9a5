"""The block allocator and its radix tree: each block in one place, equal prefixes found, the oldest evicted."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.kv_cache import KVCache


def blocks_of(*values):
    """Tokens of one full block per value."""
    return [value for value in values for _ in range(BLOCK_SIZE)]


def fill(cache, tokens, salt="", warm=False):
    """Compute all tokens in a new table; they stay referenced until it is released."""
    table = cache.open(salt)
    cache.match(table, tokens)
    assert cache.reserve(table, len(tokens))
    cache.commit(table, tokens, len(tokens), warm)
    return table


def test_a_prefix_is_found_again():
    """What one sequence computed, another with the same beginning shares, block by block."""
    cache = KVCache(8)
    first = fill(cache, blocks_of(1, 2, 3))
    second = cache.open("")
    assert cache.match(second, [*blocks_of(1, 2), 9]) == 2 * BLOCK_SIZE
    assert second.blocks == first.blocks[:2]
    cache.check_integrity([first, second])


def test_the_last_token_is_always_computed():
    """A prompt that is wholly cached leaves its last block out, so that there are logits."""
    cache = KVCache(8)
    table = fill(cache, blocks_of(1, 2))
    again = cache.open("")
    assert cache.match(again, blocks_of(1, 2)) == BLOCK_SIZE
    cache.check_integrity([table, again])


def test_who_wants_no_logits_shares_the_last_block_too():
    """A prompt that is only to be cached has nothing left to compute."""
    cache = KVCache(8)
    table = fill(cache, blocks_of(1, 2))
    again = cache.open("")
    assert cache.match(again, [*blocks_of(1, 2), 3], logits=False) == 2 * BLOCK_SIZE
    cache.check_integrity([table, again])


def test_warmed_blocks_are_told_once():
    """The first request learns which of its blocks warm work computed; for the next they are like others."""
    cache = KVCache(8)
    cache.release(fill(cache, blocks_of(1)))
    warm = fill(cache, blocks_of(1, 2, 3, 4), warm=True)
    cache.check_integrity([], [warm])
    table, again = cache.open(""), cache.open("")
    cache.match(table, [*blocks_of(1, 2, 3), 9])
    assert cache.use(table, 0) == [2, 1]
    cache.match(again, [*blocks_of(1, 2, 3, 4), 9])
    assert cache.use(again, 0) == [3]
    cache.check_integrity([table, again], [warm])


def test_what_a_request_computed_itself_is_not_warmed():
    """Where both computed a block at the same time, the request had nothing of the warm work, and used the block."""
    cache = KVCache(8)
    request, warm = cache.open(""), cache.open("")
    for table in (request, warm):
        assert cache.reserve(table, BLOCK_SIZE)
    cache.commit(warm, blocks_of(1), BLOCK_SIZE, warm=True)
    cache.commit(request, blocks_of(1), BLOCK_SIZE)
    cache.check_integrity([request], [warm])
    other = cache.open("")
    cache.match(other, [*blocks_of(1), 9])
    assert cache.use(other, 0) == []


def test_salts_do_not_share():
    """One key's blocks are invisible to another."""
    cache = KVCache(8)
    table = fill(cache, blocks_of(1, 2), salt="a")
    other = cache.open("b")
    assert cache.match(other, blocks_of(1, 2, 3)) == 0
    cache.check_integrity([table, other])


def test_an_equal_block_is_kept_once():
    """Of two sequences that computed the same at the same time, the later one gives its block back."""
    cache = KVCache(8)
    first, second = cache.open(""), cache.open("")
    for table in (first, second):
        assert cache.reserve(table, BLOCK_SIZE)
    for table in (first, second):
        cache.commit(table, blocks_of(1), BLOCK_SIZE)
    assert first.blocks == second.blocks
    assert cache.used == 1
    cache.check_integrity([first, second])


def test_a_waiting_table_takes_over_what_was_computed_meanwhile():
    """Blocks reserved but not filled yet are exchanged for those that the tree holds by now."""
    cache = KVCache(8)
    waiting = cache.open("")
    assert cache.reserve(waiting, 3 * BLOCK_SIZE)
    filled = fill(cache, blocks_of(1, 2, 3))
    assert cache.match(waiting, blocks_of(1, 2, 3)) == 2 * BLOCK_SIZE
    assert waiting.blocks[:2] == filled.blocks[:2]
    assert cache.used == 4
    cache.check_integrity([waiting, filled])


def test_a_block_that_is_not_full_is_not_shared():
    """Only whole computed blocks enter the tree."""
    cache = KVCache(8)
    table = cache.open("")
    assert cache.reserve(table, 2 * BLOCK_SIZE)
    cache.commit(table, blocks_of(1, 2), 2 * BLOCK_SIZE - 1)
    assert table.shared == 1
    cache.release(table)
    assert cache.cached == 1
    cache.check_integrity()


def test_the_least_recently_used_leaf_goes_first():
    """Eviction takes the oldest prefix from its end, and never one in use."""
    cache = KVCache(5)
    used = fill(cache, blocks_of(1))
    for prompt in (blocks_of(2, 3), blocks_of(4)):
        cache.release(fill(cache, prompt))
    # Using 2-3 again makes 4 the oldest.
    cache.release(fill(cache, blocks_of(2, 3)))
    new = cache.open("")
    assert cache.reserve(new, 2 * BLOCK_SIZE)
    for tokens, found in ((blocks_of(4, 0), 0), (blocks_of(2, 3, 0), 2), (blocks_of(1, 0), 1)):
        probe = cache.open("")
        assert cache.match(probe, tokens) == found * BLOCK_SIZE
        cache.release(probe)
    assert cache.reserve(new, 3 * BLOCK_SIZE)
    probe = cache.open("")
    assert cache.match(probe, blocks_of(2, 3, 0)) == BLOCK_SIZE
    cache.release(probe)
    assert cache.reserve(new, 4 * BLOCK_SIZE)
    assert not cache.reserve(new, 5 * BLOCK_SIZE)
    cache.check_integrity([used, new])


def test_a_failed_reservation_changes_nothing():
    """When there is no room, nothing is evicted for it."""
    cache = KVCache(4)
    cache.release(fill(cache, blocks_of(1, 2)))
    table = cache.open("")
    assert not cache.reserve(table, 5 * BLOCK_SIZE)
    assert not cache.reserve(table, 3 * BLOCK_SIZE, spare=2)
    assert (len(table.blocks), cache.cached) == (0, 2)
    cache.check_integrity([table])


def test_an_unused_salt_leaves_nothing_behind():
    """When the last block of a salt is evicted, so is its root."""
    cache = KVCache(2)
    for number in range(50):
        cache.release(fill(cache, blocks_of(1), salt=f"key {number}"))
    assert len(cache._roots) <= 2
    cache.check_integrity()


def test_using_a_prefix_often_does_not_grow_the_eviction_queue():
    """A node has one entry in the queue, however often it is used."""
    cache = KVCache(4)
    for _ in range(1000):
        cache.release(fill(cache, blocks_of(1, 2)))
    assert len(cache._evictable) <= 2
    cache.check_integrity()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cache, table: cache._free.pop(),
        lambda cache, table: cache._free.append(table.blocks[0]),
        lambda cache, table: setattr(table.node, "references", 2),
        lambda cache, table: table.blocks.reverse(),
        lambda cache, table: table.node.parent.children.clear(),
        lambda cache, table: setattr(cache, "_unreferenced", 1),
        lambda cache, table: setattr(table.node, "warmed", True),
        lambda cache, table: setattr(table.node.parent, "warmed", True),
    ],
)
def test_the_integrity_check_sees_damage(spoil):
    """A lost block, one in two places, a wrong count or a broken tree is reported."""
    cache = KVCache(4)
    table = fill(cache, blocks_of(1, 2))
    cache.check_integrity([table])
    spoil(cache, table)
    with pytest.raises(AssertionError):
        cache.check_integrity([table])


class CacheMachine(RuleBasedStateMachine):
    """Random sequences over few tokens; ``contents`` is what a backend would have written into each block."""

    BLOCKS = 6

    def __init__(self) -> None:
        super().__init__()
        self.cache = KVCache(self.BLOCKS)
        self.tables = []
        self.contents: dict[int, list[int]] = {}
        self.unused: set[tuple] = set()  # what warm work computed, unless evicted since

    @staticmethod
    def name(salt, tokens, index):
        return (salt, *tokens[: (index + 1) * BLOCK_SIZE])

    def used(self, table, salt, tokens):
        """The blocks that count as warmed for a new request; each must be warm work's, and all that are must be."""
        found = self.cache.use(table, 0)
        assert {self.name(salt, tokens, index) for index in found} == self.unused & {
            self.name(salt, tokens, index) for index in range(table.shared)
        }
        return found

    @rule(
        values=st.lists(st.integers(0, 1), min_size=1, max_size=4),
        salt=st.sampled_from("ab"),
        extra=st.integers(1, 3),
        warm=st.booleans(),
    )
    def open(self, values, salt, extra, warm):
        tokens = [*blocks_of(*values), *[7] * extra]
        table = self.cache.open(salt)
        matched = self.cache.match(table, tokens)
        for index in range(matched // BLOCK_SIZE):
            assert self.contents[table.blocks[index]] == [salt, *tokens[: (index + 1) * BLOCK_SIZE]]
        if self.cache.reserve(table, len(tokens)):
            if not warm:
                self.unused -= {self.name(salt, tokens, index) for index in self.used(table, salt, tokens)}
            self.tables.append((table, tokens, salt, warm))
        else:
            self.cache.release(table)

    def holds(self, salt, tokens, index):
        """Whether the tree holds a block by now."""
        probe = self.cache.open(salt)
        try:
            return self.cache.match(probe, tokens[: (index + 1) * BLOCK_SIZE], logits=False) > index * BLOCK_SIZE
        finally:
            self.cache.release(probe)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def compute(self, data):
        table, tokens, salt, warm = data.draw(st.sampled_from(self.tables))
        computed = data.draw(st.integers(table.shared * BLOCK_SIZE, len(tokens)))
        for index in range(table.shared, computed // BLOCK_SIZE):
            name, held = self.name(salt, tokens, index), self.holds(salt, tokens, index)
            self.contents[table.blocks[index]] = [*name]
            if warm and not held:
                self.unused.add(name)
            elif not warm:
                self.unused.discard(name)
        self.cache.commit(table, tokens, computed, warm)
        for index in range(table.shared):
            assert self.contents[table.blocks[index]] == [salt, *tokens[: (index + 1) * BLOCK_SIZE]]

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def release(self, data):
        entry = data.draw(st.sampled_from(self.tables))
        self.tables.remove(entry)
        self.cache.release(entry[0])

    @invariant()
    def sound(self):
        self.cache.check_integrity(*([table for table, *_, warm in self.tables if warm == w] for w in (False, True)))


CacheMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCacheMachine = CacheMachine.TestCase


def test_trimmed_blocks_are_free_and_shared_ones_stay():
    """What the tokens need is kept, and what the tree holds."""
    cache = KVCache(8)
    table = cache.open("")
    cache.reserve(table, 100)
    cache.commit(table, range(40), 32)
    cache.trim(table, 40)
    assert len(table.blocks) == 3 and cache.available == 5
    cache.trim(table, 40)
    cache.trim(table, 1)
    assert len(table.blocks) == table.shared == 2
    cache.check_integrity([table])


def test_what_tables_would_free_is_what_they_free():
    """Blocks that somebody else shares stay in use; those that they share among themselves come back."""
    cache = KVCache(20)
    tables = []
    for tokens in ([*range(70)], [*range(50), *range(500, 540)], [*range(90)]):
        table = cache.open("")
        cache.match(table, tokens)
        cache.reserve(table, len(tokens))
        cache.commit(table, tokens, len(tokens) - 1)
        tables.append(table)
    other = cache.open("another")
    cache.reserve(other, 20)
    for some, freed in ((tables[:1], 1), (tables[1:2], 3), (tables, 4 + 1 + 3 + 2), ([tables[2], other], 4), ([], 0)):
        assert cache.freed_by(some) == freed
    available = cache.available
    for table in tables:
        cache.release(table)
    assert cache.available == available + 10


def test_a_released_table_knows_whether_the_cache_holds_more_of_its_tokens():
    """Also where it held none, and where what it had is gone."""
    cache, tokens = KVCache(4), range(60)

    def compute(upto):
        table = cache.open("")
        cache.match(table, tokens)
        cache.reserve(table, upto)
        cache.commit(table, tokens, upto)
        cache.release(table)

    looked = cache.open("")
    matched = cache.match(looked, tokens) // BLOCK_SIZE
    cache.release(looked)
    assert matched == 0 and not cache.holds_more(looked, 0, tokens)
    compute(32)
    assert cache.holds_more(looked, 0, tokens)
    looked = cache.open("")
    cache.match(looked, tokens)
    cache.release(looked)
    assert not cache.holds_more(looked, 2, tokens)
    compute(48)
    assert cache.holds_more(looked, 2, tokens)
    assert not cache.holds_more(looked, 2, tokens[:48]), "its last block is to be computed"
    full = cache.open("another")
    cache.reserve(full, 64)
    assert not cache.holds_more(looked, 2, tokens)
