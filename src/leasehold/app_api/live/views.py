"""What streams show, made with the functions behind the HTTP routes: at one height both say the same."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import fixed
from leasehold.app_api.gating import rules
from leasehold.app_api.live import messages
from leasehold.app_api.live.sequence import last_of, place
from leasehold.app_api.resources import balances, earn, leases, prices
from leasehold.app_api.resources.lease_states import State
from leasehold.app_api.resources.lease_views import LeaseInfo, lease_info
from leasehold.app_api.upstreams import chain
from leasehold.app_api.upstreams.bulk import Question, smart_question
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused, NoSuchContract
from leasehold.core import addresses
from leasehold.core.clock import rfc3339
from leasehold.core.errors import LeaseholdError
from leasehold.serving.frames import Item

T = TypeVar("T")
U = TypeVar("U")
# Members a lease has in every frame of the public stream; over HTTP they are absent where they are null here.
ALWAYS = ("close_policy", "in_progress")


@dataclass(frozen=True, slots=True)
class Moment:
    """A block that something is shown as of."""

    view: ChainView
    height: int
    time_ns: int

    @property
    def time(self) -> str:
        return utc(self.time_ns)


def utc(nanoseconds: int) -> str:
    """An instant as the public stream spells it."""
    return rfc3339(nanoseconds, digits="grouped").removesuffix("Z") + "+00:00"


def item_of(message: messages.Push, *, latest_only: bool = False) -> Item:
    return Item(message.seq, messages.frame(message), latest_only)


class Views:
    """The streams' frames as of a moment."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._version = (-1, -1)
        self._names: list[str] = []
        self._leasers: frozenset[str] = frozenset()

    def moment(self, height: int, time_ns: int) -> Moment:
        return Moment(self.app.upstreams.reads.at(height), height, time_ns)

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

    # Leases

    async def owned(self, moment: Moment, owner: str) -> dict[str, str]:
        """Leases of an owner that the visible protocols list, each with its protocol."""
        if not _is_address(owner):
            return {}
        registry = self.app.cells.contracts.value
        names = self._visible()
        query = {"leases": {"owner": owner}}
        found = await asyncio.gather(*(moment.view.smart(registry.of(name).leaser, query, list[str]) for name in names))
        return {address: name for name, listed in zip(names, found, strict=True) for address in listed}

    def owned_questions(self, owner: str) -> list[Question]:
        """What `owned` asks."""
        registry = self.app.cells.contracts.value
        query = {"leases": {"owner": owner}}
        return [smart_question(registry.of(name).leaser, query, list[str]) for name in self._visible()]

    def leasers(self) -> frozenset[str]:
        """Leasers of the visible protocols."""
        self._visible()
        return self._leasers

    def _visible(self) -> list[str]:
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

    async def all_leases(self, moment: Moment, owner: str) -> list[Item]:
        """Every lease of an owner."""
        if not _is_address(owner):
            return []
        infos = await leases.leases_of(self.app, moment.view, owner)
        return [self._lease(moment, owner, info, last_of(moment.height), snapshot=True) for info in infos]

    def lease_questions(self, lease: str) -> list[Question]:
        """What `lease_change` asks of either moment."""
        return [leases.state_question(lease, self.app.cells.gated.value)]

    async def lease_change(
        self, moment: Moment, before: Moment, owner: str, lease: str, protocol: str, ordinal: int, *, at_hand: bool
    ) -> Item | None:
        """A lease that acted in a block, None where that changed nothing or it is not shown.

        What is `at_hand` already is read in turn, and what the index knew last will do.
        """
        cells = self.app.cells
        gated, known_protocol = cells.gated.value, cells.filter.value.protocols.get(protocol)
        if known_protocol is None:
            return None
        try:
            state, known = await _both(
                leases.read_state(moment.view, lease, gated),
                leases.known_opening(self.app, lease, moment.view, crowded=at_hand),
                in_turn=at_hand,
            )
            if state == await self._state_before(before, lease):
                return None
        except (ContractRefused, NoSuchContract):
            return None
        market = replace(leases.market_of(self.app, known_protocol), prices=await self.prices_at(moment))
        info = lease_info(lease, state, known, market)
        if info is None or not rules.lease_visible(gated, known_protocol, info.amount.ticker):
            return None
        return self._lease(moment, owner, info, place(moment.height, ordinal))

    async def _state_before(self, before: Moment, lease: str) -> State | None:
        try:
            return await leases.read_state(before.view, lease, self.app.cells.gated.value)
        except (ContractRefused, NoSuchContract):
            return None

    def _lease(self, moment: Moment, owner: str, info: LeaseInfo, seq: int, *, snapshot: bool = False) -> Item:
        members: dict[str, Any] = {**dict.fromkeys(ALWAYS), **msgspec.to_builtins(info)}
        update = messages.LeaseUpdate(
            lease=msgspec.Raw(msgspec.json.encode(members, order="sorted")),
            owner=owner,
            seq=seq,
            height=moment.height,
            time=moment.time,
            snapshot=snapshot,
        )
        return item_of(update)

    # Earn

    def position_questions(self, lenders: Sequence[str]) -> list[Question]:
        """What `positions` of these asks."""
        registry = self.app.cells.contracts.value
        pools = [registry.of(name) for name in self._visible()] if lenders else []
        return [one for pool in pools for one in earn.position_questions(pool, filter(_is_address, lenders))]

    async def positions(
        self, moment: Moment, lender: str, *, snapshot: bool = False, at_hand: bool = False
    ) -> tuple[Item, list[tuple[str, str]]]:
        """A lender's positions, and what of them makes a difference: receipts and their worth by protocol."""
        cells = self.app.cells
        registry, catalogue = cells.contracts.value, cells.currencies.value
        figures = cells.indexed_pools.get() or {}
        known = await self.prices_at(moment)
        names = self._visible() if _is_address(lender) else []
        reads = [
            earn.read_position(moment.view, name, registry.of(name), lender, figures, catalogue, known)
            for name in names
        ]
        found = await _all(reads, in_turn=at_hand)
        held = [one for one in found if one is not None]
        update = messages.EarnUpdate(
            address=lender,
            positions=[_position(position) for position, _ in held],
            total_deposited_usd=fixed(sum((usd for _, usd in held), Fraction(0)), 2),
            seq=last_of(moment.height) if snapshot else place(moment.height),
            height=moment.height,
            time=moment.time,
            snapshot=snapshot,
        )
        item = item_of(update, latest_only=True)
        return item, [(position.protocol, position.deposited_lpn) for position, _ in held]

    # Balances

    async def all_balances(self, moment: Moment, address: str) -> list[Item]:
        """The visible balances of an address, nothing for what is none that an account could have."""
        if not _is_address(address):
            return []
        return [await self._balances(moment, address, await chain.balances(moment.view, address), snapshot=True)]

    async def _balances(self, moment: Moment, address: str, coins: list[chain.Coin], *, snapshot: bool = False) -> Item:
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

    def balance_questions(self, address: str) -> list[Question]:
        """What `balance_change` asks of either moment."""
        return [chain.balances_question(address)]

    async def balance_change(
        self, moment: Moment, before: Moment, address: str, *, at_hand: bool = False
    ) -> Item | None:
        """The balances of an address that a block names, None where they are what they were."""
        now, then = await _both(
            chain.balances(moment.view, address), self._balances_before(before, address), in_turn=at_hand
        )
        return None if now == then else await self._balances(moment, address, now)

    async def _balances_before(self, before: Moment, address: str) -> list[chain.Coin] | None:
        """None where a node does not know that block: then there was a change."""
        try:
            return await chain.balances(before.view, address)
        except LeaseholdError:
            return None


async def _all(reads: Sequence[Coroutine[Any, Any, T]], *, in_turn: bool) -> list[T]:
    """What all of these find: at once, or one after the other where no answer has to be waited for."""
    if not in_turn:
        return list(await asyncio.gather(*reads))
    try:
        return [await one for one in reads]
    finally:
        # Those after one that failed.
        for one in reads:
            one.close()


async def _both(first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U], *, in_turn: bool) -> tuple[T, U]:
    found: Any = await _all((first, second), in_turn=in_turn)
    return found[0], found[1]


def _position(position: earn.EarnPosition) -> messages.EarnPositionInfo:
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


def _is_address(text: str) -> bool:
    try:
        addresses.decode(text)
    except addresses.InvalidAddress:
        return False
    return True
