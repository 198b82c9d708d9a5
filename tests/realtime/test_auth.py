"""Who is let in."""

from __future__ import annotations

import base64
import hashlib

import pytest
from warmline.realtime.access.keys import ANYBODY, ApiKey, digest_of, entry_of, parse_keys, plain_keys
from warmline.realtime.access.refusals import Reason
from warmline.realtime.auth import (
    Authenticator,
    NotLetIn,
    bearer_token,
    host_allowed,
    is_loopback,
    origin_allowed,
    served_origins,
)


def keys(*texts: str) -> list[ApiKey]:
    """Keys that are called as they are."""
    return [ApiKey.of(text, text) for text in texts]


def problem_with(auth: Authenticator, token: str | None) -> Reason:
    with pytest.raises(NotLetIn) as problem:
        auth.identify(token)
    return problem.value.reason


def test_only_a_configured_key_is_let_in():
    """Each key has its salt; anything else is nobody's."""
    auth = Authenticator(keys("one", "two"))
    assert auth.required
    found = [auth.identify("one"), auth.identify("two")]
    assert [key.name for key in found] == ["one", "two"]
    assert len({key.salt for key in found} | {""}) == 3
    for wrong in ("", "on", "one ", "ONE", "\ud800"):
        assert problem_with(auth, wrong) is Reason.WRONG_KEY
    assert problem_with(auth, None) is Reason.NO_KEY


def test_every_key_is_compared_in_constant_time(monkeypatch):
    """Also behind the one that matches, so that the time tells nothing about the keys."""
    compared = []

    def compare(offered: bytes, known: bytes) -> bool:
        compared.append(known)
        return offered == known

    monkeypatch.setattr("warmline.realtime.auth.hmac.compare_digest", compare)
    known = keys("one", "two", "three")
    auth = Authenticator(known)
    auth.identify("one")
    assert problem_with(auth, "four") is Reason.WRONG_KEY
    assert compared == 2 * [key.digest for key in known]


def test_neither_a_salt_nor_what_is_printed_shows_a_key():
    """The prefix cache is keyed by a digest, of another kind than the one that lets in."""
    (key,) = keys("secret")
    digest = hashlib.sha256(b"secret").hexdigest()
    assert "secret" not in key.salt
    assert key.salt[:16] not in digest
    assert digest not in repr(ApiKey.of("name", "secret"))
    assert str(key.digest) not in repr(key)


def test_a_salt_is_that_of_the_key_whatever_it_is_called():
    """So its cache stays warm when the file of keys is read again, or it moves there from the command line."""
    one, other = ApiKey.of("key-1", "secret"), parse_keys(entry_of("alice", "secret"), "file")[0]
    assert one.salt == other.salt


def test_without_keys_everybody_shares_one_salt():
    """Tokens are then not looked at."""
    auth = Authenticator()
    assert not auth.required
    assert auth.identify(None) is auth.identify("anything") is ANYBODY
    assert ANYBODY.salt == ""
    assert auth.revoked(ANYBODY) is None


def test_where_there_were_keys_nobody_is_let_in_without_one():
    """Whoever empties the file of keys does not open the door."""
    auth = Authenticator(keys("one"))
    auth.keys = ()
    assert problem_with(auth, None) is Reason.NO_KEY
    assert problem_with(auth, "one") is Reason.WRONG_KEY
    assert Authenticator(required=True).required


def test_a_key_lets_nobody_in_once_it_has_expired():
    """Neither anew nor further on; one that was removed the same."""
    now = 1000.0
    old = ApiKey("old", digest_of("old"), expires=1010.0)
    auth = Authenticator([old, *keys("other")], now=lambda: now)
    assert auth.next_expiry == 10.0
    assert auth.revoked(auth.identify("old")) is None
    now = 1010.0
    assert problem_with(auth, "old") is Reason.EXPIRED_KEY
    assert auth.revoked(old) == "the API key has expired"
    assert auth.next_expiry is None
    auth.keys = ()
    assert auth.revoked(old) == "the API key was removed"


def test_a_key_that_is_prolonged_goes_on():
    """What counts is what is known of it now, not when its session began."""
    auth = Authenticator([ApiKey("old", digest_of("old"), expires=1010.0)], now=lambda: 1005.0)
    key = auth.identify("old")
    auth.keys = (ApiKey("renamed", digest_of("old"), expires=9999.0),)
    assert auth.revoked(key) is None


@pytest.mark.parametrize("key", ["", "two words", "kéy", "line\n"])
def test_a_key_that_can_not_be_sent_in_a_header_is_a_mistake(key):
    """An empty one would even let in whoever sends an empty token."""
    with pytest.raises(ValueError, match="ASCII"):
        plain_keys(["a", key])


def subprotocol(key: str) -> str:
    return "bearer." + base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


@pytest.mark.parametrize("key", ["k", "key", "kéy?>", "x" * 100])
def test_a_browser_sends_its_key_as_a_subprotocol(key):
    """Base64url without padding."""
    assert bearer_token(None, ["warmline.v1.json", subprotocol(key)]) == key


def test_the_header_comes_first():
    """With both, the Authorization header counts; the scheme's case doesn't."""
    assert bearer_token("bearer abc", [subprotocol("other")]) == "abc"
    assert bearer_token(None, ["warmline.v1.json"]) is None


@pytest.mark.parametrize(
    ("authorization", "offered"),
    [("Basic abc", []), ("Bearer", []), ("Bearer ", []), ("", []), (None, ["bearer.!!!"]), (None, ["bearer._w"])],
)
def test_a_credential_that_can_not_be_read_is_explained(authorization, offered):
    """The message says how to send one."""
    with pytest.raises(ValueError, match="key"):
        bearer_token(authorization, offered)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("localhost:8765", True),
        ("LOCALHOST:1", True),
        ("127.0.0.1:8765", True),
        ("192.168.1.5", True),
        ("[::1]:8765", True),
        ("[::1]", True),
        ("code.example", True),
        ("Code.Example:443", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8765", False),
        ("code.example.evil.example", False),
        ("", False),
        (None, False),
        ("::1", False),
        ("[localhost]evil", True),
    ],
)
def test_hosts(host, allowed):
    """Names must be on the list, addresses and localhost can't be rebound."""
    assert host_allowed(host, ["code.example"]) is allowed


def test_origins():
    """A page must be on the list to the letter; a client that is no browser sends none."""
    listed = ["https://code.example"]
    assert origin_allowed(None, listed)
    assert origin_allowed("https://code.example", listed)
    for other in ("null", "", "http://code.example", "https://code.example.evil", "https://code.example:444", "*"):
        assert not origin_allowed(other, listed)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
    + [("", False), ("10.0.0.1", False), ("code.example", False)],
)
def test_loopback(host, loopback):
    """Only what can't be reached from another machine."""
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("host", "port", "names", "origins"),
    [
        ("127.0.0.1", 8765, (), {"http://127.0.0.1:8765", "http://localhost:8765"}),
        ("localhost", 8765, (), {"http://127.0.0.1:8765", "http://localhost:8765"}),
        ("::1", 80, (), {"http://[::1]", "http://localhost"}),
        ("0.0.0.0", 80, ("Box",), {"http://127.0.0.1", "http://localhost", "http://box"}),
        ("", 9, (), {"http://127.0.0.1:9", "http://localhost:9"}),
        ("192.0.2.7", 9, ("box",), {"http://192.0.2.7:9", "http://box:9"}),
    ],
)
def test_the_served_page_is_known_by_the_configuration(host, port, names, origins):
    """The names a server listens on and answers to; never a wildcard, which is nobody's origin."""
    assert served_origins(host, port, names) == origins
