"""Routes: from an asset of this chain to another of this chain or of a connected one, priced at one height."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leasehold.chain.client.errors import QueryFailed
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.core.money import plain
from leasehold.protocol.currencies import Currency
from leasehold.protocol.swap_order import BASIS_POINTS, Proceeds, amount_for, proceeds
from leasehold.upstreams.chain_access import ChainAccess
from leasehold.upstreams.swap import wire
from leasehold.upstreams.swap.markets import Book, Markets, Venue

LARGEST_AMOUNT = 2**128 - 1
# A block to leave in, one to be relayed, one to come home.
HOP_SECONDS = 6
_USD_PLACES = 2


@dataclass(frozen=True, slots=True)
class Trade:
    """A way to sell one currency for another in a venue; `home` says whether the proceeds come back."""

    venue: Venue
    book: Book
    sold: Currency
    bought: Currency
    home: bool

    @property
    def swaps(self) -> bool:
        return self.sold.ticker != self.bought.ticker


@dataclass(frozen=True, slots=True)
class Priced:
    """A trade with its amounts."""

    trade: Trade
    amount: int
    yields: Proceeds
    usd_in: str
    usd_out: str


def base_units(text: str, *, field: str) -> int:
    """A positive integer of base units within 128 bits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 39) or not 0 < int(text) <= LARGEST_AMOUNT:
        raise InvalidInput("must be a positive integer in base units", field=field)
    return int(text)


