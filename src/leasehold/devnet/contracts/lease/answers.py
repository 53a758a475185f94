"""What a lease answers about its state."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.contracts.lease.records import (
    BuyAsset,
    BuyLpn,
    Delivery,
    LeaseRecord,
    OpenIca,
    ReturnAsset,
    SellAsset,
    SwapExactIn,
    TransferInInit,
    TransferOut,
)
from leasehold.devnet.contracts.lease.scene import Scene
from leasehold.devnet.wasm.contract import ContractTrap
from leasehold.protocol.messages import lease as wire
from leasehold.protocol.messages.values import LpnCoin

SECOND = 1_000_000_000
_IDLE, _ANOMALY = "idle", "slippage_protection_activated"


def state_answer(scene: Scene, kind: str, content: Any, stage: Any, projection_secs: int) -> wire.State:
    """The answer to `state`, looking some seconds ahead."""
    if kind == "closed":
        return wire.State(closed=())
    if kind == "liquidated":
        return wire.State(liquidated=())
    if kind in ("opened_active", "slippage_anomaly"):
        status: Any = _IDLE if kind == "opened_active" else _ANOMALY
        return opened(scene, content.lease, status, projection_secs)
    if stage is None:
        raise ContractTrap("a loan that was not drawn yet")
    if isinstance(stage, Delivery):
        stage = stage.handler
    if isinstance(stage, OpenIca):
        return opening(stage.connectee.new_lease.form.currency, stage.connectee, "open_ica_account")
    task, progress = stage.spec, _progress(stage)
    if isinstance(task, BuyAsset):
        account = wire.IcaAccount(task.dex_account.host)
        name = "transfer_out" if isinstance(stage, TransferOut) else "buy_asset"
        return opening(task.form.currency, task, wire.OpeningStage(**{name: account}))
    if isinstance(task, ReturnAsset):
        return wire.State(closing=wire.Closing(task.lease.lease.position.amount, progress))
    status = wire.Status(in_progress=_ongoing(task, progress))
    return opened(scene, task.lease, status, projection_secs)


def _progress(stage: Any) -> str:
    if isinstance(stage, TransferOut):
        return "transfer_out"
    if isinstance(stage, SwapExactIn):
        return "swap"
    return "transfer_in_init" if isinstance(stage, TransferInInit) else "transfer_in_finish"


def _ongoing(task: BuyLpn | SellAsset, progress: str) -> wire.OngoingTrx:
    if isinstance(task, BuyLpn):
        return wire.OngoingTrx(repayment=wire.Repayment(task.payment, progress))
    cause = task.repayable.cause
    if cause is None:
        return wire.OngoingTrx(close=wire.CloseProgress(task.amount, progress))
    reason = "overdue" if cause.liability is None else "liability"
    return wire.OngoingTrx(liquidation=wire.LiquidationProgress(task.amount, reason, progress))


def opening(currency: str, task: Any, in_progress: Any) -> wire.State:
    """The answer while a lease opens."""
    loan = task.loan
    return wire.State(
        opening=wire.Opening(currency, task.downpayment, loan.principal, loan.annual_interest_rate, in_progress)
    )


def opened(scene: Scene, record: LeaseRecord, status: Any, projection_secs: int) -> wire.State:
    """The answer of an opened lease, with interest at now plus the projection."""
    core, projection = record.lease, projection_secs * SECOND
    due = scene.lease_loan(core).due(scene.now + projection)
    lpn, close = core.lpn, core.position.spec.close

    def coin(amount: int) -> LpnCoin:
        return LpnCoin(str(amount), lpn)

    return wire.State(
        opened=wire.Opened(
            amount=core.position.amount,
            loan_interest_rate=due.loan_rate,
            margin_interest_rate=due.margin_rate,
            principal_due=coin(due.principal),
            overdue_margin=coin(due.overdue_margin),
            overdue_interest=coin(due.overdue_interest),
            overdue_collect_in=due.collect_in(core.position.spec.rules.min_transaction.units),
            due_margin=coin(due.due_margin),
            due_interest=coin(due.due_interest),
            due_projection_ns=projection,
            close_policy=close,
            validity=str(scene.now),
            status=status,
        )
    )
