"""Messaging tokens: a signed statement about a wallet's portfolio for the support chat.

Anybody may ask for anybody's token, so it proves nothing about who holds it and is never accepted as a credential.
"""

from __future__ import annotations

import asyncio
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import fixed, number
from leasehold.app_api.inputs import require_bech32
from leasehold.app_api.resources import balances, leases
from leasehold.app_api.resources.positions import read_positions
from leasehold.app_api.upstreams import chain, chain_staking
from leasehold.app_api.upstreams.failures import ChainFailure, ServiceFailure
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused
from leasehold.app_api.writes import checks
from leasehold.core.addresses import InvalidAddress
from leasehold.core.clock import NANOSECONDS
from leasehold.core.errors import InvalidInput, NotReady
from leasehold.serving.routes import NoParams, Registry, Request

LIFETIME_SECONDS = 900
_HEADER = {"typ": "JWT", "alg": "HS256"}


class IntercomTokenRequest(msgspec.Struct):
    """A wallet, and the kind of software that holds it."""

    wallet: str
    wallet_type: str


class IntercomTokenResponse(msgspec.Struct):
    token: str


@dataclass(frozen=True, slots=True)
class Portfolio:
    """What is known about a wallet; USD exact, amounts of the native token in base units."""

    balance: Fraction
    positions: int
    position_value: Fraction
    position_debt: Fraction
    position_profit: Fraction
    earned: Fraction
    pools: int
    delegated: int
    delegated_usd: Fraction
    vested: int
    validators: int
    vesting: bool


def signed(claims: Mapping[str, Any], secret: str) -> str:
    """A JWT over the claims, HS256 with the bytes of the secret."""
    body = b".".join(_part(msgspec.json.encode(part)) for part in (_HEADER, claims))
    return (body + b"." + _part(hmac.new(secret.encode(), body, sha256).digest())).decode()


def _part(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def attributes(found: Portfolio, native: str, exponent: int) -> dict[str, Any]:
    """The portfolio as claims; those about the native token carry its lower-case name."""

    def tokens(amount: int) -> str:
        return fixed(Fraction(amount, 10**exponent), exponent)

    return {
        "total_balance_usd": fixed(found.balance, 2),
        "positions_count": found.positions,
        "positions_value_usd": fixed(found.position_value, 2),
        "positions_debt_usd": fixed(found.position_debt, 2),
        "positions_unrealized_pnl_usd": fixed(found.position_profit, 2),
        "earn_deposited_usd": fixed(found.earned, 2),
        "earn_pools_count": found.pools,
        f"staking_delegated_{native}": tokens(found.delegated),
        "staking_delegated_usd": fixed(found.delegated_usd, 2),
        f"staking_vested_{native}": tokens(found.vested),
        "staking_validators_count": found.validators,
        "has_active_leases": found.positions > 0,
        "has_earn_positions": found.pools > 0,
        "has_staking_positions": found.validators > 0,
        "is_vesting_account": found.vesting,
    }


async def portfolio(app: App, wallet: str) -> Portfolio:
    """Everything about a wallet as of one block; NotReady where any part can't be known now."""
    cells = app.cells
    context, catalogue, prices = cells.filter.value, cells.currencies.value, cells.prices.value
    registry, figures = cells.contracts.value, cells.indexed_pools.get() or {}
    try:
        view = await app.chain()
        coins, held, stakes, account, opened, lent = await asyncio.gather(
            chain.balances(view, wallet),
            leases.leases_of(app, view, wallet),
            chain_staking.delegations(view, wallet),
            vesting_account(app, wallet),
            opened_count(app, view, wallet),
            read_positions(view, dict(sorted(registry.protocols.items())), wallet, figures, catalogue, prices),
        )
    except ServiceFailure as error:
        raise NotReady(f"the portfolio is not available: {error.message}") from error
    shown = balances.build(coins, context, catalogue, prices)
    active = [one for one in held if one.status == "opened"]
    delegated = sum(int(one.balance.amount) for one in stakes)
    key = prices.anywhere(app.settings.identity.display)
    price = prices.values[key] if key is not None else Fraction(0)
    vested = account.get("original_vesting") or [{}]
    return Portfolio(
        balance=number(shown.total_value_usd) or Fraction(0),
        positions=opened,
        position_value=_sum(one.amount.amount_usd for one in active),
        position_debt=_sum(one.debt.total_usd for one in active),
        position_profit=_sum(one.pnl.amount if one.pnl else None for one in active),
        earned=sum((usd for _, usd in lent), Fraction(0)),
        pools=len(lent),
        delegated=delegated,
        delegated_usd=Fraction(delegated, 10**app.settings.identity.exponent) * price,
        vested=int(vested[0].get("amount", "0")),
        validators=len(stakes),
        vesting=bool(account),
    )


async def opened_count(app: App, view: ChainView, owner: str) -> int:
    """Open positions over all active protocols, shown or not."""
    protocols, gated = app.cells.protocols.value, app.cells.gated.value
    active = [
        contracts.leaser
        for name, contracts in app.cells.contracts.value.protocols.items()
        if name in protocols and protocols[name].is_active
    ]
    listed = await asyncio.gather(*(view.smart(leaser, {"leases": {"owner": owner}}, list[str]) for leaser in active))

    async def opened(lease: str) -> bool:
        try:
            return (await leases.read_state(view, lease, gated)).status == "opened"
        except ContractRefused:
            return False

    return sum(await asyncio.gather(*(opened(lease) for group in listed for lease in group)))


async def vesting_account(app: App, wallet: str) -> dict[str, Any]:
    """The vesting part of an account, empty where it has none or does not exist."""
    try:
        found = (await chain.account(app.upstreams.lcd, wallet)).account
    except ChainFailure as error:
        if error.reply_status == 404:
            return {}
        raise
    inner = found.get("base_vesting_account")
    return inner if isinstance(inner, dict) else {}


def _sum(texts: Any) -> Fraction:
    return sum((number(text) or Fraction(0) for text in texts), Fraction(0))


def declare(api: Registry, app: App) -> None:
    """The token route, under the interface's name and the one the public front end calls."""
    settings = app.settings

    async def token(request: Request[NoParams, IntercomTokenRequest]) -> IntercomTokenResponse:
        wallet = require_bech32(request.body.wallet, "wallet")
        try:
            checks.wallet(app, wallet, "wallet")
        except InvalidAddress:
            raise InvalidInput("Invalid wallet format", field="wallet") from None
        if not settings.app_api.messaging_secret:
            raise NotReady("Messaging is not configured", hint="set app_api.messaging_secret")
        found = await portfolio(app, wallet)
        identity = settings.identity
        claims: dict[str, Any] = {
            "user_id": wallet,
            "exp": app.clock.now_ns() // NANOSECONDS + LIFETIME_SECONDS,
            "sub": wallet,
            "wallet_type": request.body.wallet_type,
            **attributes(found, identity.display.lower(), identity.exponent),
        }
        if settings.app_api.messaging_dashboard:
            url = settings.app_api.messaging_dashboard.replace("{address}", wallet)
            claims["positions_dashboard_url"] = url
        return IntercomTokenResponse(signed(claims, settings.app_api.messaging_secret))

    for path, name in (("/api/messaging/hash", "messaging_hash"), ("/api/intercom/hash", "intercom_hash")):
        api.post(
            path,
            summary="A signed token about a wallet's portfolio",
            description="Not a credential: anybody may ask for anybody's token.",
            tags=("messaging",),
            operation_id=name,
            errors=(400, 503),
        )(token)
