"""Routes: from an asset of this chain to another of this chain or of a connected one, priced at one height."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
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
class Ask:
    """What a trade is asked for: to sell this much, or to yield it; with the affiliate's fee, at a height."""

    given: int
    selling: bool
    bps: int
    height: int


@dataclass(frozen=True, slots=True)
class Priced:
    """A trade with its amounts."""

    trade: Trade
    ask: Ask
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
    base_denom: str

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
        venues = [
            venue
            for venue in await self.markets.venues()
            if not asked.swap_venues or any(_accepts(one, venue) for one in asked.swap_venues)
        ]
        ask = Ask(given, asked.amount_in is not None, bps, await self.chain.head())
        if asked.source_asset_chain_id != self.chain_id:
            raise NotFound("no routes found")
        target = (asked.dest_asset_denom, asked.dest_asset_chain_id)
        direct = await self._best(self._trades(asked.source_asset_denom, target, venues), ask)
        legs = [direct] if direct is not None else []
        if not legs and asked.allow_multi_tx:
            legs = await self._over_native(asked.source_asset_denom, target, venues, ask)
        if not legs:
            raise NotFound("no routes found")
        return self._answer(asked, legs)

    async def _over_native(self, source: str, target: tuple[str, str], venues: list[Venue], ask: Ask) -> list[Priced]:
        """A route over two venues, which only the native token connects: sold in one, spent in the other."""
        first = self._trades(source, (self.base_denom, self.chain_id), venues)
        second = self._trades(self.base_denom, target, venues)
        unpaid = replace(ask, bps=0)
        if ask.selling:
            sold = await self._best(first, unpaid)
            bought = await self._best(second, replace(ask, given=sold.yields.amount)) if sold is not None else None
        else:
            bought = await self._best(second, ask)
            sold = await self._best(first, replace(unpaid, given=bought.amount)) if bought is not None else None
        return [sold, bought] if sold is not None and bought is not None else []

    async def _best(self, trades: list[Trade], ask: Ask) -> Priced | None:
        """The trade that yields most for what is given, or costs least for what is wanted; then the shortest."""
        priced = await asyncio.gather(*(self._price(trade, ask) for trade in trades))
        possible = [one for one in priced if one is not None]
        return min(possible, key=lambda one: -one.yields.amount if ask.selling else one.amount, default=None)

    def _trades(self, source: str, target: tuple[str, str], venues: list[Venue]) -> list[Trade]:
        """Every way from a denom here to one here or in a venue, the shortest first."""
        found = []
        denom, chain_id = target
        for venue in venues:
            home = chain_id == self.chain_id
            if not home and chain_id != venue.chain_id:
                continue
            for book in venue.books:
                sold = book.here(source)
                bought = book.here(denom) if home else book.there(denom)
                if sold is not None and bought is not None and not (home and sold.ticker == bought.ticker):
                    found.append(Trade(venue, book, sold, bought, home))
        return sorted(found, key=lambda t: (len(t.book.path(t.sold.ticker, t.bought.ticker)), t.book.protocol))

    async def _price(self, trade: Trade, ask: Ask) -> Priced | None:
        try:
            prices = await asyncio.gather(
                *(
                    self._ask(trade.book.oracle, kind, one.ticker, ask.height)
                    for one in (trade.sold, trade.bought)
                    for kind in ("base_price", "stable_price")
                )
            )
        except QueryFailed:
            return None
        sold, sold_usd, bought, bought_usd = prices
        if not trade.swaps:
            amount, yields = ask.given, Proceeds(ask.given, 0)
        else:
            amount = ask.given if ask.selling else amount_for(ask.given, sold, bought, ask.bps)
            yields = proceeds(amount, sold, bought, ask.bps)
        if yields.amount <= 0 or amount > LARGEST_AMOUNT:
            return None
        # Amounts of the stable currency have its decimals; it counts as one dollar.
        stable = await self.chain.smart(trade.book.oracle, {"stable_currency": {}}, ask.height)
        decimals = next(one.decimal_digits for one in trade.book.currencies if one.ticker == stable)
        return Priced(
            trade,
            ask,
            amount,
            yields,
            plain(amount * sold_usd / 10**decimals, _USD_PLACES),
            plain(yields.amount * bought_usd / 10**decimals, _USD_PLACES),
        )

    async def _ask(self, oracle: str, kind: str, ticker: str, height: int) -> Fraction:
        answer: Any = await self.chain.smart(oracle, {kind: {"currency": ticker}}, height)
        return Fraction(int(answer["amount_quote"]["amount"]), int(answer["amount"]["amount"]))

    def _answer(self, asked: wire.RouteRequest, legs: list[Priced]) -> wire.Route:
        first, last = legs[0], legs[-1]
        chain_ids = [self.chain_id]
        operations = []
        for number, leg in enumerate(legs):
            chain_ids += [leg.trade.venue.chain_id] + ([self.chain_id] if leg.trade.home else [])
            operations += self._operations(leg, number)
        return wire.Route(
            source_asset_denom=asked.source_asset_denom,
            source_asset_chain_id=asked.source_asset_chain_id,
            dest_asset_denom=asked.dest_asset_denom,
            dest_asset_chain_id=asked.dest_asset_chain_id,
            amount_in=str(first.amount),
            amount_out=str(last.yields.amount),
            operations=operations,
            chain_ids=chain_ids,
            required_chain_addresses=chain_ids,
            does_swap=any(leg.trade.swaps for leg in legs),
            estimated_amount_out=str(last.yields.amount),
            # The simulated pools have no depth: an amount moves no price.
            swap_price_impact_percent="0",
            usd_amount_in=first.usd_in,
            usd_amount_out=last.usd_out,
            txs_required=len(legs),
            swap_venues=[venue_of(leg.trade.venue) for leg in legs if leg.trade.swaps],
            estimated_fees=[],
            estimated_route_duration_seconds=HOP_SECONDS * (len(chain_ids) - 1),
            warning=None,
        )

    def _operations(self, leg: Priced, number: int) -> list[wire.Operation]:
        trade, venue = leg.trade, leg.trade.venue
        amount, out = str(leg.amount), str(leg.yields.amount)
        outward = _moved(self.chain_id, venue.chain_id, venue.channel, trade.sold, outward=True)
        steps = [wire.Operation(number, amount, amount, transfer=outward)]
        if trade.swaps:
            steps.append(wire.Operation(number, amount, out, swap=_swapped(leg)))
        if trade.home:
            homeward = _moved(venue.chain_id, self.chain_id, venue.remote_channel, trade.bought, outward=False)
            steps.append(wire.Operation(number, out, out, transfer=homeward))
        return steps


