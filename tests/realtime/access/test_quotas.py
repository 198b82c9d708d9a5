"""How limits are written."""

from __future__ import annotations

import pytest
from warmline.realtime.access.quotas import NO_QUOTA, Quota, Quotas, parse_quotas
from warmline.realtime.limits import Limits


def test_limits_are_named_by_what_they_hold_for():
    """Each connection, each key, each address."""
    assert parse_quotas(
        [
            "key.requests=8",
            "key.tokens_per_minute = 100_000",
            "address.connections=20",
            "connection.document_bytes=1MiB",
        ]
    ) == Quotas(
        connection=Quota(document_bytes=1 << 20),
        key=Quota(requests=8, tokens_per_minute=100_000),
        address=Quota(connections=20),
    )
    assert parse_quotas([]) == Quotas()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("requests=8", "'requests=8' is no limit"),
        ("key.requests", "is no limit"),
        ("key.request=8", "there are connection.documents"),
        ("user.requests=8", "is no limit"),
        ("address.document_bytes=8", "is no limit"),
        ("connection.connections=8", "is no limit"),
        ("key.requests=", "requests is a whole number, at least 1, not ''"),
        ("key.requests=0", "at least 1"),
        ("key.requests=-1", "at least 1"),
        ("key.requests=1.5", "a whole number"),
        ("key.requests=1k", "a whole number"),
        ("key.document_bytes=1T", "a size such as 1MiB"),
        ("key.requests=" + "9" * 5000, "at least 1"),
        ("key.requests=99999999999999999999", "at least 1"),
    ],
)
def test_what_is_no_limit_is_said_plainly(setting, said):
    """With what there is."""
    with pytest.raises(ValueError, match=r"limit|whole number|size") as error:
        parse_quotas([setting])
    assert said in str(error.value)
    assert len(str(error.value)) < 500


def test_a_limit_is_set_once():
    """Two values can't both be meant."""
    with pytest.raises(ValueError, match=r"key\.requests is set twice"):
        parse_quotas(["key.requests=8", "key.requests=9"])


def test_a_keys_own_limits_come_first():
    """And where it has none, those of every key."""
    assert Quota(requests=2).over(Quota(requests=8, documents=3)) == Quota(requests=2, documents=3)
    assert NO_QUOTA.over(Quota(requests=8)) == Quota(requests=8)


def test_those_of_a_connection_are_a_sessions():
    """As `Limits` has them, with its own bounds."""
    limits = Limits().within(Quota(documents=3, document_bytes=1000, requests=2))
    assert (limits.max_documents, limits.max_document_bytes, limits.max_requests) == (3, 1000, 2)
    assert Limits().within(NO_QUOTA) == Limits()
    with pytest.raises(ValueError, match="1 to 128"):
        Limits().within(Quota(requests=129))
