"""What is used is counted for a connection, its key and its address, and held against what each may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import EngineStats
from warmline.realtime.access import accounts as accounts_module
from warmline.realtime.access.accounts import Account, Accounts, Usage, network_of
from warmline.realtime.access.keys import ANYBODY, ApiKey
from warmline.realtime.access.quotas import Quota, Quotas
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import ErrorCode
from warmline.realtime.telemetry.metrics import Metrics

ALICE, BOB = ApiKey.of("alice", "a"), ApiKey.of("bob", "b")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(metrics, clock):
    """Accounts with given quotas."""
    return lambda **quotas: Accounts(Quotas(**quotas), metrics, clock)


def refusal(action, *args) -> Refused:
    with pytest.raises(Refused) as refused:
        action(*args)
    return refused.value


def test_requests_of_a_key_count_together(accounts, metrics):
    """Over all of its connections, from wherever; another key has its own, and an end makes room."""
    book = accounts(key=Quota(requests=2))
    here, there, other = book.usage(ALICE, "1.1.1.1"), book.usage(ALICE, "2.2.2.2"), book.usage(BOB, "1.1.1.1")
    for usage in (here, there):
        usage.check_request()
        usage.requests_started(1)
    refused = refusal(here.check_request)
    assert (refused.code, refused.retryable, refused.retry_after_ms) == (ErrorCode.TOO_MANY_REQUESTS, True, 1000)
    assert "an API key may have 2 requests running at once" in refused.message
    assert "key.requests" in refused.message
    other.check_request()
    here.check_request(1)  # one of its own is about to end
    there.requests_started(-1)
    here.check_request()
    assert b'warmline_limited_total{limit="requests",scope="key"} 1.0' in metrics.render()


def test_what_moves_to_another_address_counts_there(accounts):
    """What is open and runs already, and what comes. For its key nothing changes, and its tokens stay spent."""
    book = accounts(
        key=Quota(requests=3),
        address=Quota(requests=1, documents=1),
        connection=Quota(tokens_per_minute=60),
    )
    here, there = book.usage(ALICE, "1.1.1.1"), book.usage(ALICE, "2.2.2.2")
    here.documents_opened(1)
    here.requests_started(1)
    here.spend(120, 0)
    here.move_to(there)
    neighbour = book.usage(BOB, "1.1.1.1")
    neighbour.check_document()
    neighbour.check_request()
    assert "an address may have 1 documents" in refusal(here.check_document).message
    assert "an address may have 1 requests" in refusal(there.check_request).message
    here.move_to(book.usage(ALICE, "2.2.2.2"))
    here.requests_started(-1)
    there.check_request()
    assert "a connection may use 60 tokens" in refusal(here.check_request).message
    here.documents_opened(-1)
    there.check_document()


def test_an_address_is_one_whatever_key_it_shows(accounts):
    """And its limit is named where it is the one that is reached."""
    book = accounts(key=Quota(documents=5), address=Quota(documents=1))
    alice, bob = book.usage(ALICE, "1.1.1.1"), book.usage(BOB, "1.1.1.1")
    alice.check_document()
    alice.documents_opened(1)
    refused = refusal(bob.check_document)
    assert (refused.code, refused.retryable) == (ErrorCode.TOO_MANY_DOCUMENTS, False)
    assert "address.documents" in refused.message
    alice.documents_opened(-1)
    bob.check_document()


def test_tokens_a_minute_are_counted_when_they_were_spent(accounts, clock):
    """Those computed of prompts, and those generated; the refusal says when there will be some again."""
    book = accounts(key=Quota(tokens_per_minute=600))
    usage = book.usage(ALICE, "")
    usage.spend(400, 100)
    usage.check_request()
    usage.spend(1000, 0)
    refused = refusal(usage.check_request)
    assert refused.code == ErrorCode.RATE_LIMITED
    assert refused.retry_after == pytest.approx(90.1)
    assert "600 tokens a minute" in refused.message
    assert "key.tokens_per_minute" in refused.message
    clock.now += refused.retry_after + 0.001
    book.usage(ALICE, "").check_request()


def test_a_connection_has_its_own_tokens(accounts):
    """Another one of the same key has its own; a request of HTTP is none."""
    book = accounts(connection=Quota(tokens_per_minute=10))
    one, other = book.usage(ALICE, ""), book.usage(ALICE, "")
    one.spend(10, 10)
    assert "connection.tokens_per_minute" in refusal(one.check_request).message
    other.check_request()
    http = book.usage(ALICE, "", connection=False)
    http.spend(10, 10)
    http.check_request()


def test_sessions_of_a_key_count_together(accounts, metrics):
    """The sockets of an address are counted before anything else is known of them."""
    book = accounts(key=Quota(connections=1), address=Quota(connections=2))
    usage = book.usage(ALICE, "1.1.1.1")
    usage.check_connection()
    usage.sessions_opened(1)
    refused = refusal(book.usage(ALICE, "2.2.2.2").check_connection)
    assert (refused.code, refused.retryable, refused.retry_after) == (ErrorCode.TOO_MANY_CONNECTIONS, True, 5.0)
    assert b'warmline_key_sessions{key="alice"} 1.0' in metrics.render()
    usage.sessions_opened(-1)
    book.usage(ALICE, "2.2.2.2").check_connection()
    sockets = [book.arrived("3.3.3.3") for _ in range(3)]
    assert sockets[0] is sockets[2]
    assert sockets[0].has_too_many_connections
    sockets[0].connections -= 1
    assert not sockets[0].has_too_many_connections


def test_a_key_may_have_smaller_documents(accounts):
    """Never larger ones than the server takes."""
    limits = Limits(max_document_bytes=1000)
    book = accounts()
    small = ApiKey("small", b"1", quota=Quota(document_bytes=10))
    large = ApiKey("large", b"2", quota=Quota(document_bytes=10_000))
    assert book.usage(small, "").narrowed(limits).max_document_bytes == 10
    assert book.usage(large, "").narrowed(limits) is limits


def test_limits_change_under_what_is_open(accounts, clock):
    """A key that was given more has it at once, and what it spent stays spent."""
    book = accounts(key=Quota(requests=1))
    usage = book.usage(ALICE, "")
    usage.requests_started(1)
    refusal(usage.check_request)
    book.keys_changed([ApiKey("alice", ALICE.digest, quota=Quota(requests=2, tokens_per_minute=60)), BOB])
    usage.check_request()
    usage.spend(100, 0)
    book.keys_changed([ApiKey("alice", ALICE.digest, quota=Quota(requests=2, tokens_per_minute=60))])
    assert refusal(usage.check_request).code == ErrorCode.RATE_LIMITED
    book.keys_changed([ALICE])
    assert refusal(usage.check_request).code == ErrorCode.TOO_MANY_REQUESTS


def test_without_keys_all_are_one(accounts):
    """Whoever comes shares the limits of a key."""
    book = accounts(key=Quota(requests=1))
    book.usage(ANYBODY, "1.1.1.1").requests_started(1)
    refusal(book.usage(ANYBODY, "2.2.2.2").check_request)


def test_nothing_is_kept_of_addresses_that_have_no_limits(accounts):
    """However many come."""
    book = accounts(key=Quota(requests=1))
    for number in range(100):
        book.usage(ALICE, f"10.0.0.{number}")
        assert book.arrived(f"10.0.0.{number}") is None
    assert not book._addresses


def test_of_addresses_only_the_latest_are_kept(accounts, monkeypatch):
    """And those that have something open, however long ago they came."""
    monkeypatch.setattr(accounts_module, "MAX_ADDRESSES", 100)
    book = accounts(address=Quota(connections=5, tokens_per_minute=60))
    kept = book.arrived("10.9.9.9")
    for number in range(5000):
        book.usage(ALICE, f"10.0.{number // 250}.{number % 250}").spend(100, 0)
        assert len(book._addresses) <= 101
    assert book.arrived("10.9.9.9") is kept
    refusal(book.usage(ALICE, "10.0.19.249").check_request)


def test_addresses_that_are_open_are_all_kept(accounts, monkeypatch):
    """They are bounded by the sockets there are; each one more looks at a few only."""
    monkeypatch.setattr(accounts_module, "MAX_ADDRESSES", 10)
    book = accounts(address=Quota(connections=5))
    found = [book.arrived(f"10.0.0.{number}") for number in range(200)]
    assert len(book._addresses) == 200
    for account in found:
        account.connections -= 1
    for number in range(20):
        book.arrived(f"10.1.0.{number}").connections -= 1
    assert len(book._addresses) <= 10


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("", ""),
        ("/run/socket", "/run/socket"),
    ],
)
def test_what_counts_as_one_address(address, network):
    """Whoever has IPv6 has 64 bits of addresses to himself."""
    assert network_of(address) == network


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["connect", "leave", "open", "close", "start", "end"]),
        st.integers(0, 1),  # which key
        st.integers(0, 2),  # which address
    ),
    max_size=80,
)


@given(STEPS)
def test_no_order_of_things_goes_over_a_limit_or_leaves_anything_behind(steps):
    """Whatever connects, opens, starts and ends: what is counted is what there is, and at the end nothing."""
    metrics = Metrics(lambda: EngineStats(blocks_total=1), lambda: 0.0)
    book = Accounts(
        Quotas(
            key=Quota(connections=3, documents=4, requests=2), address=Quota(connections=9, documents=3, requests=1)
        ),
        metrics,
    )
    keys = (ALICE, BOB)
    sessions: list[tuple[Usage, ApiKey, str, dict[str, int]]] = []

    def count(what: str, *, key: ApiKey | None = None, address: str | None = None) -> int:
        return sum(has[what] for _, whose, at, has in sessions if whose is key or at == address)

    for step, which, where in steps:
        key, address = keys[which], f"10.0.0.{where}"
        mine = [session for session in sessions if session[1] is key and session[2] == address]
        if step == "connect":
            usage = book.usage(key, address)
            if count("sessions", key=key) >= 3:
                refusal(usage.check_connection)
            else:
                usage.check_connection()
                usage.sessions_opened(1)
                sessions.append((usage, key, address, {"sessions": 1, "documents": 0, "requests": 0}))
        elif mine:
            usage, _, _, has = mine[0]
            if step == "leave":
                usage.documents_opened(-has["documents"])
                usage.requests_started(-has["requests"])
                usage.sessions_opened(-1)
                sessions.remove(mine[0])
            elif step == "open":
                if count("documents", key=key) >= 4 or count("documents", address=address) >= 3:
                    refusal(usage.check_document)
                else:
                    usage.check_document()
                    usage.documents_opened(1)
                    has["documents"] += 1
            elif step == "close" and has["documents"]:
                usage.documents_opened(-1)
                has["documents"] -= 1
            elif step == "start":
                if count("requests", key=key) >= 2 or count("requests", address=address) >= 1:
                    refusal(usage.check_request)
                else:
                    usage.check_request()
                    usage.requests_started(1)
                    has["requests"] += 1
            elif step == "end" and has["requests"]:
                usage.requests_started(-1)
                has["requests"] -= 1
    for usage, _, _, has in sessions:
        usage.documents_opened(-has["documents"])
        usage.requests_started(-has["requests"])
        usage.sessions_opened(-1)
    assert not any(account.open for account in (*book._keys.values(), *book._addresses.values()))


def test_an_account_that_bounds_nothing_waits_for_nothing():
    """Whatever is spent."""
    account = Account("key", Quota())
    account.spend(10**9)
    assert account.wait == 0
    assert not account.has_all_connections
