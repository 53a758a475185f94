"""Keepers: alarms are dispatched when due, and left alone when they only fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leasehold.core.clock import NANOSECONDS
from leasehold.core.settings import Settings
from leasehold.devnet.app.abci import Event
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.keepers import FIRST_REST, LONGEST_REST, Dispatcher
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.standing import Rates

START = 1_767_225_600
CALM = Rates(openings=0, managements=0, lendings=0, stakings=0)


@pytest.fixture
def devnet() -> Iterator[Devnet]:
    opened = Devnet.open(Settings(), None, genesis_time_ns=START * NANOSECONDS)
    yield opened
    opened.close()


def _delivered(contract: str, *outcomes: str) -> list[Event]:
    return [Event("wasm-timealarm", [("_contract_address", contract), ("delivered", out)]) for out in outcomes]


def _rest(dispatcher: Dispatcher, contract: str) -> int:
    return dispatcher.state().rests.get(contract, (0, 0))[1]


def test_a_contract_that_only_fails_is_asked_later_and_later(devnet: Devnet) -> None:
    """The rest doubles up to an hour, and one success ends it."""
    dispatcher = Market(devnet, start=START, rates=CALM).dispatcher
    rests = []
    for _ in range(9):
        dispatcher.learn(START, _delivered("somebody", "error", "error"))
        rests.append(_rest(dispatcher, "somebody"))
    assert rests[:3] == [FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST]
    assert rests[-1] == LONGEST_REST
    dispatcher.learn(START, _delivered("somebody", "error", "success"))
    assert _rest(dispatcher, "somebody") == 0


def test_an_alarm_that_fails_for_ever_does_not_keep_the_chain_busy(devnet: Devnet) -> None:
    """With a treasury that can pay nothing, half a day takes few blocks, not one every five seconds."""
    market = Market(devnet, start=START, rates=CALM)
    simulate(devnet, market, START + 3600, lively_end=False)
    app = devnet.app
    treasury = app.modules.auth.address_bytes(devnet.deployment.platform["treasury"])
    held = app.modules.bank.balances(app.context(), treasury)
    devnet.app.before_next_block(lambda ctx: app.modules.bank.take(ctx, treasury, held))
    before = devnet.node.height
    failed = []
    devnet.node.add_listener(
        lambda sealed: failed.extend(
            event
            for result in sealed.results.tx_results
            for event in result.events
            if ("delivered", "error") in event.attributes
        )
    )
    simulate(devnet, market, START + 15 * 3600, lively_end=False)
    assert failed
    assert devnet.node.height - before < 150
