"""Builders of earn: lend to a pool, take back, claim what was earned."""

from __future__ import annotations

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.writes import checks, messages
from leasehold.app_api.writes.completion import EarnTransactionResponse, completed
from leasehold.app_api.writes.messages import Message
from leasehold.serving.routes import NoParams, Registry, Request


class DepositRequest(msgspec.Struct):
    """`amount` in base units of the pool's currency; with a `sender` the answer is ready to sign."""

    protocol: str
    amount: str
    sender: str | None = None


class WithdrawRequest(msgspec.Struct):
    """`amount` in base units of the pool's receipts."""

    protocol: str
    amount: str
    sender: str | None = None


class ClaimLenderRewardsRequest(msgspec.Struct):
    """Rewards go to `recipient`, to the sender where there is none."""

    protocol: str
    recipient: str | None = None
    sender: str | None = None


async def answer(app: App, message: Message, memo: str, sender: str | None) -> EarnTransactionResponse:
    if sender is None:
        return EarnTransactionResponse([message], memo)
    return EarnTransactionResponse(**await completed(app, [message], memo, sender))


def declare(api: Registry, app: App) -> None:
    """The builders of earn."""
    tags = ("earn",)

    @api.post("/api/earn/deposit", summary="Build a deposit", tags=tags, operation_id="deposit", errors=(400, 404, 503))
    async def deposit(request: Request[NoParams, DepositRequest]) -> EarnTransactionResponse:
        asked = request.body
        amount = checks.amount(asked.amount)
        sender = None if asked.sender is None else checks.wallet(app, asked.sender)
        pool = app.cells.contracts.value.of(asked.protocol).lpp
        denom = messages.BLANK if sender is None else checks.pool_denom(app, asked.protocol)
        message = messages.execute(pool, messages.DEPOSIT, [messages.coin(amount, denom)])
        return await answer(app, message, f"Deposit to {app.brand} Earn", sender)

    @api.post(
        "/api/earn/withdraw", summary="Build a withdrawal", tags=tags, operation_id="withdraw", errors=(400, 404, 503)
    )
    async def withdraw(request: Request[NoParams, WithdrawRequest]) -> EarnTransactionResponse:
        asked = request.body
        amount = checks.amount(asked.amount)
        sender = None if asked.sender is None else checks.wallet(app, asked.sender)
        pool = app.cells.contracts.value.of(asked.protocol).lpp
        message = messages.execute(pool, messages.burn(amount))
        return await answer(app, message, f"Withdraw from {app.brand} Earn", sender)

    @api.post(
        "/api/earn/claim-rewards",
        summary="Build a claim of a lender's rewards",
        tags=tags,
        operation_id="claim_lender_rewards",
        errors=(400, 404, 503),
    )
    async def claim(request: Request[NoParams, ClaimLenderRewardsRequest]) -> EarnTransactionResponse:
        asked = request.body
        recipient = None if asked.recipient is None else checks.wallet(app, asked.recipient, "recipient")
        sender = None if asked.sender is None else checks.wallet(app, asked.sender)
        pool = app.cells.contracts.value.of(asked.protocol).lpp
        message = messages.execute(pool, messages.claim_lender_rewards(recipient))
        return await answer(app, message, f"Claim rewards from {app.brand} Earn", sender)
