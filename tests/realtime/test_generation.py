"""From the model's text to frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.generation import CompletionOutput, EditOutput
from warmline.realtime.prompts import PromptPlan
from warmline.realtime.protocol import Delta


def plan(*, final_newline: bool, newline: str = "\n", fence: str = "```") -> PromptPlan:
    return PromptPlan([1], (f"\n{fence}",), newline, fence=fence, final_newline=final_newline)


@pytest.fixture(scope="session")
def run(apply_operations):
    """Let a model say pieces of text; returns what the range becomes."""

    def run(output: EditOutput, original: str, pieces: list[str], completed: bool = True) -> str:
        frames = [output.feed(piece) for piece in pieces] + [output.finish(completed)]
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
    output = CompletionOutput(3, "\r\n")
    assert output.feed("a\nb") == Delta(3, "a\r\nb")
    assert output.finish(completed=True) is None
    assert CompletionOutput(3, "\n").feed("a\nb") == Delta(3, "a\nb")
