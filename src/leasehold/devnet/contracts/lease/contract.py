"""The lease as a contract: which operation which state takes."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.lease.answers import state_answer
from leasehold.devnet.contracts.lease.assessment import Quiet, assess, rearmed
from leasehold.devnet.contracts.lease.legs import Legs
from leasehold.devnet.contracts.lease.opening import Opening
from leasehold.devnet.contracts.lease.records import (
    STATE_KEY,
    BuyLpn,
    Holding,
    LeaseRecord,
    LoanRequest,
    State,
    TransferOut,
)
from leasehold.devnet.contracts.lease.scene import Scene, Step
from leasehold.devnet.contracts.lease.settlement import Settlement
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import UNAUTHORIZED
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm.contract import BankCoin, BankSend, ContractTrap, Reply, Response
from leasehold.protocol.currencies import check_currency
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import interchain
from leasehold.protocol.messages import lease as wire
from leasehold.protocol.messages.values import PaymentCoin
from leasehold.protocol.position import ClosePolicy, NoDebt
from leasehold.protocol.serde import encode

NAME, VERSION, STORAGE_VERSION = "lease", "0.12.1", 9

_DECODE = msgspec.json.Decoder(State).decode


def _unsupported(operation: str) -> Refused:
    return Refused(f"The operation '{operation}' is not supported in the current state")


class Lease(Native):
    """A lease of a sub-protocol."""

    tag = "[Lease]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = interchain.Sudo
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self._currencies = build.currencies
        self._release = protocol_release(build, NAME, VERSION, STORAGE_VERSION)

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        return self._saved(case, Opening(Scene(case, self._currencies)).requested(msg))

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        return Response()

    def on_reply(self, case: Case, reply: Reply) -> Response:
        call = self._call(case)
        if isinstance(call.content, LoanRequest):
            return self._saved(case, call.opening.loan_drawn(call.content, reply))
        if call.stage is None:
            raise _unsupported("reply")
        return self._saved(case, call.legs.on_reply(call.kind, call.stage))

    # -- what people and alarms ask ------------------------------------------------------------------------------

    def execute_repay(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        record = call.active("repay")
        payment = next((coin for coin in case.info.funds if coin.denom == self._currencies.lpn.bank_symbol), None)
        if payment is not None:
            return self._saved(case, call.settlement.repay(record, payment.amount))
        return self._saved(case, self._bought_with(call, record, case.info.funds))

    def _bought_with(self, call: Call, record: LeaseRecord, funds: tuple[BankCoin, ...]) -> Step:
        known = self._currencies.by_bank
        coin = next((coin for coin in funds if coin.denom in known), None)
        if coin is None:
            raise Refused("No payment sent")
        ticker, core = known[coin.denom].ticker, record.lease
        call.scene.pool_loan(core.loan.lpp.addr)
        core.spec().check_transaction(coin.amount, call.scene.prices(core.oracle.addr).price(ticker))
        task = BuyLpn(record, PaymentCoin(str(coin.amount), ticker))
        return call.legs.enter("buy_lpn", TransferOut(task, 1))

    def execute_change_close_policy(self, case: Case, msg: wire.ClosePolicyChange) -> Response:
        call = self._call(case)
        record = call.active("change close policy")
        core = record.lease
        if case.info.sender != core.customer:
            raise Refused(UNAUTHORIZED)
        loan = call.scene.lease_loan(core)
        spec, asset = core.spec(), core.position.amount.units
        policy = ClosePolicy(
            _changed(spec.close.take_profit, msg.take_profit), _changed(spec.close.stop_loss, msg.stop_loss)
        )
        value = call.scene.price(core)
        spec.with_policy(policy, asset, loan.due(call.scene.now).total, value)
        changed = LeaseRecord(core.with_position(asset, policy), record.dex, record.leases)
        return self._saved(case, self._evaluated(call, changed))

    def execute_close_position(self, case: Case, msg: wire.PositionClose) -> Response:
        call = self._call(case)
        record = call.active("close position")
        core = record.lease
        if case.info.sender != core.customer and not call.scene.granted(record.leases.addr, "close_position"):
            raise Refused(UNAUTHORIZED)
        if msg.partial_close is None:
            return self._saved(case, call.settlement.close(record, None))
        amount, asset = msg.partial_close.amount, core.position.amount
        call.scene.pool_loan(core.loan.lpp.addr)
        try:
            check_currency(asset.ticker, amount.ticker)
        except Refused as refusal:
            raise Refused(f"[Finance] {refusal.message}") from None
        core.spec().check_close(asset.units, amount.units, call.scene.price(core))
        return self._saved(case, call.settlement.close(record, amount))

    def execute_price_alarm(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        if call.stage is not None or call.final:
            return Response()
        record = call.active("on price alarm")
        if case.info.sender != record.lease.oracle.addr:
            raise Refused(UNAUTHORIZED)
        return self._saved(case, self._evaluated(call, record))

    def execute_time_alarm(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        if call.final:
            return Response()
        if call.stage is not None:
            return self._saved(case, call.legs.on_time_alarm(call.kind, call.stage))
        record = call.active("on time alarm")
        if case.info.sender != record.lease.time_alarms.addr:
            raise Refused(UNAUTHORIZED)
        return self._saved(case, self._evaluated(call, record))

    def execute_heal(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        if call.stage is not None:
            return self._saved(case, call.legs.heal(call.kind, call.stage))
        if call.final:
            return self._drained(case)
        if call.kind == "slippage_anomaly":
            record = call.content.lease
            if not call.scene.granted(record.leases.addr, "anomaly_resolution"):
                raise Refused(UNAUTHORIZED)
            return self._saved(case, self._evaluated(call, record))
        record = call.active("heal")
        balance = case.querier.balance(case.env.contract, self._currencies.lpn.bank_symbol)
        if balance == 0:
            raise Refused("Inconsistency not detected")
        return self._saved(case, call.settlement.repay(record, balance))

    def _drained(self, case: Case) -> Response:
        """Send whatever is left to the caller, currency by currency in the build's order."""
        held = {coin.denom: coin for coin in case.querier.balances(case.env.contract)}
        response = Response()
        for denom in self._currencies.by_bank:
            if denom in held:
                response.send(BankSend(case.info.sender, (held[denom],)))
        if not response.messages:
            raise Refused("Inconsistency not detected")
        return response

    def _evaluated(self, call: Call, record: LeaseRecord) -> Step:
        demand = assess(call.scene, record.lease, call.scene.lease_loan(record.lease))
        if isinstance(demand, Quiet):
            return Step(rearmed(record.lease, demand), State(opened_active=Holding(record)))
        if isinstance(demand, NoDebt):
            raise ContractTrap("an Active Opened Lease should always have some due amount")
        return call.settlement.act(record, demand, Response())

    # -- what the chain answers ----------------------------------------------------------------------------------

    def execute_dex_callback(self, case: Case, msg: Any) -> Response:
        call = self._own_call(case, "dex inner")
        return self._saved(case, call.legs.on_callback(call.kind, call.stage))

    def execute_dex_callback_continue(self, case: Case, msg: Any) -> Response:
        call = self._own_call(case, "dex inner continue")
        return self._saved(case, call.legs.on_callback_continue(call.kind, call.stage))

    def sudo_response(self, case: Case, msg: interchain.Response) -> Response:
        call = self._answered(case, "dex response")
        return self._saved(case, call.legs.on_response(call.kind, call.stage, msg.data))

    def sudo_error(self, case: Case, msg: interchain.Error) -> Response:
        call = self._answered(case, f"dex error(ICA error with details '{msg.details}')")
        return self._saved(case, call.legs.on_error(call.kind, call.stage, msg.details))

    def sudo_timeout(self, case: Case, msg: interchain.Timeout) -> Response:
        call = self._answered(case, "dex timeout")
        return self._saved(case, call.legs.on_timeout(call.kind, call.stage))

    def sudo_open_ack(self, case: Case, msg: interchain.OpenAck) -> Response:
        call = self._answered(case, "open ica response")
        return self._saved(case, call.legs.on_open_ica(call.kind, call.stage, msg.counterparty_version))

    def _own_call(self, case: Case, operation: str) -> Call:
        if case.info.sender != case.env.contract:
            raise Refused(UNAUTHORIZED)
        return self._answered(case, operation)

    def _answered(self, case: Case, operation: str) -> Call:
        call = self._call(case)
        if call.stage is None:
            raise _unsupported(operation)
        return call

    # -- queries -------------------------------------------------------------------------------------------------

    def query_state(self, case: Case, msg: wire.StateQuery) -> wire.State:
        call = self._call(case)
        return state_answer(call.scene, call.kind, call.content, call.stage, msg.due_projection_secs)

    def query_protocol_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    # -- parts ---------------------------------------------------------------------------------------------------

    def _call(self, case: Case) -> Call:
        return Call(Scene(case, self._currencies), _DECODE(case.storage.get(STATE_KEY) or b"{}"))

    def _saved(self, case: Case, step: Step) -> Response:
        case.storage.set(STATE_KEY, encode(step.state))
        return step.response


