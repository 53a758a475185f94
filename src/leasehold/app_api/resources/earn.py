"""Earn: the pools, a lender's positions in them, and totals."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import double, fixed, number, shortest
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.rules import FilterContext
from leasehold.app_api.inputs import AddressParams, is_of, require_bech32
from leasehold.app_api.resources import prices
from leasehold.app_api.resources.currencies import Catalogue
from leasehold.app_api.resources.positions import EarnPosition, apy_of, percent, read_positions, usd_of
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.resources.protocols import Contracts
from leasehold.app_api.upstreams.data import Pool
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused, Digits, NoSuchContract
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Cache, Registry, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
# The public service divides what the dispatcher answers by this, and clients show the result.
_REWARDS_SCALE = 10_000_000


class EarnPool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pool; amounts in base units of its currency, apy and utilization in percent."""

    protocol: str
    lpp_address: str
    currency: str
    total_deposited: str
    total_deposited_usd: str | None
    apy: float
    utilization: float
    available_liquidity: str
    deposit_capacity: str | None
    icon: str | Absent = UNSET


class EarnPositionsResponse(msgspec.Struct):
    positions: list[EarnPosition]
    total_deposited_usd: str


class EarnStats(msgspec.Struct, frozen=True):
    """Totals over all pools."""

    total_value_locked: str
    pools_count: int
    average_apy: float
    dispatcher_rewards: float | None


class _Coin(msgspec.Struct):
    amount: Digits


class _PoolBalance(msgspec.Struct):
    balance: _Coin
    total_principal_due: _Coin


async def read_pool(
    view: ChainView,
    protocol: str,
    contracts: Contracts,
    figures: dict[str, Pool],
    catalogue: Catalogue,
    valued: Prices,
) -> EarnPool:
    """A pool as of a view."""
    lpp = contracts.lpp
    optional: Any = _Coin | None
    lpn, balance, capacity = await asyncio.gather(
        view.smart(lpp, {"lpn": []}, str),
        view.smart(lpp, {"lpp_balance": []}, _PoolBalance),
        view.smart(lpp, {"deposit_capacity": []}, optional),
    )
    # Clients know these two as the public service computes them (ADR 6): what the pool holds, and that less its loans.
    total = int(balance.balance.amount)
    available = max(0, total - int(balance.total_principal_due.amount))
    usd = usd_of(total, lpn, protocol, catalogue, valued)
    figure = figures.get(protocol.upper())
    return EarnPool(
        protocol,
        lpp,
        lpn,
        str(total),
        None if usd is None else shortest(usd),
        apy_of(figures, protocol),
        percent(figure.utilization if figure else None),
        str(available),
        capacity.amount if capacity is not None else None,
    )


def shown(pools: list[EarnPool], context: FilterContext) -> list[EarnPool]:
    """The visible pools, with their icons."""
    found = []
    for pool in pools:
        if context.visible(pool.protocol):
            network = context.protocols[pool.protocol].network_key
            icon = rules.pool_icon(context.gated, pool.protocol, network)
            found.append(msgspec.structs.replace(pool, icon=UNSET if icon is None else icon))
    return found


def stats(value_locked: str, figures: dict[str, Pool], rewards: int | None) -> EarnStats:
    """Totals; the average is over all pools, those with an unreadable rate included."""
    rates = [number(one.earn_apr if one.earn_apr is not None else one.apr) for one in figures.values()]
    total = sum((rate for rate in rates if rate is not None), Fraction(0))
    return EarnStats(
        value_locked,
        len(figures),
        double(total / len(figures)) if figures else 0.0,
        None if rewards is None else double(Fraction(rewards, _REWARDS_SCALE)),
    )


class PoolParams(msgspec.Struct, frozen=True):
    pool_id: str


