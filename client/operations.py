"""Edit operations as people use them: each with its text and its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warmline.realtime import Operation


@dataclass(frozen=True, slots=True)
class Keep:
    """Text that stays. ``start`` is its index in the document the edit was asked for."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Text that goes. ``start`` is its index in the document the edit was asked for."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Insert:
    """New text. ``start`` is the index in the document the edit was asked for before which it belongs."""

    start: int
    text: str


EditOperation = Keep | Delete | Insert


@dataclass(frozen=True, slots=True)
class Replacement:
    """The characters [start, end) of a document's current text become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Void:
    """The last so many operations that an edit's iteration brought are void: it was steered from before them."""

    operations: int


class RangeWalk:
    """Walks operations of the wire over the text of a range, and gives them their text.

    Attributes:
        operations: those walked so far.
    """

    def __init__(self, original: str, start: int) -> None:
        self.operations: list[EditOperation] = []
        self._units = original.encode("utf-16-le")
        self._at = 0  # bytes of _units walked
        self._start = self._index = start
        self._written: list[str] = []

    @property
    def text(self) -> str:
        """The range with the operations so far applied; what they haven't reached is as it was."""
        return "".join(self._written) + self._units[self._at :].decode("utf-16-le")

    def step(self, operation: Operation) -> EditOperation:
        """Take one operation of the wire.

        Raises:
            ValueError: it reaches past the range or splits a surrogate pair.

        """
        step = self._insert(operation) if isinstance(operation, str) else self._advance(operation)
        self.operations.append(step)
        return step

    def again(self, operations: Iterable[Operation]) -> None:
        """Walk these operations from the range's start, instead of those so far."""
        self.operations = []
        self._at = 0
        self._index = self._start
        self._written = []
        for operation in operations:
            self.step(operation)

    def _insert(self, text: str) -> Insert:
        self._written.append(text)
        return Insert(self._index, text)

    def _advance(self, count: int) -> Keep | Delete:
        end = self._at + 2 * abs(count)
        if end > len(self._units):
            raise ValueError(f"an operation reaches unit {end // 2} of a range of {len(self._units) // 2}")
        try:
            text = self._units[self._at : end].decode("utf-16-le")
        except UnicodeDecodeError:
            raise ValueError("an operation splits a surrogate pair") from None
        start = self._index
        self._at = end
        self._index += len(text)
        if count < 0:
            return Delete(start, text)
        self._written.append(text)
        return Keep(start, text)
