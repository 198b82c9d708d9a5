"""From messages to tokens: the one place that knows how a model is spoken to in a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ..errors import Refused
from ..protocol import ErrorCode
from .chat_template import ChatTemplate, Role
from .prompts import PromptTokenizer

PLAIN_TEMPLATE: Final = (
    "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content | trim }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""For models that bring no template; such a model ends its answer by speaking as the user."""
PLAIN_STOP: Final = "\n\nUser:"


class ChatTokenizer(PromptTokenizer, Protocol):
    """What conversations need of a tokenizer."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes a token stands for; none for a special one."""


class ChatPrompts:
    """The tokens of conversations with one model.

    A conversation that grows is made of pieces that never change: `first` around the first message of the user,
    `later` around each further one. The pieces in a row are what the template renders for the whole conversation,
    unless it shows an earlier turn differently from how it opened that turn's reply: templates of thinking models
    open it with an empty thought, which they leave out of earlier turns. Such a turn stays as the model was shown it
    when it answered, so that its keys and values stay good.

    Attributes:
        max_tokens: what a sequence may have, prompt and output together.
        stop: what ends a reply beside the model's own end tokens.
    """

    def __init__(self, tokenizer: ChatTokenizer, max_tokens: int) -> None:
        """Prepare for a model.

        Raises:
            ValueError: its chat template can't be used.

        """
        self.max_tokens = max_tokens
        self.tokenizer = tokenizer
        source = tokenizer.chat_template
        self.stop: tuple[str, ...] = () if source is not None else (PLAIN_STOP,)
        self._bos: list[int] = []
        if source is None and tokenizer.adds_bos and tokenizer.bos_id is not None:
            self._bos = [tokenizer.bos_id]
        self._template = ChatTemplate(source or PLAIN_TEMPLATE, tokenizer.bos_token, tokenizer.eos_token)
        first = self._template.frame(["user"])
        self._strips = first.strips[0]
        self._first = self._encoded(first.texts, self._bos)
        self._later: tuple[list[int], list[int]] | None = None
        try:
            texts = self._template.frame(["user", "assistant", "user"]).texts
        except ValueError:
            return  # it takes one message; `later` says so to whoever sends a second one
        before, after = self._encoded(texts[2:])
        self._later = before, after

    def first(self, message: str) -> list[int]:
        """The tokens from the beginning of a conversation up to where its first reply begins."""
        before, after = self._first
        return [*before, *self._message(message), *after]

    def later(self, message: str) -> list[int]:
        """The tokens from the end of a reply up to where the next one begins: the end of turn comes first.

        Raises:
            Refused: INVALID_PARAMETER, the template takes one message only.

        """
        if self._later is None:
            raise Refused(
                ErrorCode.INVALID_PARAMETER,
                "this model's chat template takes one message; begin another chat",
            )
        before, after = self._later
        return [*before, *self._message(message), *after]

    def whole(self, roles: Sequence[Role], contents: Sequence[str]) -> list[int]:
        """The tokens of a whole conversation, up to where the next reply begins.

        Raises:
            Refused: INVALID_PARAMETER, the template refuses it; the message is the template's own.

        """
        try:
            frame = self._template.frame(roles)
        except ValueError as error:
            raise Refused(ErrorCode.INVALID_PARAMETER, str(error)) from None
        tokens, *rest = self._encoded(frame.texts, self._bos)
        for content, strips, after in zip(contents, frame.strips, rest, strict=True):
            tokens = [*tokens, *self.tokenizer.encode(content.strip() if strips else content), *after]
        return tokens

    def without_stop(self, reply: list[int], stop: Sequence[str]) -> list[int]:
        """A reply's tokens without the stop string that ended it, if one did, and what came after.

        All tokens but the last few stay the same.
        """
        if not stop:
            return reply
        pieces = list(map(self.tokenizer.token_bytes, reply))
        text = b"".join(pieces)
        ends = [(at + len(string), at) for string in map(str.encode, stop) if (at := text.find(string)) >= 0]
        if not ends:
            return reply
        _, end = min(ends)
        kept = length = 0
        while kept < len(pieces) and length + len(pieces[kept]) <= end:
            length += len(pieces[kept])
            kept += 1
        return [*reply[:kept], *self.tokenizer.encode(text[length:end].decode("utf-8", "ignore"))]

    def _message(self, message: str) -> list[int]:
        return self.tokenizer.encode(message.strip() if self._strips else message)

    def _encoded(self, texts: Sequence[str], bos: Sequence[int] = ()) -> list[list[int]]:
        encoded = list(map(self.tokenizer.encode_template, texts))
        encoded[0] = [*bos, *encoded[0]]
        return encoded
