"""Indexed versus chain at the same height: positions, pools, lenders, prices, coins, supply and sampled hours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from leasehold.chain.client.contracts import StateReader, all_balances, smart_query, supply_of
from leasehold.chain.client.errors import QueryFailed
from leasehold.core.clock import SystemClock
from leasehold.core.errors import NotReady
from leasehold.core.settings import Settings
from leasehold.indexer.audit_hours import HourAuditor, SampledHour, sampled_hours
from leasehold.indexer.knowledge import LPP, Protocol
from leasehold.indexer.oracles import chain_price
from leasehold.indexer.patience import PatientReader
from leasehold.indexer.positions import CLOSING, OPEN, OPENING, LeasePosition
from leasehold.indexer.service import chain_nodes
from leasehold.indexer.state import StateLoader
from leasehold.indexer.world import SUPPLY, World
from leasehold.indexer.writer import SCHEMA

_STAGES = {OPENING: "opening", OPEN: "opened", CLOSING: "closing"}
_DEBT = ("overdue_margin", "overdue_interest", "due_margin", "due_interest")


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure that the index and the chain do not agree on."""

    what: str
    key: str
    figure: str
    indexed: str
    chain: str


@dataclass(slots=True)
class AuditReport:
    """What was compared at which height, and what differs."""

    height: int
    compared: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def table(self) -> str:
        """The report as text for people."""
        lines = [f"height {self.height}"]
        for what, count in self.compared.items():
            wrong = sum(1 for difference in self.differences if difference.what == what)
            lines.append(f"{what:<10} {count:>7} compared {wrong:>5} differ")
        for found in self.differences:
            lines.append(f"{found.what} {found.key} {found.figure}: indexed {found.indexed}, chain {found.chain}")
        return "\n".join(lines)


class Auditor:
    """Compares one remembered state with the chain at its height."""

    def __init__(self, world: World, reader: StateReader) -> None:
        self._world = world
        self._reader = reader
        self.report = AuditReport(world.height)

    async def everything(self, hours: Iterable[SampledHour] = ()) -> AuditReport:
        """Compare all there is at the index's height, and these hours at theirs."""
        for position in self._world.positions.values():
            await self._position(position)
        for protocol in self._world.knowledge.protocols.values():
            if protocol.is_active:
                await self._pool(protocol)
                await self._prices(protocol)
        await self._lenders()
        await self._coins()
        auditor = HourAuditor(self._world.knowledge, self._reader)
        for hour in hours:
            for key, pairs in await auditor.compared(hour):
                self._compare("hours", key, pairs)
        return self.report

    def _compare(self, what: str, key: str, pairs: Iterable[tuple[str, object, object]]) -> None:
        self.report.compared[what] = self.report.compared.get(what, 0) + 1
        for figure, indexed, chain in pairs:
            if indexed != chain:
                self.report.differences.append(Difference(what, key, figure, str(indexed), str(chain)))

    async def _ask(self, contract: str, query: Any) -> Any:
        return await smart_query(self._reader, contract, query, self._world.height)

    async def _position(self, position: LeasePosition) -> None:
        state = await self._ask(position.lease, {"state": {}})
        stage = next(iter(state))
        pairs: list[tuple[str, object, object]] = [("status", _STAGES[position.status], stage)]
        content = state[stage]
        if stage == "opened" and position.status == OPEN:
            due = position.due(self._world.time_ns)
            pairs.append(("amount", position.amount, int(content["amount"]["amount"])))
            pairs.append(("principal", due.principal, int(content["principal_due"]["amount"])))
            pairs += [(name, getattr(due, name), int(content[name]["amount"])) for name in _DEBT]
            pairs.append(("loan rate", position.loan_rate, content["loan_interest_rate"]))
            pairs.append(("margin rate", position.margin_rate, content["margin_interest_rate"]))
        elif stage == "closing" and position.status == CLOSING:
            pairs.append(("amount", position.amount, int(content["amount"]["amount"])))
        self._compare("positions", position.lease, pairs)

    async def _pool(self, protocol: Protocol) -> None:
        pool = protocol.contracts[LPP]
        answer = await self._ask(pool, {"lpp_balance": []})
        totals = self._world.pools[pool].totals
        figures = {
            "balance": self._world.balance(pool, protocol.lpn_denom),
            "total_principal_due": totals.principal,
            "total_interest_due": totals.interest_due(self._world.time_ns),
            "balance_nlpn": totals.receipts,
        }
        pairs = [(name, indexed, int(answer[name]["amount"])) for name, indexed in figures.items()]
        self._compare("pools", protocol.name, pairs)

    async def _prices(self, protocol: Protocol) -> None:
        oracle = self._world.oracles[protocol.name]
        for ticker in protocol.currencies:
            try:
                chain = await chain_price(self._reader, protocol, ticker, self._world.height)
            except QueryFailed:
                continue
            indexed = oracle.in_usd(ticker, self._world.time_ns)
            self._compare("prices", f"{ticker}@{protocol.name}", [("price", indexed, chain)])

    async def _lenders(self) -> None:
        for (lender, pool), state in self._world.lenders.items():
            role = self._world.knowledge.roles.get(pool)
            if role is not None and role[1].is_active:
                answer = await self._ask(pool, {"balance": {"address": lender}})
                pairs = [("receipts", state.receipts, int(answer["amount"]))]
                self._compare("lenders", f"{lender} in {role[1].name}", pairs)

    async def _coins(self) -> None:
        height = self._world.height
        for address in sorted(self._world.watched):
            chain = await all_balances(self._reader, address, height)
            indexed = {denom: n for (owner, denom), n in self._world.balances.items() if owner == address and n}
            denoms = sorted(chain.keys() | indexed.keys())
            self._compare("coins", address, [(d, indexed.get(d, 0), chain.get(d, 0)) for d in denoms])
        native = self._world.knowledge.native_denom
        if (SUPPLY, native) in self._world.balances:
            chain_supply = await supply_of(self._reader, native, height)
            self._compare("supply", native, [("supply", self._world.balance(SUPPLY, native), chain_supply)])


async def loaded_world(url: str, settings: Settings, schema: str = SCHEMA) -> World:
    """The committed state of an index, read in one snapshot."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        return await StateLoader(connection, schema).world(settings.identity)


async def _hours(url: str, schema: str) -> list[SampledHour]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await sampled_hours(connection, schema)


async def audit(settings: Settings, reader: StateReader, *, schema: str = SCHEMA) -> AuditReport:
    """Compare the index behind `database.url` with the chain at the height the index has reached."""
    world = await loaded_world(settings.database.url, settings, schema)
    if world.height == 0:
        raise NotReady("nothing is indexed yet", hint="run `leasehold index` first")
    return await Auditor(world, reader).everything(await _hours(settings.database.url, schema))


async def audit_configured(settings: Settings) -> AuditReport:
    """The audit of `leasehold audit`: the configured database against the configured nodes."""
    async with chain_nodes(settings, SystemClock()) as (nodes, _):
        return await audit(settings, PatientReader(nodes))
