"""Rows on the hour versus the chain's own answers at their heights, a sample of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from leasehold.chain.client.contracts import StateReader, all_balances, smart_query
from leasehold.chain.client.errors import PrunedHistory, QueryFailed
from leasehold.indexer.knowledge import Knowledge, Protocol
from leasehold.indexer.oracles import chain_price
from leasehold.indexer.tables import USD_UNIT
from leasehold.storage import queries

# Newest hours and hours from anywhere; positions looked at in each.
NEWEST, ANYWHERE, POSITIONS = 3, 3, 20
_queries = queries.load("leasehold.indexer", "queries.sql")

Pair = tuple[str, object, object]


@dataclass(frozen=True, slots=True)
class SampledHour:
    """What the index says about an hour: treasury, some positions and all pools, as they are stored."""

    hour: datetime
    height: int
    treasury: int
    positions: list[tuple[Any, ...]]
    pools: list[tuple[Any, ...]]


async def sampled_hours(connection: psycopg.AsyncConnection, schema: str) -> list[SampledHour]:
    """Hours to look at, oldest first."""

    async def rows(name: str, *arguments: Any) -> list[tuple[Any, ...]]:
        text: Any = _queries[name].replace("{schema}", schema)
        return await (await connection.execute(text, arguments)).fetchall()

    return [
        SampledHour(
            hour,
            height,
            int(treasury),
            await rows("sampled_position_hours", hour, POSITIONS),
            await rows("sampled_pool_hours", hour),
        )
        for hour, height, treasury in await rows("sampled_hours", NEWEST, ANYWHERE)
    ]


class HourAuditor:
    """Asks the chain what it said at an hour's height."""

    def __init__(self, knowledge: Knowledge, reader: StateReader) -> None:
        self._knowledge = knowledge
        self._reader = reader

    async def compared(self, sample: SampledHour) -> list[tuple[str, list[Pair]]]:
        """Keys with their figures, indexed and on chain; nothing for a height that no node has any more."""
        try:
            return [one async for one in self._compared(sample)]
        except PrunedHistory:
            return []

    async def _compared(self, sample: SampledHour) -> Any:
        name, height = sample.hour.isoformat(), sample.height
        platform = self._knowledge.platform
        if platform is not None:
            coins = await all_balances(self._reader, platform.treasury, height)
            yield f"{name} treasury", [("balance", sample.treasury, coins.get(self._knowledge.native_denom, 0))]
        for row in sample.positions:
            yield f"{name} {row[0]}", await self._position(row, height)
        for row in sample.pools:
            yield f"{name} {row[1]}", await self._pool(row, height)

    async def _position(self, row: tuple[Any, ...], height: int) -> list[Pair]:
        lease, name, asset, *amounts, price = row
        state = (await smart_query(self._reader, lease, {"state": {}}, height)).get("opened", {})
        parts = ("amount", "principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest")
        return [
            *_figures(parts, amounts, state),
            *await self._price(self._knowledge.protocols[name], asset, price, height),
        ]

    async def _pool(self, row: tuple[Any, ...], height: int) -> list[Pair]:
        pool, name, *amounts, price = row
        protocol = self._knowledge.protocols[name]
        answer = await smart_query(self._reader, pool, {"lpp_balance": []}, height)
        parts = ("balance", "total_principal_due", "total_interest_due", "balance_nlpn")
        return [*_figures(parts, amounts, answer), *await self._price(protocol, protocol.lpn, price, height)]

    async def _price(self, protocol: Protocol, ticker: str, indexed: Any, height: int) -> list[Pair]:
        try:
            chain = await chain_price(self._reader, protocol, ticker, height)
        except QueryFailed:
            return []
        return [(f"{ticker} price", None if indexed is None else int(indexed * USD_UNIT), chain)]


def _figures(names: Iterable[str], indexed: Iterable[Any], answer: dict[str, Any]) -> list[Pair]:
    return [
        (name, int(amount), int(answer[name]["amount"]) if name in answer else None)
        for name, amount in zip(names, indexed, strict=True)
    ]