def declare(api: Registry, app: App) -> None:
    """The routes of earn."""
    tags = ("earn",)
    cells = app.cells

    @api.get(
        "/api/earn/pools",
        operation_id="get_pools",
        summary="Visible pools",
        tags=tags,
        cache=Cache.snapshot(60),
        errors=(503,),
        name="Earn pools",
    )
    async def pools(request: Request[msgspec.Struct, None]) -> list[EarnPool]:
        # Reached only while there is no snapshot: says what is missing, in the order clients know.
        context = cells.filter.value
        return shown(cells.pools.value, context)

    @api.get(
        "/api/earn/pools/{pool_id}",
        operation_id="get_pool",
        summary="One pool",
        tags=tags,
        cache=Cache.live(60),
        errors=(404, 503),
    )
    async def pool(request: Request[PoolParams, None]) -> EarnPool:
        name = request.params.pool_id
        context = cells.filter.value
        if not context.visible(name):
            raise NotFound(f"Pool for protocol: {name} not found")
        # Without the icon that it has in the list: clients know it so.
        found: EarnPool | None = next((one for one in cells.pools.value if one.protocol == name), None)
        if found is None:
            raise NotFound(f"Protocol {name} not found")
        return found

    @api.get(
        "/api/earn/positions",
        operation_id="get_earn_positions",
        summary="A lender's positions",
        tags=tags,
        errors=(400, 502, 503),
    )
    async def positions(request: Request[AddressParams, None]) -> EarnPositionsResponse:
        lender = require_bech32(request.params.address)
        context, registry = cells.filter.value, cells.contracts.value
        catalogue, _ = cells.currencies.value, cells.prices.value
        figures = cells.indexed_pools.get() or {}
        if not is_of(lender, app.settings.identity.prefix):
            return EarnPositionsResponse([], fixed(0, 2))
        view = await app.chain()
        valued = await prices.at(app, view)
        visible = {name: one for name, one in sorted(registry.protocols.items()) if context.visible(name)}
        held = await read_positions(view, visible, lender, figures, catalogue, valued)
        total = sum((usd for _, usd in held), Fraction(0))
        return EarnPositionsResponse([position for position, _ in held], fixed(total, 2))

    api.snapshot(
        "/api/earn/stats",
        operation_id="get_earn_stats",
        summary="Totals over all pools",
        tags=tags,
        name="Earn stats",
        response=EarnStats,
        cache=Cache.snapshot(60),
    )


async def refresh_pools(app: App) -> bool:
    """Read every pool of the registry at the newest block; one whose contract refuses is left out."""
    cells = app.cells
    head = await app.upstreams.node.head()
    view = app.upstreams.reads.at(head.height)
    figures, catalogue = cells.indexed_pools.value, cells.currencies.value
    valued = await prices.at(app, view)

    async def one(name: str, contracts: Contracts) -> EarnPool | None:
        try:
            return await read_pool(view, name, contracts, figures, catalogue, valued)
        except (ContractRefused, NoSuchContract):
            return None

    found = await asyncio.gather(*(one(name, held) for name, held in sorted(cells.contracts.value.protocols.items())))
    made = [pool for pool in found if pool is not None]
    changed = cells.pools.put(made, height=head.height, time_ns=head.time_ns)
    await publish_pools(app)
    return changed


async def publish_pools(app: App) -> bool:
    """Publish the visible ones of the last good pools."""
    cells = app.cells
    pools, context = cells.pools, cells.filter.value
    await app.publish("/api/earn/pools", shown(pools.value, context), height=pools.height, time_ns=pools.time_ns)
    return False


async def refresh_stats(app: App) -> bool:
    """Publish the totals."""
    cells = app.cells
    view = await app.chain()
    value_locked = await app.upstreams.data.value_locked()
    rewards: int | None
    try:
        rewards = await view.smart(cells.contracts.value.dispatcher, {"calculate_rewards": {}}, int)
    except (ContractRefused, NoSuchContract):
        rewards = None
    made = stats(value_locked, cells.indexed_pools.value, rewards)
    changed = cells.earn_stats.put(made)
    await app.publish("/api/earn/stats", made)
    return changed
