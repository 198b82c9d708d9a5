"""The drafters of a sequence together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from warmline.engine.messages import GenerationRequest, pack_tokens
from warmline.engine.speculation.cost import USUAL_COST
from warmline.engine.speculation.create import create_drafter
from warmline.engine.speculation.drafter import CostlyDrafter, Draft, Drafter
from warmline.engine.speculation.sharing import share_rows
from warmline.engine.speculation.speculator import Speculator

ORIGINAL = list(range(100, 160))


class Fixed(Drafter):
    """Says the same, whatever comes."""

    def __init__(self, source, tokens, evidence=8):
        self.source, self.tokens, self.evidence = source, tokens, evidence
        self.seen = []

        self.closed = 0

    def observe(self, emitted):
        """Note it."""
        self.seen += emitted

    def close(self):
        """Count it."""
        self.closed += 1

    def propose(self, budget):
        """The tokens."""
        return Draft(self.tokens[:budget], self.source, self.evidence)


class Computing(Fixed, CostlyDrafter):
    """Says the same, and notes what was wanted of it."""

    effort = 0.1
    evidence = 8

    def __init__(self, source, tokens):
        Fixed.__init__(self, source, tokens)
        self.wanted = []

    def want(self, saved):
        """Note it."""
        self.wanted.append(saved)


class Failing(Computing):
    """Computes nothing, and fails at something."""

    def __init__(self, source, tokens, when):
        super().__init__(source, [])
        self.when, self.failed = when, 0

    def __getattribute__(self, name):
        get = super().__getattribute__
        if name in ("propose", "observe", "close", "want", "effort") and name == get("when"):
            self.failed += 1
            if name == "close":
                self.closed += 1
            raise RuntimeError("a fault")
        return get(name)


def created(tokens, draft):
    """What drafts for an edit; what is emitted has to be added to the tokens before it is observed."""
    request = GenerationRequest(1, pack_tokens(tokens), draft=pack_tokens(draft))
    return create_drafter(request, tokens, 1000)


def test_the_one_that_is_expected_to_be_right_for_longest_drafts():
    """More evidence, or a longer draft with the same, wins."""
    weak, strong = Fixed("suffix", [1] * 20, evidence=1), Fixed("edit", [2] * 20, evidence=16)
    assert Speculator([weak, strong]).propose(10).source == "edit"
    short, long = Fixed("suffix", [1], evidence=16), Fixed("edit", [2] * 20, evidence=16)
    assert Speculator([short, long]).propose(10).source == "edit"


def test_running_acceptance_decides():
    """A source that keeps failing gives way to one that would have been right, and comes back when it is right."""
    edit, suffix = Fixed("edit", [1, 1, 1, 1]), Fixed("suffix", [2, 2, 2, 2], evidence=4)
    speculator = Speculator([edit, suffix])
    assert speculator.propose(4).source == "edit"
    for _ in range(40):
        speculator.propose(4)
        speculator.observe([2, 2, 2, 2])
    assert speculator.propose(4).source == "suffix"
    for _ in range(80):
        speculator.propose(4)
        speculator.observe([1, 1, 1, 1])
    assert speculator.propose(4).source == "edit"


def test_every_drafter_learns_what_came():
    """Also those whose draft wasn't taken."""
    drafters = Fixed("edit", [1]), Fixed("suffix", [2])
    speculator = Speculator(drafters)
    speculator.propose(1)
    speculator.observe([5, 6])
    assert [drafter.seen for drafter in drafters] == [[5, 6]] * 2


def test_a_draft_says_what_to_expect_of_it():
    """Survival falls from token to token; tokens save something, and no more than a pass; asked twice, the same."""
    draft = Speculator([Fixed("edit", [1] * 30)]).propose(30)
    outlook = [expected for expected, _ in zip(draft.outlook, draft.tokens, strict=False)]
    assert outlook == [expected for expected, _ in zip(draft.outlook, draft.tokens, strict=False)]
    survival = [stands for stands, _ in outlook]
    assert len(survival) == 30
    assert all(0 < later < sooner < 1 for sooner, later in pairwise(survival))
    assert all(0 < saved <= stands for stands, saved in outlook)


