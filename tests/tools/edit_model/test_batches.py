"""Batches are the same for the same seed, hold what was asked for, and weigh changes more than copies."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
import torch
from warmline.realtime.errors import Refused
from warmline.realtime.protocol import ErrorCode

from tools.edit_model.batches import COPIED, KEPT, MULTIPLE, Batches, group_records, pack, token_weights
from tools.edit_model.encode import Encoded
from tools.edit_model.network import Tree
from tools.edit_model.record import CompletionRecord, EditRecord


class CountingEncoder:
    """Encodes record n as n tokens; records that are multiples of 7 have no room."""

    def encode(self, record: CompletionRecord) -> Encoded:
        number = int(record.id)
        if number % 7 == 0:
            raise Refused(ErrorCode.PROMPT_TOO_LONG, "no room")
        return Encoded([1] * (number - 2), [2, 3])


def batches(seed: int = 1, tokens: int = 512) -> Batches:
    """Batches of records of 50 to 449 tokens."""
    records = [
        CompletionRecord(id=str(number), language="python", kind="continue", prefix="", suffix="", middle="")
        for number in range(50, 450)
    ]
    encoder: Any = CountingEncoder()
    return Batches(records, encoder, tokens, seed)


def lengths(found: list[list[Encoded]]) -> list[int]:
    """How long the sequences are."""
    return [len(encoded.prompt) + len(encoded.answer) for group in found for encoded in group]


def test_the_seed_decides_the_order() -> None:
    """The same seed gives the same batches, another seed others."""
    first, again, other = (
        [lengths(found) for _, found in islice(batches(seed).iterate(0, 1000), 5)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_run_goes_on_where_it_stopped() -> None:
    """From the count of records done, the batches are those that would have come."""
    stream = batches().iterate(0, 1000)
    done, _ = next(stream)
    expected = [lengths(found) for _, found in islice(stream, 3)]
    assert [lengths(found) for _, found in islice(batches().iterate(done, 1000), 3)] == expected


def test_an_epoch_takes_each_record_once() -> None:
    """Those without room are passed over, and those that are too long."""
    seen: list[int] = []
    for done, found in batches().iterate(0, 256):
        if done > 400:
            break
        seen += lengths(found)
    wanted = {n for n in range(50, 257) if n % 7}
    assert len(seen) == len(set(seen))
    assert set(seen) <= wanted
    assert len(seen) > len(wanted) - 10  # the last batch reaches into the next epoch


def test_batches_are_filled_but_not_over() -> None:
    """A batch's sequences, filled up to whole multiples, have no more tokens than asked for."""
    for _, found in islice(batches(tokens=1024).iterate(0, 1000), 20):
        size = len(pack(found).token_ids)
        assert size <= 1024
        assert size > 1024 - 464


def test_a_pack_learns_the_answers_only() -> None:
    """Each target is the token after its row; rows begin with the prompt's last."""
    packed = pack([[Encoded([5, 6, 7], [8, 9])], [Encoded([1], [2, 3, 4])]])
    assert packed.trees == [Tree(MULTIPLE), Tree(MULTIPLE)]
    assert packed.rows.tolist() == [2, 3, MULTIPLE, MULTIPLE + 1, MULTIPLE + 2]
    assert packed.targets.tolist() == [8, 9, 2, 3, 4]
    assert packed.token_ids[:4].tolist() == [5, 6, 7, 8]
    assert packed.token_ids[4:MULTIPLE].tolist() == [0] * (MULTIPLE - 4)
    assert packed.token_ids[MULTIPLE : MULTIPLE + 3].tolist() == [1, 2, 3]
    assert packed.weights.sum().item() == pytest.approx(1.0)
    assert torch.equal(packed.weights, torch.full((5,), 0.2))


def test_prompts_that_begin_alike_share_their_beginning() -> None:
    """The trunk is a whole multiple of rows; each branch goes on from it with its own part and answer."""
    shared = list(range(100, 100 + MULTIPLE + 3))
    packed = pack([[Encoded([*shared, 1, 2], [3, 4]), Encoded([*shared, 5], [6])]])
    assert packed.trees == [Tree(MULTIPLE, (MULTIPLE, MULTIPLE))]
    ids = packed.token_ids.tolist()
    assert ids[:MULTIPLE] == shared[:MULTIPLE]
    assert ids[MULTIPLE : MULTIPLE + 6] == [*shared[MULTIPLE:], 1, 2, 3]
    assert ids[2 * MULTIPLE : 2 * MULTIPLE + 4] == [*shared[MULTIPLE:], 5]
    assert packed.rows.tolist() == [MULTIPLE + 4, MULTIPLE + 5, 2 * MULTIPLE + 3]
    assert packed.targets.tolist() == [3, 4, 6]


