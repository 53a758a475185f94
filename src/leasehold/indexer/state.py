"""Loading the remembered state from PostgreSQL: what a restarted indexer knows is what it has committed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import psycopg
from psycopg.rows import dict_row

from leasehold.core.clock import from_datetime
from leasehold.core.settings import Identity
from leasehold.indexer.knowledge import ROLES, Knowledge, Platform, Protocol, Terms
from leasehold.indexer.positions import COLUMNS, LeasePosition
from leasehold.indexer.world import LenderState, PoolState, ProposalState, World
from leasehold.protocol.currencies import Currency
from leasehold.protocol.pool import PoolTotals
from leasehold.protocol.price import Price
from leasehold.storage import queries

_queries = queries.load("leasehold.indexer", "queries.sql")


class StateLoader:
    """Reads one schema through one connection."""

    def __init__(self, connection: psycopg.AsyncConnection, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    async def world(self, identity: Identity) -> World:
        """Everything the projections need to continue after the committed cursor."""
        knowledge = Knowledge(identity.display, identity.base_denom, identity.exponent)
        world = World(knowledge)
        async with self._connection.transaction():
            await self._knowledge(world)
            for row in await self._rows("balances"):
                world.balances[row["address"], row["denom"]] = int(row["amount"])
            for row in await self._rows("pools"):
                world.pools[row["pool"]] = _pool(row)
            for row in await self._rows("living_positions"):
                world.positions[row["lease"]] = _position(row)
            for row in await self._rows("lenders"):
                world.lenders[row["lender"], row["pool"]] = _lender(row)
            for row in await self._rows("living_proposals"):
                voters = set(row.pop("voters"))
                world.proposals[row["id"]] = ProposalState(**row, voters=voters)
            await self._prices(world)
            for row in await self._rows("cursor"):
                world.height, world.time_ns = row["height"], row["time_ns"]
        world.refresh()
        return world

    async def _knowledge(self, world: World) -> None:
        for row in await self._rows("platform"):
            world.knowledge.platform = Platform(**row)
        currencies: dict[str, dict[str, Currency]] = {}
        for row in await self._rows("currency_protocols"):
            found = Currency(row["ticker"], row["bank_symbol"], row["dex_symbol"], row["decimals"], row["group"])
            currencies.setdefault(row["protocol"], {})[row["ticker"]] = found
        for row in await self._rows("protocols"):
            world.learn(
                Protocol(
                    name=row["name"],
                    network=row["network"],
                    dex=row["dex"],
                    lpn=row["lpn"],
                    stable=row["stable"],
                    contracts={role: row[role] for role in ROLES if row[role] is not None},
                    currencies=currencies.get(row["name"], {}),
                    terms=msgspec.convert(row["config"], Terms),
                    first_seen=row["first_seen_at"],
                    deprecated=row["deprecated_at"],
                )
            )

    async def _prices(self, world: World) -> None:
        for row in await self._rows("prices"):
            oracle = world.oracles.get(row["protocol"])
            if oracle is not None:
                oracle.last[row["ticker"]] = _scaled(row["price"])
                oracle.sampled_ns = max(oracle.sampled_ns, from_datetime(row["time"]))
        by_contract = {oracle.protocol.contracts.get("oracle"): oracle for oracle in world.oracles.values()}
        for row in await self._rows("feeds"):
            oracle = by_contract.get(row["oracle"])
            if oracle is not None:
                found = [(base, quote, Price(int(amount), int(worth))) for base, quote, amount, worth in row["prices"]]
                oracle.feed(row["feeder"], row["time_ns"], found)

    async def _rows(self, name: str) -> list[dict[str, Any]]:
        text: Any = _queries[name].replace("{schema}", self._schema)
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(text)
            return await cursor.fetchall()


def _scaled(value: Decimal) -> int:
    """USD back to an integer of 10^-18, exactly."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0")
    shift = exponent + 18
    scaled = number * int(10**shift) if shift >= 0 else number // int(10**-shift)
    return -scaled if sign else scaled


def _pool(row: dict[str, Any]) -> PoolState:
    totals = PoolTotals(
        int(row["principal"]),
        int(row["interest"]),
        int(row["annual"]),
        int(row["rate_of"]),
        row["updated_ns"],
        int(row["receipts"]),
    )
    return PoolState(row["pool"], row["protocol"], totals, row["newest_rate"])


def _lender(row: dict[str, Any]) -> LenderState:
    return LenderState(
        row["lender"],
        row["pool"],
        row["joined_at"],
        receipts=int(row["receipts"]),
        deposited=int(row["deposited"]),
        withdrawn=int(row["withdrawn"]),
        deposited_usd=_scaled(row["deposited_usd"]),
        withdrawn_usd=_scaled(row["withdrawn_usd"]),
        rewards=int(row["rewards"]),
    )


def _position(row: dict[str, Any]) -> LeasePosition:
    values = {}
    for name in COLUMNS:
        value = row[name]
        if isinstance(value, Decimal):
            value = _scaled(value) if name.endswith(("usd", "price")) else int(value)
        values[name] = value
    return LeasePosition(**values)
