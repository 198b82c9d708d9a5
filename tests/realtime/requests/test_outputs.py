"""From the model's text to frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.editing.steering import divide
from warmline.realtime.prompting.prompts import PromptPlan
from warmline.realtime.protocol import Delta
from warmline.realtime.requests.outputs import CompletionOutput, EditOutput, LineEnds


def plan(*, final_newline: bool, newline: str = "\n", fence: str = "```") -> PromptPlan:
    return PromptPlan([1], (f"\n{fence}",), newline, fence=fence, final_newline=final_newline)


@pytest.fixture(scope="session")
def run(apply_operations):
    """Let a model say pieces of text; returns what the range becomes."""

    def run(output: EditOutput, original: str, pieces: list[str], completed: bool = True) -> str:
        frames = [output.begin(), *[output.feed(piece) for piece in pieces], output.finish(completed)]
        assert all(frame.operations for frame in frames if frame is not None)
        operations = [operation for frame in frames if frame is not None for operation in frame.operations]
        return apply_operations(original, operations)

    return run


@pytest.mark.parametrize(
    ("original", "final_newline", "said", "result"),
    [
        # The engine has cut the text before its stop string, a newline and the fence.
        ("a\nb\n", True, "a\nc", "a\nc\n"),
        ("a\nb\n", True, "a\n", "a\n\n"),
        ("a\nb\n", True, "", "\n"),
        ("a\nb", False, "a\nc", "a\nc"),
        ("a", False, "", ""),
        # The answer starts with the fence: it has no line.
        ("a\nb\n", True, "```", ""),
        ("a\nb\n", True, "```\nwhat follows", ""),
        ("a", False, "```", ""),
        # It starts like the fence, but isn't.
        ("a\n", True, "``", "``\n"),
        ("a\n", True, "``x", "``x\n"),
        ("", False, "x", "x"),
    ],
)
def test_an_answer_is_what_stands_inside_the_fence(run, original, final_newline, said, result):
    """The fence's own newline belongs to the answer if the range ended with one."""
    assert run(EditOutput(0, plan(final_newline=final_newline), original), original, [said]) == result
    assert run(EditOutput(0, plan(final_newline=final_newline), original), original, list(said)) == result


def test_an_answer_without_a_line_is_complete_at_once():
    """Nothing more need be generated once the fence has come first."""
    output = EditOutput(0, plan(final_newline=True), "a\n")
    assert output.feed("``") is None
    assert not output.ended
    assert output.feed("`") is None
    assert output.ended
    assert output.feed("ignored") is None


@given(st.text(st.sampled_from("ab\n`")), st.text(st.sampled_from("ab\n`")), st.data())
def test_pieces_do_not_matter(run, original, said, data):
    """However the model's text is cut, the range becomes the same."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    pieces = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    whole = run(EditOutput(0, plan(final_newline=True), original), original, [said])
    assert run(EditOutput(0, plan(final_newline=True), original), original, pieces) == whole


def test_an_answer_that_was_cut_gets_no_newline():
    """Only a completed answer ends its last line; of another one, an unfinished line says nothing."""
    output = EditOutput(0, plan(final_newline=True), "a\nb\nc\n")
    assert output.feed("a\nb") is not None  # the first line is copied
    assert output.finish(completed=False) is None


def test_edits_keep_the_documents_line_ends(run):
    """The model says LF, the document has CR LF."""
    original = "a\r\nb\r\n"
    output = EditOutput(0, plan(final_newline=True, newline="\r\n"), original)
    assert run(output, original, ["a\nx\nb"]) == "a\r\nx\r\nb\r\n"


def test_an_empty_range_gets_the_documents_line_ends(run):
    """Where the range has none of its own."""
    output = EditOutput(0, plan(final_newline=True, newline="\r\n"), "")
    assert run(output, "", ["x\ny"]) == "x\r\ny\r\n"


def test_completions_get_the_documents_line_ends():
    """What is inserted into a CR LF document has its line ends."""
    output = CompletionOutput(3, LineEnds("\r\n"))
    assert output.feed("a\nb") == Delta(3, "a\r\nb")
    assert output.finish(completed=True) is None
    assert CompletionOutput(3, LineEnds("\n")).feed("a\nb") == Delta(3, "a\nb")


@given(st.text(st.sampled_from("a\r\n"), max_size=12), st.data())
def test_line_ends_are_converted_once_however_the_text_is_cut(said, data):
    """A model that says CR LF itself means one line end, also if the two come in different pieces."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    pieces = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    ends, kept = LineEnds("\r\n"), LineEnds("\n")
    assert "".join(map(ends.convert, pieces)) == said.replace("\r\n", "\n").replace("\n", "\r\n")
    assert "".join(map(kept.convert, pieces)) == said


@pytest.mark.parametrize("pieces", [["a\r\nb"], ["a\r", "\nb"], ["a", "\r", "", "\n", "b"], ["a\nb"]])
def test_a_line_end_that_the_model_says_in_full_stays_one(pieces):
    """In one event or in several."""
    output = CompletionOutput(3, LineEnds("\r\n"))
    deltas = [output.feed(piece) for piece in pieces]
    assert "".join(delta.text for delta in deltas if delta is not None) == "a\r\nb"


def test_a_completion_can_begin_with_what_was_generated_before():
    """That is its first text, as it is."""
    assert CompletionOutput(3, LineEnds("\r\n"), "a\r\nb").begin() == Delta(3, "a\r\nb")
    assert CompletionOutput(3, LineEnds("\n")).begin() is None


@pytest.mark.parametrize(
    ("accepted", "said", "result"),
    [
        ("a\n", "c", "a\nc\n"),
        ("a\nc", "d", "a\ncd\n"),
        ("a\nc", "", "a\nc\n"),
        ("a\n", "```", "a\n"),  # behind a line, the closing fence may come at once
        ("a\nx = ", "```", "a\nx = ```\n"),  # within one, it is text
    ],
)
def test_operations_say_the_accepted_text_too(run, accepted, said, result):
    """All of them turn the range into that text and what the model said after it."""
    output = EditOutput(0, plan(final_newline=True), "a\nb\n", accepted=accepted)
    assert run(output, "a\nb\n", list(said)) == result


@given(st.text(st.sampled_from("ab\n")), st.text(st.sampled_from("ab\n")), st.data())
def test_what_operations_said_before_is_not_said_again(run, apply_operations, original, said, data):
    """However many operations came before: those and the ones over the rest turn the range into the whole text."""
    first = EditOutput(0, plan(final_newline=False), original)
    frames = [first.feed(said), first.finish(completed=True)]
    operations = [operation for frame in frames if frame is not None for operation in frame.operations]
    kept = operations[: data.draw(st.integers(0, len(operations)))]
    made, left = divide(original, kept)
    assert said.startswith(made)
    second = EditOutput(0, plan(final_newline=False), left, before=made)
    frames = [second.begin(), second.feed(said[len(made) :]), second.finish(completed=True)]
    again = [operation for frame in frames if frame is not None for operation in frame.operations]
    assert apply_operations(original, kept + again) == said
