"""API keys: what is known of each, and the file that has them. The service keeps digests, never a key.

A key is random, of 256 bits where `new_key` made it, so its SHA-256 tells nobody what it is; a slow password hash
would cost every connection milliseconds for nothing.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import secrets
import stat
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .quotas import NO_QUOTA, Quota, parse_quota

PREFIX: Final = "wlk_"
"""What a new key begins with, by which scanners for secrets can tell one."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_KEY: Final = re.compile(r"[!-~]+")
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
_FIELDS: Final = ("key", "sha256", "expires", "limits")
_MAX_FILE_BYTES: Final = 4 << 20


class KeysError(ValueError):
    """A key, or a file of keys, can't be used; the message says where and why, and quotes no key."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key.

    Attributes:
        name: what logs, metrics and receipts call it.
        digest: its SHA-256; empty for `ANYBODY`.
        expires: when it lets nobody in any more, in seconds since the epoch; None for never.
        quota: what differs for it from the limits of every key.
    """

    name: str
    digest: bytes = field(repr=False)
    expires: float | None = None
    quota: Quota = NO_QUOTA

    @classmethod
    def of(cls, name: str, key: str) -> ApiKey:
        """A key that is known in plain text.

        Raises:
            KeysError: it can't be sent in a header.

        """
        if not _KEY.fullmatch(key):
            raise KeysError("an API key consists of one or more ASCII characters without spaces")
        return cls(name, digest_of(key))

    @property
    def salt(self) -> str:
        """What keys its part of the prefix cache: the same for a key wherever and whenever it is read."""
        return hashlib.sha256(b"prefix cache\0" + self.digest).hexdigest()[:32] if self.digest else ""


ANYBODY: Final = ApiKey("anonymous", b"")
"""Whoever comes, where no keys are configured; the ledger of usage calls them the same."""


def digest_of(key: str) -> bytes:
    """The SHA-256 of a key, or of what was sent for one."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def new_key() -> str:
    """A key of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def entry_of(name: str, key: str) -> str:
    """The lines of a keys file that let a key in without having it.

    Raises:
        KeysError: the name can't be one.

    """
    return f'[keys.{_quoted(_checked_name(name))}]\nsha256 = "{digest_of(key).hex()}"\n'


def plain_keys(keys: Iterable[str]) -> list[ApiKey]:
    """Keys without a name of their own, such as those of ``--api-key``: they are called by their number.

    Raises:
        KeysError: one can't be sent in a header.

    """
    return [ApiKey.of(f"key-{number}", key) for number, key in enumerate(dict.fromkeys(keys), 1)]


def read_keys(path: Path) -> list[ApiKey]:
    """The keys of a file, as `parse_keys` reads it.

    Raises:
        KeysError: it can't be read.

    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe's reader waits for its writer
            raise KeysError(f"the keys file {path} is no regular file")
        if found.st_size > _MAX_FILE_BYTES:
            raise KeysError(f"{path} has over {_MAX_FILE_BYTES >> 20} MiB, which is no file of keys")
        text = path.read_text("utf-8")
    except OSError as error:
        raise KeysError(f"the keys file {path} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise KeysError(f"the keys file {path} is no UTF-8 text") from None
    return parse_keys(text, str(path))


def parse_keys(text: str, source: str) -> list[ApiKey]:
    """The keys of a TOML text: a table ``keys`` with one for each name.

    Raises:
        KeysError: there is anything else in it; the message begins with ``source``.

    """
    try:
        whole = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise KeysError(f"{source} is no TOML: {error}") from None
    _check_fields(whole, ("keys",), source)
    entries = whole.get("keys", {})
    if not isinstance(entries, Mapping):
        raise KeysError(f"{source}: keys is a table with one for each name: [keys.alice]")
    keys: list[ApiKey] = []
    names: dict[bytes, str] = {}
    for name, entry in entries.items():
        where = f"{source}: keys.{name[:64]}"
        key = _parsed(name, entry, where)
        if key.digest in names:
            raise KeysError(f"{where} is the same key as keys.{names[key.digest]}")
        names[key.digest] = name
        keys.append(key)
    return keys


def joined(groups: Iterable[Iterable[ApiKey]]) -> tuple[ApiKey, ...]:
    """The keys of several sources.

    Raises:
        KeysError: a name stands for two keys, or a key has two names.

    """
    names: dict[str, ApiKey] = {}
    digests: dict[bytes, ApiKey] = {}
    for key in (key for group in groups for key in group):
        if key.name in names:
            raise KeysError(f"two API keys are called {key.name}: each needs a name of its own")
        if key.digest in digests:
            raise KeysError(f"the API keys {digests[key.digest].name} and {key.name} are the same")
        names[key.name] = digests[key.digest] = key
    return tuple(names.values())


def _parsed(name: str, entry: Any, where: str) -> ApiKey:
    try:
        _checked_name(name)
    except KeysError as error:
        raise KeysError(f"{where}: {error}") from None
    if not isinstance(entry, Mapping):
        raise KeysError(f"{where} is a table with sha256, or key")
    _check_fields(entry, _FIELDS, where)
    if ("key" in entry) == ("sha256" in entry):
        raise KeysError(f"{where} needs sha256 (`warmline keys new` makes one) or key, and not both")
    secret = entry.get("key", entry.get("sha256"))
    if "key" in entry:
        if not isinstance(secret, str) or not _KEY.fullmatch(secret):
            raise KeysError(f"{where}: key consists of one or more ASCII characters without spaces")
        digest = digest_of(secret)
    else:
        if not isinstance(secret, str) or not _DIGEST.fullmatch(secret):
            raise KeysError(f"{where}: sha256 has 64 hexadecimal digits")
        digest = bytes.fromhex(secret)
    try:
        quota = parse_quota(entry.get("limits", {}))
    except ValueError as error:
        raise KeysError(f"{where}.limits: {error}") from None
    return ApiKey(name, digest, _moment(entry.get("expires"), where), quota)


def _moment(value: Any, where: str) -> float | None:
    """Seconds since the epoch. A date counts from its first second, and what names no zone is UTC."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC).timestamp()
    raise KeysError(f"{where}: expires is a date such as 2030-01-31, or a date and time, without quotation marks")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise KeysError("a name has 1 to 64 of A-Z, a-z, 0-9 and . _ @ + -, and begins with a letter or a digit")
    return name


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _check_fields(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for name in table:
        if name not in known:
            raise KeysError(f"{where}: there is no {name[:40]!r} here, only {', '.join(known)}")
