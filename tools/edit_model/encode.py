"""From a record to the tokens the model is trained on: prompt and answer exactly as they are when serving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from warmline.engine import Tokenizer

# The service's own modules rather than the package's public names: the model has to see in training what it will be
# given, so its prompts are built by what builds them when serving.
from warmline.realtime.documents.document import Document
from warmline.realtime.editing.steering import joined
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Open

from .record import CompletionRecord, EditRecord, Record

END: Final = "<|im_end|>"
FILL_MARKS: Final = ("<jupyter_text>", "<jupyter_code>", "<jupyter_output>")
"""Tokens of the vocabulary that no prompt of ours has a use for: they stand before the text after the cursor, before
the text before it, and before what of the first is near the cursor."""

LANGUAGE_IDS: Final = {"tsx": "typescriptreact"}
"""What editors call a language, where it isn't its name here."""

_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Encoded:
    """A record's tokens.

    Attributes:
        answer: what the model has to say, its end token last, unless it is cut.
        given: how many of the answer's first tokens had been given already, so that no loss is taken there.
        draft: what the answer of an edit would be if nothing changed.
        cut: whether the answer ends before its end.
    """

    prompt: list[int]
    answer: list[int]
    given: int = 0
    draft: tuple[int, ...] = ()
    cut: bool = False


class RecordEncoder:
    """Tokenises records for one model.

    Raises:
        ValueError: the tokenizer lacks one of the marks.

    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int = 8192) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._prompts = PromptBuilder(tokenizer, max_tokens, FillForm.taught(FILL_MARKS))
        self._end, *_ = [self._mark(text) for text in (END, *FILL_MARKS)]

    def encode(self, record: Record) -> Encoded:
        """The record's tokens.

        Raises:
            Refused: an edit has no room in ``max_tokens``.

        """
        if isinstance(record, EditRecord):
            return self._edit(record)
        return self._completion(record)

    def _edit(self, record: EditRecord) -> Encoded:
        document = self._document(record.language, record.prefix + record.before + record.suffix)
        start = len(record.prefix)
        end = start + len(record.before)
        layout = self._prompts.edit(
            document, start, end, joined(record.instructions), self._max_tokens, (), record.after
        )
        plan = layout.plan()
        assert plan.replay is not None
        given = self._tokens_within(plan.replay, record.accepted)
        return Encoded(plan.prompt, [*plan.replay, self._end], given, tuple(plan.draft or ()))

    def _completion(self, record: CompletionRecord) -> Encoded:
        document = self._document(record.language, record.prefix + record.suffix)
        layout = self._prompts.complete(document, len(record.prefix), self._max_tokens, (), record.middle)
        plan = layout.plan()
        assert plan.replay is not None
        return Encoded(plan.prompt, [*plan.replay, self._end])

    def _document(self, language: str, text: str) -> Document:
        language = LANGUAGE_IDS.get(language, language)
        return Document(Open(document="file", version=1, language=language, text=text), _LIMITS)

    def _tokens_within(self, tokens: Sequence[int], text: str) -> int:
        """How many of the tokens lie wholly within the text they begin with."""
        room = len(text.encode())
        for count, token in enumerate(tokens):
            room -= len(self._tokenizer.token_bytes(token))
            if room < 0:
                return count
        return len(tokens)

    def _mark(self, text: str) -> int:
        tokens = self._tokenizer.encode_template(text)
        if len(tokens) != 1:
            raise ValueError(f"the tokenizer has no token {text}")
        return tokens[0]


def cut_after_changes(encoded: Encoded, kept: int) -> Encoded:
    """An edit without what its answer copies after the last change but for ``kept`` tokens.

    Such an answer is cheaper and teaches the change all the same. Answers without a change stay whole: that none
    comes is what they teach.
    """
    if encoded.cut or not encoded.draft or encoded.answer[:-1] == list(encoded.draft):
        return encoded
    copied = 0
    for drafted, token in zip(reversed(encoded.draft), reversed(encoded.answer[:-1]), strict=False):
        if drafted != token:
            break
        copied += 1
    end = max(len(encoded.answer) - 1 - copied, encoded.given) + kept
    if end >= len(encoded.answer) - 1:
        return encoded
    return replace(encoded, answer=encoded.answer[:end], cut=True)
