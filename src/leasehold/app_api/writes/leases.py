"""Builders of leases: quote, open, repay, close all or a part, and the triggers of a close."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from urllib.parse import quote as escaped

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import double, shortest
from leasehold.app_api.resources.lease_states import Amount, State
from leasehold.app_api.resources.lease_views import liquidation_price
from leasehold.app_api.resources.leases import market_of
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ContractRefused, NoSuchContract, refusal_of
from leasehold.app_api.writes import checks, messages
from leasehold.app_api.writes.completion import LeaseTransactionResponse, completed
from leasehold.app_api.writes.messages import Message
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.routes import NoParams, Registry, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
# How a leaser begins to say that what is asked for is below a minimum: the caller's mistake, and nobody's failure.
_TOO_SMALL = "[Position] "


class LeaseQuoteRequest(msgspec.Struct):
    """A down-payment in base units, the asset to lease, and the loan wanted per down-payment in permille.

    `lease_ticker` also goes by `lease_currency`, `currency` and `lease_asset`. The loan does not depend on the asset,
    so a quote may leave it out.
    """

    protocol: str
    downpayment_ticker: str
    downpayment_amount: str
    max_ltd: checks.Ltd | None = None
    lease_ticker: str | None = None
    lease_currency: str | None = None
    currency: str | None = None
    lease_asset: str | None = None

    @property
    def asset(self) -> str | None:
        return self.lease_ticker or self.lease_currency or self.currency or self.lease_asset


class OpenLeaseRequest(LeaseQuoteRequest):
    """As a quote; the asset may be left out where the protocol leases only one, or leases the down-payment's."""

    sender: str | None = None


class LeaseQuoteResponse(msgspec.Struct):
    """The loan in base units, and its yearly interest with the margin, percent.

    `estimated_liquidation_price` is that of the position right after its opening, null where no asset is named.
    """

    borrow_ticker: str
    borrow_amount: str
    annual_interest_rate: float
    estimated_liquidation_price: str | None


class RepayLeaseRequest(msgspec.Struct):
    """`amount` in base units of `denom`, or of the currency `ticker`; by default that of the debt."""

    lease_address: str
    amount: str
    denom: str | None = None
    ticker: str | None = None
    sender: str | None = None


class CloseLeaseRequest(msgspec.Struct):
    lease_address: str
    sender: str | None = None


class MarketCloseRequest(msgspec.Struct):
    lease_address: str
    sender: str | None = None


class PartialCloseRequest(msgspec.Struct):
    """`amount` in base units of the leased asset; `ticker` is read from the lease where it is left out."""

    lease_address: str
    amount: str
    ticker: str | None = None
    sender: str | None = None


class ClosePolicyRequest(msgspec.Struct):
    """Triggers in permille of the loan to value: a number sets one, null clears it, absence leaves it."""

    lease_address: str
    stop_loss: checks.Permille | Absent | None = UNSET
    take_profit: checks.Permille | Absent | None = UNSET
    sender: str | None = None


class _Quote(msgspec.Struct, frozen=True):
    total: Amount
    borrow: Amount
    annual_interest_rate: int
    annual_interest_rate_margin: int


class _ContractInfo(msgspec.Struct):
    creator: str = ""
    admin: str = ""


class _Contract(msgspec.Struct):
    contract_info: _ContractInfo


def asset_to_lease(app: App, asked: LeaseQuoteRequest) -> str | None:
    """The ticker to lease: as asked; else the only one there is, or the one paid with; None where neither tells."""
    known = checks.leasable(app, asked.protocol)
    if asked.asset is not None:
        if asked.asset not in known:
            raise InvalidInput(f"protocol {asked.protocol} does not lease {asked.asset}", field="lease_ticker")
        return asked.asset
    if len(known) == 1:
        return known[0]
    return asked.downpayment_ticker if asked.downpayment_ticker in known else None


def open_choice(app: App, protocol: str) -> InvalidInput:
    """What is wrong with a request that should name an asset and does not."""
    known = ", ".join(checks.leasable(app, protocol)) or "none"
    return InvalidInput(f"name the asset to lease: one of {known}", field="lease_ticker")


