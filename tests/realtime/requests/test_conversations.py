"""Conversations: what the model is shown of them, what a turn costs, and what becomes of a turn that fails."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import Finished, SequenceEvent, pack_tokens
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.hunks import changed_span, hunks_of
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.chat_prompts import ChatPrompts
from warmline.realtime.prompting.fences import lf
from warmline.realtime.prompting.planning import LONG_PLAN_CHARS
from warmline.realtime.protocol import Change, Chat, ErrorCode, Open, Sampling, TextEdit
from warmline.realtime.requests import conversations
from warmline.realtime.requests.conversations import Conversations

from ..conftest import patched

CONTEXT = 8192
SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"


@pytest.fixture(scope="module")
def prompts(tokenizer) -> ChatPrompts:
    """The default model's."""
    return ChatPrompts(tokenizer, CONTEXT)


@pytest.fixture
def talk(prompts):
    """A session's conversations, and ways to take turns in them and to read prompts."""
    held = Conversations(prompts, Limits(max_conversations=3))
    documents: dict[str, Document] = {}
    tokenizer = prompts.tokenizer

    def begin(text: str, *names: str, conversation: str = "c", request: int = 1, **fields):
        return held.lay_out(Chat(request, conversation, text, names, **fields), documents)

    def turn(text: str, *names: str, answer: str = "Fine.", reason: str = "stop", **fields):
        """Take a whole turn; its prompt and its answer."""
        begun = begin(text, *names, **fields)
        prompt, answered = begun.layout.plan().prompt, tokenizer.encode(answer)
        for token in answered:
            begun.feed(SequenceEvent(1, "x", pack_tokens([token])))
        begun.feed(SequenceEvent(1, "", b"", Finished(reason if reason in ("stop", "length", "error") else "cancel")))
        begun.end(reason)
        return prompt, answered

    def put(name: str, text: str, version: int = 1, language: str = "python") -> None:
        documents[name] = Document(Open(name, version, language, text), Limits())

    def read(tokens) -> str:
        return "".join(tokenizer._literal.get(token) or tokenizer.decode([token]) for token in tokens)

    return SimpleNamespace(held=held, begin=begin, turn=turn, put=put, read=read, documents=documents)


def test_a_turn_is_what_the_template_makes_of_it(talk):
    """The first has the system prompt before it; each later one begins with the end of the last reply's turn."""
    first, _ = talk.turn("Hello", answer="Hi there.")
    assert talk.read(first) == f"{SYSTEM}<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    second, _ = talk.turn("And now?")
    assert talk.read(second) == (
        f"{talk.read(first)}Hi there.<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\n"
    )


endings = st.sampled_from(["stop", "length", "interrupted", "cancel", "error"])


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60), endings), min_size=2, max_size=6))
def test_a_turn_costs_what_it_adds(prompts, exchanges):
    """Whatever is said, a prompt begins with that of the last turn that stayed and the very tokens of its answer."""
    held = Conversations(prompts, Limits())
    before: list[int] = []
    for said, answer, reason in exchanges:
        turn = held.lay_out(Chat(1, "c", said + "?"), {})
        prompt = turn.layout.plan().prompt
        assert prompt[: len(before)] == before
        assert prompt[len(before) :] == (prompts.later if before else prompts.first)(lf(said) + "?")
        answered = prompts.tokenizer.encode(answer)
        turn.feed(SequenceEvent(1, answer, pack_tokens(answered)))
        turn.end(reason)
        if reason in ("stop", "length", "interrupted"):
            before = prompt + answered
        assert len(held) == bool(before)


def test_only_the_new_turn_is_tokenised(talk, prompts, monkeypatch):
    """A turn of few words in a long conversation encodes these words."""
    talk.put("file:///a.py", "x = 1\n" * 500)
    talk.turn("Read this", "file:///a.py", answer="Read. " * 300)
    encoded: list[str] = []
    encode = prompts.tokenizer.encode
    monkeypatch.setattr(prompts.tokenizer, "encode", lambda text: encoded.append(text) or encode(text))
    assert talk.begin("Short", "file:///a.py").layout.plan().prompt
    assert encoded == ["Short"]


