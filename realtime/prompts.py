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

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from .chat_template import render_around_message
from .document import Document
from .errors import Refused
from .protocol import ErrorCode

_CONTEXT_LINES: Final = ((20, 10), (8, 4))
"""Lines before and after the range, from the most to the least; none if these don't fit."""
_CONTEXT_CHARS: Final = 6000
_FILL_LINES: Final = 30
"""What is shown of the text after the cursor, where the model can fill in."""
_FILL_WINDOW: Final = 1024
"""Tokens of the text before the cursor that are shown then: such models are small, and trained on short windows."""
_SAMPLE_CHARS: Final = 4000
"""How much of a completion's text is tokenised to learn how much fits."""
_ROOM_TO_GROW: Final = 64
"""Tokens that an edit's answer may always have beyond those of the range."""
_MAX_CHARS_PER_TOKEN: Final = 8
"""A token of code has 3 or 4 characters. Text that would need more than this many for each is taken not to fit and
isn't tokenised, so that a request costs time in the size of the model's context and not of its document."""


class PromptTokenizer(Protocol):
    """What prompts need of a tokenizer. It is used by several threads at once."""

    bos_id: int | None
    adds_bos: bool
    bos_token: str
    eos_token: str
    chat_template: str | None

    def encode(self, text: str) -> list[int]:
        """Tokens of plain text; what looks like a special token is text."""

    def encode_template(self, text: str) -> list[int]:
        """Tokens of a template's own text, special tokens included."""


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """What the engine is given for a request, and how its text becomes the answer.

    Attributes:
        draft: what the output will probably repeat.
        replay: what the output must be (replay mode).
        stop: strings that end the output, in the model's line ends.
        newline: the document's line end.
        fence: an edit's closing fence; output that starts with it is an empty answer.
        final_newline: the newline before the closing fence belongs to an edit's answer.
    """

    prompt: list[int]
    stop: tuple[str, ...]
    newline: str
    draft: list[int] | None = None
    replay: list[int] | None = None
    fence: str = ""
    final_newline: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
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
    ``max_tokens`` is what a sequence may have, prompt and output together. ``fill_marks`` are the tokens between
    which a model takes the text after the cursor, if it was taught to; the suffix goes first, so that typing only
    appends to the prompt.
    """

    def __init__(
        self, tokenizer: PromptTokenizer, max_tokens: int, fill_marks: tuple[str, str] | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._fill_marks = None if fill_marks is None else tuple(map(tokenizer.encode_template, fill_marks))
        if tokenizer.chat_template is not None:
            head, tail = render_around_message(tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token)
            self._head, self._tail = tokenizer.encode_template(head), tokenizer.encode_template(tail)
        else:
            self._head, self._tail = self._bos(), tokenizer.encode("\n\n")

    def complete(
        self, document: Document, index: int, max_tokens: int, stop: tuple[str, ...], replay: str | None
    ) -> Layout:
        """Lay out a completion at a string index: the text before it as it stands.

        Of a long text, a window: it leaves room for ``max_tokens``, but has at least half of what a sequence may. A
        model that was taught to fill in sees some lines after the index, too.

        Raises:
            Refused: PROMPT_TOO_LONG, the replay can't fit.

        """
        self._check_replay(replay)
        bos = self._bos()
        room = self._max_tokens - min(max_tokens, self._max_tokens // 2) - len(bos)
        text, newline = document.text, document.newline
        if replay is not None and newline == "\r\n":
            replay = _lf(replay)

        after = self._after(text, index)

        def plan() -> PromptPlan:
            encode = self._tokenizer.encode
            head, most = bos, room
            if self._fill_marks is not None and after:
                suffix_mark, prefix_mark = self._fill_marks
                shown = encode(after)
                if len(shown) < room // 2:
                    head = [*bos, *suffix_mark, *shown, *prefix_mark]
                    most = min(room - len(head) + len(bos), _FILL_WINDOW)
            return PromptPlan(
                prompt=head + (self._window(text, index, most) or encode("\n")),
                stop=tuple(map(_lf, stop)),
                newline=newline,
                replay=None if replay is None else encode(replay),
            )

        sampled = 0 if index <= _SAMPLE_CHARS else _SAMPLE_CHARS
        return Layout(min(index, _MAX_CHARS_PER_TOKEN * room) + sampled + len(replay or ""), plan)

    def edit(
        self,
        document: Document,
        start: int,
        end: int,
        instruction: str,
        max_tokens: int,
        stop: tuple[str, ...],
        replay: str | None,
    ) -> Layout:
        """Lay out an edit of the string indices [start, end).

        Raises:
            Refused: PROMPT_TOO_LONG, so much text can't fit.

        """
        text, newline = document.text, document.newline
        prompt_tokens = (end - start + len(instruction)) // _MAX_CHARS_PER_TOKEN
        answer_tokens = min(max_tokens, (end - start) // _MAX_CHARS_PER_TOKEN + _ROOM_TO_GROW)
        if prompt_tokens + answer_tokens > self._max_tokens:
            raise self._too_long(prompt_tokens + answer_tokens, "more than ")
        self._check_replay(replay)
        region = _lf(text[start:end])
        replayed = None if replay is None else _lf(replay)
        final_newline = region.endswith("\n") or (start == end and _begins_line(text, start))
        if replayed:
            final_newline = final_newline and replayed.endswith("\n")
        around = [
            (_lf(text[_lines_before(text, start, before) : start]), _lf(text[end : _lines_after(text, end, after)]))
            for before, after in _CONTEXT_LINES
        ]
        language = re.sub(r"[^\w+#.-]", "", document.language)
        fence = _fence(language, *around[0], region, instruction, replayed or "")
        surroundings = [_code_around(f"{fence}{language}", fence, before, after) for before, after in around]
        request = (
            f"Code to rewrite:\n{fence}{language}\n{_closed(region)}{fence}\n\nInstruction: {instruction.strip()}"
        )
        repeated = _answer(region, final_newline, fence)
        replayed = None if replayed is None else _answer(replayed, final_newline, fence)

        def plan() -> PromptPlan:
            encode = self._tokenizer.encode
            message = encode(request)
            reply = [*self._tail, *encode(f"{fence}{language}\n")]
            draft = encode(repeated)
            needed = len(self._head) + len(message) + len(reply) + min(max_tokens, len(draft) + _ROOM_TO_GROW)
            if needed > self._max_tokens:
                raise self._too_long(needed)
            shown = self._first_that_fits(surroundings, self._max_tokens - needed)
            return PromptPlan(
                prompt=[*self._head, *shown, *message, *reply],
                stop=(f"\n{fence}", *map(_lf, stop)),
                newline=newline,
                draft=draft,
                replay=None if replayed is None else encode(replayed),
                fence=fence,
                final_newline=final_newline,
            )

        return Layout(len(request) + len(repeated) + len(surroundings[0]) + len(replayed or ""), plan)

    def _after(self, text: str, index: int) -> str:
        """Some lines of the text after the index; empty if they are blank or the model can't take them."""
        if self._fill_marks is None:
            return ""
        after = _lf(text[index : _lines_after(text, index, _FILL_LINES)])
        return after if after.strip() else ""

    def _first_that_fits(self, texts: Iterable[str], room: int) -> list[int]:
        """The tokens of the first of some texts that has no more than there is room for; none if all have."""
        for text in dict.fromkeys(texts):
            if len(text) <= _MAX_CHARS_PER_TOKEN * room:
                tokens = self._tokenizer.encode(text)
                if len(tokens) <= room:
                    return tokens
        return []

    def _window(self, text: str, end: int, room: int) -> list[int]:
        """The tokens of the text up to ``end``, or of its last lines that are sure to fit.

        How many characters make a token is measured, first on the last ones, so that a long window is tokenised
        once or twice, and more often only where it is much shorter then. Where it begins depends on nothing but the
        text.
        """
        encode = self._tokenizer.encode
        start = max(end - _SAMPLE_CHARS, 0)
        tokens = encode(_lf(text[start:end]))
        if start == 0 and len(tokens) <= room:
            return tokens
        # Counted in characters that make four tokens, to stay with integers.
        quarters = min(4 * (end - start) // max(len(tokens), 1), 4 * _MAX_CHARS_PER_TOKEN)
        retried = False
        while True:
            start = _window_start(text, end, room * quarters // 4, max(room // 4, 1))
            tokens = encode(_lf(text[start:end]))
            if len(tokens) <= room or quarters <= 1:  # a character takes at most four tokens, one for each byte
                return tokens
            most = quarters // 2 if retried else quarters - 1
            quarters = max(min(most, 4 * (end - start) // len(tokens)), 1)
            retried = True

    def _bos(self) -> list[int]:
        bos = self._tokenizer.bos_id
        return [bos] if self._tokenizer.adds_bos and bos is not None else []

    def _check_replay(self, replay: str | None) -> None:
        if replay is not None and (tokens := len(replay) // _MAX_CHARS_PER_TOKEN) > self._max_tokens:
            raise self._too_long(tokens, "more than ")

    def _too_long(self, needed: int, more: str = "") -> Refused:
        return Refused(
            ErrorCode.PROMPT_TOO_LONG,
            f"the request needs {more}{needed} tokens for its prompt and its answer, and {self._max_tokens} are "
            "available; name a smaller range",
        )


def _code_around(opening: str, fence: str, before: str, after: str) -> str:
    return "".join(
        f"{title}:\n{opening}\n{_closed(code)}{fence}\n\n"
        for title, code in (("Code before", before), ("Code after", after))
        if code.strip()
    )


def _answer(text: str, final_newline: bool, fence: str) -> str:
    """What the model says after the opened fence when its answer is this text."""
    if not text or final_newline:
        return text + fence
    return f"{text}\n{fence}"


def _closed(code: str) -> str:
    return code if not code or code.endswith("\n") else code + "\n"


def _fence(language: str, *texts: str) -> str:
    """A fence longer than any run of backticks in the texts; Markdown gets a longer one, since it adds fences."""
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    shortest = 4 if language.lower() in ("markdown", "md", "mdx", "quarto", "rmd") else 3
    return "`" * max(shortest, longest + 1)


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _begins_line(text: str, index: int) -> bool:
    """Whether something stands at this index that begins a line, so that what goes before it needs a newline."""
    return index < len(text) and text[index] not in "\r\n" and (index == 0 or text[index - 1] == "\n")


def _window_start(text: str, end: int, chars: int, step: int) -> int:
    """Where a window of at most ``chars`` characters up to ``end`` begins.

    It begins at the first line after a multiple of ``step``, so that it stays where it is while a person types and
    its tokens stay a prefix of what is cached. Where no line begins within a step, the line is cut.
    """
    if end <= chars:
        return 0
    start = min(-(-(end - chars) // step) * step, end)
    line = text.find("\n", start - 1, min(start + step, end))
    return start if line < 0 else line + 1


def _lines_before(text: str, end: int, lines: int) -> int:
    start = end
    earliest = max(end - _CONTEXT_CHARS, 0)
    for _ in range(lines):
        line = text.rfind("\n", earliest, max(start - 1, 0)) + 1
        if start == 0 or (line == 0 and earliest > 0):
            break
        start = line
    return start


def _lines_after(text: str, start: int, lines: int) -> int:
    end = start
    latest = min(start + _CONTEXT_CHARS, len(text))
    for _ in range(lines):
        line = text.find("\n", end, latest) + 1
        if line == 0:
            return len(text) if latest == len(text) else end
        end = line
    return end