def estimated(app: App, protocol: str, found: _Quote) -> str | None:
    """Liquidation price of the quoted position when it opens; None while the terms of the protocol are not known."""
    known = (app.cells.protocols.get() or {}).get(protocol)
    price = liquidation_price(found.total, found.borrow, market_of(app, known)) if known is not None else None
    return None if price is None else shortest(price)


async def protocol_of(app: App, lease: str) -> str:
    """Name of the protocol whose leaser made a lease."""
    try:
        found = await app.upstreams.lcd.read(
            f"/cosmwasm/wasm/v1/contract/{escaped(lease, safe='')}", _Contract, context="contract"
        )
    except ChainFailure as error:
        if error.reply_status == 404 or b"no such contract" in error.reply_body:
            raise NotFound(f"Lease {lease} not found") from None
        raise
    makers = (found.contract_info.creator, found.contract_info.admin)
    for name, contracts in app.cells.contracts.value.protocols.items():
        if contracts.leaser in makers:
            return name
    raise NotFound(f"Lease {lease} not found")


async def asset_of(app: App, lease: str) -> str:
    """Ticker of what an open lease holds."""
    view = await app.chain()
    try:
        state: State = await view.smart(lease, {"state": {}}, State)
    except NoSuchContract:
        raise NotFound(f"Lease {lease} not found") from None
    if not isinstance(state.opened, msgspec.Struct):
        raise InvalidInput(f"the lease is {state.status}, not opened", field="lease_address")
    return state.opened.amount.ticker


def policy(asked: ClosePolicyRequest) -> dict[str, Any]:
    """The contract's words for a change of triggers."""
    given = {"stop_loss": asked.stop_loss, "take_profit": asked.take_profit}
    changes = {
        name: "reset" if value is None else {"set": value} for name, value in given.items() if value is not UNSET
    }
    if not changes:
        raise InvalidInput("nothing to change: give stop_loss, take_profit or both", field="stop_loss")
    return {"change_close_policy": changes}


