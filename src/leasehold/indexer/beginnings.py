"""An index that begins in the middle of a chain: what its contracts held at the end of the first block indexed.

No event tells it, so it is read from the chain once: living leases, lenders, prices, open proposals. What happened
before stays unknown, and figures that depend on it (down-payments, profits) stay empty.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from leasehold.chain.client.contracts import StateReader, smart_query
from leasehold.chain.client.errors import QueryFailed
from leasehold.chain.registry import Registry
from leasehold.core import logging
from leasehold.indexer.governance import choice
from leasehold.indexer.knowledge import LEASER, LPP, Protocol
from leasehold.indexer.oracles import chain_price
from leasehold.indexer.positions import CLOSING, OPEN, OPENING, LeasePosition
from leasehold.indexer.tables import Rows
from leasehold.indexer.world import LenderState, ProposalState, World
from leasehold.protocol.percent import MILLE
from leasehold.protocol.pool import PoolTotals

_WASM = "cosmwasm.wasm.v1."
_GOV = "cosmos.gov.v1."
_STAGES = {"opening": OPENING, "opened": OPEN, "closing": CLOSING}
_PROPOSALS = {1: "deposit", 2: "voting"}
_PAGE = 500
_AT_ONCE = 16
_log = logging.get("beginnings")
T = TypeVar("T")


class SeededPosition(msgspec.Struct):
    """A lease as it stood; amounts are text because JSON readers round numbers."""

    lease: str
    protocol: str
    owner: str
    status: str
    asset: str
    amount: str
    principal: str
    loan_rate: int
    margin_rate: int
    interest_paid_ns: int
    margin_paid_ns: int


class SeededProposal(msgspec.Struct):
    """A proposal that is not decided, with the votes cast so far."""

    id: int
    proposer: str
    messages: str
    status: str
    submitted_at: datetime
    voting_at: datetime | None
    votes: dict[str, list[list[str]]]


class Beginning(msgspec.Struct):
    """Everything read from the chain as of the end of the first block."""

    positions: list[SeededPosition]
    lenders: list[tuple[str, str, str]]
    totals: dict[str, list[str]]
    prices: dict[str, dict[str, str]]
    proposals: list[SeededProposal]


class BeginningReader:
    """Reads a beginning, several questions at a time."""

    def __init__(self, reader: StateReader, types: Registry, prefix: str) -> None:
        self._reader = reader
        self._types = types
        self._account = re.compile(rf"{re.escape(prefix)}1[02-9ac-hj-np-z]{{38,58}}".encode())

    async def read(self, world: World, height: int) -> Beginning:
        """The state of all known contracts at the end of `height`."""
        found = Beginning([], [], {}, {}, await self._proposals(height))
        for protocol in world.knowledge.protocols.values():
            if not protocol.is_active:
                continue
            leases = await self._leases(protocol, height)
            read = await _together(self._position(protocol, lease, height) for lease in leases)
            living = [position for position in read if position is not None]
            found.positions += living
            found.totals[protocol.contracts[LPP]] = await self._totals(protocol.contracts[LPP], living, world, height)
            found.lenders += await self._lenders(protocol.contracts[LPP], height)
            found.prices[protocol.name] = await self._prices(protocol, height)
        _log.info("read what was there before", positions=len(found.positions), lenders=len(found.lenders))
        return found

    async def _query(self, package: str, name: str, height: int, **fields: Any) -> Any:
        request = self._types.new(f"{package}Query{name}Request", **fields)
        answer = await self._reader.abci_query(f"/{package}Query/{name}", request.SerializeToString(), height)
        return self._types.parse(f"{package}Query{name}Response", answer)

    async def _pages(self, package: str, name: str, items: str, height: int, **fields: Any) -> list[Any]:
        found: list[Any] = []
        key = b""
        while True:
            answer = await self._query(package, name, height, pagination={"key": key, "limit": _PAGE}, **fields)
            found += getattr(answer, items)
            key = answer.pagination.next_key
            if not key:
                return found

    async def _leases(self, protocol: Protocol, height: int) -> list[str]:
        leaser = protocol.contracts[LEASER]
        return await self._pages(_WASM, "ContractsByCreator", "contract_addresses", height, creator_address=leaser)

    async def _position(self, protocol: Protocol, lease: str, height: int) -> SeededPosition | None:
        state = await smart_query(self._reader, lease, {"state": {}}, height)
        stage, content = next(iter(state.items())) if isinstance(state, dict) else (state, {})
        if stage not in _STAGES:
            return None
        raw = await self._query(_WASM, "RawContractState", height, address=lease, query_data=b"state")
        stored = msgspec.json.decode(raw.data or b"null")
        loan = await smart_query(self._reader, protocol.contracts[LPP], {"loan": {"lease_addr": lease}}, height)
        loan = loan or {"principal_due": {"amount": "0"}, "annual_interest_rate": 0, "interest_paid": "0"}
        paid = int(loan["interest_paid"])
        held = content.get("amount", {"amount": "0", "ticker": ""})
        return SeededPosition(
            lease=lease,
            protocol=protocol.name,
            owner=_inside(stored, "customer") or "",
            status=_STAGES[stage],
            asset=held["ticker"],
            amount=held["amount"],
            principal=loan["principal_due"]["amount"],
            loan_rate=loan["annual_interest_rate"],
            margin_rate=content.get("margin_interest_rate", protocol.terms.margin),
            interest_paid_ns=paid,
            margin_paid_ns=int(_inside(stored, "margin_paid_by") or paid),
        )

    async def _totals(self, pool: str, living: list[SeededPosition], world: World, height: int) -> list[str]:
        """A pool's sums as it stores them; where that can't be read, as its answers and its loans add up.

        Only the stored ones know the parts of a unit that have accrued, without which interest may be a unit short.
        """
        raw = await self._query(_WASM, "RawContractState", height, address=pool, query_data=b"total")
        stored = stored_totals(bytes(raw.data))
        if stored is None:
            answer = await smart_query(self._reader, pool, {"lpp_balance": []}, height)
            principal = int(answer["total_principal_due"]["amount"])
            yearly = sum(int(position.principal) * position.loan_rate // MILLE for position in living)
            average = (yearly, principal) if principal else (0, MILLE)
            interest, receipts = (int(answer[name]["amount"]) for name in ("total_interest_due", "balance_nlpn"))
            stored = PoolTotals(principal, interest, *average, world.time_ns, receipts)
        return list(map(str, stored))

    async def _lenders(self, pool: str, height: int) -> list[tuple[str, str, str]]:
        """Who holds receipts: every account named in the pool's keys is asked for, whatever the keys' layout."""
        models = await self._pages(_WASM, "AllContractState", "models", height, address=pool)
        named = {match.decode() for model in models for match in self._account.findall(bytes(model.key))}

        async def held(lender: str) -> tuple[str, str, str]:
            try:
                answer = await smart_query(self._reader, pool, {"balance": {"address": lender}}, height)
            except QueryFailed:
                return lender, pool, "0"
            return lender, pool, answer["amount"]

        return [one for one in await _together(held(lender) for lender in sorted(named)) if int(one[2])]

    async def _prices(self, protocol: Protocol, height: int) -> dict[str, str]:
        found = {}
        for ticker in protocol.currencies:
            try:
                found[ticker] = str(await chain_price(self._reader, protocol, ticker, height))
            except QueryFailed:
                continue
        return found

    async def _proposals(self, height: int) -> list[SeededProposal]:
        found = []
        for number, status in _PROPOSALS.items():
            for one in await self._pages(_GOV, "Proposals", "proposals", height, proposal_status=number):
                votes = await self._pages(_GOV, "Votes", "votes", height, proposal_id=one.id)
                found.append(
                    SeededProposal(
                        id=one.id,
                        proposer=one.proposer,
                        messages="".join(f",{message.type_url}" for message in one.messages),
                        status=status,
                        submitted_at=one.submit_time.ToDatetime(UTC),
                        voting_at=one.voting_start_time.ToDatetime(UTC) if status == "voting" else None,
                        votes={vote.voter: [[str(o.option), o.weight] for o in vote.options] for vote in votes},
                    )
                )
        return found


def begin(world: World, found: Beginning, height: int, time: datetime, time_ns: int, rows: Rows) -> None:
    """Take a beginning into the world and the tables."""
    for seeded in found.positions:
        position = _position(world, seeded, height, time, time_ns)
        world.positions[seeded.lease] = position
        rows.replace("positions", position.row())
    for pool, totals in found.totals.items():
        world.pools[pool].totals = PoolTotals(*map(int, totals))
        rows.replace("pools", world.pools[pool].row(time))
    for lender, pool, receipts in found.lenders:
        known = world.lenders.setdefault((lender, pool), LenderState(lender, pool, joined_at=time))
        known.receipts = int(receipts)
        rows.replace("lenders", known.row(time))
    for name, prices in found.prices.items():
        for ticker, price in prices.items():
            world.oracles[name].last.setdefault(ticker, int(price))
            row = {"protocol": name, "ticker": ticker, "price": int(price), "height": height, "time": time}
            rows.replace("prices_current", row)
    for proposal in found.proposals:
        _proposal(world, proposal, height, time, rows)


def _position(world: World, seeded: SeededPosition, height: int, time: datetime, time_ns: int) -> LeasePosition:
    protocol = world.knowledge.protocols[seeded.protocol]
    principal = int(seeded.principal)
    return LeasePosition(
        lease=seeded.lease,
        protocol=protocol.name,
        pool=protocol.contracts[LPP],
        owner=seeded.owner,
        position_type=protocol.position_type,
        asset=seeded.asset,
        lpn=protocol.lpn,
        status=seeded.status,
        requested_at=time,
        requested_ns=time_ns,
        requested_height=height,
        requested_tx=b"",
        loan=principal,
        loan_rate=seeded.loan_rate,
        margin_rate=seeded.margin_rate,
        due_period_ns=protocol.terms.due_period,
        max_ltv=protocol.terms.max_ltv,
        principal=principal,
        interest_paid_ns=seeded.interest_paid_ns,
        margin_paid_ns=seeded.margin_paid_ns,
        amount=int(seeded.amount),
        updated_at=time,
        updated_height=height,
    )


def _proposal(world: World, seeded: SeededProposal, height: int, time: datetime, rows: Rows) -> None:
    known = ProposalState(
        seeded.id,
        seeded.proposer,
        seeded.messages,
        seeded.status,
        seeded.submitted_at,
        seeded.voting_at,
        voters=set(seeded.votes),
    )
    world.proposals[seeded.id] = known
    rows.replace("proposals", known.row(time))
    for voter, options in seeded.votes.items():
        option, weights = choice([(int(number), weight) for number, weight in options])
        row = {"proposal": seeded.id, "voter": voter, "option": option, "weights": weights}
        rows.replace("votes", {**row, "height": height, "time": time})


def stored_totals(data: bytes) -> PoolTotals | None:
    """What a native pool keeps under `total`, six numbers; None for any other layout."""
    parts = data.split()
    if len(parts) != len(PoolTotals._fields) or not all(part.isdigit() for part in parts):
        return None
    return PoolTotals(*map(int, parts))


def _inside(document: Any, name: str) -> str | None:
    """The first value of a member, however deep it stands."""
    left = [document]
    while left:
        one = left.pop(0)
        if isinstance(one, dict):
            if isinstance(one.get(name), str):
                return str(one[name])
            left += one.values()
        elif isinstance(one, list):
            left += one
    return None


async def _together(questions: Iterable[Awaitable[T]]) -> list[T]:
    """All answers in order, some questions at a time."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(question: Awaitable[T]) -> T:
        async with gate:
            return await question

    return list(await asyncio.gather(*(one(question) for question in questions)))
