"""The edit cursor finds its place again after each kind of change."""

from __future__ import annotations

import itertools
import random
import re
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import GenerationRequest, SamplingParams, pack_tokens
from warmline.engine.speculation import create, edit_cursor
from warmline.engine.speculation.cost import USUAL_COST
from warmline.engine.speculation.create import create_drafter
from warmline.engine.speculation.edit_cursor import EditCursor
from warmline.engine.speculation.sharing import share_rows
from warmline.engine.speculation.speculator import Speculator
from warmline.engine.speculation.verify import verify

ORIGINAL = list(range(100, 160))


def after(output, original=ORIGINAL, limit=4):
    """The draft once the output was emitted, token by token."""
    cursor = EditCursor(original)
    for token in output:
        cursor.observe([token])
    return cursor.propose(limit).tokens


def replay(original, target):
    """Passes and draft tokens it takes to emit ``target`` with drafts as long as they pay."""
    speculator, passes, proposed, position = Speculator([EditCursor(original)]), 0, 0, 0
    while position < len(target):
        offered = speculator.propose(len(target) - position - 1)
        (length,) = share_rows([offered], [500], 1, 127, USUAL_COST)
        draft = offered.tokens[:length]
        emitted = verify(draft, target[position:].__getitem__)
        speculator.observe(emitted)
        position += len(emitted)
        passes += 1
        proposed += len(draft)
    assert position == len(target)
    return passes, proposed


def test_it_starts_with_the_beginning():
    """Before anything is emitted, the draft is the beginning of the original."""
    assert after([]) == [100, 101, 102, 103]


@pytest.mark.parametrize(
    ("output", "draft"),
    [
        ([*ORIGINAL[:10]], ORIGINAL[10:14]),
        ([*ORIGINAL[:10], 1, *ORIGINAL[10:12]], ORIGINAL[12:16]),
        ([*ORIGINAL[:10], 1, 2, 3, 4, 5, 6, ORIGINAL[10]], ORIGINAL[11:15]),
        ([*ORIGINAL[:10], 1], ORIGINAL[11:15]),
        ([*ORIGINAL[:10], ORIGINAL[30]], ORIGINAL[31:35]),
        ([*ORIGINAL[40:45], ORIGINAL[0]], ORIGINAL[1:5]),
        ([*ORIGINAL], []),
    ],
    ids=["copy", "insertion", "long insertion", "substitution", "deletion", "moved block", "at the end"],
)
def test_it_resyncs(output, draft):
    """After a change, the draft is what follows in the original."""
    assert after(output) == draft


def test_the_longest_agreement_decides_between_places():
    """Where the last token stands in several places, the one with the same tokens before it is taken."""
    original = [1, 9, 2, 3, 9, 4, 5, 9, 6]
    assert after([7, 3, 9], original, 2) == [4, 5]
    assert after([7, 5, 9], original, 1) == [6]


def test_the_nearest_of_equal_places_is_taken():
    """A repeated line does not make the cursor jump across the file."""
    line = [1, 2, 3]
    original = [*line * 5, 50, *line * 5, 60]
    output = [*line * 5, 50, *line, 70, *line]
    assert after(output, original, 20) == [*line * 3, 60]


def test_a_doubtful_place_does_not_count_as_where_it_was():
    """One inserted token that stands far away does not draw the search there."""
    original = [*ORIGINAL]
    original[10] = original[45] = 7
    output = [*original[:10], 1, original[40], 2, 7]
    assert after(output, original) == original[11:15]


def test_an_unchanged_text_takes_few_passes():
    """Copying 1,000 tokens takes little more than 1,000 / 65 passes."""
    passes, proposed = replay(list(range(1000)), list(range(1000)))
    assert passes < 22
    assert proposed < 1000


def test_a_small_change_costs_a_few_passes():
    """One substituted token in a thousand costs a handful of passes more."""
    target = list(range(1000))
    target[500] = 5000
    assert replay(list(range(1000)), target)[0] < 28


def test_real_edits_are_mostly_drafted(edit_records):
    """Over real edits, cut into words, most of the output is drafted and most of what is drafted stands."""
    output = passes = proposed = 0
    for record in edit_records:
        ids = {}
        before, target = (
            [ids.setdefault(word, len(ids)) for word in re.findall(r"\s+|\w+|.", text)]
            for text in (record.before, record.after)
        )
        taken, drafted = replay(before, target)
        output, passes, proposed = output + len(target), passes + taken, proposed + drafted
    assert output > 4 * passes
    assert output - passes > 0.5 * proposed


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=40), st.integers(1, 9))
def test_any_text_can_be_replayed_over_any_original(original, target, limit):
    """Whatever is emitted, the draft is made of the original and of what replaced parts of it, within the limit."""
    cursor = EditCursor(original)
    for index, token in enumerate(target, 1):
        cursor.observe([token])
        draft = cursor.propose(limit)
        assert len(draft.tokens) <= limit and draft.evidence >= 0
        assert {*draft.tokens} <= {*original, *target[:index]}
    replay(original, target)


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=9))
def test_grouping_of_the_output_does_not_matter(original, groups):
    """The cursor stands at the same place whether tokens came one by one or several a pass."""
    one, many = EditCursor(original), EditCursor(original)
    for group in groups:
        many.observe(group)
        for token in group:
            one.observe([token])
    assert one.propose(30) == many.propose(30)


