"""Prompts: what the model is shown, what it may answer with, and what fits."""

from __future__ import annotations

import contextlib
import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.realtime.document import Document
from warmline.realtime.errors import Refused
from warmline.realtime.fill_in_middle import FillForm
from warmline.realtime.limits import Limits
from warmline.realtime.prompts import PromptBuilder
from warmline.realtime.protocol import Change, ErrorCode, Open, TextEdit

CONTEXT = 8192
TAUGHT = [
    FillForm.taught(("<jupyter_text>", "<jupyter_code>")),
    FillForm.taught(("<jupyter_text>", "<jupyter_code>", "<jupyter_output>")),
]


class ByteTokenizer:
    """One token for each byte, so that sizes are plain; template text is marked by negative numbers."""

    bos_id: int | None = 300
    adds_bos = False
    bos_token = "<s>"
    eos_token = "</s>"
    word_ends = ""

    def __init__(self, chat_template: str | None = None) -> None:
        self.chat_template = chat_template
        self.encoded = 0  # characters so far

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.encode())

    def encode_template(self, text: str) -> list[int]:
        return [-byte for byte in text.encode()]


def document(text: str, language: str = "python") -> Document:
    return Document(Open("file:///a", 1, language, text), Limits())


def complete(builder: PromptBuilder, text: str, index: int | None = None, max_tokens: int = 100, **fields):
    at = len(text) if index is None else index
    return builder.complete(document(text), at, max_tokens, fields.get("stop", ()), fields.get("replay")).plan()


def edit(builder: PromptBuilder, text: str, start: int, end: int, instruction: str = "do it", **fields):
    return builder.edit(
        document(text, fields.get("language", "python")),
        start,
        end,
        instruction,
        fields.get("max_tokens", 512),
        fields.get("stop", ()),
        fields.get("replay"),
        fields.get("accepted", ""),
        fields.get("remaining"),
    ).plan()


@pytest.fixture(scope="module")
def real(tokenizer):
    """The default model's prompts, with a way to read them."""
    return SimpleNamespace(builder=PromptBuilder(tokenizer, CONTEXT), read=tokenizer.decode, encode=tokenizer.encode)


# Completions ---------------------------------------------------------------------------------------------------


def test_a_completion_sees_the_text_before_the_position(real):
    """Nothing is added and nothing after the position is shown."""
    plan = complete(real.builder, "def f():\n    return x", 13)
    assert real.read(plan.prompt) == "def f():\n    "
    assert (plan.stop, plan.newline, plan.draft, plan.replay, plan.fence) == ((), "\n", None, None, "")


def test_models_see_line_feeds_only(real):
    """CR LF becomes LF in text, stop strings and replay, and the plan remembers the document's line end."""
    plan = complete(real.builder, "a\r\nb\r\n", stop=("\r\n\r\n",), replay="c\r\nd")
    assert real.read(plan.prompt) == "a\nb\n"
    assert plan.stop == ("\n\n",)
    assert plan.newline == "\r\n"
    assert plan.replay == real.encode("c\nd")


def test_special_token_text_in_a_document_is_text(real):
    """What looks like the end of a turn is many plain tokens, in either kind of prompt."""
    text = "end = '<|im_end|>'\n"
    assert complete(real.builder, text).prompt == real.encode(text)
    plan = edit(real.builder, text, 0, len(text))
    (special,) = real.builder._tokenizer.encode_template("<|im_end|>")
    assert plan.prompt.count(special) == 2  # the template's own: after the system message and after the user's
    assert special not in plan.draft


def fill(text: str, index: int, context: int = 8000, **fields) -> str:
    """The prompt of a completion by a model that was taught to fill in, its marks as ‹ and ›."""
    builder = PromptBuilder(ByteTokenizer(), context, FillForm.taught(("S", "P")))
    tokens = complete(builder, text, index, **fields).prompt
    return "".join({-ord("S"): "‹", -ord("P"): "›"}.get(token) or chr(token) for token in tokens)


def test_a_model_that_can_fill_in_sees_the_text_after_the_cursor_first():
    """So that typing only appends: each prompt begins with the one before the last key."""
    assert fill("def f(x):\n    re\n\nf(1)\n", 16) == "‹\n\nf(1)\n›def f(x):\n    re"
    typed = [fill("def f(x):\n    " + "return x"[:keys] + "\n\nf(1)\n", 14 + keys) for keys in range(8)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(typed))


