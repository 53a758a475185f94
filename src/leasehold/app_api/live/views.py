"""What streams show of prices, positions and balances, made with the functions behind the HTTP routes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from leasehold.app_api.app import App
from leasehold.app_api.display import fixed
from leasehold.app_api.live import messages
from leasehold.app_api.live.moments import Moment, all_of, both_of, is_address, item_of, utc
from leasehold.app_api.live.sequence import last_of, place
from leasehold.app_api.resources import balances, positions, prices
from leasehold.app_api.upstreams import chain
from leasehold.app_api.upstreams.bulk import Question
from leasehold.core.errors import LeaseholdError
from leasehold.serving.frames import Item


@dataclass(frozen=True, slots=True)
class Lent:
    """A lender's positions as shown; what of them makes a difference, their worth by protocol; the receipts by pool."""

    item: Item
    worth: list[tuple[str, str]]
    receipts: Mapping[str, int]


class Views:
    """The streams' frames as of a moment."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._version = (-1, -1)
        self._names: list[str] = []
        self._leasers: frozenset[str] = frozenset()

    def moment(self, height: int, time_ns: int) -> Moment:
        return Moment(self.app.upstreams.reads.at(height), height, utc(time_ns))

    # Prices

    def newest_prices(self) -> Item | None:
        """The newest prices, None before the first."""
        cell = self.app.cells.prices
        known = cell.get()
        if known is None:
            return None
        update = messages.PriceUpdate(
            prices=dict(known.texts),
            timestamp=utc(self.app.clock.now_ns()),
            seq=place(cell.height),
            height=cell.height,
            time=utc(cell.time_ns),
        )
        return item_of(update, latest_only=True)

    async def prices_at(self, moment: Moment) -> prices.Prices:
        """Prices as of a block: those of the cell where it is at that block, else read anew."""
        cells = self.app.cells
        if cells.prices.height == moment.height or cells.prices.height == 0:
            return cells.prices.value

        async def read() -> prices.Prices:
            oracles = {
                name: one.contracts.oracle
                for name, one in cells.protocols.value.items()
                if one.is_active and one.contracts.oracle
            }
            decimals = {key: info.decimal_digits for key, info in cells.currencies.value.by_key.items()}
            return await prices.read_prices(moment.view, oracles, decimals, cells.prices.get())

        found: prices.Prices = await moment.view.once(("live-prices",), read)
        return found

    # Protocols

    def leasers(self) -> frozenset[str]:
        """Leasers of the visible protocols."""
        self.visible()
        return self._leasers

    def visible(self) -> list[str]:
        """Names of the visible protocols, in order."""
        cells = self.app.cells
        version = (cells.filter.version, cells.contracts.version)
        # Asked for every stream and block, and hardly ever another.
        if version != self._version:
            context, registry = cells.filter.value, cells.contracts.value
            self._names = [name for name in sorted(registry.protocols) if context.visible(name)]
            self._leasers = frozenset(registry.of(name).leaser for name in self._names)
            self._version = version
        return self._names

    # Earn

    def position_questions(self, lenders: Iterable[tuple[str, Collection[str]]]) -> list[Question]:
        """What `lent` asks about lenders, each with the pools whose receipts are known."""
        registry = self.app.cells.contracts.value
        pools = [registry.of(name).lpp for name in self.visible()]
        found = [
            positions.receipts_question(pool, lender)
            for lender, known in lenders
            if is_address(lender)
            for pool in pools
            if pool not in known
        ]
        return [*(one for pool in pools for one in positions.worth_questions(pool)), *found] if found else []

    async def lent(
        self,
        moment: Moment,
        lender: str,
        known: Mapping[str, int] | None = None,
        *,
        snapshot: bool = False,
        at_hand: bool = False,
    ) -> Lent:
        """A lender's positions; `known` are receipts by pool that need not be asked for."""
        cells = self.app.cells
        registry, catalogue = cells.contracts.value, cells.currencies.value
        figures = cells.indexed_pools.get() or {}
        valued = await self.prices_at(moment)
        pools = {name: registry.of(name) for name in self.visible()} if is_address(lender) else {}
        receipts = dict(known or ())
        unknown = [one.lpp for one in pools.values() if one.lpp not in receipts]
        asked = [positions.read_receipts(moment.view, pool, lender) for pool in unknown]
        receipts.update(zip(unknown, await all_of(asked, in_turn=at_hand), strict=True))
        reads = [
            positions.read_position(moment.view, name, one, receipts[one.lpp], figures, catalogue, valued)
            for name, one in pools.items()
        ]
        held = [one for one in await all_of(reads, in_turn=at_hand) if one is not None]
        update = messages.EarnUpdate(
            address=lender,
            positions=[_position(position) for position, _ in held],
            total_deposited_usd=fixed(sum((usd for _, usd in held), Fraction(0)), 2),
            seq=last_of(moment.height) if snapshot else place(moment.height),
            height=moment.height,
            time=moment.time,
            snapshot=snapshot,
        )
        worth = [(position.protocol, position.deposited_lpn) for position, _ in held]
        return Lent(item_of(update, latest_only=True), worth, receipts)

    # Balances

    async def coins(self, moment: Moment, address: str) -> list[chain.Coin] | None:
        """What an address has, None for one that no account could have."""
        return await chain.balances(moment.view, address) if is_address(address) else None

    async def balances(self, moment: Moment, address: str, coins: list[chain.Coin], *, snapshot: bool = False) -> Item:
        """The visible ones of an address's coins."""
        cells = self.app.cells
        context, catalogue = cells.filter.value, cells.currencies.value
        known = await self.prices_at(moment)
        found = balances.build(coins, context, catalogue, known)
        update = messages.BalanceUpdate(
            chain=self.app.settings.identity.namespace,
            address=address,
            balances=found.balances,
            total_value_usd=found.total_value_usd,
            timestamp=utc(self.app.clock.now_ns()),
            seq=last_of(moment.height) if snapshot else place(moment.height),
            height=moment.height,
            time=moment.time,
            snapshot=snapshot,
        )
        return item_of(update)

    async def coins_around(
        self, moment: Moment, before: Moment, address: str, known: list[chain.Coin] | None, *, at_hand: bool = False
    ) -> tuple[list[chain.Coin], list[chain.Coin] | None]:
        """What an address has as of a block and had as of the one before, where that is not `known`."""
        now, then = chain.balances(moment.view, address), self._coins_before(before, address, known)
        return await both_of(now, then, in_turn=at_hand)

    async def _coins_before(
        self, before: Moment, address: str, known: list[chain.Coin] | None
    ) -> list[chain.Coin] | None:
        """None where a node does not know that block: then there was a change."""
        if known is not None:
            return known
        try:
            return await chain.balances(before.view, address)
        except LeaseholdError:
            return None


def _position(position: positions.EarnPosition) -> messages.EarnPositionInfo:
    return messages.EarnPositionInfo(
        protocol=position.protocol,
        lpp_address=position.lpp_address,
        deposited_lpn=position.deposited_lpn,
        deposited_asset=position.deposited_nlpn,
        rewards="0",
        currency=position.currency,
        deposited_nlpn=position.deposited_nlpn,
        deposited_usd=position.deposited_usd,
        lpp_price=position.lpp_price,
        current_apy=position.current_apy,
    )
