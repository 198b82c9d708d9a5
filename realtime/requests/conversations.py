"""The conversations of a session: each a row of tokens that only grows, so that a turn costs what it adds.

A turn appends the user's message and the very tokens that the engine answered with. Nothing before them is tokenised
or computed again. Documents named with a message stand before it, in a fence and with their name::

    /src/cart.py:
    ```python
    ...
    ```

    ...the message...

Once one has changed, the next message that names it brings what has changed since it was shown, as ``/src/cart.py has
changed:`` and the hunks of a unified diff, so that a turn after a key costs some lines. If these are more than a part
of the document, that is shown whole again, as ``/src/cart.py, as it is now:``. Line ends that changed are no change.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from warmline.engine import SequenceEvent, unpack_tokens

from ..documents.document import Document
from ..documents.hunks import changed_span, hunks_of
from ..errors import Refused, shown
from ..limits import Limits
from ..prompting.chat_prompts import ChatPrompts
from ..prompting.fences import closed, fence, lf, named
from ..prompting.prompts import Layout, PromptPlan
from ..prompting.windows import MAX_CHARS_PER_TOKEN
from ..protocol import Chat, ErrorCode, Reason

_LEAST_ANSWER: Final = 64
"""Tokens that must be left for the answer, if as many are asked for."""
_WHOLE_INSTEAD: Final = 4
"""How many times shorter than the document its changed lines must be, or the whole is easier to follow."""
_KEPT: Final = frozenset[Reason]({"stop", "length", "interrupted"})
"""How a turn that stays in its conversation ends."""


@dataclass(eq=False, slots=True)
class _Conversation:
    """What was said, as tokens, without the end of the last reply's turn.

    ``shown`` are documents as the model knows them. All their texts fit into the context that they were shown in.
    ``turn`` is the one that runs.
    """

    tokens: array[int] = field(default_factory=lambda: array("i"))
    shown: dict[str, str] = field(default_factory=dict)
    turn: ChatTurn | None = None


@dataclass(frozen=True, slots=True)
class _Context:
    """A document as it is shown with a message; ``before`` is what was shown of it earlier."""

    name: str
    language: str
    text: str
    before: str | None

    @property
    def chars(self) -> int:
        """So many characters there are to compare and to tokenise."""
        return len(self.text) + len(self.before or "")

    @property
    def least_chars(self) -> int:
        """So many characters are shown at least."""
        return len(self.text) if self.before is None else max(len(self.text) - len(self.before), 0)

    def shown(self) -> str:
        """What the model is given to read."""
        title = " ".join(self.name.removeprefix("file://").split())
        text = lf(self.text)
        if self.before is None:
            return _fenced(title, self.language, text)
        before = lf(self.before)
        (start, end), new = changed_span(before, text)
        least = abs(end - start - len(new))  # so many characters were removed or added, whatever the hunks are
        if least * _WHOLE_INSTEAD <= len(text):
            hunks = hunks_of(before, (start, end), new)
            if len(hunks) * _WHOLE_INSTEAD <= len(text):
                return _fenced(f"{title} has changed", "diff", hunks)
        return _fenced(f"{title}, as it is now", self.language, text)


def _fenced(title: str, language: str, text: str) -> str:
    marks = fence(language, text)
    return f"{title}:\n{marks}{named(language)}\n{closed(text)}{marks}\n\n"


class ChatTurn:
    """A turn that was begun.

    Give it every event of its sequence with `feed`, and call `end` once, whatever becomes of the request: until then
    the conversation takes no other turn.

    Attributes:
        request: the request it belongs to.
        conversation: the id of its conversation.
        layout: its prompt. Planning it may refuse: PROMPT_TOO_LONG, or INVALID_PARAMETER where the model's template
            takes one message only.
    """

    def __init__(
        self,
        message: Chat,
        context: list[_Context],
        prompts: ChatPrompts,
        held: _Conversation,
        ended: Callable[[], None],
    ) -> None:
        self.request = message.request
        self.conversation = message.conversation
        chars = len(message.text) + sum(document.chars for document in context) + len(message.replay or "")
        self.layout = Layout(chars, self._plan)
        self._message = message
        self._context = context
        self._prompts = prompts
        self._held = held
        self._on_end = ended
        self._stop = (*prompts.stop, *map(lf, message.sampling.stop))
        self._prompt: list[int] = []
        self._reply = bytearray()
        self._ended = False

    @property
    def begun(self) -> bool:
        """Whether its prompt is made, so that it can stay in the conversation."""
        return bool(self._prompt)

    def feed(self, event: SequenceEvent) -> None:
        """Remember what the model said. What a cancelled sequence held back was not said."""
        if event.finished is None or event.finished.reason != "cancel":
            self._reply += event.tokens

    def end(self, reason: Reason) -> None:
        """The turn is over. It stays if the model ended it, its tokens were used up, or it was interrupted.

        A turn that was cancelled or failed is taken out again, as if the message had not been sent. Idempotent.
        """
        if self._ended:
            return
        self._ended = True
        held = self._held
        held.turn = None
        try:
            if reason in _KEPT and self._prompt:
                reply = self._prompts.without_stop(unpack_tokens(bytes(self._reply)), self._stop)
                held.tokens = array("i", self._prompt + reply)
                held.shown |= {document.name: document.text for document in self._context}
        finally:
            self._on_end()

    def _plan(self) -> PromptPlan:
        prompts, message, said = self._prompts, self._message, self._held.tokens
        text = "".join(document.shown() for document in self._context) + lf(message.text)
        prompt = [*said, *prompts.later(text)] if said else prompts.first(text)
        needed = len(prompt) + min(message.sampling.max_tokens, _LEAST_ANSWER)
        if needed > prompts.max_tokens:
            alone = len(prompts.first(self._afresh())) + needed - len(prompt) if said else needed
            raise _too_long(str(needed), prompts.max_tokens, elsewhere=bool(said) and alone <= prompts.max_tokens)
        replay = None if message.replay is None else prompts.tokenizer.encode(lf(message.replay))
        self._prompt = prompt
        return PromptPlan(prompt=prompt, stop=self._stop, newline="\n", replay=replay)

    def _afresh(self) -> str:
        """The message as another conversation would have to show it: with its documents whole."""
        return "".join(replace(document, before=None).shown() for document in self._context) + lf(self._message.text)


class Conversations:
    """Keeps a session's conversations by their ids."""

    def __init__(self, prompts: ChatPrompts, limits: Limits) -> None:
        self._prompts = prompts
        self._limits = limits
        self._conversations: dict[str, _Conversation] = {}

    def __len__(self) -> int:
        return len(self._conversations)

    def lay_out(self, message: Chat, documents: Mapping[str, Document]) -> ChatTurn:
        """Begin a turn; the conversation begins with its first. ``documents`` are those that are open.

        Raises:
            Refused: TOO_MANY_REQUESTS (the conversation has a turn running), UNKNOWN_DOCUMENT,
                TOO_MANY_CONVERSATIONS, INVALID_PARAMETER (an empty message), PROMPT_TOO_LONG.

        """
        held = self._conversations.get(message.conversation) or _Conversation()
        if not held.tokens and held.turn is None and len(self._conversations) >= self._limits.max_conversations:
            raise Refused(
                ErrorCode.TOO_MANY_CONVERSATIONS,
                f"{self._limits.max_conversations} conversations are held; end one that is over",
            )
        if held.turn is not None:
            raise Refused(
                ErrorCode.TOO_MANY_REQUESTS,
                f"request {held.turn.request} of this conversation is being answered; wait for its end or cancel it",
                retryable=True,
            )
        context = _changed(message, documents, held)
        if not context and not message.text.strip():
            raise Refused(ErrorCode.INVALID_PARAMETER, "the message is empty")

        def ended() -> None:
            if not held.tokens and self._conversations.get(message.conversation) is held:
                del self._conversations[message.conversation]  # nothing was said in it

        turn = ChatTurn(message, context, self._prompts, held, ended)
        least = len(message.text) + sum(document.least_chars for document in context) + len(message.replay or "")
        needed = len(held.tokens) + least // MAX_CHARS_PER_TOKEN
        if needed > self._prompts.max_tokens:
            alone = least + sum(len(document.text) - document.least_chars for document in context)
            fits = alone // MAX_CHARS_PER_TOKEN <= self._prompts.max_tokens  # or may fit: nothing was tokenised
            elsewhere = None if held.tokens and fits else False
            raise _too_long(f"more than {needed}", self._prompts.max_tokens, elsewhere=elsewhere)
        held.turn = turn
        self._conversations[message.conversation] = held
        return turn

    def end(self, conversation: str) -> None:
        """Forget a conversation. A turn of it that runs goes on by itself, and is forgotten, too."""
        self._conversations.pop(conversation, None)


def _changed(message: Chat, documents: Mapping[str, Document], held: _Conversation) -> list[_Context]:
    """The message's documents that the conversation hasn't shown as they are now."""
    context = []
    for name in dict.fromkeys(message.documents):
        document = documents.get(name)
        if document is None:
            raise Refused(ErrorCode.UNKNOWN_DOCUMENT, f"document {shown(name)} is not open")
        text, before = document.text, held.shown.get(name)
        if before is None or (text != before and lf(text) != lf(before)):
            context.append(_Context(name, document.language, text, before))
    return context


def _too_long(needed: str, available: int, *, elsewhere: bool | None) -> Refused:
    """``elsewhere``: whether the message fits in a conversation of its own; None if that isn't known."""
    less = "name fewer or smaller documents, or say less"
    another = "end this chat and begin another"
    advice = f"{another}, or {less}" if elsewhere is None else another if elsewhere else less
    return Refused(
        ErrorCode.PROMPT_TOO_LONG,
        f"the conversation needs {needed} tokens with this message and its answer, and {available} are available; "
        f"{advice}",
    )
