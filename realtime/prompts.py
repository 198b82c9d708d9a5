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
from dataclasses import dataclass
from typing import Final, Protocol

from .chat_template import render_around_message
from .document import Document
from .errors import Refused
from .protocol import ErrorCode

_CONTEXT_LINES: Final = ((40, 20), (20, 10), (8, 4), (0, 0))
"""Lines before and after the range, from the most to the least."""
_CONTEXT_CHARS: Final = 6000
_SAMPLE_CHARS: Final = 4000
"""How much of a completion's text is tokenised to learn how much fits."""
_ROOM_TO_GROW: Final = 64
"""Tokens that an edit's answer may always have beyond those of the range."""
_MAX_CHARS_PER_TOKEN: Final = 16
"""Text longer than this times the room is refused without tokenising it, which would hold up the event loop."""


class PromptTokenizer(Protocol):
    """What prompts need of a tokenizer."""

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


class PromptBuilder:
    """Lays out prompts for one model.

    ``max_tokens`` is what a sequence may have, prompt and output together.
    """

    def __init__(self, tokenizer: PromptTokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        if tokenizer.chat_template is not None:
            head, tail = render_around_message(tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token)
            self._head, self._tail = tokenizer.encode_template(head), tokenizer.encode_template(tail)
        else:
            self._head, self._tail = self._bos(), tokenizer.encode("\n\n")

    def complete(
        self, document: Document, index: int, max_tokens: int, stop: tuple[str, ...], replay: str | None
    ) -> PromptPlan:
        """Plan a completion at a string index: the text before it as it stands.

        Of a long text, a window: it leaves room for ``max_tokens``, but has at least half of what a sequence may.
        """
        bos = self._bos()
        room = self._max_tokens - min(max_tokens, self._max_tokens // 2) - len(bos)
        tokens = self._window(document.text, index, room) or self._tokenizer.encode("\n")
        newline = document.newline
        if replay is not None and newline == "\r\n":
            replay = _lf(replay)
        return PromptPlan(
            prompt=bos + tokens,
            stop=tuple(map(_lf, stop)),
            newline=newline,
            replay=None if replay is None else self._tokenizer.encode(replay),
        )

    def edit(
        self,
        document: Document,
        start: int,
        end: int,
        instruction: str,
        max_tokens: int,
        stop: tuple[str, ...],
        replay: str | None,
    ) -> PromptPlan:
        """Plan an edit of the string indices [start, end).

        Raises:
            Refused: PROMPT_TOO_LONG, there is no room for prompt and answer even without surrounding lines.

        """
        text = document.text
        if (chars := end - start + len(instruction)) > _MAX_CHARS_PER_TOKEN * self._max_tokens:
            raise self._too_long(chars // _MAX_CHARS_PER_TOKEN, "more than ")
        region = _lf(text[start:end])
        replayed = None if replay is None else _lf(replay)
        final_newline = region.endswith("\n") or (start == end and _begins_line(text, start))
        if replayed:
            final_newline = final_newline and replayed.endswith("\n")
        language = re.sub(r"[^\w+#.-]", "", document.language)
        encode = self._tokenizer.encode
        needed = 0
        for lines_before, lines_after in _CONTEXT_LINES:
            before = _lf(text[_lines_before(text, start, lines_before) : start])
            after = _lf(text[end : _lines_after(text, end, lines_after)])
            fence = _fence(language, before, region, after, instruction, replayed or "")
            message = _edit_message(language, fence, before, region, after, instruction.strip())
            prompt = [*self._head, *encode(message), *self._tail, *encode(f"{fence}{language}\n")]
            draft = encode(_answer(region, final_newline, fence))
            needed = len(prompt) + min(max_tokens, len(draft) + _ROOM_TO_GROW)
            if needed <= self._max_tokens:
                return PromptPlan(
                    prompt=prompt,
                    stop=(f"\n{fence}", *map(_lf, stop)),
                    newline=document.newline,
                    draft=draft,
                    replay=None if replayed is None else encode(_answer(replayed, final_newline, fence)),
                    fence=fence,
                    final_newline=final_newline,
                )
        raise self._too_long(needed)

    def _window(self, text: str, end: int, room: int) -> list[int]:
        """The tokens of the text up to ``end``, or of its last lines that are sure to fit.

        How many characters make a token is measured, first on the last ones, so that a long window is tokenised
        once or twice. Where it begins depends on nothing but the text.
        """
        encode = self._tokenizer.encode
        start = max(end - _SAMPLE_CHARS, 0)
        tokens = encode(_lf(text[start:end]))
        if start == 0 and len(tokens) <= room:
            return tokens
        quarters = 4 * (end - start) // len(tokens)  # characters in four tokens
        while True:
            start = _window_start(text, end, room * quarters // 4, max(room // 4, 1))
            tokens = encode(_lf(text[start:end]))
            if len(tokens) <= room or quarters <= 1:  # a character takes at most four tokens, one for each byte
                return tokens
            quarters = max(min(quarters - 1, 4 * (end - start) // len(tokens)), 1)

    def _bos(self) -> list[int]:
        bos = self._tokenizer.bos_id
        return [bos] if self._tokenizer.adds_bos and bos is not None else []

    def _too_long(self, needed: int, more: str = "") -> Refused:
        return Refused(
            ErrorCode.PROMPT_TOO_LONG,
            f"the request needs {more}{needed} tokens for its prompt and its answer, and {self._max_tokens} are "
            "available; name a smaller range",
        )


def _edit_message(language: str, fence: str, before: str, region: str, after: str, instruction: str) -> str:
    parts = [
        f"{title}:\n{fence}{language}\n{_closed(code)}{fence}\n"
        for title, code in (("Code before", before), ("Code after", after))
        if code.strip()
    ]
    parts.append(f"Code to rewrite:\n{fence}{language}\n{_closed(region)}{fence}\n")
    parts.append(f"Instruction: {instruction}")
    return "\n".join(parts)


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
    its tokens stay a prefix of what is cached. A line longer than the window is cut at the step.
    """
    if end <= chars:
        return 0
    start = min(-(-(end - chars) // step) * step, end)
    line = text.find("\n", start - 1, end)
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