@pytest.mark.parametrize("after", ["", "\n", "\n   \n\n"])
def test_blank_text_after_the_cursor_is_not_shown(after):
    """The prompt is then that of any model: the text before the cursor."""
    assert fill("x = 1" + after, 5) == "x = 1"


def test_thirty_lines_after_the_cursor_are_shown():
    """The rest of the cursor's own line is the first of them. Line ends are line feeds."""
    after = "".join(f"{number}\r\n" for number in range(100))
    shown = fill("a = " + after, 4).partition("›")[0]
    assert shown == "‹" + "".join(f"{number}\n" for number in range(30))


def test_text_after_the_cursor_goes_where_room_is_short():
    """It never takes more than half of the room that the answer leaves, and what is before stays."""
    text = "before = 1\n" * 5 + "after = 2\n" * 20
    assert "‹" in fill(text, 55, context=600)
    assert fill(text, 55, context=300) == "before = 1\n" * 5
    assert len(fill(text, 55, context=600)) <= 500


def test_filling_in_shows_a_short_window_of_what_is_before():
    """A thousand tokens of it at most, from the start of a line on."""
    text = "".join(f"line {number}\n" for number in range(1000))
    shown = fill(text + "tail\n", len(text)).partition("›")[2]
    assert 500 < len(shown) <= 1024
    assert text.endswith("\n" + shown)


def test_a_model_may_want_the_text_before_the_cursor_first():
    """Then what comes after it is behind, and a mark asks for the answer."""
    form = FillForm("psm", ("P",), ("S",), ("M",))
    builder = PromptBuilder(ByteTokenizer(), 8000, form)
    shown = complete(builder, "def f(x):\n    re\n\nf(1)\n", 16).prompt
    assert [chr(abs(token)) for token in shown] == [*"Pdef f(x):\n    reS\n\nf(1)\nM"]
    assert [token < 0 for token in shown] == [chr(abs(token)) in "PSM" for token in shown]
    assert bytes(complete(builder, "x = 1\n\n", 5).prompt) == b"x = 1"


def test_marks_may_be_several_tokens():
    """As where a model was trained on one order with the marks of the other."""
    builder = PromptBuilder(ByteTokenizer(), 8000, FillForm("spm", ("P", "S"), ("M",)))
    shown = complete(builder, "a\nb\n", 1).prompt
    assert shown == [-ord("P"), -ord("S"), *b"\nb\n", -ord("M"), *b"a"]


def test_an_empty_document_has_a_prompt():
    """A model can't start from no token at all."""
    assert complete(PromptBuilder(ByteTokenizer(), 100), "").prompt == [10]


def test_a_sequence_starts_with_bos_where_the_model_wants_it():
    """BOS counts against the context like any token."""
    tokenizer = ByteTokenizer()
    tokenizer.adds_bos = True
    plan = complete(PromptBuilder(tokenizer, 100), "x" * 200, max_tokens=20)
    assert plan.prompt[0] == 300
    assert len(plan.prompt) <= 80


