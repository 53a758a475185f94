"""What a lease answers about its state."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.contracts import dex
from leasehold.devnet.contracts.lease.scene import Scene
from leasehold.devnet.contracts.lease.states import Active, Anomaly, Connecting, Final, Requested, State
from leasehold.devnet.contracts.lease.tasks import LeaseTask
from leasehold.devnet.wasm.contract import ContractTrap
from leasehold.protocol.messages import lease as wire
from leasehold.protocol.messages.lease_state import BuyAsset, BuyLpn, LeaseRecord, ReturnAsset, SellAsset
from leasehold.protocol.messages.values import LpnCoin

SECOND = 1_000_000_000
_IDLE, _ANOMALY = "idle", "slippage_protection_activated"
_PROGRESS = {
    "TransferOut": "transfer_out",
    "SwapExactIn": "swap",
    "TransferInInit": "transfer_in_init",
    "TransferInFinish": "transfer_in_finish",
}


def state_answer(scene: Scene, state: State, projection_secs: int) -> wire.State:
    """The answer to `state`, looking some seconds ahead."""
    if isinstance(state, Active):
        return opened(scene, state.record, _IDLE, projection_secs)
    if isinstance(state, Anomaly):
        return opened(scene, state.record, _ANOMALY, projection_secs)
    if isinstance(state, Final):
        return wire.State(closed=()) if state is Final.CLOSED else wire.State(liquidated=())
    if isinstance(state, Requested):
        raise ContractTrap("a loan that was not drawn yet")
    if isinstance(state, Connecting):
        return opening(state.connectee.new_lease.form.currency, state.connectee, "open_ica_account")
    stage = state.handler if isinstance(state, dex.Delivery) else state
    assert isinstance(stage.task, LeaseTask)
    spec, progress = stage.task.spec, _PROGRESS[stage.name]
    if isinstance(spec, BuyAsset):
        account = wire.IcaAccount(spec.dex_account.host)
        name = "transfer_out" if isinstance(stage, dex.TransferOut) else "buy_asset"
        return opening(spec.form.currency, spec, wire.OpeningStage(**{name: account}))
    if isinstance(spec, ReturnAsset):
        return wire.State(closing=wire.Closing(spec.lease.lease.position.amount, progress))
    return opened(scene, spec.lease, wire.Status(in_progress=_ongoing(spec, progress)), projection_secs)


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
