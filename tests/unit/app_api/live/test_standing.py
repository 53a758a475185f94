"""What holds from block to block: known, or not known, and never wrong."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.app_api.live.standing import Standing

NAMES = ("a", "b", "c")


@given(st.integers(0, 10**9))
@settings(max_examples=200, deadline=None)
def test_what_is_known_is_true(seed: int) -> None:
    """Blocks touch some names, which are looked at then, late or not at all; some are not followed for a while."""
    chance = random.Random(seed)
    standing: Standing[int] = Standing()
    truth: list[dict[str, int]] = [dict.fromkeys(NAMES, 0)]
    followed = set(NAMES)
    known = 0
    for height in range(1, 60):
        state = dict(truth[-1])
        truth.append(state)
        for name in NAMES:
            if chance.random() < 0.3:
                state[name] = height
            elif name in followed:
                standing.passed(name, height)
            if chance.random() < 0.1:
                followed ^= {name}
            if chance.random() < 0.3:
                seen = height if chance.random() < 0.7 else chance.randrange(height)
                standing.saw(name, seen, truth[seen][name])
        if chance.random() < 0.05:
            standing.forget(followed)
        for name in NAMES:
            asked = height if chance.random() < 0.8 else chance.randrange(height + 1)
            found = standing.at(name, asked)
            known += found is not None
            assert found in (None, truth[asked][name])
    assert known


def test_a_value_is_led_on_and_lost_with_a_gap() -> None:
    standing: Standing[str] = Standing()
    standing.saw("a", 5, "x")
    standing.passed("a", 6)
    standing.passed("a", 7)
    assert [standing.at("a", height) for height in (6, 7, 8)] == [None, "x", None]
    assert standing.at("b", 7) is None
    standing.passed("a", 9)
    assert standing.at("a", 9) is None
    standing.saw("a", 6, "older")
    assert standing.at("a", 7) == "x"
    standing.forget({"b"})
    assert standing.at("a", 7) is None
