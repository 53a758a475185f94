"""Learning protocols from the registry: one round of chain reads per new protocol or change, none per position."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leasehold.chain.client.contracts import StateReader, all_balances, smart_query, supply_of
from leasehold.chain.client.errors import PrunedHistory, QueryFailed
from leasehold.core import logging
from leasehold.core.addresses import Bech32Prefixes, contract_address
from leasehold.indexer.knowledge import LEASER, LPP, ORACLE, PROFIT, RESERVE, Platform, Protocol, Terms
from leasehold.indexer.tables import Rows
from leasehold.indexer.world import SUPPLY, World
from leasehold.protocol.currencies import Currency
from leasehold.protocol.pool import PoolTotals

_log = logging.get("discovery")
# The chain's own word that something does not exist (any more); other failures are the node's and worth a retry.
_NOT_THERE = (QueryFailed, PrunedHistory)
# The deploy order of the public platform puts the registry third; other orders are tried around it.
_GUESSES = (3, 1, 2, 4, 5)


@dataclass(slots=True)
class Found:
    """What the registry and its contracts say; `totals` and `balances` only of contracts that were unknown."""

    platform: Platform
    protocols: dict[str, Protocol]
    totals: dict[str, PoolTotals] = field(default_factory=dict)
    balances: dict[tuple[str, str], int] = field(default_factory=dict)


class Discovery:
    """Reads the registry, its protocols and their terms."""

    def __init__(self, reader: StateReader, prefixes: Bech32Prefixes, admin: str = "") -> None:
        self._reader = reader
        self._prefixes = prefixes
        self._admin = admin

    async def look(self, world: World, height: int, time: datetime) -> Found | None:
        """What there is as of the end of `height`; None without a platform.

        Contracts that were unknown come with their state one block earlier: the block itself is yet to be applied.
        """
        platform = world.knowledge.platform or await self._platform(height)
        if platform is None:
            return None
        names: list[str] = await self._ask(platform.admin, {"protocols": {}}, height)
        found = Found(platform, {})
        for name in names:
            known = world.knowledge.protocols.get(name)
            first_seen = known.first_seen if known is not None else time
            found.protocols[name] = await self._protocol(platform, name, height, first_seen)
            if known is None:
                await self._seed(found.protocols[name], found, height - 1)
        if world.knowledge.platform is None:
            await self._seed_balances(platform.treasury, found, height - 1)
        return found

    async def seeds(self, world: World, height: int) -> Found | None:
        """State of all known contracts as of the end of `height`, for an index whose first block that is."""
        platform = world.knowledge.platform
        if platform is None:
            return None
        found = Found(platform, dict(world.knowledge.protocols))
        for protocol in found.protocols.values():
            await self._seed(protocol, found, height)
        await self._seed_balances(platform.treasury, found, height)
        native = world.knowledge.native_denom
        try:
            found.balances[SUPPLY, native] = await supply_of(self._reader, native, height)
        except _NOT_THERE:
            _log.warning("the supply is not known and will not be followed", denom=native)
        return found

    async def _platform(self, height: int) -> Platform | None:
        candidates = (
            [self._admin]
            if self._admin
            else [self._prefixes.account_text(contract_address(number, number)) for number in _GUESSES]
        )
        for address in candidates:
            try:
                answer = await self._ask(address, {"platform": {}}, height)
            except _NOT_THERE:
                continue
            if isinstance(answer, dict) and "treasury" in answer:
                return Platform(address, answer["treasury"], answer.get("timealarms", ""))
        return None

    async def _protocol(self, platform: Platform, name: str, height: int, first_seen: datetime) -> Protocol:
        entry = await self._ask(platform.admin, {"protocol": name}, height)
        contracts: dict[str, str] = entry["contracts"]
        oracle, pool, leaser = contracts[ORACLE], contracts[LPP], contracts[LEASER]
        currencies = await self._ask(oracle, {"currencies": {}}, height)
        dex = entry.get("dex")
        return Protocol(
            name=name,
            network=entry.get("network"),
            dex=next(iter(dex)) if isinstance(dex, dict) else dex,
            lpn=await self._ask(pool, {"lpn": []}, height),
            stable=await self._ask(oracle, {"stable_currency": {}}, height),
            contracts=contracts,
            currencies={
                item["ticker"]: Currency(
                    item["ticker"], item["bank_symbol"], item["dex_symbol"], item["decimal_digits"], item["group"]
                )
                for item in currencies
            },
            terms=_terms(
                (await self._ask(oracle, {"config": {}}, height))["price_config"],
                (await self._ask(oracle, {"swap_tree": {}}, height))["tree"],
                await self._ask(oracle, {"feeders": {}}, height),
                await self._ask(pool, {"config": []}, height),
                (await self._ask(leaser, {"config": {}}, height))["config"],
            ),
            first_seen=first_seen,
        )

    async def _seed(self, protocol: Protocol, found: Found, height: int) -> None:
        pool = protocol.contracts[LPP]
        for role in (LPP, PROFIT, RESERVE):
            if role in protocol.contracts:
                await self._seed_balances(protocol.contracts[role], found, height)
        if height < 1:
            return
        try:
            answer = await self._ask(pool, {"lpp_balance": []}, height, exact=True)
        except _NOT_THERE:
            return
        principal = int(answer["total_principal_due"]["amount"])
        found.totals[pool] = PoolTotals(
            principal=principal,
            interest=int(answer["total_interest_due"]["amount"]),
            annual=protocol.terms.base_rate if principal else 0,
            receipts=int(answer["balance_nlpn"]["amount"]),
        )

    async def _seed_balances(self, address: str, found: Found, height: int) -> None:
        if height < 1:
            return
        try:
            for denom, amount in (await all_balances(self._reader, address, height)).items():
                found.balances[address, denom] = amount
        except _NOT_THERE:
            return

    async def _ask(self, contract: str, query: Any, height: int, *, exact: bool = False) -> Any:
        """A contract's answer as of `height`; as of now where the node no longer has that height and it may be."""
        try:
            return await smart_query(self._reader, contract, query, height)
        except _NOT_THERE:
            if exact:
                raise
            return await smart_query(self._reader, contract, query)