@given(
    st.lists(st.text(st.sampled_from("ab é漢🎉\t"), max_size=40), max_size=60).map("\n".join),
    st.integers(8, 400),
    st.integers(1, 500),
)
def test_a_completion_always_fits(text, context, max_tokens):
    """Whatever the text and the room, prompt and answer fit, and the prompt is an end of the text."""
    plan = complete(PromptBuilder(ByteTokenizer(), context), text, max_tokens=max_tokens)
    assert len(plan.prompt) + min(max_tokens, context // 2) <= context
    assert text.encode().endswith(bytes(plan.prompt)) or not text


@pytest.mark.parametrize("tail", ["", "\n", "\nfoo", "\nfoo\nbar"])
def test_a_line_longer_than_the_window_is_cut(tail):
    """What stands above in one very long line is not lost because a line begins behind it."""
    text = "x=1;" * 5000 + tail
    plan = complete(PromptBuilder(ByteTokenizer(), 1000), text, max_tokens=8)
    assert text.encode().endswith(bytes(plan.prompt))
    assert 500 <= len(plan.prompt) <= 992


def test_a_long_text_is_cut_at_the_start_of_a_line_and_fills_the_context(real, edit_records):
    """The window begins with a line and leaves no more of the room unused than it may to stay where it is."""
    text = "".join(record.context + record.before for record in edit_records)
    plan = complete(real.builder, text, max_tokens=8)
    window = real.read(plan.prompt)
    assert text.endswith(f"\n{window}")
    assert 5000 <= len(plan.prompt) <= CONTEXT - 8


def test_the_window_stays_where_it_is_while_a_person_types(real, edit_records):
    """Hundreds of characters typed one by one move the window's start at most once."""
    text = "".join(record.context + record.before for record in edit_records)
    end = len(text) - 1000
    starts = set()
    for at in range(end, end + 600, 20):
        window = real.read(complete(real.builder, text, at, 100).prompt)
        starts.add(at - len(window))
    assert len(starts) <= 2


def test_what_an_answer_may_have_does_not_move_the_window(real, edit_records):
    """Requests with different max_tokens share their prompt, unless they ask for very much."""
    text = "".join(record.context + record.before for record in edit_records)
    assert len({tuple(complete(real.builder, text, max_tokens=most).prompt) for most in (1, 16, 100, 256, 512)}) == 1
    short = text[:12_000]
    assert len({tuple(complete(real.builder, short, max_tokens=most).prompt) for most in (1, 100, 1000, 2000)}) == 1


def test_a_line_longer_than_the_context_is_cut():
    """Minified code has no line start to begin with."""
    plan = complete(PromptBuilder(ByteTokenizer(), 1000), "x" * 100_000)
    assert 500 <= len(plan.prompt) <= 900


# Edits ---------------------------------------------------------------------------------------------------------


def test_an_edit_shows_code_first_and_the_instruction_last(real):
    """The layout is the documented one, with the model's chat template around it and the reply's fence opened."""
    text = "import os\n\ndef f():\n    return 1\n\nprint(f())\n"
    start, end = text.index("def"), text.index("\nprint")
    plan = edit(real.builder, text, start, end, "return 2\n")
    prompt = real.read(plan.prompt)
    assert prompt.endswith(
        "user\n"
        "Code before:\n```python\nimport os\n\n```\n\n"
        "Code after:\n```python\n\nprint(f())\n```\n\n"
        "Code to rewrite:\n```python\ndef f():\n    return 1\n```\n\n"
        "Instruction: return 2\nassistant\n```python\n"
    )
    assert real.read(plan.draft) == "def f():\n    return 1\n```"
    assert (plan.stop, plan.fence, plan.final_newline) == (("\n```",), "```", True)


def test_template_text_has_specials_and_is_tokenised_once():
    """The template's own tokens are special, the message's never are."""
    template = "{{ bos_token }}[{{ messages[0].content }}]"
    plan = edit(PromptBuilder(ByteTokenizer(template), 4000), "a\n", 0, 2)
    marked = [-byte for byte in b"<s>["]
    assert plan.prompt[: len(marked)] == marked
    assert plan.prompt.count(-ord("]")) == 1
    assert all(token > 0 for token in plan.prompt[len(marked) : plan.prompt.index(-ord("]"))])


def test_a_model_without_a_template_gets_the_plain_form():
    """The message, an empty line, the opened fence."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), "a\n", 0, 2)
    assert bytes(plan.prompt).decode() == "Code to rewrite:\n```python\na\n```\n\nInstruction: do it\n\n```python\n"


@pytest.mark.parametrize(
    ("text", "start", "end", "draft", "final_newline"),
    [
        ("a\nb\n", 0, 4, "a\nb\n```", True),  # whole lines: the last newline is part of the answer
        ("a\nb", 0, 3, "a\nb\n```", False),  # no final newline: the one before the fence is not
        ("f(x)\n", 2, 3, "x\n```", False),
        ("a\n\n", 0, 3, "a\n\n```", True),
        ("", 0, 0, "```", False),
        ("a\nb\n", 2, 2, "```", True),  # lines inserted before a line
        ("a\n\nb\n", 2, 2, "```", False),  # an empty line filled
        ("a\n", 2, 2, "```", False),  # text added at the end
        ("ab\n", 1, 1, "```", False),  # text inserted within a line
        ("a\r\nb\r\n", 0, 6, "a\nb\n```", True),
        ("a\r\n\r\nb", 3, 3, "```", False),
    ],
)
def test_the_range_decides_what_the_last_newline_means(text, start, end, draft, final_newline):
    """The draft is the range as the model would repeat it, closing fence included."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, start, end)
    assert bytes(plan.draft).decode() == draft
    assert plan.final_newline is final_newline


@pytest.mark.parametrize(
    ("text", "replay", "answer", "final_newline"),
    [
        ("a\n", "b\n", "b\n```", True),
        ("a\n", "b", "b\n```", False),
        ("a", "b\n", "b\n\n```", False),
        ("a", "b", "b\n```", False),
        ("a\n", "", "```", True),
        ("a", "", "```", False),
        ("a\n", "\n", "\n```", True),
        ("a\r\n", "b\r\nc\r\n", "b\nc\n```", True),
    ],
)
def test_a_replay_is_what_the_model_would_have_said(text, replay, answer, final_newline):
    """Any text can be replayed exactly, whatever the range ends with."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, 0, len(text), replay=replay)
    assert bytes(plan.replay).decode() == answer
    assert plan.final_newline is final_newline


@pytest.mark.parametrize(
    ("texts", "fence"),
    [
        ({"text": "x = `a`\n"}, "```"),
        ({"text": "```\n"}, "````"),
        ({"text": "# ````` #\n"}, "``````"),
        ({"text": "a\n", "instruction": "use ```"}, "````"),
        ({"text": "a\n", "replay": "````\n"}, "`````"),
        ({"text": "a\n", "language": "markdown"}, "````"),
        ({"text": "a\n", "before": "```sh\nls\n```\n"}, "````"),
    ],
)
def test_the_fence_is_longer_than_any_inside(texts, fence):
    """Range, surroundings, instruction and replay can't close it."""
    before = texts.pop("before", "")
    text = before + texts.pop("text")
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, len(before), len(text), **texts)
    assert plan.fence == fence
    assert plan.stop == (f"\n{fence}",)


