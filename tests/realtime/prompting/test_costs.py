"""What making a prompt costs: tokens that are kept through changes, and bounds in the size of the context."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Change, TextEdit

from .conftest import CODE, CONTEXT, TAUGHT, ByteTokenizer, Counting, Whole, complete, document, edit


class SparseTokenizer(ByteTokenizer):
    """One token for each letter, and none for a space."""

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.replace(" ", "").encode())


@settings(max_examples=40)
@given(CODE, st.data())
def test_prompts_are_the_same_from_a_document_s_tokens(real, text, data):
    """Through changes, as if each had been tokenised afresh."""
    known = real.builder._tokenizer
    held = document(text * data.draw(st.integers(1, 5)))
    for version in range(2, data.draw(st.integers(3, 6))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(held.text))] * 2)))
        for form in (None, *TAUGHT):
            builders = PromptBuilder(known, 600, form), PromptBuilder(Whole(known), 600, form)
            fresh = document(held.text)
            completed = [
                builder.complete(of, end, 20, (), None).plan()
                for builder, of in zip(builders, (held, fresh), strict=True)
            ]
            assert completed[0] == completed[1]
        edited = [
            builder.edit(of, start, end, "do it", 20, (), None)
            for builder, of in zip(builders, (held, fresh), strict=True)
        ]
        with contextlib.suppress(Refused):
            plan, whole = edited[0].plan(), edited[1].plan()
            assert real.read(plan.prompt) == real.read(whole.prompt)
            assert plan.draft == whole.draft
        at = held.length if data.draw(st.booleans()) else len(held.text[:start].encode("utf-16-le")) // 2
        inserted = TextEdit(at, at, data.draw(CODE))
        held.change(Change("file:///a", version - 1, version, [inserted]), Limits())


@pytest.mark.parametrize("fill", [None, *TAUGHT])
def test_a_key_in_a_large_file_costs_a_few_hundred_characters(real, edit_records, fill):
    """However long the text, and the layout says so beforehand."""
    text = "".join(record.context + record.before for record in edit_records) * 4
    counting = Counting(real.builder._tokenizer)
    builder = PromptBuilder(counting, CONTEXT, fill)
    held = document(text)
    at = len(text) // 2
    first = builder.complete(held, at, 100, (), None)
    assert first.chars > 4000
    first.plan()
    costs = []
    for key, typed in enumerate("value = compute(other, 2)\n" * 4):
        held.change(Change("file:///a", key + 1, key + 2, [TextEdit(at + key, at + key, typed)]), Limits())
        counting.encoded = 0
        layout = builder.complete(held, at + key + 1, 100, (), None)
        assert layout.chars < 1000
        layout.plan()
        costs.append(counting.encoded)
    assert sorted(costs)[len(costs) // 2] < 700


@pytest.mark.parametrize("tokenizer", [ByteTokenizer, SparseTokenizer])
@pytest.mark.parametrize("text", ["x = y\n", "x", " ", "                    x\n", "é漢🎉\n"])
@pytest.mark.parametrize("max_tokens", [1, 100_000])
def test_a_plan_costs_time_in_the_size_of_the_context(tokenizer, text, max_tokens):
    """However long the document and the range, little more than twice what could fit is tokenised."""
    document = text * 100_000
    room = 8 * 1000  # characters
    for size in (0, 10, 500, 1500, 3000, 6000, 100_000):
        tokens = tokenizer()
        builder = PromptBuilder(tokens, 1000)
        with contextlib.suppress(Refused):
            edit(builder, document, 50_000, 50_000 + size, max_tokens=max_tokens)
        assert tokens.encoded <= 2.2 * room


def test_a_completion_costs_time_in_the_size_of_the_context():
    """Also where the last lines say nothing of how many tokens those before them have."""
    for text in ("x = y\n" * 50_000, "x" * 100_000 + " " * 5000, " " * 100_000, ("x" * 99 + " " * 9901) * 10):
        tokens = SparseTokenizer()
        plan = complete(PromptBuilder(tokens, 1000), text)
        assert len(plan.prompt) <= 900
        assert tokens.encoded <= 2.2 * 8 * 1000


def test_a_layout_keeps_its_version_of_the_text():
    """What is changed after it was made is not in its plan."""
    held = document("a = 1\nb = 2\n")
    builder = PromptBuilder(ByteTokenizer(), 4000)
    layouts = builder.edit(held, 0, 6, "do it", 10, (), None), builder.complete(held, 6, 10, (), None)
    held.change(Change("file:///a", 1, 2, [TextEdit(0, 12, "gone")]), Limits())
    edited, completed = (bytes(layout.plan().prompt).decode() for layout in layouts)
    assert "gone" not in edited and "Code to rewrite:\n```python\na = 1\n```" in edited
    assert completed == "a = 1\n"


def test_a_layout_says_how_much_there_is_to_tokenise():
    """What its plan then tokenises, but for the lines around an edit's code."""
    text = "def f(x):\n    return x + 1\n" * 2000
    for layout in (
        lambda builder: builder.complete(document(text), 30_000, 100, (), "x" * 300),
        lambda builder: builder.complete(document(text), 3000, 100, (), None),
        lambda builder: builder.edit(document(text), 5000, 9000, "do it", 100, (), "y" * 300),
    ):
        tokens = ByteTokenizer()
        made = layout(PromptBuilder(tokens, 40_000))
        tokens.encoded = 0
        made.plan()
        assert tokens.encoded - 120 <= made.chars <= 1.2 * tokens.encoded
