"""A model's chat template, reduced to what stands before and after one user message."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

_SENTINEL: Final = "WARMLINE-MESSAGE-5d3f8a"


def render_around_message(template: str, bos_token: str, eos_token: str) -> tuple[str, str]:
    """The text before and after a user message, up to where the assistant's reply begins.

    The message itself never goes through the template, so that its text can be encoded with special tokens off
    while the template's own is encoded with them on. Thinking is off where the template knows of it.

    Raises:
        ValueError: the template fails, or doesn't show the message exactly once as it was given.

    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    try:
        rendered = environment.from_string(template).render(
            messages=[{"role": "user", "content": _SENTINEL}],
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=bos_token,
            eos_token=eos_token,
        )
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise ValueError(f"the model's chat template can't be rendered: {error}") from None
    parts = rendered.split(_SENTINEL)
    if len(parts) != 2:
        raise ValueError(f"the model's chat template shows a message {len(parts) - 1} times instead of once")
    return parts[0], parts[1]


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _to_json(value: Any, **options: Any) -> str:
    # Jinja's own filter escapes for HTML, which templates written for transformers don't expect.
    return json.dumps(value, ensure_ascii=False, **options)
