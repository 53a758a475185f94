"""The lease as a contract: which operation which state takes."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.contracts import dex
from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.dex import Outcome
from leasehold.devnet.contracts.lease.answers import state_answer
from leasehold.devnet.contracts.lease.assessment import Quiet, assess, rearmed
from leasehold.devnet.contracts.lease.opening import Opening
from leasehold.devnet.contracts.lease.scene import Scene
from leasehold.devnet.contracts.lease.settlement import Settlement
from leasehold.devnet.contracts.lease.states import (
    STATE_KEY,
    Active,
    Anomaly,
    Connecting,
    Final,
    Requested,
    State,
    loaded,
    stored,
)
from leasehold.devnet.contracts.lease.tasks import LeaseTask, Spec, entered
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import UNAUTHORIZED
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm.contract import (
    BankCoin,
    BankSend,
    ContractTrap,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
)
from leasehold.protocol.currencies import check_currency
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import interchain
from leasehold.protocol.messages import lease as wire
from leasehold.protocol.messages.lease_state import BuyAsset, BuyLpn, LeaseRecord, ReturnAsset
from leasehold.protocol.messages.values import PaymentCoin
from leasehold.protocol.position import ClosePolicy, NoDebt

NAME, VERSION, STORAGE_VERSION = "lease", "0.12.1", 9


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
        state = call.state
        if isinstance(state, Requested):
            return self._saved(case, call.opening.loan_drawn(state.request, reply))
        if isinstance(state, dex.Delivery):
            return self._saved(case, state.on_reply(case))
        if isinstance(state, Connecting) and state.version is not None:
            return self._saved(case, Outcome(dex.next_delivery(case, state.connectee.deps[2].addr), state))
        if call.on_dex:
            raise dex.unsupported("handle reply", state)
        raise _unsupported("reply")

    # -- what people and alarms ask ------------------------------------------------------------------------------

    def execute_repay(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        record = call.active("repay")
        payment = next((coin for coin in case.info.funds if coin.denom == self._currencies.lpn.bank_symbol), None)
        if payment is not None:
            return self._saved(case, call.settlement.repay(record, payment.amount))
        return self._saved(case, self._bought_with(call, record, case.info.funds))

    def _bought_with(self, call: Call, record: LeaseRecord, funds: tuple[BankCoin, ...]) -> Outcome:
        known = self._currencies.by_bank
        coin = next((coin for coin in funds if coin.denom in known), None)
        if coin is None:
            raise Refused("No payment sent")
        ticker, core = known[coin.denom].ticker, record.lease
        call.scene.pool_loan(core.loan.lpp.addr)
        core.spec().check_transaction(coin.amount, call.scene.prices(core.oracle.addr).price(ticker))
        task = call.task("BuyLpn", BuyLpn(record, PaymentCoin(str(coin.amount), ticker)))
        return entered(dex.TransferOut.start(task, self._currencies), call.scene.case)

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
        if call.on_dex or isinstance(call.state, Final):
            return Response()
        record = call.active("on price alarm")
        if case.info.sender != record.lease.oracle.addr:
            raise Refused(UNAUTHORIZED)
        return self._saved(case, self._evaluated(call, record))

    def execute_time_alarm(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        state = call.state
        if isinstance(state, Final):
            return Response()
        if isinstance(state, dex.Stage):
            if isinstance(state, dex.TransferInFinish) and case.info.sender != state.task.time_alarms:
                raise Refused(f"[Dex] {UNAUTHORIZED}")
            return self._saved(case, state.on_time_alarm(case))
        if isinstance(state, Connecting):
            if state.version is None:
                raise dex.unsupported("handle time alarm", state)
            return self._saved(case, call.opening.connected(state, call.task))
        record = call.active("on time alarm")
        if case.info.sender != record.lease.time_alarms.addr:
            raise Refused(UNAUTHORIZED)
        return self._saved(case, self._evaluated(call, record))

    def execute_heal(self, case: Case, msg: Any) -> Response:
        call = self._call(case)
        state = call.state
        if isinstance(state, dex.Stage):
            return self._saved(case, state.heal(case))
        if isinstance(state, Connecting):
            raise dex.unsupported("handle heal", state)
        if isinstance(state, Final):
            return self._drained(case)
        if isinstance(state, Anomaly):
            if not call.scene.granted(state.record.leases.addr, "anomaly_resolution"):
                raise Refused(UNAUTHORIZED)
            return self._saved(case, self._evaluated(call, state.record))
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

    def _evaluated(self, call: Call, record: LeaseRecord) -> Outcome:
        demand = assess(call.scene, record.lease, call.scene.lease_loan(record.lease))
        if isinstance(demand, Quiet):
            return Outcome(rearmed(record.lease, demand), Active(record))
        if isinstance(demand, NoDebt):
            raise ContractTrap("an Active Opened Lease should always have some due amount")
        return call.settlement.act(record, demand, Response())

    # -- what the chain answers ----------------------------------------------------------------------------------

    def execute_dex_callback(self, case: Case, msg: Any) -> Response:
        call = self._own_call(case, "dex inner")
        if isinstance(call.state, dex.Delivery):
            return self._saved(case, call.state.on_inner(case))
        raise dex.unsupported("handle inner", call.state)

    def execute_dex_callback_continue(self, case: Case, msg: Any) -> Response:
        call = self._own_call(case, "dex inner continue")
        if isinstance(call.state, Connecting) and call.state.version is not None:
            return self._saved(case, call.opening.connected(call.state, call.task))
        raise dex.unsupported("handle inner to 'Continue' response", call.state)

    def sudo_response(self, case: Case, msg: interchain.Response) -> Response:
        state = self._on_dex(case, "dex response").state
        if isinstance(state, dex.TransferOut | dex.SwapExactIn | dex.TransferInInit):
            return self._saved(case, entered(dex.Delivery(state, dex.answer_bytes(msg.data)), case))
        raise dex.unsupported("handle transaction response", state)

    def sudo_error(self, case: Case, msg: interchain.Error) -> Response:
        cause = f"ICA error with details '{msg.details}'"
        state = self._on_dex(case, f"dex error({cause})").state
        if isinstance(state, dex.Stage):
            return self._saved(case, state.on_error(case, msg.details))
        raise dex.unsupported(f"handle {cause}", state)

    def sudo_timeout(self, case: Case, msg: interchain.Timeout) -> Response:
        state = self._on_dex(case, "dex timeout").state
        if isinstance(state, dex.Stage):
            return self._saved(case, state.on_timeout(case))
        raise dex.unsupported("handle transaction timeout", state)

    def sudo_open_ack(self, case: Case, msg: interchain.OpenAck) -> Response:
        state = self._on_dex(case, "open ica response").state
        if not isinstance(state, Connecting) or state.version is not None:
            raise dex.unsupported("handle open ica response", state)
        callback = SubMessage(
            WasmExecute(case.env.contract, b'{"dex_callback_continue":[]}'), dex.DELIVERY_REPLY, ReplyOn.ERROR
        )
        return self._saved(case, Outcome(Response([callback]), Connecting(state.connectee, msg.counterparty_version)))

    def _own_call(self, case: Case, operation: str) -> Call:
        if case.info.sender != case.env.contract:
            raise Refused(UNAUTHORIZED)
        return self._on_dex(case, operation)

    def _on_dex(self, case: Case, operation: str) -> Call:
        call = self._call(case)
        if not call.on_dex:
            raise _unsupported(operation)
        return call

    # -- queries -------------------------------------------------------------------------------------------------

    def query_state(self, case: Case, msg: wire.StateQuery) -> wire.State:
        call = self._call(case)
        return state_answer(call.scene, call.state, msg.due_projection_secs)

    def query_protocol_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    # -- parts ---------------------------------------------------------------------------------------------------

    def _call(self, case: Case) -> Call:
        return Call(Scene(case, self._currencies), case.storage.get(STATE_KEY) or b"{}")

    def _saved(self, case: Case, outcome: Outcome) -> Response:
        case.storage.set(STATE_KEY, stored(outcome.state))
        return outcome.response


class Call:
    """A call with the state it found."""

    __slots__ = ("opening", "scene", "settlement", "state")

    def __init__(self, scene: Scene, raw: bytes) -> None:
        self.scene = scene
        self.settlement = Settlement(scene, self.task)
        self.opening = Opening(scene)
        self.state: State = loaded(raw, self.task, scene.currencies)

    @property
    def on_dex(self) -> bool:
        """Whether an answer of the DEX is awaited."""
        return isinstance(self.state, dex.Stage | Connecting)

    def active(self, operation: str) -> LeaseRecord:
        """The lease at rest, or the refusal of an operation that needs one."""
        if not isinstance(self.state, Active):
            raise _unsupported(operation)
        return self.state.record

    def task(self, kind: str, spec: Spec) -> LeaseTask:
        """The task of a leg of this lease."""
        return LeaseTask(kind, spec, self.scene, self._finished)

    def _finished(self, kind: str, spec: Spec, amount: int) -> Outcome:
        """The step that a leg's output makes."""
        if isinstance(spec, BuyAsset):
            return self.opening.bought(spec, amount, self.settlement)
        if isinstance(spec, BuyLpn):
            return self.settlement.repay(spec.lease, amount)
        if isinstance(spec, ReturnAsset):
            return self.settlement.returned(spec)
        if kind in ("FullClose", "FullLiquidation"):
            return self.settlement.sold_all(spec, amount)
        return self.settlement.sold_part(spec, amount)


def _changed(current: int | None, change: Any) -> int | None:
    if change is None:
        return current
    return None if change == "reset" else change.set