@pytest.mark.parametrize("when", ["propose", "observe", "close", "want", "effort"])
def test_a_drafter_that_fails_is_dropped_alone(when, caplog):
    """It is closed and never asked again, which is said once; the others draft as before, and learn what came."""
    failing, sound = Failing("model", [1] * 20, when), Fixed("edit", [2] * 20)
    speculator = Speculator([failing, sound])
    for _ in range(3):
        speculator.prepare(10)
        assert speculator.propose(10).tokens == [2] * 10
        speculator.observe([5])
    assert sound.seen == [5] * 3
    speculator.close()
    speculator.close()
    assert (failing.closed, sound.closed) == (1, 1)
    assert failing.failed == 1
    assert [record.exc_info[1].args for record in caplog.records] == [("a fault",)]


def test_what_computes_is_asked_where_it_has_more_to_say():
    """For as many tokens as save more than computing one takes; not where another's draft is good."""
    computing = Computing("model", [1] * 20)
    Speculator([computing]).prepare(30)
    (wanted,) = computing.wanted
    assert 0 < len(wanted) < 20 and min(wanted) > computing.effort
    Speculator([computing]).prepare(2)
    assert len(computing.wanted[1]) == 2
    Speculator([computing, Fixed("edit", [2] * 20, evidence=64)]).prepare(30)
    assert computing.wanted[2] == []


def test_a_pass_that_was_given_up_does_not_ask_anew():
    """What was computed for it still is there; it is wanted again once tokens came."""
    computing = Computing("model", [1] * 20)
    speculator = Speculator([computing])
    for _ in range(3):
        speculator.prepare(9)
    assert len(computing.wanted) == 1
    speculator.observe([1])
    speculator.prepare(9)
    assert len(computing.wanted) == 2


def test_what_does_not_pay_is_probed_now_and_then():
    """For one token, whatever it takes: whether it is right may change."""
    computing = Computing("model", [1] * 20)
    computing.effort = 5.0
    speculator = Speculator([computing])
    for _ in range(128):
        speculator.prepare(9)
        speculator.observe([1])
    assert [len(wanted) for wanted in computing.wanted if wanted] == [1, 1]


def test_the_suffix_drafts_while_the_cursor_waits_in_an_insertion():
    """A block that is copied into an edit is foreseen from the prompt, and the cursor goes on behind it."""
    copied = list(range(300, 340))
    tokens = [*copied, 5, 6, *ORIGINAL]
    speculator = created(tokens, ORIGINAL)
    answer = [*ORIGINAL[:20], *copied, *ORIGINAL[20:]]
    sources, passes, position = [], 0, 0
    while position < len(answer):
        draft = speculator.propose(len(answer) - position - 1)
        emitted = [answer[position]]
        for guess, token in zip(draft.tokens, answer[position:], strict=False):
            if guess != token:
                break
            emitted = answer[position : position + len(emitted) + 1]
        emitted = emitted[: len(answer) - position]
        sources += [draft.source] * (len(emitted) > 2)
        tokens += emitted
        speculator.observe(emitted)
        position += len(emitted)
        passes += 1
    assert [*dict.fromkeys(sources)] == ["edit", "suffix"]
    assert passes < 12


def test_text_without_repetitions_is_soon_not_drafted():
    """Where nothing can be foreseen, speculation is off: next to no rows are spent on it."""
    tokens = [*range(1000, 1400)]
    speculator = created(tokens, [])
    spent, seed = [], 1
    for _ in range(400):
        draft = speculator.propose(100)
        spent += share_rows([draft], [500], 1, 100, USUAL_COST)
        seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
        tokens.append(1000 + seed % 400)
        speculator.observe(tokens[-1:])
    assert sum(spent[200:]) < 10
    for token in range(1000, 1100):  # and it is noticed when it pays again
        draft = speculator.propose(100)
        spent += share_rows([draft], [500], 1, 100, USUAL_COST)
        tokens.append(token)
        speculator.observe([token])
    assert spent[-1] > 0


def test_a_budget_of_nothing_gets_nothing():
    """No drafter is asked."""
    assert Speculator([Fixed("edit", [1])]).propose(0).tokens == []
