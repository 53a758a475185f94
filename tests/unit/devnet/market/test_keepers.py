"""Keepers: alarms are dispatched when due, and left alone when they only fail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from leasehold.core.clock import NANOSECONDS
from leasehold.core.settings import Settings
from leasehold.devnet.app.abci import Event
from leasehold.devnet.app.context import Context
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.keepers import FIRST_REST, LONGEST_REST, Dispatcher
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.standing import Rates
from leasehold.devnet.wasm.failures import ModuleFailure

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


def test_a_missing_price_does_not_halt_the_market(devnet: Devnet) -> None:
    """An oracle without feeders says `No price` of all it knows; the others are fed, and leases go on elsewhere."""
    market = Market(devnet, start=START, rates=Rates(openings=60, managements=60, lendings=20, stakings=0))
    simulate(devnet, market, START + 6 * 3600, lively_end=False)
    app, blind = devnet.app, "OSMOSIS-OSMOSIS-USDC_NOBLE"
    oracle = devnet.deployment.addresses(blind).oracle

    def dismiss(ctx: Context) -> None:
        for feeder in ("feeder-1", "feeder-2"):
            fired = {"remove_feeder": {"feeder_address": market.scene.named_hand(feeder).address}}
            app.modules.wasm.sudo(ctx, oracle, json.dumps(fired).encode())

    app.before_next_block(dismiss)
    opened: Counter[str] = Counter()

    def see(sealed: SealedBlock) -> None:
        for result in sealed.results.tx_results:
            for event in result.events:
                if event.type == "wasm-ls-open":
                    opened[dict(event.attributes)["loan-pool-id"]] += 1

    before = devnet.node.height
    simulate(devnet, market, START + 7 * 3600, lively_end=False)
    devnet.node.add_listener(see)
    simulate(devnet, market, START + 30 * 3600, lively_end=False)
    assert devnet.node.height - before > 100
    ctx = app.context()
    with pytest.raises(ModuleFailure, match="No price"):
        app.modules.wasm.query_smart(ctx, oracle, b'{"base_price":{"currency":"ALL_BTC"}}')
    leaser = devnet.deployment.addresses(blind).leaser
    quote = b'{"quote":{"downpayment":{"amount":"100000000","ticker":"USDC_NOBLE"},"lease_asset":"ATOM"}}'
    with pytest.raises(ModuleFailure, match="No price"):
        app.modules.wasm.query_smart(ctx, leaser, quote)
    assert devnet.deployment.addresses(blind).lpp not in opened
    assert len(opened) >= 3
    assert sum(opened.values()) >= 15
    # Once it is fed again it is one of many again.
    app.before_next_block(lambda ctx: _hire(market, ctx, oracle))
    simulate(devnet, market, START + 33 * 3600, lively_end=False)
    market.feed_soon()
    simulate(devnet, market, START + 34 * 3600, lively_end=False)
    assert market.state().apart == ()


def _hire(market: Market, ctx: Context, oracle: str) -> None:
    for feeder in ("feeder-1", "feeder-2"):
        hired = {"register_feeder": {"feeder_address": market.scene.named_hand(feeder).address}}
        market.scene.app.modules.wasm.sudo(ctx, oracle, json.dumps(hired).encode())
