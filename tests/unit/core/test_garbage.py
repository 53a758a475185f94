"""Rare collections end where they began."""

import gc

import pytest

from leasehold.core.garbage import rare_collections


def test_thresholds_and_frozen_objects_are_given_back_even_after_an_error() -> None:
    """Inside, the collector sees little; afterwards it is as it was, however the work ended."""
    before = gc.get_threshold(), gc.get_freeze_count()

    def work() -> None:
        with rare_collections():
            assert gc.get_threshold() > before[0]
            assert gc.get_freeze_count() > before[1]
            raise ValueError("work failed")

    with pytest.raises(ValueError, match="work failed"):
        work()
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_one_within_another_leaves_the_outer_one_alone() -> None:
    """Ending the inner one gives nothing back yet."""
    with rare_collections():
        thresholds = gc.get_threshold()
        with rare_collections():
            pass
        assert gc.get_threshold() == thresholds
        # Some of the frozen may have gone meanwhile, but not all of them.
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
