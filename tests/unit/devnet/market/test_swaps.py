"""Swaps that users order with the memo of a transfer: filled at oracle prices, or refused and refunded."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import encode, escrow_address, module_address
from leasehold.core.clock import ManualClock
from leasehold.core.configuration import load
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.chain import Devnet
from leasehold.devnet.genesis import document
from leasehold.devnet.genesis.networks import NEUTRON, OSMOSIS
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.protocol.swap_order import QUOTE_BLOCKS, SwapOrder, proceeds

NOW_NS = 1_800_000_000 * 10**9
ATOM = next(asset for asset in OSMOSIS.assets if asset.ticker == "ATOM")
USDC = next(asset for asset in OSMOSIS.assets if asset.ticker == "USDC_NOBLE")
DYDX = next(asset for asset in NEUTRON.assets if asset.ticker == "DYDX")
AMOUNT = 50_000_000


class Exchange:
    """A chain sealed by hand and a wallet that orders swaps."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW_NS)
        settings = load(flags={"devnet.block_interval_ms": "0", "devnet.history_days": "0"}).settings
        self.devnet = Devnet.open(settings, None, clock=self.clock, genesis_time_ns=NOW_NS)
        self.market = Market(self.devnet, start=NOW_NS // 10**9)
        LiveMarket.resume(self.devnet, self.clock, self.market).attach()
        self.wallet: Wallet = document.wallet("alice", "chain", "leasehold")
        self.oracle = self.devnet.deployment.addresses("OSMOSIS-OSMOSIS-USDC_NOBLE").oracle
        self.seal(4)

    def seal(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.clock.advance(seconds=5)
            self.devnet.node.seal()

    def order(self, **changes: Any) -> SwapOrder:
        """An order to sell ATOM for USDC at today's price, changed where asked."""
        members: dict[str, Any] = {
            "oracle": self.oracle,
            "height": self.devnet.node.height,
            "denom_out": OSMOSIS.there(USDC),
            "min_out": "1",
            "receiver": self.wallet.address,
            **changes,
        }
        return SwapOrder(**members)

    def price(self, height: int) -> Fraction:
        """USDC units per ATOM unit at a height."""
        query = {"base_price": {"currency": "ATOM"}}
        answer = self.market.scene.ask(self.devnet.app.context(height), self.oracle, query)
        return Fraction(int(answer["amount_quote"]["amount"]), int(answer["amount"]["amount"]))

    def balance(self, denom: str) -> int:
        bank = self.devnet.app.modules.bank
        found: int = bank.balance(self.devnet.app.context(), self.wallet.address_bytes, denom)
        return found

    def held(self, account: str, denom: str) -> int:
        found: int = self.devnet.app.modules.interchain.held(self.devnet.app.context(), account, denom)
        return found

    def send(self, memo: str, denom: str = OSMOSIS.here(ATOM)) -> None:
        """Transfer coins to Osmosis with a memo and let everything come to its end."""
        message = self.devnet.registry.new(
            "ibc.applications.transfer.v1.MsgTransfer",
            source_port="transfer",
            source_channel=OSMOSIS.channel,
            token={"denom": denom, "amount": str(AMOUNT)},
            sender=self.wallet.address,
            receiver=encode("osmo", self.wallet.address_bytes),
            timeout_timestamp=self.clock.now_ns() + 3600 * 10**9,
            memo=memo,
        )
        account = self.devnet.app.modules.auth.get(self.devnet.app.context(), self.wallet.address_bytes)
        assert account is not None
        raw = self.wallet.sign_direct(
            [message], fee={"ulsh": 2500}, gas=1_000_000, sequence=account.sequence,
            account_number=account.number, chain_id="leasehold-1",
        )  # fmt: skip
        assert self.devnet.node.submit(raw).code == 0
        self.seal(5)
        interchain, ctx = self.devnet.app.modules.interchain, self.devnet.app.context()
        # The live market beside it may have packets of its own under way.
        assert not [packet for packet in interchain.pending(ctx) if packet.sender == self.wallet.address]
        assert not [arrival for arrival in interchain.arrivals(ctx) if arrival.receiver == self.wallet.address]


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    found = Exchange()
    yield found
    found.devnet.close()


def test_a_recent_quote_is_honoured_and_an_old_one_is_not(exchange: Exchange) -> None:
    """The price is that of the quoted block while it is recent, afterwards that of the block it is filled in."""
    quoted = exchange.devnet.node.height
    order = exchange.order(height=quoted)
    exchange.market.model.set_price("ATOM", exchange.market.model.usd("ATOM") * 1.02)
    exchange.market._fed = 0
    exchange.seal(2)
    wanted = proceeds(AMOUNT, exchange.price(quoted), Fraction(1)).amount
    before = exchange.balance(OSMOSIS.here(USDC))
    exchange.send(order.memo())
    assert exchange.balance(OSMOSIS.here(USDC)) - before == wanted
    exchange.seal(QUOTE_BLOCKS)
    before, height = exchange.balance(OSMOSIS.here(USDC)), exchange.devnet.node.height
    exchange.send(order.memo())
    got = exchange.balance(OSMOSIS.here(USDC)) - before
    assert got == proceeds(AMOUNT, exchange.price(height + 1), Fraction(1)).amount
    assert got != wanted


def test_bad_orders_give_the_coins_back(exchange: Exchange) -> None:
    """Whatever is wrong with an order, the sender has its coins again and nothing stays under way."""
    own = exchange.wallet.address
    before = exchange.balance(OSMOSIS.here(ATOM))
    for order in (
        exchange.order(oracle=own),
        exchange.order(oracle=exchange.devnet.deployment.addresses("NEUTRON-ASTROPORT-USDC_NOBLE").oracle),
        exchange.order(denom_out="nope"),
        exchange.order(denom_out=NEUTRON.there(DYDX)),
        exchange.order(min_out=str(10**30)),
        exchange.order(receiver=""),
        exchange.order(receiver="chain1nobody"),
        exchange.order(receiver=own.upper()),
        exchange.order(receiver=encode("cosmos", bytes(20))),
        exchange.order(receiver=encode("chain", bytes(7))),
        exchange.order(affiliate=own, affiliate_bps=10),
    ):
        exchange.send(order.memo())
        assert exchange.balance(OSMOSIS.here(ATOM)) == before, order
    exchange.send('{"swap":{"oracle":5}}')
    assert exchange.balance(OSMOSIS.here(ATOM)) == before


def test_other_memos_and_unknown_denoms(exchange: Exchange) -> None:
    """A memo without an order is a plain transfer; a denom the other chain does not know comes back."""
    there = encode("osmo", exchange.wallet.address_bytes)
    exchange.send('{"forward":{"receiver":"x"}}')
    assert exchange.held(there, OSMOSIS.there(ATOM)) == AMOUNT
    foreign = NEUTRON.here(DYDX)
    before = exchange.balance(foreign)
    exchange.send("", denom=foreign)
    assert exchange.balance(foreign) == before


def test_a_fee_without_an_affiliate_stays_there(exchange: Exchange) -> None:
    """The affiliate's share goes to whom the order names, else to the venue."""
    denom = OSMOSIS.there(USDC)
    price = exchange.price(exchange.devnet.node.height)
    wanted = proceeds(AMOUNT, price, Fraction(1), 100)
    keeper = encode("osmo", module_address("fee collector"))
    friend = encode("osmo", bytes(20))
    for account, changes in ((keeper, {}), (friend, {"affiliate": friend})):
        exchange.send(exchange.order(affiliate_bps=100, **changes).memo())
        assert abs(exchange.held(account, denom) - wanted.affiliate) <= wanted.affiliate // 100


def test_the_native_token_comes_home_only_as_far_as_it_went_out(exchange: Exchange) -> None:
    """A swap into the native token is refused where the escrow holds too little."""
    bank, overlay = exchange.devnet.app.modules.bank, exchange.devnet.app.context()
    escrow = escrow_address("transfer", OSMOSIS.channel)
    held = bank.balance(overlay, escrow, "ulsh")
    desk = exchange.market.relayer._swaps
    assert desk is not None
    network = exchange.devnet.app.modules.interchain.networks(overlay).on_channel(OSMOSIS.channel)
    native = OSMOSIS.native(exchange.devnet.app.identity).dex_symbol
    order = exchange.order(denom_out=native)
    body = {"denom": OSMOSIS.here(ATOM), "amount": str(AMOUNT), "memo": order.memo()}
    packet: Any = type("P", (), {"body": body})
    assert "result" in (desk.outcome(overlay, network, packet) or {})
    bank.send(overlay, escrow, bytes(20), (Coin("ulsh", held),))
    assert "too little" in (desk.outcome(overlay, network, packet) or {})["error"]
