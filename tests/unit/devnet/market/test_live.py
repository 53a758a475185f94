"""The market on a running chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.relay import Fault

NOW = 1_790_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW * NANOSECONDS)


@pytest.fixture
def devnet(clock: ManualClock) -> Iterator[Devnet]:
    opened = Devnet.open(Settings(), None, clock=clock, genesis_time_ns=(NOW - 6 * 3600) * NANOSECONDS)
    yield opened
    opened.close()


def _seal(devnet: Devnet, clock: ManualClock, seconds: int) -> list[int]:
    """Codes of what is delivered while a block a second is sealed."""
    codes = []
    for _ in range(seconds):
        clock.advance(seconds=1)
        codes += [result.code for result in devnet.node.seal().results.tx_results]
    return codes


def test_it_is_lively_at_once_after_history(devnet: Devnet, clock: ManualClock) -> None:
    """Within twenty minutes accounts act, prices are fed every minute, and nothing is refused."""
    market = Market(devnet, start=NOW - 6 * 3600)
    simulate(devnet, market, NOW)
    LiveMarket.resume(devnet, clock, market).attach()
    actors = {borrower.hand.address for borrower in market.borrowers}
    seen: set[str] = set()
    devnet.node.add_listener(
        lambda sealed: seen.update(
            value for result in sealed.results.tx_results for event in result.events for _, value in event.attributes
        )
    )
    codes = _seal(devnet, clock, 1200)
    assert set(codes) == {0}
    assert len(codes) >= 25
    assert actors & seen


def _lived(folder: Path, *, stops: tuple[int, ...]) -> tuple[int, bytes, bytes]:
    """Height, block id and app hash after four lively minutes, of a chain that was closed and opened at some blocks."""
    clock = ManualClock(NOW * NANOSECONDS)

    def opened() -> Devnet:
        return Devnet.open(Settings(), folder, clock=clock, genesis_time_ns=(NOW - 1800) * NANOSECONDS)

    devnet = opened()
    market = Market(devnet, start=NOW - 1800)
    simulate(devnet, market, NOW)
    live = LiveMarket.resume(devnet, clock, market)
    live.attach()
    live.market.model.script_market(NOW + 40, 120, 0.6)
    live.market.relayer.faults.append(Fault("transfer", "timeout"))
    for block in range(240):
        if block in stops:
            devnet.close()
            devnet = opened()
            LiveMarket.resume(devnet, clock).attach()
        _seal(devnet, clock, 1)
    reached = devnet.node.height, devnet.node.head.id.hash, devnet.app.state.app_hash
    devnet.close()
    return reached


def test_a_restart_changes_nothing_of_what_is_to_come(tmp_path: Path) -> None:
    """Agenda, prices, a scripted crash, a fault and the mempool outlive the process: the chain goes on the same."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    assert _lived(tmp_path / "one", stops=()) == _lived(tmp_path / "other", stops=(1, 90, 91, 170))


def test_a_market_taken_up_again_has_the_prices_it_had(devnet: Devnet, clock: ManualClock) -> None:
    """What the chain notes of the market is what a restart continues from."""
    live = LiveMarket.resume(devnet, clock, Market(devnet, start=NOW))
    live.market.model.set_price("ATOM", 7.25)
    live.note()
    live.restart()
    assert live.market.model.usd("ATOM") == pytest.approx(7.25)
    assert LiveMarket.resume(devnet, clock).market.model.usd("ATOM") == pytest.approx(7.25)


def test_a_note_of_another_version_is_left_aside(devnet: Devnet, clock: ManualClock) -> None:
    """A market whose note nobody understands begins anew rather than not at all."""
    with devnet.node.store.transaction():
        devnet.node.store.put_meta("market", b'{"prices":{"ATOM":7.25}}')
    assert LiveMarket.resume(devnet, clock).market.model.usd("ATOM") == pytest.approx(1.5)
