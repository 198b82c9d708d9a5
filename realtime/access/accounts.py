"""What is used now, by whom, held against the limits: of each key, each address, and each connection.

What is kept is bounded: an account for each key that there is, one for each open connection, and of addresses those
that have something open and up to `MAX_ADDRESSES` of the others, the latest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Final

from ..errors import Refused
from ..limits import Limits
from ..protocol import ErrorCode
from ..telemetry.metrics import Metrics
from .keys import ApiKey
from .over_limit import over_connections, over_limit
from .quotas import NO_QUOTA, Quota, Quotas, Scope
from .token_bucket import TokenBucket

MAX_ADDRESSES: Final = 4096
_LOOKED_AT: Final = 64
"""Accounts that one more address has looked at, to find one that nobody needs."""
RETRY_SECONDS: Final = 1.0
"""When to come again where it can't be told when one of those that run ends."""
_MINUTE: Final = 60.0


class Account:
    """What one key, address or connection uses now. ``quota`` is what it may."""

    __slots__ = ("_bucket", "_now", "connections", "documents", "quota", "requests", "scope")

    def __init__(self, scope: Scope, quota: Quota, now: Callable[[], float] = monotonic) -> None:
        self.scope = scope
        self.connections = 0
        self.documents = 0
        self.requests = 0
        self._now = now
        self._bucket: TokenBucket | None = None
        self.quota = NO_QUOTA
        self.allow(quota)

    def allow(self, quota: Quota) -> None:
        """Hold it against another quota from now on. What is open stays open."""
        tokens = quota.tokens_per_minute
        self.quota = quota
        if tokens is None:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(tokens / _MINUTE, tokens, self._now)
        else:
            self._bucket.change(tokens / _MINUTE, tokens)

    @property
    def open(self) -> bool:
        """Whether it has anything open now."""
        return bool(self.connections or self.documents or self.requests)

    @property
    def has_all_connections(self) -> bool:
        """Whether it has as many connections as it may."""
        return self.quota.connections is not None and self.connections >= self.quota.connections

    @property
    def has_too_many_connections(self) -> bool:
        """Whether it has more than that, the newest counted."""
        return self.quota.connections is not None and self.connections > self.quota.connections

    @property
    def wait(self) -> float:
        """Seconds until it has tokens left; 0 if it has."""
        return 0.0 if self._bucket is None else self._bucket.wait

    def spend(self, tokens: int) -> None:
        """Count tokens."""
        if self._bucket is not None:
            self._bucket.spend(tokens)


class Usage:
    """What a connection uses, counted for its key, its address and itself.

    Attributes:
        key: whose it is.
    """

    def __init__(self, key: ApiKey, accounts: Iterable[Account], metrics: Metrics) -> None:
        self.key = key
        self._accounts = tuple(accounts)
        self._documents = 0
        self._requests = 0
        self._metrics = metrics
        self._tokens = (metrics.key_tokens.of(key.name, "computed"), metrics.key_tokens.of(key.name, "output"))

    def narrowed(self, limits: Limits) -> Limits:
        """The limits of a session, where a key has smaller documents than others."""
        for account in self._accounts:
            most = account.quota.document_bytes
            if most is not None and most < limits.max_document_bytes:
                limits = replace(limits, max_document_bytes=most, document_bytes_scope=account.scope)
        return limits

    def check_connection(self) -> None:
        """Find out whether the key may have one more session. (Sockets of an address count before they are one.)

        Raises:
            Refused: TOO_MANY_CONNECTIONS.

        """
        for account in self._accounts:
            if account.scope == "key" and account.has_all_connections:
                raise over_connections(self._metrics, account.scope, account.quota.connections)

    def sessions_opened(self, change: int) -> None:
        """The key has so many more sessions; below 0, fewer."""
        for account in self._accounts:
            if account.scope == "key":
                account.connections += change
        self._metrics.key_sessions.of(self.key.name).inc(change)

    def has_too_many_sessions(self, waiting: int) -> bool:
        """Whether the key's connections are more than it may have, with so many sessions that wait for one."""
        return any(
            account.scope == "key"
            and account.quota.connections is not None
            and account.connections + waiting > account.quota.connections
            for account in self._accounts
        )

    def move_to(self, other: Usage) -> None:
        """What is open and running comes from another's address from now on, and counts there."""
        gone = [account for account in self._accounts if account.scope == "address"]
        come = [account for account in other._accounts if account.scope == "address"]
        for accounts, sign in ((gone, -1), (come, 1)):
            for account in accounts:
                account.documents += sign * self._documents
                account.requests += sign * self._requests
        self._accounts = (*(account for account in self._accounts if account.scope != "address"), *come)

    def check_document(self) -> None:
        """Find out whether one more may be open.

        Raises:
            Refused: TOO_MANY_DOCUMENTS.

        """
        for account in self._accounts:
            most = account.quota.documents
            if most is not None and account.documents >= most:
                raise self._refused(
                    account,
                    "documents",
                    ErrorCode.TOO_MANY_DOCUMENTS,
                    f"may have {most} documents open; close one first",
                    None,
                )

    def documents_opened(self, change: int) -> None:
        """So many more are open; below 0, fewer."""
        self._documents += change
        for account in self._accounts:
            account.documents += change

    def check_request(self, ending: int = 0) -> None:
        """Find out whether one more may run, while so many of the connection's own are about to end.

        Raises:
            Refused: TOO_MANY_REQUESTS or RATE_LIMITED.

        """
        for account in self._accounts:
            most = account.quota.requests
            if most is not None and account.requests - ending >= most:
                raise self._refused(
                    account,
                    "requests",
                    ErrorCode.TOO_MANY_REQUESTS,
                    f"may have {most} requests running at once; wait for one to end, or cancel it",
                    RETRY_SECONDS,
                )
            wait = account.wait
            if wait > 0:
                raise self._refused(
                    account,
                    "tokens_per_minute",
                    ErrorCode.RATE_LIMITED,
                    f"may use {account.quota.tokens_per_minute} tokens a minute, and has",
                    wait,
                )

    def requests_started(self, change: int) -> None:
        """So many more run; below 0, fewer."""
        self._requests += change
        for account in self._accounts:
            account.requests += change

    def spend(self, computed: int, output: int) -> None:
        """A request has cost so many tokens: of its prompt those that were computed for it, and of its output."""
        for account in self._accounts:
            account.spend(computed + output)
        for count, tokens in zip(self._tokens, (computed, output), strict=True):
            count.inc(tokens)

    def _refused(self, account: Account, limit: str, code: ErrorCode, why: str, after: float | None) -> Refused:
        return over_limit(self._metrics, account.scope, limit, code, why, after)


