"""Edits that go on behind text that was accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.errors import Refused
from warmline.realtime.prompting.prompts import PromptBuilder

from .conftest import ByteTokenizer, edit


def test_an_edit_goes_on_after_the_text_that_was_accepted(real):
    """It stands behind the opened fence, and the draft is what the caller says is left of the original."""
    text = "def f():\n    return 1\n"
    plain = edit(real.builder, text, 0, len(text), "return 2")
    plan = edit(real.builder, text, 0, len(text), "return 2", accepted="def g():\n", remaining="    return 1\n")
    assert plan.prompt == plain.prompt + real.encode("def g():")
    assert (plan.held, real.read(plan.draft)) == ("\n", "\n    return 1\n```")
    assert (plan.stop, plan.fence, plan.final_newline) == (("\n```",), "```", True)


def test_white_space_that_is_joined_with_what_follows_is_left_to_the_model(real, edit_records):
    """At each line end the tokens are those of the whole answer, as in training."""
    for record in edit_records[:10]:
        whole = edit(real.builder, record.before, 0, len(record.before), replay=record.after)
        end = record.after.find("\n") + 1
        while 0 < end < len(record.after):
            accepted, rest = record.after[:end], record.after[end:]
            plan = edit(real.builder, record.before, 0, len(record.before), replay=rest, accepted=accepted)
            assert plan.prompt + plan.replay == whole.prompt + whole.replay
            assert real.read(plan.prompt).endswith(accepted.removesuffix(plan.held))
            end = record.after.find("\n", end) + 1


def test_a_stop_string_is_not_held(real):
    """It would end the answer before it begins."""
    plan = edit(real.builder, "a\n    b\n", 0, 8, accepted="c\n", stop=("\n",))
    assert plan.held == ""
    assert real.read(plan.prompt).endswith("\nc\n")


def test_accepted_text_is_tokenised_apart_from_the_fence(real):
    """Indentation isn't joined with the line end before it, as a model that writes the answer couldn't."""
    text = "    return 1\n"
    plain = edit(real.builder, text, 0, len(text))
    plan = edit(real.builder, text, 0, len(text), accepted="    return", remaining="")
    assert plan.prompt == plain.prompt + real.encode("    return")
    assert real.encode("```python\n    return") != real.encode("```python\n") + real.encode("    return")


def test_without_a_remaining_text_the_whole_range_is_the_draft():
    """As in a fresh request whose answer is to begin with a given text."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), "a\nb\n", 0, 4, accepted="a\r\nc\r\n")
    assert bytes(plan.prompt).endswith(b"\n\n```python\na\nc\n")
    assert bytes(plan.draft) == b"a\nb\n```"


@pytest.mark.parametrize(
    ("text", "accepted", "remaining", "draft"),
    [
        ("a\nb\n", "a\n", "b\n", "b\n```"),
        ("a\nb\n", "a\nc\n", "", "```"),  # whole lines are there already: the fence closes the answer
        ("a\nb\n", "a", "", "\n```"),  # the last line has yet to end
        ("a\nb", "a\n", "", "\n```"),  # the newline is text here, and another one stands before the fence
        ("a\nb", "a\n", "b", "b\n```"),
        ("a\r\nb\r\n", "a\n", "b\r\n", "b\n```"),
    ],
)
def test_the_draft_closes_the_answer_that_the_accepted_text_begins(text, accepted, remaining, draft):
    """Accepted text and draft together are what the model would say if it kept the rest of the original."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, 0, len(text), accepted=accepted, remaining=remaining)
    assert bytes(plan.draft).decode() == draft


ANSWERS = st.text(st.sampled_from("ab\n`é"), max_size=12)


@given(ANSWERS, ANSWERS, ANSWERS)
def test_a_replay_after_accepted_text_is_the_rest_of_the_whole_replay(text, accepted, rest):
    """However an answer is cut in two, the two parts are replayed as the whole is."""
    builder = PromptBuilder(ByteTokenizer(), 4000)
    whole = edit(builder, text, 0, len(text), replay=accepted + rest)
    cut = edit(builder, text, 0, len(text), replay=rest, accepted=accepted, remaining="")
    assert cut.prompt + cut.replay == whole.prompt + whole.replay
    assert (cut.final_newline, cut.fence, cut.stop) == (whole.final_newline, whole.fence, whole.stop)


def test_accepted_text_needs_room_like_any():
    """What can't fit is refused, and an enormous one isn't tokenised."""
    builder = PromptBuilder(ByteTokenizer(), 500)
    with pytest.raises(Refused, match=r"needs \d+ tokens .* 500 are available"):
        edit(builder, "a\n", 0, 2, accepted="x" * 420)
    builder._tokenizer.encode = None  # type: ignore[assignment, method-assign]
    with pytest.raises(Refused, match=r"needs more than \d+ tokens"):
        edit(builder, "a\n", 0, 2, accepted="x" * 1_000_000)