class Call:
    """A call with the state it found: a kind, and a stage if it is a DEX leg."""

    __slots__ = ("content", "kind", "legs", "opening", "scene", "settlement", "stage")

    def __init__(self, scene: Scene, state: State) -> None:
        self.scene = scene
        self.kind, self.content = state.chosen
        self.stage: Any = self.content.chosen[1] if hasattr(self.content, "chosen") else None
        self.legs = Legs(scene, self._finished)
        self.settlement = Settlement(scene, self.legs)
        self.opening = Opening(scene)

    @property
    def final(self) -> bool:
        return self.kind in ("closed", "liquidated")

    def active(self, operation: str) -> LeaseRecord:
        """The lease at rest, or the refusal of an operation that needs one."""
        if self.kind != "opened_active":
            raise _unsupported(operation)
        record: LeaseRecord = self.content.lease
        return record

    def _finished(self, kind: str, task: Any, amount: int) -> Step:
        """The step that a leg's output makes."""
        if kind == "buy_asset":
            return self.opening.bought(task, amount, self.settlement)
        if kind == "buy_lpn":
            return self.settlement.repay(task.lease, amount)
        if kind == "closing_transfer_in":
            return self.settlement.returned(task)
        if kind in ("full_close", "full_liquidation"):
            return self.settlement.sold_all(task, amount)
        return self.settlement.sold_part(task, amount)


def _changed(current: int | None, change: Any) -> int | None:
    if change is None:
        return current
    return None if change == "reset" else change.set
