"""Validator sets: updates, order and the election of proposers."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.comet.validators import MAX_TOTAL_POWER, InvalidUpdate, ValidatorSet


def key(number: int) -> bytes:
    return sha256(f"key {number}".encode()).digest()


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6))
def test_proposing_is_proportional_to_power(powers: list[int]) -> None:
    """Over as many rounds as there is power, each validator proposes as often as it has power, give or take one."""
    validators = ValidatorSet.create((key(number), power) for number, power in enumerate(powers))
    rounds = sum(powers)
    if rounds > 2000:
        return
    counted = Counter(validators.rotate().address for _ in range(rounds))
    for validator in validators.validators:
        assert abs(counted[validator.address] - validator.power) <= 1


def test_order_is_by_power_then_address() -> None:
    """The set lists the strongest first, equals by address."""
    validators = ValidatorSet.create([(key(1), 5), (key(2), 9), (key(3), 5)])
    listed = [(-validator.power, validator.address) for validator in validators.validators]
    assert listed == sorted(listed)


def test_a_newcomer_waits_for_its_turn() -> None:
    """Entering costs one and an eighth of the total power in priority, centred afterwards."""
    validators = ValidatorSet.create([(key(1), 100)])
    validators.update([(key(2), 10)])
    newcomer = validators.find(ValidatorSet.create([(key(2), 1)]).validators[0].address)
    assert newcomer is not None
    assert newcomer.priority == min(validator.priority for validator in validators.validators) < 0
    assert abs(sum(validator.priority for validator in validators.validators)) < 2


def test_removal_and_new_powers_change_the_hash() -> None:
    """Updates by key take effect, and the hash follows the members and their powers only."""
    validators = ValidatorSet.create([(key(1), 100), (key(2), 10)])
    before = validators.hash()
    validators.rotate()
    assert validators.hash() == before
    validators.update([(key(2), 0)])
    assert [validator.power for validator in validators.validators] == [100]
    assert validators.hash() != before


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([(key(9), 0)], "failed to find validator"),
        ([(key(1), 0)], "empty set"),
        ([(key(1), -1)], "negative"),
        ([(key(2), 5), (key(2), 6)], "duplicate"),
        ([(key(2), MAX_TOTAL_POWER)], "exceeds max"),
    ],
)
def test_impossible_changes_are_refused(changes: list[tuple[bytes, int]], text: str) -> None:
    """What CometBFT would refuse raises and leaves the set as it was."""
    validators = ValidatorSet.create([(key(1), 100)])
    before = [(validator.address, validator.power, validator.priority) for validator in validators.validators]
    with pytest.raises(InvalidUpdate, match=text):
        validators.update(changes)
    assert [(v.address, v.power, v.priority) for v in validators.validators] == before


def test_copies_do_not_share_priorities() -> None:
    """Rotating a copy leaves the original alone."""
    validators = ValidatorSet.create([(key(1), 3), (key(2), 2)])
    before = [validator.priority for validator in validators.validators]
    validators.rotated(3)
    assert [validator.priority for validator in validators.validators] == before