@pytest.mark.parametrize(
    ("old", "new"), [([7], [8]), ([7, 8], [9]), ([7], [8, 9, 10])], ids=["token", "shorter", "longer"]
)
def test_what_was_replaced_once_is_replaced_ahead(old, new):
    """A name that changes where it first stands is expected to change everywhere, as in a rename."""
    between = [*ORIGINAL[:6]], [*ORIGINAL[10:16]], [*ORIGINAL[20:26]]
    original = [*between[0], *old, *between[1], *old, *between[2], *old]
    renamed = [*between[0], *new, *between[1], *new, *between[2], *new]
    begun = [*between[0], *new, *between[1][:3]]
    assert after(begun, original, 40) == renamed[len(begun) :]


def test_a_replacement_that_does_not_go_on_is_no_longer_expected():
    """Where the old text comes again, the rest is expected as it was."""
    parts = [[*ORIGINAL[start : start + 6]] for start in (0, 10, 20, 30)]
    original = [*parts[0], 7, *parts[1], 7, *parts[2], 7, *parts[3]]
    output = [*parts[0], 8, *parts[1]]
    assert after(output, original, 3) == [8, *parts[2][:2]]
    assert after([*output, 7], original, 40) == [*parts[2], 7, *parts[3]]


def test_a_long_replacement_is_not_repeated():
    """A rewritten passage says nothing of others that begin like it."""
    passage = [*range(20)]
    original = [*ORIGINAL[:8], *passage, *ORIGINAL[8:16], *passage, *ORIGINAL[16:20]]
    output = [*ORIGINAL[:8], *range(200, 220), *ORIGINAL[8:16]]
    assert after(output, original, 20) == passage


def test_a_renaming_is_mostly_drafted():
    """Renaming a name of three tokens to one of two, thirty times, costs a few passes, not one or two each time."""
    original, renamed = [], []
    for number in range(30):
        words = [*range(1000 + 10 * number, 1010 + 10 * number)]
        original += [*words, 1, 2, 3]
        renamed += [*words, 4, 5]
    passes, proposed = replay(original, renamed)
    assert passes < 20
    assert len(renamed) - passes > 0.8 * proposed


def test_a_renaming_far_ahead_is_learnt_again_there():
    """So that a replacement takes as long in a text of any length."""
    near, far = [*range(100, 9000)], [*range(9000, 9100)]
    original = [*near[:20], 7, *near[20:40], 7, *near[40:], 7, *far[:50], 7, *far[50:]]
    begun = [*near[:20], 8, *near[20:40]]
    assert after(begun, original) == [8, *near[40:43]]
    begun += [8, *near[40:]]
    assert after(begun, original) == [7, *far[:3]]
    assert after([*begun, 8, *far[:50]], original) == [8, *far[50:53]]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.lists(st.integers(0, 2), max_size=40))
def test_every_place_is_found(tokens, text):
    """Those that overlap, too."""
    places = [place for place in range(len(text)) if text[place : place + len(tokens)] == tokens]
    assert edit_cursor._places(tokens, array("i", text)).tolist() == places


@pytest.mark.parametrize(
    ("draft", "most_tokens", "looked_at"), [(10**6, 50, 4096), (10**6, 9000, 18000), (99, 50, 99)]
)
def test_of_a_draft_no_more_is_looked_at_than_is_of_use(monkeypatch, draft, most_tokens, looked_at):
    """Nobody else's passes wait for what one request sends."""
    lengths = []
    monkeypatch.setattr(create, "EditCursor", lambda original: lengths.append(len(original)) or EditCursor(original))
    request = GenerationRequest(1, pack_tokens([1]), SamplingParams(), draft=pack_tokens([5] * draft))
    create_drafter(request, [1], most_tokens).close()
    assert lengths == [looked_at]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_expected_does_not_outgrow_the_original(seed):
    """Though each replacement holds what it replaces, and so is found again in what it has made."""
    chance = random.Random(seed)
    new = itertools.count(1000)
    gap = chance.randint(3, 6)
    original = [token for _ in range(60) for token in (1, *itertools.islice(new, gap))]
    cursor = EditCursor(original)
    said = 0
    while said < 1500 and (draft := cursor.propose(5)).tokens:
        output = draft.tokens[:1]
        if output == [1] and draft.evidence >= 3 and chance.random() < 0.7:
            mark = next(new)
            output = [1 if place % 2 else mark for place in range(chance.randint(2, 8))] + draft.tokens[1:]
        cursor.observe(output)
        said += len(output)
        assert len(cursor.propose(1_000_000).tokens) <= 2 * len(original) + 8
