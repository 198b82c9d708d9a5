"""Who may connect: credentials, origins and hosts of an upgrade or a plain GET."""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final

from .access.keys import ANYBODY, ApiKey, digest_of
from .access.refusals import Reason

BEARER_SUBPROTOCOL: Final = "bearer."
"""A browser can't set headers, so it offers this followed by the key in unpadded base64url as a subprotocol."""
_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})


class NotLetIn(Exception):
    """A credential that lets nobody in; the message tells its owner why."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Authenticator:
    """Knows the API keys. Where none are needed everyone is let in, as `ANYBODY`.

    Args:
        keys: those that let clients in.
        required: a key is needed even while there are none; with any keys it always is, also once they are gone.
        now: a clock in seconds since the epoch.

    """

    def __init__(
        self, keys: Iterable[ApiKey] = (), *, required: bool = False, now: Callable[[], float] = time.time
    ) -> None:
        self.keys: tuple[ApiKey, ...] = tuple(keys)
        self.required: Final = required or bool(self.keys)
        self._now = now

    def identify(self, token: str | None) -> ApiKey:
        """Whose token this is.

        Every key is compared, each in constant time, so the time tells nothing about the keys.

        Raises:
            NotLetIn: nobody's, or it is missing, or has expired.

        """
        if not self.required:
            return ANYBODY
        if token is None:
            raise NotLetIn(Reason.NO_KEY, "an API key is needed: Authorization: Bearer KEY")
        offered = digest_of(token)
        matches = [key for key in self.keys if hmac.compare_digest(offered, key.digest)]
        if not matches:
            raise NotLetIn(Reason.WRONG_KEY, "this API key is not known")
        if self._expired(matches[0]):
            raise NotLetIn(Reason.EXPIRED_KEY, "this API key has expired")
        return matches[0]

    def revoked(self, key: ApiKey) -> str | None:
        """Why a key that let somebody in does so no more; None if it still does."""
        if key is ANYBODY:
            return None
        now = next((known for known in self.keys if known.digest == key.digest), None)
        if now is None:
            return "the API key was removed"
        return "the API key has expired" if self._expired(now) else None

    @property
    def next_expiry(self) -> float | None:
        """Seconds until the next key expires; None if none will."""
        left = [key.expires - self._now() for key in self.keys if key.expires is not None]
        return min((seconds for seconds in left if seconds > 0), default=None)

    def _expired(self, key: ApiKey) -> bool:
        return key.expires is not None and key.expires <= self._now()


def bearer_token(authorization: str | None, subprotocols: Iterable[str]) -> str | None:
    """The credential of a request: from its Authorization header or from a bearer subprotocol; None without one.

    Raises:
        ValueError: there is one, but it can't be read; the message says how to send it.

    """
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise ValueError("send the key as: Authorization: Bearer KEY")
        return token.strip()
    for subprotocol in subprotocols:
        if subprotocol.startswith(BEARER_SUBPROTOCOL):
            encoded = subprotocol.removeprefix(BEARER_SUBPROTOCOL)
            try:
                return base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise ValueError("the bearer subprotocol must hold the key in base64url without padding") from None
    return None


def host_allowed(host: str | None, allowed: Iterable[str]) -> bool:
    """Whether a Host header may be answered.

    A page that has its own name resolve to this machine (DNS rebinding) sends that name, so names must be on the
    list. ``localhost`` and plain addresses can't be rebound. The port is not compared: it differs behind a tunnel.
    """
    name = _host_name(host or "")
    if name == "localhost" or name in {entry.lower() for entry in allowed}:
        return True
    return _is_address(name)


def origin_allowed(origin: str | None, allowed: Iterable[str]) -> bool:
    """Whether an upgrade with this Origin may go on. Browsers always send one, other clients send none."""
    return origin is None or origin in allowed


def served_origins(host: str, port: int, allowed_hosts: Iterable[str], *, tls: bool = False) -> frozenset[str]:
    """The origins of the page that this server itself serves, as far as its configuration tells.

    They are those of the host it listens on and of the names it answers to; on loopback or on all addresses, of
    ``localhost``, too. A page reached otherwise, through a tunnel, a proxy or by an address of a server that
    listens on all, is on the list only if it is put there: what its Host header says proves nothing.
    """
    names = {host.lower(), *(name.lower() for name in allowed_hosts)}
    if is_loopback(host) or host in _ALL_ADDRESSES:
        names |= {"localhost", "127.0.0.1" if host == "localhost" or host in _ALL_ADDRESSES else host.lower()}
    return frozenset(_origin(name, port, tls) for name in names if name not in _ALL_ADDRESSES)


def is_loopback(host: str) -> bool:
    """Whether listening on this host reaches no further than this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _origin(name: str, port: int, tls: bool) -> str:
    """As browsers write it: addresses of IPv6 in brackets, and no default port."""
    name = f"[{name}]" if ":" in name else name
    scheme, usual = ("https", 443) if tls else ("http", 80)
    return f"{scheme}://{name}" if port == usual else f"{scheme}://{name}:{port}"


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
