"""Leases: a wallet's, one of them, its history, and the terms of a protocol."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import number, shortest
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import DownpaymentRange, GatedConfig
from leasehold.app_api.inputs import OwnerAddress, is_address, is_of, require_bech32
from leasehold.app_api.resources import prices
from leasehold.app_api.resources.lease_states import Amount, State
from leasehold.app_api.resources.lease_views import (
    LeaseHistoryEntry,
    LeaseInfo,
    Market,
    history_of,
    lease_info,
)
from leasehold.app_api.upstreams import data
from leasehold.app_api.upstreams.bulk import Question, smart_question
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused, NoSuchContract
from leasehold.app_api.upstreams.openings import Sign
from leasehold.core import logging
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Registry, Request

_log = logging.get("leases")


class LeasesResponse(msgspec.Struct):
    """A wallet's leases with their worth and debt in USD."""

    leases: list[LeaseInfo]
    total_collateral_usd: str
    total_debt_usd: str


class LeaseConfigResponse(msgspec.Struct):
    """Downpayments in USD by ticker, and the smallest asset and transaction."""

    protocol: str
    downpayment_ranges: dict[str, DownpaymentRange]
    min_asset: Amount
    min_transaction: Amount


class _Liability(msgspec.Struct, frozen=True):
    max: int


class _PositionSpec(msgspec.Struct, frozen=True):
    liability: _Liability
    min_asset: Amount
    min_transaction: Amount


class _LeaserConfig(msgspec.Struct, frozen=True):
    lease_position_spec: _PositionSpec


class _LeaserAnswer(msgspec.Struct, frozen=True):
    config: _LeaserConfig


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """What a protocol's leaser asks of positions; liability in permille."""

    max_liability: int
    min_asset: Amount
    min_transaction: Amount


class LeasesParams(msgspec.Struct, frozen=True):
    address: OwnerAddress
    protocol: str | None = None


class LeaseParams(msgspec.Struct, frozen=True):
    address: str
    protocol: Annotated[str | None, Input(about="the lease's protocol; required")] = None


class HistoryParams(msgspec.Struct, frozen=True):
    address: str


class ProtocolParams(msgspec.Struct, frozen=True):
    protocol: str


def market_of(app: App, protocol: data.Protocol, at: prices.Prices | None = None) -> Market:
    """What leases of a protocol are valued with: the given prices, else the last ones."""
    terms = (app.cells.lease_terms.get() or {}).get(protocol.name)
    return Market(
        protocol.name,
        protocol.is_short,
        app.cells.currencies.get(),
        at if at is not None else app.cells.prices.get(),
        Fraction(terms.max_liability, 1000) if terms is not None else None,
    )


def _state_query(gated: GatedConfig) -> dict[str, dict[str, int]]:
    return {"state": {"due_projection_secs": gated.lease_rules.due_projection_secs}}


async def read_state(view: ChainView, address: str, gated: GatedConfig) -> State:
    """A lease's state, with what will be due as far ahead as the rules say."""
    state: State = await view.smart(address, _state_query(gated), State)
    return state


def state_question(address: str, gated: GatedConfig) -> Question:
    """The same as one of many questions."""
    return smart_question(address, _state_query(gated), State)


def sign_of(state: State) -> Sign:
    """What of a state tells that its lease has acted."""
    marks: list[str] = [state.status or ""]
    due = 0
    for held in (state.opened, state.closing, state.paid_off):
        if isinstance(held, msgspec.Struct):
            marks.append(held.amount.amount)
    if isinstance(state.opened, msgspec.Struct):
        opened = state.opened
        marks.append(opened.principal_due.amount)
        parts = (opened.overdue_margin, opened.overdue_interest, opened.due_margin, opened.due_interest)
        due = sum(int(part.amount) for part in parts)
    return Sign(tuple(marks), due)


async def known_opening(app: App, address: str, view: ChainView, *, crowded: bool) -> data.Opening | None:
    """What the index knows about a lease that acted in a block, asked once for everybody who looks at that block; where
    the block is crowded, what it told last."""

    openings = app.upstreams.openings
    if crowded:
        return await openings.recall(address)

    async def read() -> data.Opening | None:
        return await openings.ask(address)

    found: data.Opening | None = await view.once(("opening", address), read)
    return found


async def read_lease(app: App, view: ChainView, address: str, gated: GatedConfig) -> tuple[State, data.Opening | None]:
    """A lease's state as of a view, and what the index knows about it; a lease is complete without the latter."""
    state = await read_state(view, address, gated)
    return state, await app.upstreams.openings.of(address, sign_of(state))


async def prices_of(app: App, view: ChainView) -> prices.Prices | None:
    """Prices of the same block as the leases; None while there were never any."""
    return await prices.at(app, view) if app.cells.prices.warm else None


async def leases_of(app: App, view: ChainView, owner: str, only: str | None = None) -> list[LeaseInfo]:
    """Every visible lease of a wallet as of a view, by protocol and in the leaser's order.

    A lease whose contract refuses to say its state is left out: asking again would not help. Anything else that fails
    fails the whole, so that a list is never silently short.
    """
    cells = app.cells
    context, gated, registry = cells.filter.value, cells.gated.value, cells.contracts.value
    names = [name for name in sorted(registry.protocols) if context.visible(name) and only in (None, name)]

    valued = await prices_of(app, view)

    async def one(protocol: data.Protocol, address: str) -> LeaseInfo | None:
        try:
            state, known = await read_lease(app, view, address, gated)
        except ContractRefused as error:
            _log.warning("a lease refuses to say its state", lease=address, error=error.message)
            return None
        info = lease_info(address, state, known, market_of(app, protocol, valued))
        if info is None or not rules.lease_visible(gated, protocol, info.amount.ticker):
            return None
        return info

    async def of_protocol(name: str) -> list[LeaseInfo | None]:
        addresses: list[str] = await view.smart(registry.of(name).leaser, {"leases": {"owner": owner}}, list[str])
        return list(await asyncio.gather(*(one(context.protocols[name], address) for address in addresses)))

    found = await asyncio.gather(*(of_protocol(name) for name in names))
    return [info for infos in found for info in infos if info is not None]


