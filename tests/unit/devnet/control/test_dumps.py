"""Chains put aside under a name and taken up again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.devnet.control.controlled_chain import Ground

from leasehold.core.errors import Conflict, InvalidInput, NotFound, Unavailable
from leasehold.devnet.genesis.document import address

Make = Callable[..., Ground]


def test_a_loaded_dump_is_the_chain_as_it_was(ground: Make, tmp_path: Path) -> None:
    """Height, app hash, balances, clock and history come back, and the chain goes on from there."""
    chain = ground(market=True, folder=tmp_path)
    alice = address(chain.devnet.settings.identity, "alice")
    chain.control.mine(4, 30)
    node, app = chain.devnet.node, chain.devnet.app
    before = (node.height, node.head.id, app.state.app_hash, chain.balance(alice, "ulsh"))
    clock = chain.control.clock.now_ns()
    assert chain.control.dump("first") > 0
    chain.control.fund(alice, ["9LSH"])
    chain.control.mine(10, 30)
    chain.control.snapshot()
    assert chain.control.load("first") == before[0]
    assert (node.height, node.head.id, app.state.app_hash, chain.balance(alice, "ulsh")) == before
    assert chain.control.clock.now_ns() == clock
    assert chain.control.snapshots == []
    assert chain.control.dumps.names() == ["first"]
    assert chain.control.mine(3, 5).height == before[0] + 3


def test_what_comes_after_a_load_is_what_came_after_the_dump(ground: Make, tmp_path: Path) -> None:
    """The market's plans and prices and what waited for a block are in the dump: the same blocks follow twice."""
    chain = ground(market=True, folder=tmp_path)
    chain.control.mine(40, 30)
    chain.control.set_price("ALL_BTC", 50_000)
    chain.control.dump("here")
    followed = []
    for _ in range(2):
        sealed = chain.control.mine(60, 30)
        followed.append((sealed.height, sealed.stored.id, chain.devnet.app.state.app_hash))
        chain.control.load("here")
    assert followed[0] == followed[1]


def test_a_dump_can_be_loaded_into_another_home_of_the_same_chain(ground: Make, tmp_path: Path) -> None:
    """The dump carries its genesis, so a second stack can start from the first one's state."""
    first = ground(folder=tmp_path / "a")
    first.control.mine(7, 1)
    first.control.dump("seven")
    second = ground(folder=tmp_path / "b")
    (tmp_path / "b" / "dumps").mkdir()
    (tmp_path / "b" / "dumps" / "seven.sqlite").write_bytes((tmp_path / "a" / "dumps" / "seven.sqlite").read_bytes())
    assert second.control.load("seven") == 8
    assert second.devnet.app.state.app_hash == first.devnet.app.state.app_hash
    assert (tmp_path / "b" / "genesis.json").read_bytes() == (tmp_path / "a" / "genesis.json").read_bytes()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a.sqlite", "x" * 65, "a\0b", "ä"])
def test_a_name_that_could_be_a_path_is_refused(ground: Make, tmp_path: Path, name: str) -> None:
    """Neither dump nor load takes anything but a plain name."""
    chain = ground(folder=tmp_path / "home")
    with pytest.raises(InvalidInput):
        chain.control.dump(name)
    with pytest.raises(InvalidInput):
        chain.control.load(name)


def test_what_is_no_dump_changes_nothing(ground: Make, tmp_path: Path) -> None:
    """An unknown name, a file of something else and a chain without a folder say so, and the chain stays."""
    chain = ground(folder=tmp_path)
    height = chain.control.mine(2, 5).height
    with pytest.raises(NotFound, match="none"):
        chain.control.load("never")
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps" / "noise.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises((Unavailable, Conflict)):
        chain.control.load("noise")
    assert chain.control.mine(1, 5).height == height + 1
    with pytest.raises(Unavailable, match="memory"):
        ground().control.dump("nowhere")
