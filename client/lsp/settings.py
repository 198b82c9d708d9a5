"""What an editor may set in ``initializationOptions``. The names are those of the VS Code extension's settings."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..errors import InvalidArgument
from .exclusions import DEFAULT_EXCLUSIONS, DEFAULT_SCHEMES


class CompletionSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How completions are made.

    Attributes:
        max_tokens: the longest, in tokens.
        multiline: more than the rest of the line.
        languages: where they come unasked, by language; ``*`` stands for the others.
    """

    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 64
    multiline: bool = True
    languages: dict[str, bool] = msgspec.field(
        default_factory=lambda: {"*": True, "plaintext": False, "markdown": False, "scminput": False}
    )


class Settings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All settings.

    Attributes:
        url: the service; None for the one that the command line names.
        enabled: whether anything is done at all; off, nothing is sent and no connection is kept.
        completions: how completions are made.
        exclude: files that are never sent, as globs.
        exclude_git_ignored: nor are those that git ignores.
        document_schemes: the kinds of document that may be sent, by URI scheme.
    """

    url: str | None = None
    enabled: bool = True
    completions: CompletionSettings = CompletionSettings()
    exclude: tuple[str, ...] = DEFAULT_EXCLUSIONS
    exclude_git_ignored: bool = True
    document_schemes: tuple[str, ...] = DEFAULT_SCHEMES


def parse_settings(options: object) -> Settings:
    """What an editor has sent as settings.

    Nothing that is wrong is left out: who mistypes what must not be sent has to hear of it.

    Raises:
        InvalidArgument: there is no such setting, or it can't have this value.

    """
    try:
        return msgspec.convert({} if options is None else options, Settings)
    except msgspec.ValidationError as error:
        hint = "; a key belongs in the environment, as WARMLINE_API_KEY" if "key`" in str(error).lower() else ""
        raise InvalidArgument(
            f"initializationOptions: {error}; docs/other-editors.md lists what there is{hint}"
        ) from None
