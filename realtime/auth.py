"""Who may connect: credentials, origins and hosts of an upgrade or a plain GET."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

BEARER_SUBPROTOCOL: Final = "bearer."
"""A browser can't set headers, so it offers this followed by the key in unpadded base64url as a subprotocol."""
_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})


class Authenticator:
    """Checks API keys. With no keys configured everyone is let in, under one shared salt."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = [key.encode() for key in keys]
        if not all(re.fullmatch(rb"[!-~]+", key) for key in self._keys):
            raise ValueError("an API key consists of one or more ASCII characters without spaces")

    @property
    def required(self) -> bool:
        """Whether a key is needed."""
        return bool(self._keys)

    def salt(self, token: str | None) -> str | None:
        """The prefix-cache salt of a token's owner, or None when the token is wrong or missing.

        Every key is compared, each in constant time, so the time tells nothing about the keys.
        """
        if not self._keys:
            return ""
        if token is None:
            return None
        offered = token.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(offered, key) for key in self._keys]
        return hashlib.sha256(offered).hexdigest()[:32] if any(matches) else None


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


def served_origins(host: str, port: int, allowed_hosts: Iterable[str]) -> frozenset[str]:
    """The origins of the page that this server itself serves, as far as its configuration tells.

    They are those of the host it listens on and of the names it answers to; on loopback or on all addresses, of
    ``localhost``, too. A page reached otherwise, through a tunnel, a proxy or by an address of a server that
    listens on all, is on the list only if it is put there: what its Host header says proves nothing.
    """
    names = {host.lower(), *(name.lower() for name in allowed_hosts)}
    if is_loopback(host) or host in _ALL_ADDRESSES:
        names |= {"localhost", "127.0.0.1" if host == "localhost" or host in _ALL_ADDRESSES else host.lower()}
    return frozenset(_origin(name, port) for name in names if name not in _ALL_ADDRESSES)


def is_loopback(host: str) -> bool:
    """Whether listening on this host reaches no further than this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _origin(name: str, port: int) -> str:
    """As browsers write it: addresses of IPv6 in brackets, and no default port."""
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}" if port == 80 else f"http://{name}:{port}"


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
