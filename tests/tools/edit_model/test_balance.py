"""Kinds that fall behind are wished for more than their weight."""

from __future__ import annotations

from random import Random

from tools.edit_model.balance import Balance

WEIGHTS = {"common": 4.0, "rare": 1.0}


def balance() -> Balance:
    """Of two kinds."""
    made = Balance(WEIGHTS.__getitem__)
    made.expect("python", WEIGHTS)
    return made


def test_at_first_a_kind_is_wished_for_by_its_weight() -> None:
    """Nothing is behind yet."""
    assert [balance().wish("python", kind, 2.0) for kind in WEIGHTS] == [4.0, 1.0]


def test_what_has_its_share_stays_at_its_weight_and_the_rest_makes_up() -> None:
    """Kinds are counted apart in each language group."""
    made = balance()
    for _ in range(100):
        made.count("python", "common")
    assert made.lag("python", "common") < 1 < made.lag("python", "rare")
    assert made.wish("python", "rare", 1.0) > 15 > 4 > made.wish("python", "common", 1.0)


def test_wishing_leads_to_the_shares_that_the_weights_give() -> None:
    """Or nearly, though one kind applies only to some: by weight alone it would be eleven to one."""
    made, random = balance(), Random(1)
    counts = dict.fromkeys(WEIGHTS, 0)
    for _ in range(5000):
        apt = [kind for kind in WEIGHTS if kind == "common" or random.random() < 0.4]
        kind = random.choices(apt, [made.wish("python", kind, 2.0) for kind in apt])[0]
        made.count("python", kind)
        counts[kind] += 1
    assert 4 < counts["common"] / counts["rare"] < 6.5
