"""A model's chat template, reduced to the text around the messages: messages themselves never go through it.

So a message can be encoded with special tokens off while the template's own text is encoded with them on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

Role = Literal["system", "user", "assistant"]

_SENTINEL: Final = "WARMLINE-MESSAGE-{}-5d3f8a"
_SPACE: Final = "\v"
"""White space around the messages that no template writes itself: where it is gone, the template strips them."""
_FOUND: Final = re.compile(f"({_SPACE}?)" + _SENTINEL.format(r"(\d+)") + f"({_SPACE}?)")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a template writes around messages.

    Attributes:
        texts: before the first message, between each two, and after the last, up to where the reply begins.
        strips: whether the template takes white space off the ends of each message.
    """

    texts: tuple[str, ...]
    strips: tuple[bool, ...]


class ChatTemplate:
    """A compiled template. Thinking is off where the template knows of it.

    Raises:
        ValueError: it can't be compiled.

    """

    def __init__(self, source: str, bos_token: str, eos_token: str) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_now
        self._special = {"bos_token": bos_token, "eos_token": eos_token}
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ValueError(f"the model's chat template can't be rendered: {error}") from None

    def frame(self, roles: Sequence[Role]) -> Frame:
        """What stands around messages of these roles, and opens the reply to them.

        Raises:
            ValueError: the template refuses such a conversation, fails, or doesn't show each message exactly once,
                in order and as it was given.

        """
        contents = [f"{_SPACE}{_SENTINEL.format(number)}{_SPACE}" for number in range(len(roles))]
        try:
            rendered = self._template.render(
                messages=[{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)],
                add_generation_prompt=True,
                enable_thinking=False,
                **self._special,
            )
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ValueError(f"the model's chat template can't be rendered: {error}") from None
        texts: list[str] = []
        strips: list[bool] = []
        at = 0
        for number, found in enumerate(_FOUND.finditer(rendered)):
            if int(found[2]) != number:
                raise ValueError("the model's chat template shows messages more than once, or in another order")
            texts.append(rendered[at : found.start()])
            strips.append(not (found[1] and found[3]))
            at = found.end()
        if len(texts) != len(roles):
            raise ValueError(
                f"the model's chat template shows {len(texts)} of {len(roles)} messages as they were given"
            )
        return Frame((*texts, rendered[at:]), tuple(strips))


def render_around_message(template: str, bos_token: str, eos_token: str) -> tuple[str, str]:
    """The text before and after a user message, up to where the assistant's reply begins.

    Raises:
        ValueError: the template fails, or doesn't show the message exactly once as it was given.

    """
    head, tail = ChatTemplate(template, bos_token, eos_token).frame(["user"]).texts
    return head, tail


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _to_json(value: Any, **options: Any) -> str:
    # Jinja's own filter escapes for HTML, which templates written for transformers don't expect.
    return json.dumps(value, ensure_ascii=False, **options)
