"""What one connection, one key or one address may use at once, or in a minute, and how that is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

Scope = Literal["connection", "key", "address"]

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Quota:
    """Bounds of what one holder uses; None is none.

    Attributes:
        connections: sockets open at once.
        documents: open at once, in all of its sessions.
        document_bytes: of one document, in UTF-8.
        requests: running at once.
        tokens_per_minute: prompt tokens computed and tokens generated, in the long run; a minute's worth at once.
    """

    connections: int | None = None
    documents: int | None = None
    document_bytes: int | None = None
    requests: int | None = None
    tokens_per_minute: int | None = None

    def over(self, other: Quota) -> Quota:
        """This one, and where it says nothing, the other."""
        mine = {name: value for name in NAMES if (value := getattr(self, name)) is not None}
        return replace(other, **mine)


NAMES: Final = tuple(entry.name for entry in fields(Quota))
NO_QUOTA: Final = Quota()
_OF_SCOPE: Final[Mapping[str, tuple[str, ...]]] = {
    "connection": ("documents", "document_bytes", "requests", "tokens_per_minute"),
    "key": NAMES,
    "address": ("connections", "documents", "requests", "tokens_per_minute"),
}
"""What may be bounded of what: a connection is one, and a document's size is not a matter of where it comes from."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """The bounds of every connection, key and address.

    ``connection`` is what differs from `Limits`; a key's own come before ``key``. Without keys, all who come are one.
    """

    connection: Quota = field(default=NO_QUOTA)
    key: Quota = field(default=NO_QUOTA)
    address: Quota = field(default=NO_QUOTA)


def parse_quotas(settings: Iterable[str]) -> Quotas:
    """Read settings such as ``key.requests=8`` and ``connection.document_bytes=1MiB``.

    Raises:
        ValueError: one is none, or stands twice; the message says which and what there is.

    """
    found: dict[str, dict[str, Any]] = {scope: {} for scope in _OF_SCOPE}
    for setting in settings:
        name, equals, value = setting.partition("=")
        scope, _, limit = name.strip().partition(".")
        if not equals or limit not in _OF_SCOPE.get(scope, ()):
            known = ", ".join(f"{scope}.{limit}" for scope, limits in _OF_SCOPE.items() for limit in limits)
            raise ValueError(f"{setting[:80]!r} is no limit; one is written key.requests=8, and there are {known}")
        if limit in found[scope]:
            raise ValueError(f"the limit {scope}.{limit} is set twice")
        found[scope][limit] = value.strip()
    return Quotas(**{scope: parse_quota(limits, scope) for scope, limits in found.items()})


def parse_quota(limits: Any, scope: str = "key") -> Quota:
    """A quota from its fields by name; a value is a whole number, or a text such as ``512KiB``.

    Raises:
        ValueError: there is no such field, or its value is none.

    """
    if not isinstance(limits, Mapping):
        raise ValueError("limits are a table such as { requests = 8, tokens_per_minute = 100000 }")
    for name in limits:
        if name not in _OF_SCOPE[scope]:
            raise ValueError(f"there is no limit {name[:40]!r}, only {', '.join(_OF_SCOPE[scope])}")
    return Quota(**{name: _number(name, value) for name, value in limits.items()})


def _number(name: str, value: Any) -> int:
    number = value
    if isinstance(value, str):
        match = re.fullmatch(r"(\d[\d_]{0,20})\s*([kmg]?)(i?b)?", value.strip().lower())
        sized = name == "document_bytes" or (match is not None and not match[2] and not match[3])
        number = int(match[1].replace("_", "")) * _UNITS[match[2]] if match is not None and sized else None
    if type(number) is not int or not 1 <= number <= _MOST:
        example = "a size such as 1MiB" if name == "document_bytes" else "a whole number"
        raise ValueError(f"{name} is {example}, at least 1, not {str(value)[:40]!r}")
    return number
