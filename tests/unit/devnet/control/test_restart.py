"""A chain that was taken ahead of time, opened again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.settings import Settings
from leasehold.devnet.consensus.sealing import Sealer, SealMode
from leasehold.devnet.control.clock import DevnetClock
from leasehold.devnet.control.control import Control
from leasehold.devnet.service import open_with_history

START = 1_790_000_000


def test_time_goes_on_from_where_it_was_taken(tmp_path: Path) -> None:
    """After a restart blocks are still as far apart as the clock says, not a millisecond."""
    settings = replace(Settings(), devnet=replace(Settings().devnet, market=False, history_days=0))
    base = ManualClock(START * NANOSECONDS)
    clock = DevnetClock(base)
    devnet, live = open_with_history(settings, tmp_path, clock)
    assert live is None
    devnet.node.seal()
    Control(devnet, Sealer(devnet.node, mode=SealMode.DEMAND), clock, folder=tmp_path).advance(10 * 86_400)
    reached = devnet.node.time_ns
    devnet.close()
    again = DevnetClock(base)
    devnet, _ = open_with_history(settings, tmp_path, again)
    base.advance(seconds=7)
    sealed = devnet.node.seal()
    assert sealed.block.header.time_ns == reached + 7 * NANOSECONDS
    devnet.close()


def test_a_market_without_a_past_has_blocks() -> None:
    """A fresh chain that is to live from now on can be read and sent to as soon as it is open."""
    settings = replace(Settings(), devnet=replace(Settings().devnet, history_days=0))
    devnet, live = open_with_history(settings, None, DevnetClock(ManualClock(START * NANOSECONDS)))
    assert live is not None
    assert devnet.node.height >= 1
    devnet.close()


def test_a_history_that_was_cut_short_is_told_anew(tmp_path: Path) -> None:
    """A start that was killed while it simulated leaves nothing behind: the next one begins again."""
    settings = replace(Settings(), devnet=replace(Settings().devnet, history_days=1))
    base = ManualClock(START * NANOSECONDS)
    early = replace(settings, devnet=replace(settings.devnet, history_days=0, market=False))
    devnet, _ = open_with_history(early, tmp_path, DevnetClock(base))
    assert devnet.node.height == 1, "a chain without a history begins with its first block"
    devnet.node.fast_forward(5, NANOSECONDS)
    devnet.close()
    devnet, live = open_with_history(settings, tmp_path, DevnetClock(base))
    assert live is not None
    first = devnet.node.store.block(1)
    assert first is not None
    assert first.block.header.time_ns == (START - 86_400) * NANOSECONDS
    assert devnet.node.height > 50
    devnet.close()
    devnet, _ = open_with_history(settings, tmp_path, DevnetClock(base))
    assert devnet.node.height > 50
    devnet.close()
