"""From a document and a place in it to the tokens a model is given, and what its answer means.

An edit is asked for in this form (the model's chat template around it), code first and the instruction last, so
that all but the instruction can be warm before it is known::

    Code before:        ⎫
    ```python           ⎪ a few lines above and below,
    ...                 ⎬ dropped first where room is short
    ```                 ⎪
    Code after: ...     ⎭
    Code to rewrite:
    ```python
    ...the range...
    ```
    Instruction: ...

and the reply is opened with the fence's first line, so that the model goes on with the new text. The fence is
longer than any run of backticks in what it encloses. Models see LF line ends only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import msgspec

from ..documents.document_text import DocumentText
from ..documents.tokens import Span, WordTokenizer
from ..errors import Refused
from ..protocol import ErrorCode
from .chat_template import render_around_message
from .edit_frame import EditFrame, closing_of
from .fences import fence, is_code, lf, named
from .fill_in_middle import FillForm
from .held_text import text_to_hold
from .near_last import split
from .windows import MAX_CHARS_PER_TOKEN, Window, lines_after, reach

_FILL_LINES: Final = 30
"""What is shown of the text after the cursor, where the model can fill in."""
_LITTLE_CHARS: Final = 512
"""Where a completion sees no more than this of a text, from its beginning, that is shown as code in a fence."""
_AHEAD_CHARS: Final = 64
"""How many keys before a window moves the next one is computed: five seconds of fast typing."""
_ROOM_TO_GROW: Final = 64
"""Tokens that an edit's answer may always have beyond those of the range."""
_SHARES: Final = (16, 8, 4, 2)
"""Parts of what a sequence may have that are kept for a completion. Few of them, so that requests with different
``max_tokens`` see the same window."""
_USUAL_ANSWER: Final = 512
"""Tokens that a completion may have unless it says otherwise. So much room is always kept, a quarter at most."""
_INSTRUCTION_SHARE: Final = 32
"""The part of what a sequence may have that is kept for an instruction."""


class PromptTokenizer(WordTokenizer, Protocol):
    """What prompts need of a tokenizer; what looks like a special token is plain text to ``encode``."""

    bos_id: int | None
    adds_bos: bool
    bos_token: str
    eos_token: str
    chat_template: str | None

    def encode_template(self, text: str) -> list[int]:
        """Tokens of a template's own text, special tokens included."""


class PromptPlan(msgspec.Struct, frozen=True):
    """What the engine is given for a request, and how its text becomes the answer.

    Attributes:
        draft: what the output will probably repeat.
        replay: what the output must be (replay mode).
        stop: strings that end the output, in the model's line ends.
        newline: the document's line end.
        fence: an edit's closing fence; output that starts with it is an empty answer.
        final_newline: the newline before the closing fence belongs to an edit's answer.
        accepted_tokens: how many of the prompt's last tokens are text that was accepted already.
        held: the end of the accepted text that the prompt leaves to the model, see `HeldText`.
    """

    prompt: list[int]
    stop: tuple[str, ...]
    newline: str
    draft: list[int] | None = None
    replay: list[int] | None = None
    fence: str = ""
    final_newline: bool = False
    accepted_tokens: int = 0
    held: str = ""


class Layout(msgspec.Struct, frozen=True):
    """What a request's prompt is made of, still as text.

    Attributes:
        chars: about how many characters there are to tokenise, at most.
        plan: does that, in whatever thread. Raises `Refused`, PROMPT_TOO_LONG, where there is no room.
    """

    chars: int
    plan: Callable[[], PromptPlan]