def venue_of(venue: Venue) -> wire.SwapVenue:
    return wire.SwapVenue(venue.style.venue, venue.chain_id)


def _accepts(asked: wire.AskedVenue, venue: Venue) -> bool:
    return asked.chain_id == venue.chain_id or asked.name == venue.style.venue


def _moved(source: str, target: str, channel: str, what: Currency, *, outward: bool) -> wire.Transfer:
    denoms = (what.bank_symbol, what.dex_symbol) if outward else (what.dex_symbol, what.bank_symbol)
    return wire.Transfer(
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


def _swapped(leg: Priced) -> wire.Swap:
    trade = leg.trade
    denoms = {one.ticker: one.dex_symbol for one in trade.book.currencies}
    hops, at = [], trade.sold.ticker
    for pool, ticker in trade.book.path(trade.sold.ticker, trade.bought.ticker):
        hops.append(wire.SwapHop(str(pool), denoms[at], denoms[ticker]))
        at = ticker
    venue = venue_of(trade.venue)
    return wire.Swap(
        swap_in=wire.SwapIn(venue, hops, str(leg.amount), "0"),
        swap_venue=venue,
        swap_venues=[venue],
        chain_id=venue.chain_id,
        from_chain_id=venue.chain_id,
        denom_in=trade.sold.dex_symbol,
        denom_out=trade.bought.dex_symbol,
        estimated_affiliate_fee=f"{leg.yields.affiliate}{trade.bought.dex_symbol}",
        quote=wire.Quote(trade.book.oracle, leg.ask.height, leg.ask.bps),
    )
