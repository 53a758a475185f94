"""Chains under control, in memory or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace as changed
from pathlib import Path

import pytest
from tests.unit.devnet.control.controlled_chain import START, Ground

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.settings import Devnet as DevnetSettings
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.sealing import Sealer, SealMode
from leasehold.devnet.control.clock import DevnetClock
from leasehold.devnet.control.control import Control
from leasehold.devnet.market.live import LiveMarket


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Callable[..., Ground]]:
    """Makes chains: with a market or without, in a folder or in memory."""
    opened: list[Devnet] = []

    def make(*, market: bool = False, folder: Path | None = None) -> Ground:
        base = ManualClock(START * NANOSECONDS)
        clock = DevnetClock(base)
        settings = changed(Settings(), devnet=DevnetSettings(market=market, seal="demand"))
        devnet = Devnet.open(settings, folder, clock=clock, durable=False)
        opened.append(devnet)
        devnet.node.seal()
        live = LiveMarket.resume(devnet, clock) if market else None
        if live is not None:
            live.attach()
        control = Control(devnet, Sealer(devnet.node, mode=SealMode.DEMAND), clock, live, folder)
        return Ground(control, base)

    yield make
    for devnet in opened:
        devnet.close()
