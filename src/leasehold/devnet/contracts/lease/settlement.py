"""What money does to an opened lease: repayments, sales and their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.devnet.contracts.dex import Outcome, SwapExactIn, TransferInInit
from leasehold.devnet.contracts.lease.assessment import Demand, Quiet, assess, rearmed
from leasehold.devnet.contracts.lease.scene import Scene, emitted, merged, response_of
from leasehold.devnet.contracts.lease.states import Active, Final
from leasehold.devnet.contracts.lease.tasks import LeaseTask, Spec, entered
from leasehold.devnet.wasm.contract import BankSend, Message, Response, WasmExecute
from leasehold.protocol import events
from leasehold.protocol.loan import LeaseLoan, Receipt
from leasehold.protocol.messages.lease_state import (
    CauseRecord,
    LeaseCore,
    LeaseRecord,
    LiabilityCause,
    Ref,
    Repayable,
    ReturnAsset,
    SellAsset,
    SlippageLimit,
)
from leasehold.protocol.messages.values import LeaseCoin, LpnCoin
from leasehold.protocol.position import Cause, Liquidation, NoDebt, Trigger
from leasehold.protocol.serde import encode

_REPAY_LOAN = b'{"repay_loan":[]}'

Emitting = Callable[[Receipt], events.ProtocolEvent]


class Settlement:
    """Payments and sales of one call."""

    def __init__(self, scene: Scene, task_of: Callable[[str, Spec], LeaseTask]) -> None:
        self._scene = scene
        self._task_of = task_of

    # -- payments ------------------------------------------------------------------------------------------------

    def repay(self, record: LeaseRecord, payment: int) -> Outcome:
        """Apply a customer's payment in the lent currency."""
        return self._applied(
            record, record.lease, payment, lambda receipt: events.Repay(**self._payment(record.lease, receipt))
        )

    def sold_part(self, task: SellAsset, proceeds: int) -> Outcome:
        """Apply the proceeds of a partial sale."""
        core, sold = task.lease.lease, task.amount
        left = core.with_position(core.position.amount.units - sold.units, core.spec().close)
        return self._applied(task.lease, left, proceeds, self._sale(task, core))

    def sold_all(self, task: SellAsset, proceeds: int) -> Outcome:
        """Settle everything with the proceeds of a sale of all, with the reserve's help if they don't suffice."""
        core = task.lease.lease
        loan = self._scene.lease_loan(core)
        due = loan.due(self._scene.now).total
        messages: list[Message] = []
        if due > proceeds:
            cover = encode(LpnCoin(str(due - proceeds), core.lpn))
            messages.append(WasmExecute(core.reserve.contract, b'{"cover_liquidation_losses":%b}' % cover))
        _, receipt = loan.repay(self._scene.now, max(due, proceeds))
        messages += self._paid_out(core, receipt)
        liquidated = task.repayable.cause is not None
        if receipt.change:
            recipient = core.loan.profit.addr if liquidated else core.customer
            messages.append(BankSend(recipient, (self._scene.coin(receipt.change, core.lpn),)))
        messages.append(self._finalize(task.lease))
        final = Final.LIQUIDATED if liquidated else Final.CLOSED
        return Outcome(response_of(messages, self._sale(task, core)(receipt)), final)

    def returned(self, task: ReturnAsset) -> Outcome:
        """Give the asset of a paid lease, and any change, to its customer."""
        scene, core = self._scene, task.lease.lease
        messages: list[Message] = []
        surplus = scene.case.querier.balance(core.addr, scene.currencies.denom(core.lpn))
        if surplus:
            messages.append(BankSend(core.customer, (scene.coin(surplus, core.lpn),)))
        asset = core.position.amount
        messages.append(BankSend(core.customer, (scene.coin(asset.units, asset.ticker),)))
        messages.append(self._finalize(task.lease))
        return Outcome(response_of(messages, events.Close(id=core.addr, **scene.at)), Final.CLOSED)

    def _applied(self, record: LeaseRecord, core: LeaseCore, payment: int, emitting: Emitting) -> Outcome:
        loan = self._scene.lease_loan(core)
        after, receipt = loan.repay(self._scene.now, payment)
        response = response_of(self._paid_out(core, receipt), emitting(receipt))
        core = core.with_margin_paid_by(after.margin_paid_by)
        demand = assess(self._scene, core, after)
        if isinstance(demand, Trigger) and demand.kind == "take_profit":
            core = self._without_take_profit(core, after)
            demand = assess(self._scene, core, after)
        paid = LeaseRecord(core, record.dex, record.leases)
        if isinstance(demand, NoDebt):
            task = self._task_of("ClosingTransferIn", ReturnAsset(paid))
            coming = TransferInInit(task, self._scene.currencies, core.position.amount.units)
            return entered(coming, self._scene.case, response)
        if isinstance(demand, Quiet):
            return Outcome(merged(rearmed(core, demand), response), Active(paid))
        # A stop-loss that fires here loses the payment's response, as it does in the real contract.
        return self.act(paid, demand, response)

    def _without_take_profit(self, core: LeaseCore, loan: LeaseLoan) -> LeaseCore:
        spec, asset = core.spec(), core.position.amount.units
        policy = spec.close._replace(take_profit=None)
        due = loan.due(self._scene.now).total
        spec.with_policy(policy, asset, due, self._scene.price(core))
        return core.with_position(asset, policy)

    def _paid_out(self, core: LeaseCore, receipt: Receipt) -> list[Message]:
        messages: list[Message] = []
        if receipt.to_pool:
            funds = (self._scene.coin(receipt.to_pool, core.lpn),)
            messages.append(WasmExecute(core.loan.lpp.addr, _REPAY_LOAN, funds))
        if receipt.margin:
            messages.append(BankSend(core.loan.profit.addr, (self._scene.coin(receipt.margin, core.lpn),)))
        return messages

    def _finalize(self, record: LeaseRecord) -> Message:
        return WasmExecute(record.leases.addr, b'{"finalize_lease":{"customer":"%b"}}' % record.lease.customer.encode())

    # -- sales ---------------------------------------------------------------------------------------------------

    def act(self, record: LeaseRecord, demand: Demand, before: Response) -> Outcome:
        """Start what a position demands: a liquidation, or a close by policy without what was before."""
        if isinstance(demand, Liquidation):
            return self.liquidate(record, demand, before)
        assert isinstance(demand, Trigger)
        fired = {f"{demand.kind}_ltv": demand.ltv}
        event = events.AutoClose(to=record.lease.addr, **self._scene.at, **fired)
        return self.close(record, None, Response(events=[emitted(event)]))

    def close(self, record: LeaseRecord, amount: LeaseCoin | None, before: Response | None = None) -> Outcome:
        """Start selling a part, or all, for the customer."""
        kind = "FullClose" if amount is None else "PartialClose"
        return self._selling(kind, SellAsset(record, Repayable(amount), SlippageLimit()), before)

    def liquidate(self, record: LeaseRecord, liquidation: Liquidation, before: Response | None = None) -> Outcome:
        """Start selling what has to be sold, within the slippage allowed now."""
        core = record.lease
        limit = SlippageLimit(self._scene.max_slippage(record.leases.addr), Ref(core.oracle.addr))
        if liquidation.cause is Cause.OVERDUE:
            cause = CauseRecord(overdue=())
        else:
            liability = core.position.spec.rules.liability
            cause = CauseRecord(liability=LiabilityCause(liability.max, liability.healthy))
        amount = liquidation.amount
        kind = "FullLiquidation" if amount is None else "PartialLiquidation"
        coin = None if amount is None else LeaseCoin(str(amount), core.position.amount.ticker)
        return self._selling(kind, SellAsset(record, Repayable(coin, cause), limit), before)

    def _selling(self, kind: str, spec: SellAsset, before: Response | None) -> Outcome:
        swap = SwapExactIn(self._task_of(kind, spec), self._scene.currencies)
        return entered(swap, self._scene.case, before)

    # -- events --------------------------------------------------------------------------------------------------

    def _payment(self, core: LeaseCore, receipt: Receipt) -> dict[str, Any]:
        return {
            **self._scene.at,
            "to": core.addr,
            "payment_amount": receipt.total,
            "payment_symbol": core.lpn,
            "loan_close": receipt.close,
            "overdue_margin_interest": receipt.overdue_margin,
            "overdue_loan_interest": receipt.overdue_interest,
            "due_margin_interest": receipt.due_margin,
            "due_loan_interest": receipt.due_interest,
            "principal": receipt.principal,
            "change": receipt.change,
        }

    def _sale(self, task: SellAsset, core: LeaseCore) -> Emitting:
        sold, cause = task.amount, task.repayable.cause
        amount: dict[str, Any] = {"amount_amount": sold.units, "amount_symbol": sold.ticker}

        def emitting(receipt: Receipt) -> events.ProtocolEvent:
            payment = self._payment(core, receipt)
            if cause is None:
                return events.ClosePosition(**payment, **amount)
            if cause.liability is None:
                return events.Liquidation(**payment, **amount, cause="overdue interest")
            return events.Liquidation(
                **payment,
                **amount,
                cause="high liability",
                ltv=cause.liability.ltv,
                ltv_healthy=cause.liability.healthy_ltv,
            )

        return emitting
