"""How a lease comes to be: the loan, the account on the DEX, the asset."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from leasehold.devnet.contracts.dex import Outcome, TransferOut, opened_host
from leasehold.devnet.contracts.lease.assessment import Quiet, assess
from leasehold.devnet.contracts.lease.scene import Scene, emitted, response_of
from leasehold.devnet.contracts.lease.settlement import Settlement
from leasehold.devnet.contracts.lease.states import Active, Connecting, Requested
from leasehold.devnet.contracts.lease.tasks import LeaseTask, Spec, entered
from leasehold.devnet.contracts.platform import check_contract, checked_address
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import (
    ContractError,
    ContractTrap,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
)
from leasehold.devnet.wasm.replies import executed
from leasehold.protocol import events
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import lpp
from leasehold.protocol.messages.lease import ClosePolicy, Instantiate
from leasehold.protocol.messages.lease_state import (
    BuyAsset,
    Connectee,
    LeaseCore,
    LeaseRecord,
    LoanRecord,
    LoanRequest,
    LoanTerms,
    PositionRecord,
    Ref,
    ReserveRef,
    Rules,
    SpecRecord,
)
from leasehold.protocol.messages.values import Account, LeaseCoin, LpnCoin, PaymentCoin
from leasehold.protocol.percent import MILLE
from leasehold.protocol.position import Liquidation, PositionSpec
from leasehold.protocol.serde import encode

TAG = "[Lease]"
_LOAN = msgspec.json.Decoder(lpp.Loan).decode


class Opening:
    """The steps of one call while a lease opens."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def requested(self, msg: Instantiate) -> Outcome:
        """Ask the pool for the loan that the down-payment in the funds allows."""
        scene, form = self._scene, msg.form
        querier = scene.case.querier
        checked_address(querier, msg.finalizer, TAG)
        checked_address(querier, form.customer, TAG)
        for address in (form.time_alarms, form.market_price_oracle, form.loan.lpp, form.loan.profit):
            check_contract(querier, address, TAG)
        prices = scene.prices(form.market_price_oracle).checked()
        check_contract(querier, msg.finalizer, TAG)
        known = scene.currencies.by_bank
        coin = next((coin for coin in scene.case.info.funds if coin.denom in known), None)
        if coin is None:
            raise Refused("No payment sent")
        downpayment = PaymentCoin(str(coin.amount), known[coin.denom].ticker)
        try:
            worth = prices.in_lpn(coin.amount, downpayment.ticker)
        except Refused as refusal:
            raise Refused(
                f"[Oracle; Price; Stub] Failed to convert to the quote currency! Cause: {refusal.message}"
            ) from None
        rules = form.position_spec
        spec = PositionSpec(
            rules.liability.value(),
            rules.min_asset.units,
            rules.min_transaction.units,
            rules.min_asset.ticker,
        )
        borrow = LpnCoin(str(spec.borrow_amount(worth, form.max_ltd)), rules.min_asset.ticker)
        request = WasmExecute(form.loan.lpp, b'{"open_loan":{"amount":%b}}' % encode(borrow))
        deps = (
            Ref(form.loan.lpp),
            Ref(form.market_price_oracle),
            Ref(form.time_alarms),
            Ref(msg.finalizer),
        )
        response = Response([SubMessage(request, 0, ReplyOn.SUCCESS)])
        return Outcome(response, Requested(LoanRequest(msg, downpayment, deps)))

    def loan_drawn(self, request: LoanRequest, reply: Reply) -> Outcome:
        """The loan is there: open the account on the DEX."""
        if reply.error is not None:
            raise Refused(f"[Lpp][Lender] [Platform] Error returned in reply! Cause: {reply.error}")
        data = executed(reply)
        if data is None:
            raise ContractError(f"{TAG} [Lpp][Lender] [Platform] Reply is empty!")
        loan = _LOAN(data)
        lpn = self._scene.currencies.lpn.ticker
        terms = LoanTerms(LpnCoin(loan.principal_due.amount, lpn), loan.annual_interest_rate)
        waiting = Connectee(request.new_lease, request.downpayment, terms, request.deps, str(self._scene.now))
        message = interchain.register_account(request.new_lease.dex.connection_id)
        return Outcome(response_of([message], events.RequestLoan(id=self._scene.me)), Connecting(waiting))

    def connected(self, state: Connecting, task_of: Callable[[str, Spec], LeaseTask]) -> Outcome:
        """The account is there: send it the down-payment and the loan."""
        scene, waiting = self._scene, state.connectee
        host = opened_host(state.version or "")
        spec = BuyAsset(
            waiting.new_lease.form,
            Account(scene.me, host, waiting.new_lease.dex),
            waiting.downpayment,
            waiting.loan,
            waiting.deps,
            waiting.start_opening_at,
        )
        registered = Response(events=[emitted(events.RegisterIca(id=scene.me, ica_host=host))])
        leaving = TransferOut.start(task_of("BuyAsset", spec), scene.currencies)
        return entered(leaving, scene.case, registered)

    def bought(self, task: BuyAsset, amount: int, settlement: Settlement) -> Outcome:
        """The asset is bought: the lease is open, and is evaluated at once."""
        record = self._record(task, amount)
        core = record.lease
        air = task.loan.annual_interest_rate + core.loan.margin_interest
        demand = assess(self._scene, core, self._scene.lease_loan(core))
        if air > MILLE:
            raise ContractTrap("Total annual interest rate should not exceed 100%")
        event = events.Open(
            **self._scene.at,
            id=core.addr,
            customer=core.customer,
            air=air,
            currency=core.position.amount.ticker,
            loan_pool_id=core.loan.lpp.addr,
            loan_amount=task.loan.principal.units,
            loan_symbol=task.loan.principal.ticker,
            downpayment_amount=task.downpayment.units,
            downpayment_symbol=task.downpayment.ticker,
        )
        if isinstance(demand, Quiet):
            return Outcome(response_of(demand.alarms, event), Active(record))
        if isinstance(demand, Liquidation):
            return settlement.liquidate(record, demand, response_of([], event))
        raise ContractTrap("a freshly open lease should have some due amount")

    def _record(self, task: BuyAsset, amount: int) -> LeaseRecord:
        form, rules = task.form, task.form.position_spec
        spec = SpecRecord(Rules(rules.liability, rules.min_asset, rules.min_transaction), ClosePolicy())
        core = LeaseCore(
            task.dex_account.owner,
            form.customer,
            PositionRecord(LeaseCoin(str(amount), form.currency), spec),
            LoanRecord(
                task.deps[0],
                Ref(form.loan.profit),
                form.loan.due_period,
                form.loan.annual_margin_interest,
                task.start_opening_at,
            ),
            task.deps[2],
            task.deps[1],
            ReserveRef(form.reserve),
        )
        return LeaseRecord(core, task.dex_account, task.deps[3])
