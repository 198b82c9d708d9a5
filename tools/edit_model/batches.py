"""From records to packed batches: a fixed number of tokens each, in an order that the seed alone decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from random import Random
from typing import Final

import torch
from warmline.realtime.errors import Refused

from .encode import Encoded, RecordEncoder, cut_after_changes
from .network import Packed, Tree
from .record import EditRecord, Record

COPIED: Final = 0.3
"""The weight of an answer's token that goes on copying. What it learns is soon learnt; what is left are the places
where a change begins and ends, and the changes."""
KEPT: Final = 24
"""Tokens after the last change that an answer which is cut keeps."""
MULTIPLE: Final = 16
"""Trunks and branches have a multiple of this many rows: matrix products of odd sizes are slower."""


def token_weights(encoded: Encoded) -> list[float]:
    """How much each token of the answer counts: 1 where it differs from the draft or is the first after a change."""
    weights = [1.0] * len(encoded.answer)
    if encoded.draft:
        matcher = SequenceMatcher(None, encoded.draft, encoded.answer, autojunk=False)
        for operation, start, _, answer_start, answer_end in matcher.get_opcodes():
            if operation == "equal":
                first = answer_start + (start > 0 or answer_start > 0)
                weights[first:answer_end] = [COPIED] * (answer_end - first)
        if not encoded.cut:
            weights[-1] = 1.0
    weights[: encoded.given] = [0.0] * encoded.given
    return weights


def common_tokens(sequences: Sequence[Encoded]) -> int:
    """How many tokens all prompts begin with, less than all of any, as a whole multiple."""
    first, last = (choose(sequences, key=lambda s: s.prompt).prompt for choose in (min, max))
    most = min(len(encoded.prompt) for encoded in sequences) - 1
    common = next((index for index in range(most) if first[index] != last[index]), most)
    return common // MULTIPLE * MULTIPLE


def tree_of(sequences: Sequence[Encoded]) -> Tree:
    """The rows of some sequences whose prompts begin alike."""
    trunk = common_tokens(sequences) if len(sequences) > 1 else 0
    lengths = [_filled(len(s.prompt) + len(s.answer) - 1 - trunk) for s in sequences]
    return Tree(trunk, tuple(lengths)) if trunk else Tree(lengths[0], tuple(lengths[1:]))


def pack(groups: Sequence[Sequence[Encoded]]) -> Packed:
    """Lay groups of sequences that begin alike end to end, with their answers' tokens as targets.

    The weights sum to 1.
    """
    token_ids: list[int] = []
    trees: list[Tree] = []
    rows: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    for sequences in _separated(groups):
        tree = tree_of(sequences)
        trees.append(tree)
        trunk = tree.trunk if tree.branches else 0
        token_ids += sequences[0].prompt[:trunk]
        for encoded in sequences:
            tokens = [*encoded.prompt[trunk:], *encoded.answer[:-1]]
            first = len(token_ids) + len(encoded.prompt) - trunk - 1
            rows += range(first, first + len(encoded.answer))
            targets += encoded.answer
            weights += token_weights(encoded)
            token_ids += tokens + [0] * (_filled(len(tokens)) - len(tokens))
    weight = torch.tensor(weights)
    return Packed(torch.tensor(token_ids), trees, torch.tensor(rows), torch.tensor(targets), weight / weight.sum())


def _separated(groups: Sequence[Sequence[Encoded]]) -> Iterator[Sequence[Encoded]]:
    """The groups, those that begin apart one by one."""
    for sequences in groups:
        if len(sequences) > 1 and not common_tokens(sequences):
            yield from ([encoded] for encoded in sequences)
        else:
            yield sequences


def _filled(rows: int) -> int:
    return -(-rows // MULTIPLE) * MULTIPLE


def group_records(records: Iterable[Record]) -> list[list[Record]]:
    """Records in a row that ask for edits of the same range go together."""
    return [list(group) for _, group in groupby(records, key=_place)]


def _place(record: Record) -> tuple[str, ...]:
    if isinstance(record, EditRecord):
        return record.package, record.path, record.prefix, record.before, record.suffix
    return (record.id,)


class Batches:
    """The batches of a training run: the same for the same records, seed and size."""

    def __init__(
        self, records: Iterable[Record], encoder: RecordEncoder, tokens: int, seed: int, cut_share: float = 0.0
    ) -> None:
        """``cut_share`` of the edits' answers end soon after their last change; seed and record say which."""
        self._groups, self._encoder = group_records(records), encoder
        self._tokens, self._seed, self._cut_share = tokens, seed, cut_share

    def iterate(self, groups_done: int, longest: int) -> Iterator[tuple[int, list[list[Encoded]]]]:
        """Batches without end, from the group after ``groups_done``; each with the count of groups done after it.

        Records of more than ``longest`` tokens are passed over.
        """
        gathered: list[list[Encoded]] = []
        size, done = 0, groups_done
        for records in self._stream(groups_done):
            sequences = [s for s in map(self._encoded, records) if s and len(s.prompt) + len(s.answer) <= longest]
            if sequences:
                rows = sum(tree_of(part).rows for part in _separated([sequences]))
                if gathered and size + rows > self._tokens:
                    yield done, gathered
                    gathered, size = [], 0
                gathered.append(sequences)
                size += rows
            done += 1

    def _encoded(self, record: Record) -> Encoded | None:
        try:
            encoded = self._encoder.encode(record)
        except Refused:
            return None
        if Random(f"{self._seed}/cut/{record.id}").random() < self._cut_share:
            return cut_after_changes(encoded, KEPT)
        return encoded

    def _stream(self, start: int) -> Iterator[list[Record]]:
        epoch, position = divmod(start, len(self._groups))
        while True:
            order = list(range(len(self._groups)))
            Random(f"{self._seed}/{epoch}").shuffle(order)
            for index in order[position:]:
                yield self._groups[index]
            epoch, position = epoch + 1, 0
