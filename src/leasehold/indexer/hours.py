"""Rows on the hour: positions, pools, accounts, treasury and totals, from what is remembered and nothing else.

The state of an hour is that of the last block not after it, and interest runs to that block's time: exactly what the
chain's own queries answer at that height.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from leasehold.indexer.knowledge import LPP
from leasehold.indexer.oracles import worth
from leasehold.indexer.positions import OPEN, LeasePosition, Valued, valued
from leasehold.indexer.tables import USD_UNIT, Rows
from leasehold.indexer.world import World

HOUR_NS = 3600 * 1_000_000_000
# A chain that stood still gets rows for at most this many of the hours it missed, the latest ones.
LONGEST_GAP = 48


def hours_between(before_ns: int, after_ns: int) -> Iterator[datetime]:
    """The hours that ended after one block and before the next; none before the first block."""
    if before_ns == 0:
        return
    # An hour belongs to the last block not after it, so one that falls on the next block's instant is not over yet.
    first, last = -(-before_ns // HOUR_NS), -(-after_ns // HOUR_NS) - 1
    for number in range(max(first, last - LONGEST_GAP + 1), last + 1):
        yield datetime.fromtimestamp(number * 3600, UTC)


def value_of(world: World, position: LeasePosition, at_ns: int) -> Valued:
    """A position at an instant, priced by its protocol's oracle."""
    protocol = world.knowledge.protocols[position.protocol]
    return valued(
        position,
        position.due(at_ns),
        world.price(protocol, position.asset, at_ns),
        world.price(protocol, position.lpn, at_ns),
        protocol.decimals(position.asset),
        protocol.decimals(position.lpn),
    )


def note_hour(world: World, hour: datetime, rows: Rows) -> None:
    """All rows of one hour as of the last block applied."""
    now = world.time_ns
    position_usd = interest_usd = pnl_usd = count = 0
    accounts: dict[str, list[int]] = {}
    for position in world.positions.values():
        if position.status != OPEN:
            continue
        figures = value_of(world, position, now)
        rows.append("position_hours", _position_row(position, hour, figures))
        count += 1
        position_usd += figures.value_usd or 0
        interest_usd += figures.debt_usd or 0
        pnl_usd += figures.pnl_usd or 0
        sums = accounts.setdefault(position.owner, [0, 0])
        sums[0] += figures.value_usd or 0
        sums[1] += figures.debt_usd or 0
    for owner, (value, debt) in accounts.items():
        rows.append("account_hours", (owner, hour, value, debt))
    supplied, borrowed = _note_pools(world, hour, rows)
    treasury = 0
    if world.knowledge.platform is not None:
        treasury = world.balance(world.knowledge.platform.treasury, world.knowledge.native_denom)
    rows.append(
        "hours",
        (
            hour,
            world.height,
            count,
            position_usd,
            interest_usd,
            pnl_usd,
            supplied,
            borrowed,
            position_usd + supplied - borrowed,
            treasury,
            worth(treasury, world.native_price(now), world.knowledge.native_decimals),
        ),
    )


def _position_row(position: LeasePosition, hour: datetime, figures: Valued) -> tuple[object, ...]:
    due = figures.due
    return (
        position.lease,
        hour,
        position.owner,
        position.protocol,
        position.asset,
        position.lpn,
        position.amount,
        due.principal,
        due.overdue_margin,
        due.overdue_interest,
        due.due_margin,
        due.due_interest,
        figures.asset_price,
        figures.lpn_price,
        figures.value_usd,
        figures.debt_usd,
        figures.principal_usd,
        figures.pnl_usd,
        figures.liquidation_price,
    )


def _note_pools(world: World, hour: datetime, rows: Rows) -> tuple[int, int]:
    """Rows of the pools that are active; returns what they were supplied and what of it is lent, in USD."""
    supplied_sum = borrowed_sum = 0
    now = world.time_ns
    for protocol in world.knowledge.protocols.values():
        pool = protocol.contracts.get(LPP)
        if pool is None or not protocol.is_active:
            continue
        state = world.pools[pool]
        totals, balance = state.totals, world.balance(pool, protocol.lpn_denom)
        interest = totals.interest_due(now)
        value = balance + totals.principal + interest
        price = world.price(protocol, protocol.lpn, now)
        decimals = protocol.decimals(protocol.lpn)
        supplied, borrowed = worth(value, price, decimals), worth(totals.principal, price, decimals)
        percent = 100 * USD_UNIT
        rows.append(
            "pool_hours",
            (
                pool,
                hour,
                protocol.name,
                True,
                balance,
                totals.principal,
                interest,
                totals.receipts,
                price,
                supplied,
                borrowed,
                totals.principal * percent // value if value > 0 else 0,
                state.newest_rate,
                totals.yearly() * percent // value if value > 0 else 0,
                protocol.terms.min_utilization,
                protocol.terms.optimal_utilization,
            ),
        )
        supplied_sum += supplied or 0
        borrowed_sum += borrowed or 0
    return supplied_sum, borrowed_sum