def declare(api: Registry, app: App) -> None:
    """The builders of leases."""
    tags = ("leases",)
    cells = app.cells

    async def answer(message: Message, memo: str, sender: str | None) -> LeaseTransactionResponse:
        if sender is None:
            return LeaseTransactionResponse([message], memo)
        return LeaseTransactionResponse(**await completed(app, [message], memo, sender))

    def signer(text: str | None) -> str | None:
        return None if text is None else checks.wallet(app, text)

    @api.post(
        "/api/leases/quote",
        summary="What a down-payment would borrow",
        tags=tags,
        operation_id="get_lease_quote",
        errors=(400, 404, 502, 503),
    )
    async def quote(request: Request[NoParams, LeaseQuoteRequest]) -> LeaseQuoteResponse:
        asked = request.body
        amount = checks.amount(asked.downpayment_amount, "downpayment_amount")
        leaser = cells.contracts.value.of(asked.protocol).leaser
        checks.denom_of(app, asked.protocol, asked.downpayment_ticker, "downpayment_ticker")
        asset = asset_to_lease(app, asked)
        query: dict[str, Any] = {
            "downpayment": {"amount": amount, "ticker": asked.downpayment_ticker},
            # The loan is the same for every asset, and the leaser wants one.
            "lease_asset": asset or next(iter(checks.leasable(app, asked.protocol)), ""),
        }
        if asked.max_ltd is not None:
            query["max_ltd"] = asked.max_ltd
        view = await app.chain()
        try:
            found: _Quote = await view.smart(leaser, {"quote": query}, _Quote)
        except ContractRefused as refused:
            reason = refusal_of(refused).message[:300]
            if _TOO_SMALL in reason:
                raise InvalidInput(f"the leaser gives no quote: {reason}", field="downpayment_amount") from None
            raise app.upstreams.lcd.transport.fail(f"the leaser gives no quote: {reason}") from refused
        permille = found.annual_interest_rate + found.annual_interest_rate_margin
        return LeaseQuoteResponse(
            found.borrow.ticker,
            found.borrow.amount,
            double(Fraction(permille, 10)),
            None if asset is None else estimated(app, asked.protocol, found),
        )

    @api.post(
        "/api/leases/open", summary="Build an opening", tags=tags, operation_id="open_lease", errors=(400, 404, 503)
    )
    async def open_lease(request: Request[NoParams, OpenLeaseRequest]) -> LeaseTransactionResponse:
        asked = request.body
        amount = checks.amount(asked.downpayment_amount, "downpayment_amount")
        sender = signer(asked.sender)
        leaser = cells.contracts.value.of(asked.protocol).leaser
        denom = checks.denom_of(app, asked.protocol, asked.downpayment_ticker, "downpayment_ticker")
        asset = asset_to_lease(app, asked)
        if asset is None:
            raise open_choice(app, asked.protocol)
        msg = messages.open_lease(asset, asked.max_ltd)
        funds = [messages.coin(amount, messages.BLANK if sender is None else denom)]
        return await answer(messages.execute(leaser, msg, funds), f"Open {app.brand} Lease", sender)

    @api.post("/api/leases/repay", summary="Build a repayment", tags=tags, operation_id="repay_lease", errors=(400,))
    async def repay(request: Request[NoParams, RepayLeaseRequest]) -> LeaseTransactionResponse:
        asked = request.body
        lease = checks.lease(app, asked.lease_address)
        amount = checks.amount(asked.amount)
        sender = signer(asked.sender)
        denom = asked.denom or messages.BLANK
        if not denom and sender is not None:
            protocol = await protocol_of(app, lease)
            denom = (
                checks.pool_denom(app, protocol)
                if asked.ticker is None
                else checks.denom_of(app, protocol, asked.ticker, "ticker")
            )
        message = messages.execute(lease, messages.REPAY, [messages.coin(amount, denom)])
        return await answer(message, f"Repay {app.brand} Lease", sender)

    @api.post("/api/leases/close", summary="Build a full close", tags=tags, operation_id="close_lease", errors=(400,))
    async def close(request: Request[NoParams, CloseLeaseRequest]) -> LeaseTransactionResponse:
        message = messages.execute(checks.lease(app, request.body.lease_address), messages.FULL_CLOSE)
        return await answer(message, f"Close {app.brand} Lease", signer(request.body.sender))

    @api.post(
        "/api/leases/market-close",
        summary="Build a close that sells the collateral",
        tags=tags,
        operation_id="market_close_lease",
        errors=(400,),
    )
    async def market_close(request: Request[NoParams, MarketCloseRequest]) -> LeaseTransactionResponse:
        message = messages.execute(checks.lease(app, request.body.lease_address), messages.FULL_CLOSE)
        return await answer(message, f"Market Close {app.brand} Lease", signer(request.body.sender))

    @api.post(
        "/api/leases/partial-close",
        summary="Build a close of a part",
        tags=tags,
        operation_id="partial_close_lease",
        errors=(400, 404, 502),
    )
    async def part_close(request: Request[NoParams, PartialCloseRequest]) -> LeaseTransactionResponse:
        asked = request.body
        lease = checks.lease(app, asked.lease_address)
        amount = checks.amount(asked.amount)
        sender = signer(asked.sender)
        ticker = asked.ticker or await asset_of(app, lease)
        message = messages.execute(lease, messages.partial_close(amount, ticker))
        return await answer(message, f"Partially Close {app.brand} Lease", sender)

    @api.post(
        "/api/leases/close-policy",
        summary="Build a change of stop-loss and take-profit",
        tags=tags,
        operation_id="change_close_policy",
        errors=(400,),
    )
    async def close_policy(request: Request[NoParams, ClosePolicyRequest]) -> LeaseTransactionResponse:
        asked = request.body
        message = messages.execute(checks.lease(app, asked.lease_address), policy(asked))
        return await answer(message, f"Change Close Policy of {app.brand} Lease", signer(asked.sender))