def basis_points(text: str, *, field: str) -> int:
    """A fee of less than everything."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4) or int(text) >= BASIS_POINTS:
        raise InvalidInput("must be basis points below 10000", field=field)
    return int(text)


@dataclass(slots=True)
class Router:
    """Finds the best route at the newest height."""

    chain: ChainAccess
    markets: Markets
    chain_id: str

    async def route(self, asked: wire.RouteRequest) -> wire.Route:
        """The route that yields most; NotFound where there is none."""
        if (asked.amount_in is None) == (asked.amount_out is None):
            raise InvalidInput("give exactly one of amount_in and amount_out", field="amount_in")
        bps = basis_points(asked.cumulative_affiliate_fee_bps, field="cumulative_affiliate_fee_bps")
        given = (
            base_units(asked.amount_in, field="amount_in")
            if asked.amount_in is not None
            else base_units(asked.amount_out or "", field="amount_out")
        )
        trades = self._trades(asked, await self.markets.venues())
        height = await self.chain.head()
        priced = await asyncio.gather(
            *(self._price(trade, given, bps, height, selling=asked.amount_in is not None) for trade in trades)
        )
        # The most for what is given, or the least for what is wanted; then the fewest pools.
        possible = sorted(
            (one for one in priced if one is not None),
            key=lambda one: (-one.yields.amount, one.amount) if asked.amount_in is not None else (one.amount, 0),
        )
        if not possible:
            raise NotFound("no routes found")
        return self._answer(asked, possible[0], bps, height)

    def _trades(self, asked: wire.RouteRequest, venues: tuple[Venue, ...]) -> list[Trade]:
        """Every way that starts here, in venues the caller accepts."""
        if asked.source_asset_chain_id != self.chain_id:
            return []
        found = []
        for venue in venues:
            if asked.swap_venues and not any(_accepts(one, venue) for one in asked.swap_venues):
                continue
            home = asked.dest_asset_chain_id == self.chain_id
            if not home and asked.dest_asset_chain_id != venue.chain_id:
                continue
            for book in venue.books:
                sold = book.here(asked.source_asset_denom)
                target = asked.dest_asset_denom
                bought = book.here(target) if home else book.there(target)
                if sold is not None and bought is not None and not (home and sold.ticker == bought.ticker):
                    found.append(Trade(venue, book, sold, bought, home))
        return sorted(found, key=lambda t: (len(t.book.path(t.sold.ticker, t.bought.ticker)), t.book.protocol))

    async def _price(self, trade: Trade, given: int, bps: int, height: int, *, selling: bool) -> Priced | None:
        try:
            prices = await asyncio.gather(
                *(
                    self._ask(trade.book.oracle, kind, one.ticker, height)
                    for one in (trade.sold, trade.bought)
                    for kind in ("base_price", "stable_price")
                )
            )
        except QueryFailed:
            return None
        sold, sold_usd, bought, bought_usd = prices
        if not trade.swaps:
            amount, yields = given, Proceeds(given, 0)
        else:
            amount = given if selling else amount_for(given, sold, bought, bps)
            yields = proceeds(amount, sold, bought, bps)
        if yields.amount <= 0 or amount > LARGEST_AMOUNT:
            return None
        # Amounts of the stable currency have its decimals; it counts as one dollar.
        stable = await self.chain.smart(trade.book.oracle, {"stable_currency": {}}, height)
        decimals = next(one.decimal_digits for one in trade.book.currencies if one.ticker == stable)
        return Priced(
            trade,
            amount,
            yields,
            plain(amount * sold_usd / 10**decimals, _USD_PLACES),
            plain(yields.amount * bought_usd / 10**decimals, _USD_PLACES),
        )

    async def _ask(self, oracle: str, kind: str, ticker: str, height: int) -> Fraction:
        answer: Any = await self.chain.smart(oracle, {kind: {"currency": ticker}}, height)
        return Fraction(int(answer["amount_quote"]["amount"]), int(answer["amount"]["amount"]))

    def _answer(self, asked: wire.RouteRequest, priced: Priced, bps: int, height: int) -> wire.Route:
        trade = priced.trade
        operations = self._operations(priced, bps, height)
        chain_ids = [self.chain_id, trade.venue.chain_id] + ([self.chain_id] if trade.home else [])
        return wire.Route(
            source_asset_denom=asked.source_asset_denom,
            source_asset_chain_id=asked.source_asset_chain_id,
            dest_asset_denom=asked.dest_asset_denom,
            dest_asset_chain_id=asked.dest_asset_chain_id,
            amount_in=str(priced.amount),
            amount_out=str(priced.yields.amount),
            operations=operations,
            chain_ids=chain_ids,
            required_chain_addresses=chain_ids,
            does_swap=trade.swaps,
            estimated_amount_out=str(priced.yields.amount),
            # The simulated pools have no depth: an amount moves no price.
            swap_price_impact_percent="0",
            usd_amount_in=priced.usd_in,
            usd_amount_out=priced.usd_out,
            txs_required=1,
            swap_venues=[venue_of(trade.venue)] if trade.swaps else [],
            estimated_fees=[],
            estimated_route_duration_seconds=HOP_SECONDS * (len(chain_ids) - 1),
            warning=None,
        )

    def _operations(self, priced: Priced, bps: int, height: int) -> list[wire.Operation]:
        trade, amount, out = priced.trade, str(priced.amount), str(priced.yields.amount)
        venue = trade.venue
        steps = [_moved(self.chain_id, venue.chain_id, venue.channel, trade.sold, amount, outward=True)]
        if trade.swaps:
            steps.append(_swapped(trade, priced, bps, height))
        if trade.home:
            steps.append(_moved(venue.chain_id, self.chain_id, venue.remote_channel, trade.bought, out, outward=False))
        return steps


def venue_of(venue: Venue) -> wire.SwapVenue:
    return wire.SwapVenue(venue.style.venue, venue.chain_id)


def _accepts(asked: wire.AskedVenue, venue: Venue) -> bool:
    return asked.chain_id == venue.chain_id or asked.name == venue.style.venue


def _moved(source: str, target: str, channel: str, what: Currency, amount: str, *, outward: bool) -> wire.Operation:
    denoms = (what.bank_symbol, what.dex_symbol) if outward else (what.dex_symbol, what.bank_symbol)
    moved = wire.Transfer(
        port="transfer",
        channel=channel,
        from_chain_id=source,
        to_chain_id=target,
        denom_in=denoms[0],
        denom_out=denoms[1],
        dest_denom=denoms[1],
        bridge_id="IBC",
        pfm_enabled=False,
        supports_memo=True,
        smart_relay=False,
    )
    return wire.Operation(0, amount, amount, transfer=moved)


def _swapped(trade: Trade, priced: Priced, bps: int, height: int) -> wire.Operation:
    denoms = {one.ticker: one.dex_symbol for one in trade.book.currencies}
    hops, at = [], trade.sold.ticker
    for pool, ticker in trade.book.path(trade.sold.ticker, trade.bought.ticker):
        hops.append(wire.SwapHop(str(pool), denoms[at], denoms[ticker]))
        at = ticker
    venue = venue_of(trade.venue)
    swap = wire.Swap(
        swap_in=wire.SwapIn(venue, hops, str(priced.amount), "0"),
        swap_venue=venue,
        swap_venues=[venue],
        chain_id=venue.chain_id,
        from_chain_id=venue.chain_id,
        denom_in=trade.sold.dex_symbol,
        denom_out=trade.bought.dex_symbol,
        estimated_affiliate_fee=f"{priced.yields.affiliate}{trade.bought.dex_symbol}",
        quote=wire.Quote(trade.book.oracle, height, bps),
    )
    return wire.Operation(0, str(priced.amount), str(priced.yields.amount), swap=swap)