class PromptBuilder:
    """Lays out prompts for one model.

    A layout holds the text as it is now; what is changed in the document afterwards doesn't reach it.
    ``max_tokens`` is what a sequence may have, prompt and output together. ``fill`` is how the model takes the text
    on both sides of the cursor, if it was taught to.
    """

    def __init__(self, tokenizer: PromptTokenizer, max_tokens: int, fill: FillForm | None = None) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._fill = fill
        self._fill_marks: list[list[int]] = []
        self._near_mark: list[int] = []
        self._most_before = max_tokens
        if fill is not None:
            self._near_mark = [token for mark in fill.near for token in tokenizer.encode_template(mark)]
            self._most_before = fill.window or max_tokens
            marks = fill.first, fill.second, fill.end
            self._fill_marks = [
                [token for mark in part for token in tokenizer.encode_template(mark)] for part in marks
            ]
        if tokenizer.chat_template is not None:
            head, tail = render_around_message(tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token)
            self._head, self._tail = tokenizer.encode_template(head), tokenizer.encode_template(tail)
        else:
            self._head, self._tail = self._bos(), tokenizer.encode("\n\n")
        # What an edit's prompt says up to the instruction has the same tokens whatever the instruction: it ends with
        # a word after which text can be cut, or else is tokenised apart from the rest.
        self._seam = "Instruction" if ":" in tokenizer.word_ends else ""

    # Completions -----------------------------------------------------------------------------------------------

    def complete(
        self, document: DocumentText, index: int, max_tokens: int, stop: tuple[str, ...], replay: str | None
    ) -> Layout:
        """Lay out a completion at a string index: the text before it as it stands.

        Of a long text, a window: it leaves room for ``max_tokens``, but has at least half of what a sequence may. A
        model that was taught to fill in sees some lines after the index, too. Where there is hardly anything to see,
        a model that talks is told that it is code: an opened fence with the language comes first.

        Raises:
            Refused: PROMPT_TOO_LONG, the replay can't fit.

        """
        self._check_replay(replay)
        bos = self._bos()
        room = self._max_tokens - self._kept_for(max_tokens) - len(bos)
        newline = document.newline
        replayed = None if replay is None else lf(replay) if newline == "\r\n" else replay
        memory, key = document.tokens.prompts, (self, index, room)
        near = MAX_CHARS_PER_TOKEN * self._most_before
        ends: tuple[str, ...] = ()
        if replay is None:
            ends = self.ends(document.text[max(index - near, 0) : index + near])
            if opening := self._opening(document, index, self._after(document.text, index)):
                ends = (*ends, opening[0])

        def planned(prompt: list[int]) -> PromptPlan:
            return PromptPlan(
                prompt=prompt,
                stop=(*map(lf, stop), *ends),
                newline=newline,
                replay=None if replayed is None else self._tokenizer.encode(replayed),
            )

        known = memory.get(key)
        if known is not None:
            return Layout(len(replay or ""), partial(planned, known))
        shown = self._shown_near_last if self._near_mark else self._shown
        pending, tokens = shown(document, index, room)

        def plan() -> PromptPlan:
            prompt = bos + tokens()
            memory.put(key, prompt)
            return planned(prompt)

        return Layout(pending + len(replay or ""), plan)

    def warm_complete(self, document: DocumentText, index: int) -> Layout:
        """The prompt of a completion at a string index, to be computed before it is asked for.

        It is that of any that doesn't ask for more tokens than usual.
        """
        return self.complete(document, index, 1, (), None)

    def warm_open(self, document: DocumentText) -> Layout | None:
        """What the prompts of completions anywhere in a document begin with; None if they have too little in common.

        That is the document's text where all of it fits, for models that are shown the text from its beginning.
        """
        if self._fill is not None and self._fill.order == "spm":
            return None
        if not document.text or len(document.text) > 4 * self._most_before:
            return None
        return self.warm_complete(document, len(document.text))

    def warm_ahead(self, document: DocumentText, index: int) -> Layout | None:
        """What a completion's prompt will begin with when some more was typed at a string index.

        None where it begins like that of a completion there now: the window stays. One key in a thousand moves it,
        and has its whole prompt computed if nobody did before.
        """
        room = self._max_tokens - self._kept_for(1) - len(self._bos())
        if self._near_mark:
            return None
        text, most = document.text, min(room, self._most_before)
        view = document.tokens.view(self._tokenizer, text, self._seen(text, index, most))
        window = Window(view, text, index, most)
        if not window.moves(most, _AHEAD_CHARS):
            return None
        pending, tokens = self._shown(document, index, room, _AHEAD_CHARS)
        bos, newline = self._bos(), document.newline
        return Layout(pending, lambda: PromptPlan([*bos, *tokens()], (), newline))

    def _seen(self, text: str, index: int, most: int) -> Span:
        """What of a text a completion's prompt is made from, at most."""
        return max(index - reach(most), 0), self._after(text, index)[1]

    def _shown(
        self, document: DocumentText, index: int, room: int, ahead: int = 0
    ) -> tuple[int, Callable[[], list[int]]]:
        """About how many characters of a completion's prompt are to be tokenised, and what makes its tokens.

        With ``ahead`` its window begins where it will with so many characters more.
        """
        text = document.text
        after = self._after(text, index)
        most = min(room, self._most_before)
        view = document.tokens.view(self._tokenizer, text, self._seen(text, index, most))
        window = Window(view, text, index, most)
        opening = self._opening(document, index, after)

        def tokens() -> list[int]:
            shown = view.encode(after) if after[0] < after[1] else []
            if shown and len(shown) < room // 2:
                return self._filled_in(window, room, shown, ahead)
            if opening:
                fenced = self._tokenizer.encode("".join(opening)) + (view.encode((0, index)) if index else [])
                if len(fenced) <= most:
                    return fenced
            return window.tokens(most, ahead) or self._tokenizer.encode("\n")

        return window.pending(most) + view.pending(*after), tokens

    def _shown_near_last(self, document: DocumentText, index: int, room: int) -> tuple[int, Callable[[], list[int]]]:
        """The same in the order of `NearLast`. Where room is short, the far part is left out first."""
        text, parts = document.text, split(document.text, index)
        most = min(room, self._most_before)
        earliest = max(parts.line[0] - reach(most), 0)
        view = document.tokens.view(self._tokenizer, text, (earliest, parts.far[1]))
        window = Window(view, text, parts.line[0], most)

        def tokens() -> list[int]:
            first, second, _ = self._fill_marks
            far, near, line = (view.encode(span) if span[0] < span[1] else [] for span in parts)
            marks = len(first) + 2 * len(second) + len(self._near_mark)
            share = max(room - marks, 0) // 4
            near, line = near[:share], line[-share:] if share else []
            if len(far) > share:
                far = []
            before = min(room - marks - len(far) - len(near) - len(line), self._most_before)
            return [
                *first, *far, *second, *window.tokens(max(before, 0)), *self._near_mark, *near, *second, *line,
            ]  # fmt: skip

        return window.pending(most) + sum(view.pending(*part) for part in parts), tokens

    def _filled_in(self, window: Window, room: int, after: list[int], ahead: int) -> list[int]:
        """A prompt of both sides of the cursor."""
        assert self._fill is not None
        first, second, end = self._fill_marks
        taken = len(first) + len(second) + len(end) + len(after)
        before = window.tokens(min(room - taken, self._most_before), ahead)
        if self._fill.order == "psm":
            return [*first, *before, *second, *after, *end]
        return [*first, *after, *second, *(before or self._tokenizer.encode("\n")), *end]

    def _opening(self, document: DocumentText, index: int, after: Span) -> tuple[str, str] | None:
        """The fence that is opened before little code, and the rest of its line; None if it is for the model to see.

        Of an empty file the likeliest text is prose to a model that learnt to talk, and so it is of a few characters;
        one trained on code as it stands needs no telling.
        """
        talks = self._tokenizer.chat_template is not None and (self._fill is None or bool(self._fill.ends))
        if not talks or self._near_mark or index > _LITTLE_CHARS or after[0] < after[1]:
            return None
        if not is_code(document.language):
            return None
        language = named(document.language)
        return fence(language, document.text[:index]), f"{language}\n"

    def _after(self, text: str, index: int) -> Span:
        """Some lines of the text after the index; none if they are blank or the model can't take them."""
        if self._fill is None:
            return index, index
        start, end = lines_after(text, index, _FILL_LINES)
        return (start, end) if text[start:end].strip() else (index, index)

    def _kept_for(self, answer: int) -> int:
        """What of a sequence is kept for an answer of so many tokens: a part of it, at most half."""
        answer = max(answer, min(_USUAL_ANSWER, self._max_tokens // 4))
        parts = [self._max_tokens // share for share in _SHARES]
        return next((part for part in parts if part >= answer), parts[-1])

    def ends(self, *texts: str) -> tuple[str, ...]:
        """What ends a completion of these texts, by a model that ends some with what is in none of them.

        See `FillForm.ends`.
        """
        ends = () if self._fill is None else self._fill.ends
        return () if any(end in text for end in ends for text in texts) else ends

    def raw(self, before: str, after: str = "") -> list[int]:
        """The tokens of a completion of a text that is no document, or between two such texts, all of them.

        Raises:
            Refused: INVALID_PARAMETER, there is a text after, and the model was not taught to fill in.

        """
        encode = self._tokenizer.encode
        if not after:
            return self._bos() + (encode(before) or encode("\n"))
        if self._fill is None:
            raise Refused(
                ErrorCode.INVALID_PARAMETER, "this model was not taught to fill in; leave out what comes after"
            )
        first, second, end = self._fill_marks
        if self._near_mark:
            text = before + after
            far, near, line = split(text, len(before))
            return [
                *self._bos(), *first, *encode(text[slice(*far)]), *second, *encode(text[: line[0]]),
                *self._near_mark, *encode(text[slice(*near)]), *second, *encode(text[slice(*line)]),
            ]  # fmt: skip
        sides = (before, after) if self._fill.order == "psm" else (after, before)
        return [*self._bos(), *first, *encode(sides[0]), *second, *encode(sides[1]), *end]

    # Edits -----------------------------------------------------------------------------------------------------

    def edit(
        self,
        document: DocumentText,
        start: int,
        end: int,
        instruction: str,
        max_tokens: int,
        stop: tuple[str, ...],
        replay: str | None,
        accepted: str = "",
        remaining: str | None = None,
    ) -> Layout:
        """Lay out an edit of the string indices [start, end).

        ``accepted`` is new text that the answer begins with: the prompt goes on with it behind the opened fence, so
        that the model writes what follows. Draft and replay are then of what follows, too: ``remaining`` is the
        original text that is left to rewrite, None for the whole range.

        The accepted text is tokenised apart from the fence's line, as an answer's tokens are when a model writes
        them. So the prompt is that of the same edit without it, and then its tokens. White space at its end whose
        tokens depend on what follows is left out, and is ``held`` by the plan: the model says it first.

        Raises:
            Refused: PROMPT_TOO_LONG, so much text can't fit.

        """
        left = end - start if remaining is None else len(remaining)
        prompt_tokens = (end - start + len(instruction) + len(accepted)) // MAX_CHARS_PER_TOKEN
        answer_tokens = min(max_tokens, left // MAX_CHARS_PER_TOKEN + _ROOM_TO_GROW)
        advice = _how_to_fit(document.text[start:end], instruction + accepted)
        if prompt_tokens + answer_tokens > self._max_tokens:
            raise self._too_long(prompt_tokens + answer_tokens, advice, "more than ")
        self._check_replay(replay)
        accepted, replayed = lf(accepted), None if replay is None else lf(replay)
        frame = EditFrame(document, self._tokenizer, start, end, (instruction, accepted + (replayed or "")))
        newline = document.newline
        request = f"{'Instruction: '.removeprefix(self._seam)}{instruction.strip()}"
        final_newline = frame.final_newline
        if replayed is not None and (answer := accepted + replayed):
            final_newline = final_newline and answer.endswith("\n")
        rest = frame.region if remaining is None else lf(remaining)
        closing = closing_of(accepted + rest, final_newline, frame.fence)
        if replayed is not None:
            replayed += closing_of(accepted + replayed, final_newline, frame.fence)

        def plan() -> PromptPlan:
            encode = self._tokenizer.encode
            code = frame.code(self._seam)
            asked = encode(request)
            held = text_to_hold(encode, accepted)
            if any(string in held for string in stop):
                held = ""  # it would end the answer at once
            given = encode(accepted.removesuffix(held))
            reply = [*self._tail, *encode(frame.opening), *given]
            if remaining is None:
                draft = frame.view.encode(held, (start, end), closing)
            else:
                draft = encode(held + rest + closing)
            needed = len(self._head) + len(code) + len(asked) + len(reply)
            needed += min(max_tokens, len(draft) + _ROOM_TO_GROW)
            if needed > self._max_tokens:
                raise self._too_long(needed, advice)
            shown = frame.surroundings(self._max_tokens - max(needed, self._expected(code)))
            return PromptPlan(
                prompt=[*self._head, *shown, *code, *asked, *reply],
                stop=(f"\n{frame.fence}", *map(lf, stop)),
                newline=newline,
                draft=draft,
                replay=None if replayed is None else encode(held + replayed),
                fence=frame.fence,
                final_newline=final_newline,
                accepted_tokens=len(given),
                held=held,
            )

        repeated = frame.view.pending(start, end) if remaining is None else len(rest)
        chars = frame.pending + repeated + len(request) + len(accepted) + len(replayed or "") + len(closing)
        return Layout(chars, plan)

    def warm_edit(self, document: DocumentText, start: int, end: int) -> Layout:
        """What the prompt of an edit of [start, end) begins with, whatever its instruction: all up to that.

        An instruction that takes more than its usual part of a sequence, or that has a longer run of backticks than
        the code, may make another prompt.

        Raises:
            Refused: PROMPT_TOO_LONG, so much text can't fit.

        """
        advice = _how_to_fit(document.text[start:end], "")
        if (tokens := 2 * (end - start) // MAX_CHARS_PER_TOKEN) > self._max_tokens:
            raise self._too_long(tokens, advice, "more than ")
        frame = EditFrame(document, self._tokenizer, start, end, ())
        newline = document.newline

        def plan() -> PromptPlan:
            code = frame.code(self._seam)
            if (expected := self._expected(code)) > self._max_tokens:
                raise self._too_long(expected, advice)
            shown = frame.surroundings(self._max_tokens - expected)
            return PromptPlan([*self._head, *shown, *code], (), newline)

        return Layout(frame.pending, plan)

    def _expected(self, code: list[int]) -> int:
        """The tokens of a usual edit without its surroundings: the range twice, an instruction, and room to grow."""
        instruction = self._max_tokens // _INSTRUCTION_SHARE
        return len(self._head) + 2 * len(code) + instruction + len(self._tail) + _ROOM_TO_GROW

    def _bos(self) -> list[int]:
        bos = self._tokenizer.bos_id
        return [bos] if self._tokenizer.adds_bos and bos is not None else []

    def _check_replay(self, replay: str | None) -> None:
        if replay is not None and (tokens := len(replay) // MAX_CHARS_PER_TOKEN) > self._max_tokens:
            raise self._too_long(tokens, "shorten what is replayed", "more than ")

    def _too_long(self, needed: int, advice: str, more: str = "") -> Refused:
        return Refused(
            ErrorCode.PROMPT_TOO_LONG,
            f"the request needs {more}{needed} tokens for its prompt and its answer, and {self._max_tokens} are "
            f"available; {advice}",
        )


def _how_to_fit(region: str, added: str) -> str:
    """What to do about an edit that is too long: of a range, with an instruction and what is accepted."""
    if len(added) > len(region):
        return "shorten the instruction, or what is accepted"
    return "name a smaller range" if "\n" in region.rstrip("\r\n") else "break up the line, or name a part of it"
