"""Faults on purpose, and being well again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.devnet.control.controlled_chain import Ground

from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.heights import HeightError

Make = Callable[..., Ground]


def test_a_pruned_range_is_hidden_and_comes_back(ground: Make) -> None:
    """Blocks and state below the height are gone for readers, not for the chain."""
    chain = ground()
    chain.control.mine(20, 5)
    chain.control.faults.prune(10)
    node, queries = chain.devnet.node, chain.devnet.app.queries
    assert node.base == 10
    assert node.store.block(9) is None
    assert node.store.block(10) is not None
    with pytest.raises(HeightError, match="pruned"):
        queries.resolve(9)
    assert chain.control.mine(1, 5).height == 22
    chain.control.faults.clear()
    assert node.base == 1
    assert node.store.block(9) is not None
    assert queries.resolve(9) == 9


def test_a_stale_replica_stays_where_it_is(ground: Make) -> None:
    """The latest height readers see stands still while the chain goes on."""
    chain = ground()
    chain.control.mine(4, 5)
    chain.control.faults.stale(True)
    chain.control.mine(3, 5)
    assert chain.devnet.app.queries.resolve(0) == 5
    assert chain.devnet.node.shown_height == 5
    with pytest.raises(HeightError, match="future"):
        chain.devnet.app.queries.resolve(6)
    chain.control.faults.stale(False)
    assert chain.devnet.app.queries.resolve(0) == 8


@pytest.mark.parametrize("seconds", [-1.0, 61.0, float("nan")])
def test_a_senseless_delay_is_refused(ground: Make, seconds: float) -> None:
    """Only a delay somebody would wait for is taken."""
    with pytest.raises(InvalidInput):
        ground().control.faults.slow(seconds)


def test_heights_that_are_not_there_can_not_be_pruned(ground: Make) -> None:
    """The future can't be hidden."""
    with pytest.raises(InvalidInput):
        ground().control.faults.prune(99)


def test_packets_fail_as_told(ground: Make) -> None:
    """Only known kinds and outcomes are taken; they wait for the next packet."""
    chain = ground(market=True)
    chain.control.fail_next_packet("transfer", "timeout")
    assert chain.control.live is not None
    assert [fault.kind for fault in chain.control.live.market.relayer.faults] == ["transfer"]
    with pytest.raises(InvalidInput):
        chain.control.fail_next_packet("carrier pigeon", "timeout")
