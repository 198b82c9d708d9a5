"""What a file of keys may say, and what is told of what it may not."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.access.keys import (
    PREFIX,
    ApiKey,
    KeysError,
    digest_of,
    entry_of,
    joined,
    new_key,
    parse_keys,
    plain_keys,
    read_keys,
)
from warmline.realtime.access.quotas import Quota

SECRET = "s3cret-of-alice"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


def test_a_key_is_named_and_known_by_its_digest():
    """Or in plain text, which counts as its digest."""
    text = f'[keys.alice]\nsha256 = "{DIGEST}"\n[keys."bob@laptop"]\nkey = "other"\n'
    assert parse_keys(text, "keys.toml") == [
        ApiKey("alice", digest_of(SECRET)),
        ApiKey("bob@laptop", digest_of("other")),
    ]


def test_one_line_is_enough():
    """As an environment variable may have it."""
    assert [key.name for key in parse_keys(f'keys.alice.sha256 = "{DIGEST.upper()}"', "WARMLINE_KEYS")] == ["alice"]


def test_a_key_may_have_limits_and_an_end():
    """Which are its own, and differ from those of every key."""
    text = f"""
    [keys.alice]
    sha256 = "{DIGEST}"
    expires = 2030-01-31T12:00:00+02:00
    limits = {{ requests = 8, tokens_per_minute = 100_000, document_bytes = "1MiB" }}
    """
    (key,) = parse_keys(text, "keys.toml")
    assert key.quota == Quota(requests=8, tokens_per_minute=100_000, document_bytes=1 << 20)
    assert key.expires == datetime.datetime(2030, 1, 31, 10, tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize(
    "text", ["2030-01-31", "2030-01-31T00:00:00Z", "2030-01-31T00:00:00", "2030-01-31 01:00:00+01:00"]
)
def test_a_date_is_its_first_second_in_utc(text):
    """So is a time that names no zone."""
    (key,) = parse_keys(f'keys.a.key = "k"\nkeys.a.expires = {text}', "keys.toml")
    assert key.expires == datetime.datetime(2030, 1, 31, tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keys = 3", "keys is a table"),
        ("[keys", "is no TOML"),
        ("keys = " + "[" * 100_000, "is no TOML"),
        ("[users.alice]", "there is no 'users' here, only keys"),
        ("keys.alice = 'x'", "keys.alice is a table with sha256, or key"),
        ("[keys.alice]", "keys.alice needs sha256"),
        (f"[keys.alice]\nkey = '{SECRET}'\nsha256 = '{DIGEST}'", "not both"),
        (f"[keys.alice]\nsha256 = '{DIGEST[1:]}'", "64 hexadecimal digits"),
        ("[keys.alice]\nsha256 = 5", "64 hexadecimal digits"),
        (f"[keys.alice]\nkey = '{SECRET} x'", "ASCII characters without spaces"),
        ("[keys.alice]\nkey = ''", "ASCII characters without spaces"),
        ("[keys.alice]\nkey = 5", "ASCII characters without spaces"),
        (f"[keys.alice]\nkey = '{SECRET}'\nexpire = 2030-01-01", "there is no 'expire' here, only key, sha256"),
        (f"[keys.alice]\nkey = '{SECRET}'\nexpires = '2030-01-01'", "without quotation marks"),
        (f"[keys.alice]\nkey = '{SECRET}'\nexpires = 12:00:00", "expires is a date"),
        (f"[keys.alice]\nkey = '{SECRET}'\nlimits = 5", "limits are a table"),
        (f"[keys.alice]\nkey = '{SECRET}'\nlimits.request = 5", "no limit 'request', only connections, documents"),
        (f"[keys.alice]\nkey = '{SECRET}'\nlimits.requests = 0", "requests is a whole number, at least 1"),
        (f"[keys.alice]\nkey = '{SECRET}'\nlimits.requests = true", "requests is a whole number"),
        (f"[keys.'two words']\nkey = '{SECRET}'", "a name has 1 to 64"),
        (f"[keys.'']\nkey = '{SECRET}'", "a name has 1 to 64"),
        (f"[keys.a]\nkey = '{SECRET}'\n[keys.b]\nsha256 = '{DIGEST}'", "keys.b is the same key as keys.a"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_without_the_key(text, said):
    """The message begins with the file, and has nothing that would have to be kept secret."""
    with pytest.raises(KeysError) as error:
        parse_keys(text, "keys.toml")
    message = str(error.value)
    assert message.startswith("keys.toml")
    assert said in message
    assert SECRET not in message
    assert DIGEST[:20] not in message


@given(st.text(max_size=200))
def test_whatever_a_file_has_is_read_or_refused(text):
    """With the one exception that is caught where it is read."""
    try:
        parse_keys(text, "keys.toml")
    except KeysError as error:
        assert str(error).startswith("keys.toml")


def test_a_new_key_comes_with_an_entry_that_lets_it_in():
    """The entry has its digest, and not the key; no two are the same."""
    key = new_key()
    entry = entry_of("alice@work", key)
    assert key not in entry
    assert parse_keys(entry, "keys.toml") == [ApiKey("alice@work", digest_of(key))]
    assert key.startswith(PREFIX)
    assert len(key) >= len(PREFIX) + 43
    assert new_key() != key
    with pytest.raises(KeysError, match="a name has"):
        entry_of("no name", key)


def test_a_file_that_is_none_is_said_plainly(tmp_path: Path):
    """Missing, a folder, too large, or of bytes that are no text."""
    with pytest.raises(KeysError, match="can't be read: No such file"):
        read_keys(tmp_path / "none")
    with pytest.raises(KeysError, match="is no regular file"):
        read_keys(tmp_path)
    file = tmp_path / "keys.toml"
    file.write_bytes(b"\xff")
    with pytest.raises(KeysError, match="no UTF-8"):
        read_keys(file)
    file.write_bytes(b"#" * (5 << 20))
    with pytest.raises(KeysError, match="no file of keys"):
        read_keys(file)


def test_keys_of_several_sources_are_told_apart():
    """A name stands for one key, and a key has one name."""
    plain = plain_keys(["one", "two", "one"])
    assert [key.name for key in plain] == ["key-1", "key-2"]
    assert joined([plain, [ApiKey.of("alice", "three")]]) == (*plain, ApiKey.of("alice", "three"))
    with pytest.raises(KeysError, match="called key-1"):
        joined([plain, [ApiKey.of("key-1", "three")]])
    with pytest.raises(KeysError, match="key-2 and alice are the same"):
        joined([plain, [ApiKey.of("alice", "two")]])