def _terms(price: Any, tree: Any, feeders: list[str], pool: Any, leaser: Any) -> Terms:
    return Terms(
        base_rate=pool["borrow_rate"]["base_interest_rate"],
        optimal_utilization=pool["borrow_rate"]["utilization_optimal"],
        addon_rate=pool["borrow_rate"]["addon_optimal_interest_rate"],
        min_utilization=pool["min_utilization"],
        margin=leaser["lease_interest_rate_margin"],
        due_period=leaser["lease_due_period"],
        max_ltv=leaser["lease_position_spec"]["liability"]["max"],
        min_feeders=price["min_feeders"],
        sample_period_secs=price["sample_period_secs"],
        samples_number=price["samples_number"],
        discount_factor=price["discount_factor"],
        feeders=tuple(sorted(feeders)),
        tree=tuple(_edges(tree, None)),
    )


def _edges(node: Any, parent: str | None) -> list[tuple[str, int, str | None]]:
    pool_id, ticker = node["value"]
    edges: list[tuple[str, int, str | None]] = [(ticker, pool_id, parent)]
    for child in node.get("children", ()):
        edges += _edges(child, ticker)
    return edges


def learn(world: World, found: Found, time: datetime, time_ns: int, rows: Rows) -> None:
    """Take what was found into the world and the tables; protocols no longer registered become deprecated."""
    knowledge = world.knowledge
    if knowledge.platform is None:
        knowledge.platform = found.platform
        platform = found.platform
        rows.replace(
            "platform",
            {"one": True, "admin": platform.admin, "treasury": platform.treasury, "timealarms": platform.timealarms},
        )
    for name, protocol in found.protocols.items():
        is_new = name not in knowledge.protocols
        world.learn(protocol)
        pool = protocol.contracts[LPP]
        if is_new:
            totals = found.totals.get(pool, PoolTotals())
            world.pools[pool].totals = totals._replace(updated=time_ns)
            rows.replace("pools", world.pools[pool].row(time))
    for name, protocol in list(knowledge.protocols.items()):
        if name not in found.protocols and protocol.is_active:
            protocol.deprecated = time
    for (address, denom), amount in found.balances.items():
        world.balances[address, denom] = amount
        rows.replace("balances", {"address": address, "denom": denom, "amount": amount})
    world.refresh()
    _note(world, time, rows)


def reseed(world: World, found: Found, time: datetime, time_ns: int, rows: Rows) -> None:
    """Take over what contracts held at the end of the first block: what they had before it no event tells."""
    for (address, denom), amount in found.balances.items():
        world.balances[address, denom] = amount
        rows.replace("balances", {"address": address, "denom": denom, "amount": amount})
    for pool, totals in found.totals.items():
        state = world.pools[pool]
        if state.totals.principal != totals.principal:
            state.totals = totals._replace(updated=time_ns)
        else:
            state.totals = state.totals._replace(receipts=totals.receipts)
        rows.replace("pools", state.row(time))


def _note(world: World, time: datetime, rows: Rows) -> None:
    protocols = world.knowledge.protocols.values()
    seen: dict[str, tuple[int, bool, datetime]] = {}
    for protocol in protocols:
        rows.replace("protocols", protocol.row())
        for currency in protocol.currencies.values():
            rows.replace(
                "currency_protocols",
                {
                    "ticker": currency.ticker,
                    "protocol": protocol.name,
                    "group": currency.group,
                    "bank_symbol": currency.bank_symbol,
                    "dex_symbol": currency.dex_symbol,
                    "decimals": currency.decimal_digits,
                },
            )
            _, active, first = seen.get(currency.ticker, (0, False, protocol.first_seen))
            first = min(first, protocol.first_seen)
            seen[currency.ticker] = (currency.decimal_digits, active or protocol.is_active, first)
    for ticker, (decimals, active, first) in seen.items():
        ends = [p.deprecated for p in protocols if ticker in p.currencies and p.deprecated is not None]
        rows.replace(
            "currencies",
            {
                "ticker": ticker,
                "decimals": decimals,
                "is_active": active,
                "first_seen_at": first,
                "deprecated_at": None if active else max(ends, default=time),
            },
        )
