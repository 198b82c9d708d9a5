"""From records to packed batches: a fixed number of tokens each, in an order that the seed alone decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from random import Random
from typing import Final

import torch
from warmline.realtime.errors import Refused

from .encode import Encoded, RecordEncoder
from .network import Packed
from .record import Record

COPIED: Final = 0.3
"""The weight of an answer's token that goes on copying. What it learns is soon learnt; what is left are the places
where a change begins and ends, and the changes."""
MULTIPLE: Final = 64
"""Sequences are filled up to a multiple of this many rows: matrix products of odd sizes are several times slower."""


def token_weights(encoded: Encoded) -> list[float]:
    """How much each token of the answer counts: 1 where it differs from the draft or is the first after a change."""
    weights = [1.0] * len(encoded.answer)
    if encoded.draft:
        matcher = SequenceMatcher(None, encoded.draft, encoded.answer, autojunk=False)
        for operation, start, end, answer_start, answer_end in matcher.get_opcodes():
            if operation == "equal":
                first = answer_start + (start > 0 or answer_start > 0)
                weights[first:answer_end] = [COPIED] * (answer_end - first)
            del start, end
        weights[-1] = 1.0
    weights[: encoded.given] = [0.0] * encoded.given
    return weights


def pack(sequences: Sequence[Encoded]) -> Packed:
    """Lay sequences end to end, with their answers' tokens as targets; the weights sum to 1."""
    token_ids: list[int] = []
    lengths: list[int] = []
    rows: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    for encoded in sequences:
        tokens = [*encoded.prompt, *encoded.answer[:-1]]
        first = len(token_ids) + len(encoded.prompt) - 1
        rows += range(first, first + len(encoded.answer))
        targets += encoded.answer
        weights += token_weights(encoded)
        length = -(-len(tokens) // MULTIPLE) * MULTIPLE
        token_ids += tokens + [0] * (length - len(tokens))
        lengths.append(length)
    weight = torch.tensor(weights)
    return Packed(
        torch.tensor(token_ids),
        lengths,
        torch.tensor(rows),
        torch.tensor(targets),
        weight / weight.sum(),
    )


class Batches:
    """The batches of a training run: the same for the same records, seed and size."""

    def __init__(self, records: Sequence[Record], encoder: RecordEncoder, tokens: int, seed: int) -> None:
        self._records, self._encoder = records, encoder
        self._tokens, self._seed = tokens, seed

    def iterate(self, records_done: int, longest: int) -> Iterator[tuple[int, list[Encoded]]]:
        """Batches without end, from the record after ``records_done``; each with the count of records done after it.

        Records of more than ``longest`` tokens are passed over.
        """
        gathered: list[Encoded] = []
        size, done = 0, records_done
        for record in self._stream(records_done):
            try:
                encoded = self._encoder.encode(record)
            except Refused:
                done += 1
                continue
            length = -(-(len(encoded.prompt) + len(encoded.answer)) // MULTIPLE) * MULTIPLE
            if length > longest:
                done += 1
                continue
            if gathered and size + length > self._tokens:
                yield done, gathered
                gathered, size = [], 0
            gathered.append(encoded)
            size += length
            done += 1

    def _stream(self, start: int) -> Iterator[Record]:
        epoch, position = divmod(start, len(self._records))
        while True:
            order = list(range(len(self._records)))
            Random(f"{self._seed}/{epoch}").shuffle(order)
            for index in order[position:]:
                yield self._records[index]
            epoch, position = epoch + 1, 0