def test_a_language_can_not_break_the_fence():
    """Only what names a language goes beside the fence."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), "a\n", 0, 2, language="c++\n```x y")
    assert b"```c++xy\na\n```\n" in bytes(plan.prompt)


def test_surrounding_lines_go_first_when_room_is_short():
    """The nearest lines stay longest; the range itself is never cut."""
    lines = [f"line number {number}\n" for number in range(200)]
    text = "".join(lines)
    start, end = len("".join(lines[:100])), len("".join(lines[:102]))
    shown = []
    for context in (4000, 700, 350):
        plan = edit(PromptBuilder(ByteTokenizer(), context), text, start, end, max_tokens=100)
        assert len(plan.prompt) < context
        prompt = bytes(plan.prompt).decode()
        assert "Code to rewrite:\n```python\nline number 100\nline number 101\n```" in prompt
        shown.append([number for number in range(200) if f"line number {number}\n" in prompt])
    assert shown == [
        [*range(80, 112)],
        [*range(92, 106)],
        [100, 101],
    ]


def test_a_range_that_can_not_fit_is_refused_with_both_numbers():
    """Needed and available tokens are named."""
    with pytest.raises(Refused, match=r"needs \d+ tokens .* 500 are available") as refusal:
        edit(PromptBuilder(ByteTokenizer(), 500), "x" * 600, 0, 600)
    assert refusal.value.code == ErrorCode.PROMPT_TOO_LONG


def test_an_enormous_range_is_refused_without_tokenising_it():
    """A megabyte does not hold up the loop."""
    builder = PromptBuilder(ByteTokenizer(), 500)
    builder._tokenizer.encode = None  # type: ignore[assignment, method-assign]
    with pytest.raises(Refused, match=r"needs more than 125188 tokens .* 500 are available"):
        edit(builder, "x" * 1_000_000, 0, 1_000_000 - 5, max_tokens=188)
    with pytest.raises(Refused, match=r"needs more than 62500 tokens"):
        edit(builder, "a\n", 0, 2, replay="x" * 500_000)
    with pytest.raises(Refused, match=r"needs more than 62500 tokens"):
        complete(builder, "a\n", replay="x" * 500_000)


def test_a_short_answer_needs_no_room_for_all_of_max_tokens():
    """What max_tokens allows beyond the context is simply not there."""
    assert edit(PromptBuilder(ByteTokenizer(), 500), "a\n", 0, 2, max_tokens=100_000)


# Accepted text -------------------------------------------------------------------------------------------------


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


# Ahead of a request --------------------------------------------------------------------------------------------


CODE = st.lists(
    st.text(st.sampled_from("ab_1 é漢🎉\t`('\r:"), max_size=20)
    | st.sampled_from(["def f(x):", "    return x", "\r"]),
    max_size=30,
).map("\n".join)
INSTRUCTIONS = st.text(st.sampled_from("ab 1é:'\n"), max_size=20)


@given(CODE, st.data(), INSTRUCTIONS, st.sampled_from([400, 700, 8192]), st.integers(1, 4000))
def test_an_edit_begins_with_what_was_warmed_for_it(real, text, data, instruction, context, max_tokens):
    """Whatever the instruction and max_tokens turn out to be, all the code is there already."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for tokenizer in (ByteTokenizer(), real.builder._tokenizer, Whole(real.builder._tokenizer)):
        builder = PromptBuilder(tokenizer, context)
        with contextlib.suppress(Refused):  # where room is short
            warm = builder.warm_edit(document(text), start, end).plan().prompt
            plan = edit(builder, text, start, end, instruction[: context // 32 - 14], max_tokens=max_tokens)
            assert plan.prompt[: len(warm)] == warm
            assert text[start:end].strip() == "" or len(warm) > end - start > 0 or tokenizer.word_ends


def test_all_but_the_instruction_is_warm(real):
    """What is left for the request is a few tokens."""
    text = "import os\n\ndef f():\n    return 1\n\nprint(f())\n"
    start, end = text.index("def"), text.index("\nprint")
    warm = real.builder.warm_edit(document(text), start, end).plan().prompt
    assert real.read(warm).endswith("def f():\n    return 1\n```\n\nInstruction")
    plan = edit(real.builder, text, start, end, "return 2")
    assert real.read(plan.prompt[len(warm) :]) == ": return 2\nassistant\n```python\n"


@given(CODE, st.data(), st.integers(1, 25))
def test_a_completion_is_what_was_warmed_for_it(real, text, data, max_tokens):
    """Any that asks for a usual number of tokens."""
    index = data.draw(st.integers(0, len(text)))
    psm = FillForm("psm", ("P",), ("S",), ("M",))
    for form in (None, psm, FillForm.taught(("S", "P")), FillForm.taught(("S", "P", "N"))):
        builder = PromptBuilder(real.builder._tokenizer, 400, form)
        warm = builder.warm_complete(document(text), index).plan()
        assert warm.prompt == complete(builder, text, index, max_tokens).prompt


def test_opening_a_document_warms_what_its_completions_have_in_common(real):
    """Its text, if it fits and the model sees the text from its beginning."""
    text = "def f(x):\n    return x\n" * 20
    builder = PromptBuilder(real.builder._tokenizer, 8192)
    assert real.read(builder.warm_open(document(text)).plan().prompt) == text
    assert builder.warm_open(document("")) is None
    assert builder.warm_open(document(text * 1000)) is None
    assert PromptBuilder(ByteTokenizer(), 8192, FillForm.taught(("S", "P"))).warm_open(document(text)) is None


class Whole:
    """A tokenizer of which it isn't known where a text can be cut."""

    word_ends = ""

    def __init__(self, tokenizer) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str):
        return getattr(self._tokenizer, name)


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


class Counting(Whole):
    """Counts the characters that a tokenizer is given."""

    def __init__(self, tokenizer) -> None:
        super().__init__(tokenizer)
        self.word_ends = tokenizer.word_ends
        self.encoded = 0

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return self._tokenizer.encode(text)


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


@pytest.mark.parametrize("after", ["", "\n\n", ")\n"])
def test_a_model_taught_on_short_windows_is_shown_one_everywhere(real, edit_records, after):
    """Also where nothing, or nothing but blanks, comes after the cursor."""
    before = "".join(record.context + record.before for record in edit_records)
    builder = PromptBuilder(real.builder._tokenizer, CONTEXT, FillForm.taught(("<jupyter_text>", "<jupyter_code>")))
    prompt = builder.complete(document(before + after), len(before), 100, (), None).plan().prompt
    assert 500 < len(prompt) < 1100


@given(
    st.lists(st.text(st.sampled_from("ab é漢🎉\t"), max_size=40), max_size=60).map("\n".join),
    st.data(),
    st.integers(8, 400),
    st.integers(1, 500),
)
def test_a_completion_with_what_is_near_last_always_fits(text, data, context, max_tokens):
    """Whatever the text, the place and the room."""
    builder = PromptBuilder(ByteTokenizer(), context, FillForm.taught(("S", "P", "N")))
    index = data.draw(st.integers(0, len(text)))
    plan = builder.complete(document(text), index, max_tokens, (), None).plan()
    assert len(plan.prompt) + min(max_tokens, context // 2) <= context + 4  # the marks, where there is no room at all


def test_what_is_near_the_cursor_comes_last(real, edit_records):
    """A closing bracket that an editor adds, or a move within the line, leaves most of a prompt as it was."""
    text = "".join(record.context + record.before for record in edit_records)[:20_000]
    builder = PromptBuilder(real.builder._tokenizer, CONTEXT, TAUGHT[1])
    place = text.index("(", 9000) + 1

    def prompt(text: str, index: int) -> list[int]:
        return builder.complete(document(text), index, 100, (), None).plan().prompt

    def common(first: list[int], second: list[int]) -> int:
        return next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)

    plain = prompt(text, place)
    closed = prompt(text[:place] + ")" + text[place:], place)
    moved = prompt(text, place - 3)
    entered = prompt(text[:place] + "\n" + text[place:], place + 1)
    assert min(common(plain, other) for other in (closed, moved)) > 0.7 * len(plain)
    assert common(plain, entered) > 0.2 * len(plain)  # the far part stays


@pytest.mark.parametrize("fill", [None, *TAUGHT])
def test_a_completion_that_was_warmed_is_not_tokenised_again(real, fill):
    """Its prompt is remembered until the text changes, and is then that of the new text."""
    counting = Counting(real.builder._tokenizer)
    builder = PromptBuilder(counting, CONTEXT, fill)
    held = document("def f(a):\n    return a\n\n\nprint(f(1))\n")
    warmed = builder.warm_complete(held, 24).plan().prompt
    counting.encoded = 0
    layout = builder.complete(held, 24, 100, (), None)
    assert (layout.chars, layout.plan().prompt, counting.encoded) == (0, warmed, 0)
    assert builder.complete(held, 23, 100, (), None).plan().prompt != warmed
    held.change(Change("file:///a", 1, 2, [TextEdit(0, 3, "async def")]), Limits())
    changed = builder.complete(held, 24, 100, (), None).plan().prompt
    assert (
        changed
        == PromptBuilder(counting, CONTEXT, fill).complete(document(held.text), 24, 100, (), None).plan().prompt
    )
    assert changed != warmed


# What a plan costs ---------------------------------------------------------------------------------------------


class SparseTokenizer(ByteTokenizer):
    """One token for each letter, and none for a space."""

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.replace(" ", "").encode())


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


@pytest.mark.parametrize(
    ("form", "expected"),
    [(FillForm("psm", ("P",), ("S",), ("M",)), "‹Pa‹Sb‹M"), (FillForm("spm", ("P", "S"), ("M",)), "‹P‹Sb‹Ma")],
)
def test_text_that_is_no_document_is_completed_as_it_stands(form, expected):
    """Between two texts in the model's order; a model that can't fill in refuses the second."""
    builder = PromptBuilder(ByteTokenizer(), 100, form)
    assert "".join(f"‹{chr(-token)}" if token < 0 else chr(token) for token in builder.raw("a", "b")) == expected
    plain = PromptBuilder(ByteTokenizer(), 100)
    assert (plain.raw("a\r\n"), plain.raw("")) == (list(b"a\r\n"), [10])
    with pytest.raises(Refused, match="fill in") as refusal:
        plain.raw("a", "b")
    assert refusal.value.code == ErrorCode.INVALID_PARAMETER
