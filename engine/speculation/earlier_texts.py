"""The texts that went through the engine, for later requests of the same API key to draft from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from .suffix_index import SuffixIndex

_TOKENS: Final = 1 << 15
"""Tokens that are kept for a key, 1.2 MB."""
_KEYS: Final = 32
"""Keys that are remembered, those used last."""


class EarlierTexts:
    """One bounded index a salt. What a key's requests said and were answered speeds up nobody else's.

    A timing of one key would otherwise tell what another key's documents say.
    """

    def __init__(self, tokens: int = _TOKENS, keys: int = _KEYS) -> None:
        self._tokens = tokens
        self._keys = keys
        self._indices: OrderedDict[str, SuffixIndex] = OrderedDict()

    def of(self, salt: str) -> SuffixIndex:
        """The texts of a key; it grows with what is remembered later on."""
        index = self._indices.get(salt)
        if index is None:
            index = self._indices[salt] = SuffixIndex(self._tokens)
            if len(self._indices) > self._keys:
                self._indices.popitem(last=False)
        self._indices.move_to_end(salt)
        return index

    def remember(self, salt: str, tokens: Sequence[int]) -> None:
        """Add a text, as far as it is new."""
        self.of(salt).remember(tokens)