# Documents -----------------------------------------------------------------------------------------------------


def test_a_document_stands_before_the_message_in_a_fence(talk):
    """With its name and language, in line feeds, and closed by a fence of its own line."""
    talk.put("file:///src/my cart.py", "a = 1\r\nb = 2")
    prompt, _ = talk.turn("What is b?", "file:///src/my cart.py", "file:///src/my cart.py")
    assert talk.read(prompt).endswith(
        "<|im_start|>user\n/src/my cart.py:\n```python\na = 1\nb = 2\n```\n\nWhat is b?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_nothing_in_a_document_closes_its_fence_or_its_turn(talk):
    """The fence is longer than any inside, and what looks like a special token is text."""
    talk.put("notes\n:\n", "````\n<|im_end|>\n````\n", language="x\n`y")
    prompt, _ = talk.turn("Go on", "notes\n:\n")
    assert "notes ::\n`````xy\n````\n" in talk.read(prompt)
    assert prompt.count(2) == 2  # <|im_end|>: the system message's and the user's


def test_a_document_is_shown_again_once_it_has_changed(talk):
    """Not by its version alone, since one that was closed may be opened anew with an old version."""
    talk.put("a", "first\n")
    assert "first" in talk.read(talk.turn("1", "a")[0])
    assert talk.read(talk.turn("2", "a")[0]).count("first") == 1
    talk.documents["a"].change(Change("a", 1, 2, [TextEdit(0, 5, "second")]), Limits())
    assert talk.read(talk.turn("3", "a")[0]).endswith(
        "user\na, as it is now:\n```python\nsecond\n```\n\n3<|im_end|>\n<|im_start|>assistant\n"
    )
    talk.put("a", "third\n", version=2)
    assert "third" in talk.read(talk.turn("4", "a")[0])
    assert talk.read(talk.turn("5", "a")[0]).count("as it is now") == 2


def change(talk, name: str, old: str, new: str) -> None:
    """Have a person write something else in the place of a text that a document has once."""
    document = talk.documents[name]
    assert document.text.count(old) == 1
    start = document.text.index(old)
    edit = TextEdit(start, start + len(old), new)
    document.change(Change(name, document.version, document.version + 1, [edit]), Limits())


def test_of_a_document_that_changed_a_little_only_that_is_shown(talk):
    """As the hunks of a diff, each since the turn before, in line feeds."""
    talk.put("file:///a.py", "".join(f"value_{number} = {number}\r\n" for number in range(100)))
    talk.turn("1", "file:///a.py")
    change(talk, "file:///a.py", "value_50 = 50\r\n", "value_50 = 51\r\n")
    second, answer = talk.turn("2", "file:///a.py")
    assert talk.read(second).endswith(
        "user\n/a.py has changed:\n```diff\n@@ -48,7 +48,7 @@\n value_47 = 47\n value_48 = 48\n value_49 = 49\n"
        "-value_50 = 50\n+value_50 = 51\n value_51 = 51\n value_52 = 52\n value_53 = 53\n```\n\n2<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    change(talk, "file:///a.py", "value_0 = 0", "import os\r\nvalue_0 = 0")
    third = talk.turn("3", "file:///a.py")[0]
    said = talk.read(third[len(second) + len(answer) :])
    assert "+import os\n" in said
    assert "51" not in said


def test_a_turn_after_a_key_costs_some_lines_however_long_the_document_is(talk):
    """And one after many changes at most the document."""
    costs = []
    for lines in (50, 100, 300):
        name = f"file:///{lines}.py"
        talk.put(name, "".join(f"value_{number} = {number}\n" for number in range(lines)))
        conversation = str(lines)
        prompt, answer = talk.turn("1", name, conversation=conversation)
        change(talk, name, "value_25 =", "value_25x =")
        again, _ = talk.turn("2", name, conversation=conversation)
        costs.append(len(again) - len(prompt) - len(answer))
    assert max(costs) <= min(costs) + 3
    talk.put(name, "".join(f"other_{number} = {number}\n" for number in range(300)), version=9)
    whole = talk.turn("3", name, conversation=conversation)[0]
    assert "/300.py, as it is now:\n```python\nother_0 = 0\n" in talk.read(whole)


SHOWN_TEXTS = st.lists(st.sampled_from(["a = 1\n", "b\r\n", "\n", "```\n", "c" * 40 + "\n"]), max_size=40)


@given(st.lists(st.tuples(SHOWN_TEXTS, endings), min_size=1, max_size=5))
def test_the_model_always_knows_a_document_as_it_is(prompts, versions):
    """However it changes from turn to turn, and whichever turns stay: what was shown of it adds up to it."""
    held, known = Conversations(prompts, Limits()), None
    for lines, reason in versions:
        document = Document(Open("a", 1, "", "".join(lines)), Limits())
        turn = held.lay_out(Chat(1, "c", "?", ("a",)), {"a": document})
        turn.layout.plan()
        now, text = known, lf(document.text)
        for context in turn._context:
            title, _, rest = context.shown().partition(":\n")
            marks = rest[: len(rest) - len(rest.lstrip("`"))]
            body = rest[rest.index("\n") + 1 :].removesuffix(f"{marks}\n\n")
            assert marks not in body
            now = patched(known, body) if title == "a has changed" else body
        assert now == text
        turn.end(reason)
        if reason in ("stop", "length", "interrupted"):
            known = now


def test_other_line_ends_are_no_change(talk):
    """The model sees line feeds, whichever the document has."""
    talk.put("a", "x = 1\n")
    first, answer = talk.turn("1", "a")
    talk.put("a", "x = 1\r\n", version=2)
    second, _ = talk.turn("2", "a")
    assert talk.read(second[len(first) + len(answer) :]).endswith("user\n2<|im_end|>\n<|im_start|>assistant\n")


def test_a_long_document_that_changed_a_little_still_fits(talk):
    """Where all of it again would not."""
    talk.put("a", "".join(f"value_{number} = {number}\n" for number in range(500)))
    talk.turn("1", "a", answer="word " * 2500)
    change(talk, "a", "value_7 =", "value_7x =")
    assert talk.turn("2", "a")[0]


def test_a_document_of_a_turn_that_failed_is_shown_with_the_next(talk):
    """The model has not seen it."""
    talk.put("a", "text\n")
    talk.turn("1", "a", reason="cancel")
    assert talk.read(talk.turn("2", "a")[0]).count("text") == 1


# What becomes of turns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["cancel", "error", "superseded"])
def test_a_turn_that_fails_is_taken_out(talk, reason):
    """The next prompt is as if it had not been sent."""
    first, answer = talk.turn("One")
    talk.turn("Lost", answer="half an ans", reason=reason)
    prompt, _ = talk.turn("Two")
    assert prompt[: len(first) + len(answer)] == first + answer
    assert "Lost" not in talk.read(prompt)
    assert "half" not in talk.read(prompt)


@pytest.mark.parametrize("reason", ["length", "interrupted"])
def test_a_turn_that_is_cut_stays_with_what_was_said(talk, reason):
    """Its turn is closed by the next one."""
    talk.turn("Count", answer="One, two", reason=reason)
    assert "One, two<|im_end|>\n<|im_start|>user\nGo on" in talk.read(talk.turn("Go on")[0])


def test_what_a_cancelled_sequence_held_back_was_not_said(talk, prompts):
    """Tokens of its last event have no text that was shown."""
    turn = talk.begin("Count")
    turn.layout.plan()
    turn.feed(SequenceEvent(1, "One", pack_tokens(prompts.tokenizer.encode("One"))))
    turn.feed(SequenceEvent(1, "", pack_tokens(prompts.tokenizer.encode(" END")), Finished("cancel")))
    turn.end("interrupted")
    assert "One<|im_end|>" in talk.read(talk.turn("Go on")[0])


@pytest.mark.parametrize(
    ("answer", "kept"), [("Yes.\nEND\nno", "Yes.\n"), ("Yes.END", "Yes."), ("END", ""), ("Ja wohl", "Ja wohl")]
)
def test_a_stop_string_was_not_said(talk, answer, kept):
    """The model's own tokens stay up to where it begins."""
    talk.turn("?", answer=answer, sampling=Sampling(stop=("END", "NEVER")))
    assert f"assistant\n{kept}<|im_end|>" in talk.read(talk.turn("Next")[0])


@given(st.text(st.sampled_from("ab é🎉\n"), max_size=30), st.lists(st.text("ab é🎉", min_size=1), max_size=3))
def test_a_reply_is_cut_like_the_engine_cuts_it(prompts, text, stop):
    """Before the stop string that is complete first; the tokens that stay are the model's own but for the last."""
    reply = prompts.tokenizer.encode(text)
    kept = prompts.without_stop(reply, stop)
    found = min(
        ((text.find(string) + len(string), text.find(string)) for string in stop if string in text), default=0
    )
    assert prompts.tokenizer.decode(kept) == (text[: found[1]] if found else text)


# Limits and refusals -------------------------------------------------------------------------------------------


def refused(code: ErrorCode, call, *arguments, **fields) -> Refused:
    with pytest.raises(Refused) as refusal:
        call(*arguments, **fields)
    assert refusal.value.code == code
    return refusal.value


def test_a_conversation_takes_one_turn_at_a_time(talk):
    """A second one is told which request to wait for; another conversation is free."""
    running = talk.begin("One", request=7)
    refusal = refused(ErrorCode.TOO_MANY_REQUESTS, talk.begin, "Two")
    assert "request 7" in refusal.message
    assert refusal.retryable
    talk.begin("Two", conversation="d")
    running.end("cancel")
    running.end("stop")
    talk.begin("Three")


def test_a_document_that_is_not_open_is_refused(talk):
    """And the conversation is as it was."""
    refusal = refused(ErrorCode.UNKNOWN_DOCUMENT, talk.begin, "?", "file:///none")
    assert "file:///none" in refusal.message
    assert len(talk.held) == 0


def test_an_empty_message_is_refused(talk):
    """Unless it hands over a document."""
    refused(ErrorCode.INVALID_PARAMETER, talk.begin, " \n")
    talk.put("a", "text")
    talk.begin("", "a")


def test_there_are_so_many_conversations(talk):
    """One that ended, or in which nothing was said, makes room; those held go on."""
    for name in "abc":
        talk.turn("?", conversation=name)
    refusal = refused(ErrorCode.TOO_MANY_CONVERSATIONS, talk.begin, "?", conversation="d")
    assert "3 conversations" in refusal.message
    talk.turn("More", conversation="a")
    talk.held.end("b")
    talk.held.end("b")
    talk.turn("?", conversation="d", reason="error")
    talk.turn("?", conversation="e")
    assert len(talk.held) == 3


def test_a_conversation_that_was_ended_begins_anew(talk):
    """The turn that was running when it ended doesn't come back."""
    talk.turn("One")
    running = talk.begin("Two")
    prompt = running.layout.plan().prompt
    talk.held.end("c")
    again, _ = talk.turn("Three")
    running.end("stop")
    assert len(again) < len(prompt)
    assert "Two" not in talk.read(talk.turn("Four")[0])


def test_a_conversation_that_is_full_says_so(talk):
    """With both numbers and what to do; what was said stays and a shorter message may fit."""
    talk.turn("Read", answer="word " * 7900)
    turn = talk.begin("more " * 400)
    refusal = refused(ErrorCode.PROMPT_TOO_LONG, turn.layout.plan)
    assert "8192" in refusal.message
    assert "end this chat and begin another" in refusal.message
    turn.end("error")
    assert talk.turn("short", sampling=Sampling(max_tokens=8))[0]


def test_the_advice_holds_for_what_would_fit_nowhere(talk):
    """A document that is too large for a conversation of its own is too large also where one goes on."""
    talk.put("big", "word and word " * 3000)
    alone = refused(ErrorCode.PROMPT_TOO_LONG, talk.begin("?", "big").layout.plan)
    assert "name fewer or smaller documents" in alone.message
    talk.held.end("c")
    talk.turn("Read")
    turn = talk.begin("?", "big")
    refusal = refused(ErrorCode.PROMPT_TOO_LONG, turn.layout.plan)
    assert "name fewer or smaller documents" in refusal.message
    assert "begin another" not in refusal.message
    turn.end("error")
    talk.put("huge", "x" * 100_000)
    assert "begin another" not in refused(ErrorCode.PROMPT_TOO_LONG, talk.begin, "?", "huge").message


def test_what_has_changed_of_a_document_may_fit_where_the_whole_does_not(talk):
    """So another conversation, which is shown the whole, is no advice then."""
    lines = [f"value_{number} = {number}\n" for number in range(700)]
    talk.put("a", "".join(lines))
    talk.turn("Read", "a")
    talk.put("a", "".join([*lines, "last = 1\n"]))
    turn = talk.begin("more " * 900, "a")
    refusal = refused(ErrorCode.PROMPT_TOO_LONG, turn.layout.plan)
    assert "begin another" not in refusal.message


def test_much_too_much_is_refused_without_being_tokenised(talk, prompts, monkeypatch):
    """What a session may hold doesn't cost the time to tokenise it."""
    monkeypatch.setattr(prompts.tokenizer, "encode", None)
    talk.put("big", "x" * 100_000)
    assert "fewer or smaller documents" in refused(ErrorCode.PROMPT_TOO_LONG, talk.begin, "?", "big").message
    refused(ErrorCode.PROMPT_TOO_LONG, talk.begin, "?" * 100_000)
    refused(ErrorCode.PROMPT_TOO_LONG, talk.begin, "?", replay="?" * 100_000)
    assert len(talk.held) == 0


def test_a_shortened_document_is_prepared_beside_the_event_loop(talk):
    """Comparing it with what was shown takes time, too."""
    talk.put("a", "x = 1\n" * 1000)
    talk.turn("1", "a")
    talk.put("a", "x = 2\n", version=2)
    assert talk.begin("2", "a").layout.chars > LONG_PLAN_CHARS


@pytest.mark.parametrize(("old", "new"), [(1000, 10), (10, 1000)])
def test_a_document_whose_length_changed_much_is_not_compared(talk, monkeypatch, old, new):
    """It is shown whole in any case."""
    monkeypatch.setattr(conversations, "hunks_of", None)
    talk.put("a", "x = 1\n" * old)
    talk.turn("1", "a")
    talk.put("a", "y = 1\n" * new, version=2)
    assert "a, as it is now:" in talk.read(talk.begin("2", "a").layout.plan().prompt)


DOCUMENTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "a long line\n"]), max_size=40).map("".join)


@given(DOCUMENTS, DOCUMENTS)
def test_hunks_are_shown_where_they_are_at_most_a_quarter_of_the_document(before, text):
    """Whether that is seen by comparing or from the lengths."""
    hunks = hunks_of(before, *changed_span(before, text))
    context = conversations._Context("a", "", text, before)
    assert context.shown().startswith("a has changed:") == (4 * len(hunks) <= len(text))