def totals(leases: list[LeaseInfo]) -> LeasesResponse:
    """The leases with the sums of what is known about their worth and debt."""
    worth = sum((number(one.amount.amount_usd) or Fraction(0) for one in leases), Fraction(0))
    owed = sum((number(one.debt.total_usd) or Fraction(0) for one in leases), Fraction(0))
    return LeasesResponse(leases, shortest(worth), shortest(owed))


def belongs(state: State, known: data.Opening | None, protocol: data.Protocol) -> bool:
    """Whether a lease can be of a protocol: by the pool the index saw it borrow from, else by its debt's currency."""
    if known is not None and known.lease.LS_loan_pool_id and protocol.contracts.lpp:
        return known.lease.LS_loan_pool_id == protocol.contracts.lpp
    if isinstance(state.opened, msgspec.Struct):
        return state.opened.principal_due.ticker == protocol.lpn_symbol
    if isinstance(state.opening, msgspec.Struct):
        return state.opening.loan.ticker == protocol.lpn_symbol
    return True


def declare(api: Registry, app: App) -> None:
    """The read routes of leases."""
    tags = ("leases",)
    cells = app.cells

    @api.get(
        "/api/leases", operation_id="get_leases", summary="A wallet's visible leases", tags=tags, errors=(400, 502, 503)
    )
    async def leases(request: Request[LeasesParams, None]) -> LeasesResponse:
        owner, only = require_bech32(request.params.address), request.params.protocol
        # Said before the chain is asked for anything.
        _, gated, _ = cells.filter.value, cells.gated.value, cells.contracts.value
        if not is_of(owner, app.settings.identity.prefix):
            return totals([])
        view = await app.chain()

        async def read() -> LeasesResponse:
            return totals(await leases_of(app, view, owner, only))

        key = ("leases", owner, only, gated.version, cells.filter.version)
        found: LeasesResponse = await view.once(key, read)
        return found

    @api.get(
        "/api/leases/{address}", operation_id="get_lease", summary="One lease", tags=tags, errors=(400, 404, 502, 503)
    )
    async def lease(request: Request[LeaseParams, None]) -> LeaseInfo:
        address, name = request.params.address, request.params.protocol
        if not name:
            raise InvalidInput("protocol query parameter is required", field="protocol")
        address = require_bech32(address)
        gated = cells.gated.value
        protocol = cells.protocols.value.get(name)
        if protocol is None:
            raise InvalidInput(f"there is no protocol {name}", field="protocol")
        if not is_of(address, app.settings.identity.prefix):
            raise NotFound(f"Lease {address} not found")
        view = await app.chain()
        try:
            state, known = await read_lease(app, view, address, gated)
        except NoSuchContract:
            raise NotFound(f"Lease {address} not found") from None
        if not belongs(state, known, protocol):
            raise InvalidInput(f"lease {address} is not of protocol {name}", field="protocol")
        info = lease_info(address, state, known, market_of(app, protocol, await prices_of(app, view)))
        if info is None:
            raise app.upstreams.lcd.transport.unreadable("lease state")
        return info

    @api.get(
        "/api/leases/{address}/history", operation_id="get_lease_history", summary="What happened to a lease", tags=tags
    )
    async def history(request: Request[HistoryParams, None]) -> list[LeaseHistoryEntry]:
        address = request.params.address
        if not is_address(address, app.settings.identity.prefix):
            return []
        return history_of(await app.upstreams.openings.of(address)) or []

    @api.get(
        "/api/leases/config/{protocol}",
        operation_id="get_lease_config",
        summary="Terms of a protocol",
        tags=tags,
        errors=(404, 503),
    )
    async def config(request: Request[ProtocolParams, None]) -> LeaseConfigResponse:
        name = request.params.protocol
        terms = cells.lease_terms.value.get(name)
        if terms is None:
            raise NotFound(f"Lease config for protocol {name} not found")
        ranges = cells.gated.value.lease_rules.downpayment_ranges.get(name, {})
        return LeaseConfigResponse(name, ranges, terms.min_asset, terms.min_transaction)


async def refresh_terms(app: App) -> bool:
    """Read every leaser's terms at the newest block; one whose contract refuses keeps its last."""
    view = await app.chain()
    last = app.cells.lease_terms.get() or {}

    async def one(name: str, leaser: str) -> tuple[str, LeaseTerms | None]:
        try:
            answer: _LeaserAnswer = await view.smart(leaser, {"config": {}}, _LeaserAnswer)
        except (ContractRefused, NoSuchContract):
            return name, last.get(name)
        spec = answer.config.lease_position_spec
        return name, LeaseTerms(spec.liability.max, spec.min_asset, spec.min_transaction)

    registry = app.cells.contracts.value
    found = await asyncio.gather(*(one(name, held.leaser) for name, held in registry.protocols.items()))
    return app.cells.lease_terms.put({name: terms for name, terms in found if terms is not None})
