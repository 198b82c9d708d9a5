"""Who is let in."""

from __future__ import annotations

import base64

import pytest
from warmline.realtime.auth import (
    Authenticator,
    bearer_token,
    host_allowed,
    is_loopback,
    origin_allowed,
    served_origins,
)


def test_only_a_configured_key_is_let_in():
    """Each key has its salt; anything else has none."""
    auth = Authenticator(["one", "two"])
    assert auth.required
    salts = {auth.salt("one"), auth.salt("two")}
    assert len(salts) == 2
    assert all(salts)
    for wrong in (None, "", "on", "one ", "ONE", "\ud800"):
        assert auth.salt(wrong) is None


def test_a_salt_does_not_show_its_key():
    """The prefix cache is keyed by a digest."""
    assert "secret" not in str(Authenticator(["secret"]).salt("secret"))


def test_without_keys_everybody_shares_one_salt():
    """Tokens are then not looked at."""
    auth = Authenticator([])
    assert not auth.required
    assert auth.salt(None) == auth.salt("anything") == ""


@pytest.mark.parametrize("key", ["", "two words", "kéy", "line\n"])
def test_a_key_that_can_not_be_sent_in_a_header_is_a_mistake(key):
    """An empty one would even let in whoever sends an empty token."""
    with pytest.raises(ValueError, match="ASCII"):
        Authenticator(["a", key])


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
