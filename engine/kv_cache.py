"""Which block of the paged KV cache holds what: a free list, and one radix tree per salt over shared full blocks."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from .batch import BLOCK_SIZE


@dataclass(slots=True, eq=False)
class _Node:
    """A full block in the tree; the path from the root spells the tokens before it."""

    parent: _Node | None
    key: tuple[int, ...] | str  # the block's tokens; a root's salt
    block: int  # -1 in a root
    references: int = 0  # sequences whose table runs through here
    last_used: int = 0
    queued: bool = False  # has an entry in the eviction heap
    warmed: bool = False  # computed by warm work, and no request has used it; then so are all blocks below
    children: dict[tuple[int, ...], _Node] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class BlockTable:
    """The blocks of one sequence, as int32: the first ``shared`` lie in the tree, the rest are its own."""

    blocks: array[int]
    node: _Node  # the last shared block, or the root
    shared: int = 0


class KVCache:
    """Hands out blocks and remembers full ones by the tokens they hold, so that equal prefixes are computed once.

    A block is in exactly one place: free, in the tree (shared, counted references), or owned by one table. Blocks
    in the tree that nobody references are kept until room is needed, then evicted from the leaves up, least
    recently used first (RadixAttention, arXiv 2312.07104). What warm work computed and no request has used yet goes
    by the same order: in simulated sessions of typing, jumping and opening files, evicting it first left requests no
    less to compute and warm work up to an eighth more; evicting it first above a share of the cache was no better.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self._free = list(range(num_blocks - 1, -1, -1))
        self._roots: dict[str, _Node] = {}
        self._unreferenced = 0
        # A node has at most one entry; one that was used since it was queued goes back when it comes up.
        self._evictable: list[tuple[int, int, _Node]] = []
        self._clock = count(1)

    @property
    def available(self) -> int:
        """Blocks that can be had now: free ones, and cached ones nobody uses."""
        return len(self._free) + self._unreferenced

    @property
    def cached(self) -> int:
        """Blocks that only the tree holds."""
        return self._unreferenced

    @property
    def used(self) -> int:
        """Blocks that running sequences, warm ones included, hold."""
        return self.num_blocks - self.available

    def open(self, salt: str) -> BlockTable:
        """An empty table; ``salt`` says whose blocks it may share."""
        root = self._roots.get(salt)
        if root is None:
            root = self._roots[salt] = _Node(None, salt, -1)
        root.references += 1
        return BlockTable(array("i"), root)

    def match(self, table: BlockTable, tokens: Sequence[int], logits: bool = True) -> int:
        """Extend the shared part of a table by the blocks that the tree holds for ``tokens``.

        The block of the last token is left out if its ``logits`` are wanted: they must be computed. An own block in
        the place of a shared one is freed; it may have been computed in part.

        Returns: how many tokens the shared part covers.
        """
        for index in range(table.shared, (len(tokens) - logits) // BLOCK_SIZE):
            child = table.node.children.get(_key(tokens, index))
            if child is None:
                break
            self._share(table, index, child)
        return table.shared * BLOCK_SIZE

    @staticmethod
    def next_block(table: BlockTable, tokens: Sequence[int]) -> tuple[object, tuple[int, ...]] | None:
        """What names the first block of ``tokens`` that a table doesn't share; None if they don't fill it.

        Equal names are of one block: it has to be computed for one of the tables, and the others may share it.
        """
        if len(tokens) < (table.shared + 1) * BLOCK_SIZE:
            return None
        return table.node, _key(tokens, table.shared)

    def holds_more(self, table: BlockTable, matched: int, tokens: Sequence[int]) -> bool:
        """Whether a table that was released, and had shared ``matched`` blocks, would share more if matched again.

        Two look-ups, whatever the length. What was evicted since counts as found again only once its last block is.
        """
        node = table.node
        if isinstance(node.key, str):
            there = self._roots.get(node.key)
        else:
            there = None if node.parent is None else node.parent.children.get(node.key)
        if there is not node:
            return there is not None
        return matched < (len(tokens) - 1) // BLOCK_SIZE and _key(tokens, matched) in node.children

    def use(self, table: BlockTable, first: int) -> list[int]:
        """Note that a request uses a table's shared blocks from index ``first`` on.

        Returns: the indices of those that warm work had computed and that no request had used before.
        """
        node, found = table.node, []
        for index in range(table.shared - 1, first - 1, -1):
            if not node.warmed:
                break
            node.warmed = False
            found.append(index)
            assert node.parent is not None
            node = node.parent
        return found

    @staticmethod
    def missing(table: BlockTable, num_tokens: int) -> int:
        """The blocks that a table lacks to have room for so many tokens in all; negative if it has more."""
        return -(-num_tokens // BLOCK_SIZE) - len(table.blocks)

    def has_room(self, table: BlockTable, num_tokens: int, spare: int = 0) -> bool:
        """Whether a table can have room for so many tokens in all with ``spare`` blocks left available."""
        missing = self.missing(table, num_tokens)
        return missing <= 0 or missing + spare <= self.available

    def reserve(self, table: BlockTable, num_tokens: int, spare: int = 0) -> bool:
        """Give a table room for so many tokens in all, evicting if need be.

        Returns: False, and nothing was done, if that would not leave ``spare`` blocks available.
        """
        if not self.has_room(table, num_tokens, spare):
            return False
        for _ in range(self.missing(table, num_tokens)):
            if not self._free:
                self._evict()
            table.blocks.append(self._free.pop())
        return True

    def trim(self, table: BlockTable, num_tokens: int) -> None:
        """Free the own blocks of a table that so many tokens in all don't need."""
        while self.missing(table, num_tokens) < 0 and len(table.blocks) > table.shared:
            self._free.append(table.blocks.pop())

    @staticmethod
    def freed_by(tables: Iterable[BlockTable]) -> int:
        """How many blocks more would be available if all of these tables were released."""
        own, through = 0, Counter[_Node]()
        for table in tables:
            own += len(table.blocks) - table.shared
            node = table.node
            while node.parent is not None:
                through[node] += 1
                node = node.parent
        return own + sum(count == node.references for node, count in through.items())

    def commit(self, table: BlockTable, tokens: Sequence[int], computed: int, warm: bool = False) -> None:
        """Put the table's full blocks into the tree; of ``tokens``, ``computed`` have final keys and values.

        Where the tree holds an equal block already, it is used and the own one freed: they are equal bit for bit.
        ``warm`` says that no request computed them.
        """
        for index in range(table.shared, computed // BLOCK_SIZE):
            key = _key(tokens, index)
            child = table.node.children.get(key)
            if child is None:
                child = table.node.children[key] = _Node(table.node, key, table.blocks[index], warmed=warm)
                self._unreferenced += 1
            elif not warm:
                child.warmed = False
            self._share(table, index, child)

    def release(self, table: BlockTable) -> None:
        """Take back everything a table holds; it must not be used again."""
        self._free.extend(reversed(table.blocks[table.shared :]))
        node: _Node | None = table.node
        now = next(self._clock)
        while node is not None:
            node.references -= 1
            node.last_used = now
            if node.references == 0:
                if node.parent is not None:
                    self._unreferenced += 1
                self._settle(node)
            node = node.parent
        table.blocks = array("i")
        table.shared = 0

    def _share(self, table: BlockTable, index: int, node: _Node) -> None:
        if index < len(table.blocks):
            own, table.blocks[index] = table.blocks[index], node.block
            if own != node.block:
                self._free.append(own)
        else:
            table.blocks.append(node.block)
        if node.references == 0:
            self._unreferenced -= 1
        node.references += 1
        table.node = node
        table.shared = index + 1

    def _settle(self, node: _Node) -> None:
        """Queue an unreferenced leaf for eviction; drop an unreferenced root without children."""
        if node.references or node.children:
            return
        if node.parent is None:
            assert isinstance(node.key, str)
            del self._roots[node.key]
        elif not node.queued:
            node.queued = True
            heapq.heappush(self._evictable, (node.last_used, node.block, node))

    def _evict(self) -> None:
        """Free the least recently used unreferenced leaf; there must be one."""
        while True:
            queued_at, block, node = heapq.heappop(self._evictable)
            node.queued = False
            if node.references or node.children:
                continue
            if node.last_used > queued_at:
                self._settle(node)
                continue
            assert node.parent is not None and isinstance(node.key, tuple)
            del node.parent.children[node.key]
            self._unreferenced -= 1
            self._free.append(block)
            self._settle(node.parent)
            return

    def check_integrity(self, tables: Iterable[BlockTable] = (), warm: Iterable[BlockTable] = ()) -> None:
        """Verify every invariant, given all open tables, those of warm work apart.

        Raises:
            AssertionError: a block is in no place or in two, a count is wrong, or the tree is inconsistent.

        """
        place: dict[int, str] = {}

        def put(block: int, where: str) -> None:
            assert block not in place, f"block {block} is {place[block]} and {where}"
            place[block] = where

        references: dict[_Node, int] = {}
        tables, warm = list(tables), list(warm)
        assert not any(table.node.warmed for table in tables), "a request uses a block that counts as unused"
        for table in [*tables, *warm]:
            for block in table.blocks[table.shared :]:
                put(block, "owned")
            node: _Node | None = table.node
            path = []
            while node is not None:
                references[node] = references.get(node, 0) + 1
                path.append(node)
                node = node.parent
            its = [n.block for n in reversed(path[:-1])]
            assert its == table.blocks[: table.shared].tolist(), "a table leaves its path"
        for block in self._free:
            put(block, "free")

        unreferenced = 0
        queued = {entry[2] for entry in self._evictable}
        assert len(queued) == len(self._evictable), "a node is queued twice"
        stack = list(self._roots.values())
        seen = set(stack)
        assert all(root.references or root.children for root in stack), "an empty root was kept"
        while stack:
            node = stack.pop()
            assert node.references == references.pop(node, 0), f"block {node.block} has a wrong reference count"
            assert node.queued == (node in queued)
            if node.parent is not None:
                put(node.block, "cached")
                unreferenced += node.references == 0
                assert node.references or node.children or node.queued, "an evictable leaf is not queued"
                assert node.warmed or not node.parent.warmed, "a block was used and the one before it was not"
            assert node.references >= sum(child.references for child in node.children.values())
            for key, child in node.children.items():
                assert child.parent is node and child.key == key and len(key) == BLOCK_SIZE
                seen.add(child)
                stack.append(child)
        assert not references, "a table runs through a node that is not in the tree"
        assert queued <= seen, "an evicted node is queued"
        assert unreferenced == self._unreferenced, "the count of unreferenced blocks is wrong"
        assert set(place) == set(range(self.num_blocks)), "blocks were lost"


def _key(tokens: Sequence[int], index: int) -> tuple[int, ...]:
    return tuple(tokens[index * BLOCK_SIZE : (index + 1) * BLOCK_SIZE])