def test_a_prompt_that_is_the_beginning_of_another_keeps_its_last_token() -> None:
    """That token's row is where its answer's first token is learnt."""
    shared = list(range(2 * MULTIPLE))
    packed = pack([[Encoded(shared, [7]), Encoded([*shared, 1], [8])]])
    assert packed.trees == [Tree(MULTIPLE, (MULTIPLE, 2 * MULTIPLE))]
    assert packed.rows.tolist() == [2 * MULTIPLE - 1, 2 * MULTIPLE + MULTIPLE]


def test_prompts_of_a_group_that_begin_apart_are_packed_one_by_one() -> None:
    """They are right then, only not faster."""
    packed = pack([[Encoded([1, 2], [3]), Encoded([2, 2], [4])]])
    assert packed.trees == [Tree(MULTIPLE), Tree(MULTIPLE)]


def test_edits_of_one_range_go_together() -> None:
    """Those in a row; a completion stays alone."""

    def edit(name: str, before: str) -> EditRecord:
        return EditRecord(
            id=name, language="go", kind="k", instructions=[name], prefix="p", before=before, after=name, suffix=""
        )

    completion = CompletionRecord(id="c", language="go", kind="continue", prefix="p", suffix="", middle="m")
    groups = group_records([edit("1", "a"), edit("2", "a"), edit("3", "b"), completion, completion, edit("4", "a")])
    assert [[record.id for record in group] for group in groups] == [["1", "2"], ["3"], ["c", "c"], ["4"]]


@pytest.mark.parametrize(
    ("draft", "answer", "light"),
    [
        ([1, 2, 3, 4], [1, 2, 9, 3, 4, 0], [0, 1, 4]),  # an insertion: 9 and the 3 after it are full
        ([1, 2, 3, 4], [1, 2, 4, 0], [0, 1]),  # a deletion: the 4 after it is full
        ([1, 2, 3, 4], [1, 2, 9, 4, 0], [0, 1]),  # a substitution, and the token after it
        ([1, 2, 3, 4], [2, 3, 4, 0], [1, 2]),  # deleted at the start: the first that is left is full
        ([], [1, 2, 0], []),  # a completion: all of it
    ],
)
def test_copies_weigh_less(draft: list[int], answer: list[int], light: list[int]) -> None:
    """Full weight have new tokens, the first after each change, and the end."""
    weights = token_weights(Encoded([7], answer, 0, tuple(draft)))
    assert [index for index, weight in enumerate(weights) if weight == COPIED] == light
    assert all(weight in (1.0, COPIED) for weight in weights)


def test_what_was_given_is_not_learnt() -> None:
    """The accepted part of a steered edit has no weight."""
    assert token_weights(Encoded([7], [1, 2, 3, 0], 2))[:3] == [0.0, 0.0, 1.0]


def test_a_share_of_the_edits_is_cut_and_the_seed_says_which() -> None:
    """All, none, or the same half each time."""

    class EditEncoder:
        """A change at the start of 200 tokens."""

        def encode(self, record: CompletionRecord) -> Encoded:
            return Encoded([1], [9, *range(100, 300), 2], 0, (8, *range(100, 300)))

    records = [
        CompletionRecord(id=str(number), language="go", kind="continue", prefix="", suffix="", middle="")
        for number in range(100)
    ]
    encoder: Any = EditEncoder()

    small = [
        [s.answer for _, groups in islice(Batches(records, encoder, 2048, 1, share).iterate(0, 1000), 8)
         for group in groups for s in group]
        for share in (0.0, 0.5, 0.5, 1.0)
    ]  # fmt: skip
    whole, half, again, every = small
    assert {len(answer) for answer in whole} == {202}
    assert half == again
    assert {len(answer) for answer in half} == {202, 1 + KEPT}
    assert {len(answer) for answer in every} == {1 + KEPT}


def test_an_answer_that_is_cut_learns_no_end() -> None:
    """Its last token is one that is copied."""
    weights = token_weights(Encoded([7], [9, 5, 6, 7], 0, (8, 5, 6, 7, 4), cut=True))
    assert weights == [1.0, 1.0, COPIED, COPIED]