class Accounts:
    """The accounts of a server."""

    def __init__(self, quotas: Quotas, metrics: Metrics, now: Callable[[], float] = monotonic) -> None:
        self._quotas = quotas
        self._metrics = metrics
        self._now = now
        self._keys: dict[bytes, Account] = {}
        self._addresses: OrderedDict[str, Account] = OrderedDict()

    def usage(self, key: ApiKey, address: str, *, connection: bool = True) -> Usage:
        """What comes from an address with a key; without ``connection``, one request of many connections."""
        accounts = [self._of_key(key)]
        if self._quotas.address != NO_QUOTA:
            accounts.append(self._of_address(network_of(address)))
        if connection and self._quotas.connection.tokens_per_minute is not None:
            accounts.append(Account("connection", Quota(tokens_per_minute=self._quotas.connection.tokens_per_minute)))
        return Usage(key, accounts, self._metrics)

    def arrived(self, address: str) -> Account | None:
        """Count a socket that came from an address, before anything is known of it. None if none are counted.

        Whoever counts it takes it away again.
        """
        if self._quotas.address == NO_QUOTA:
            return None
        account = self._of_address(network_of(address))
        account.connections += 1
        return account

    def keys_changed(self, keys: Iterable[ApiKey]) -> None:
        """These are the keys now: hold each against its quota, and forget the others."""
        known = {key.digest: key for key in keys}
        self._keys = {digest: account for digest, account in self._keys.items() if digest in known}
        for digest, account in self._keys.items():
            account.allow(known[digest].quota.over(self._quotas.key))

    def _of_key(self, key: ApiKey) -> Account:
        account = self._keys.get(key.digest)
        if account is None:
            account = self._keys[key.digest] = Account("key", key.quota.over(self._quotas.key), self._now)
        return account

    def _of_address(self, network: str) -> Account:
        account = self._addresses.get(network)
        if account is None:
            account = self._addresses[network] = Account("address", self._quotas.address, self._now)
            self._make_room()
        self._addresses.move_to_end(network)
        return account

    def _make_room(self) -> None:
        """Forget the addresses that were seen longest ago. Those that have something open are kept."""
        for _ in range(min(_LOOKED_AT, len(self._addresses) - 1)):
            if len(self._addresses) <= MAX_ADDRESSES:
                break
            network, account = self._addresses.popitem(last=False)
            if account.open:
                self._addresses[network] = account


def network_of(address: str) -> str:
    """What counts as one address: one of IPv4, and 64 bits of IPv6, which is what a household or a machine gets."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped is not None else str(IPv6Address(int(found) >> 64 << 64))
    return str(found)
