"""The profit of a sub-protocol: collects margins, buys the native currency with them, and pays the treasury.

Storage: `state` like the lease's, `{"OpenIca":…}`, `{"Idle":…}` or `{"BuyBack":…}`; `owner` and `timealarms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.devnet.contracts import dex
from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.dex import DexCoin, Outcome, Stage, unsupported
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import UNAUTHORIZED, check_contract, check_sender, time_alarm
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import BankCoin, BankSend, ContractError, Event, Reply, Response
from leasehold.protocol import events
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import interchain as answers
from leasehold.protocol.messages import profit as wire
from leasehold.protocol.messages.treasury import Cadence
from leasehold.protocol.messages.values import Account, ConnectionParams, PaymentCoin

HOUR = 3_600_000_000_000
FEE_RESERVE = 100
VERSION = "0.7.3"
LABEL = "BuyBack"

_STATE = b"state"
_OWNER = b"owner"
_TIMEALARMS = b"timealarms"


class Config(msgspec.Struct, frozen=True):
    """What every state carries along."""

    cadence_hours: int
    treasury: str
    oracle: str
    time_alarms: str


class OpenIca(msgspec.Struct, frozen=True):
    """The account on the DEX's chain is being opened."""

    config: Config
    dex: ConnectionParams

    def __str__(self) -> str:
        return "IcaConnector(Idle)"


class Idle(msgspec.Struct, frozen=True):
    """Waiting for the next time alarm."""

    config: Config
    account: Account

    def __str__(self) -> str:
        return "Idle"

    def entered(self, case: Case) -> Response:
        """The alarm of the next round."""
        response = Response()
        response.send(time_alarm(self.config.time_alarms, case.now + self.config.cadence_hours * HOUR))
        return response


class Spec(msgspec.Struct, frozen=True):
    """A buy-back as it is stored."""

    config: Config
    account: Account
    coins: list[PaymentCoin]


@dataclass(frozen=True)
class BuyBack:
    """Everything held is swapped for the native currency."""

    spec: Spec
    contract: Profit
    label: str = LABEL
    local: bool = True

    @property
    def out_ticker(self) -> str:
        return self.contract.currencies.native.ticker

    @property
    def account(self) -> Account:
        return self.spec.account

    @property
    def time_alarms(self) -> str:
        return self.spec.config.time_alarms

    @property
    def oracle(self) -> str:
        return self.spec.config.oracle

    def coins(self) -> list[DexCoin]:
        return [DexCoin(coin.units, coin.ticker) for coin in self.spec.coins]

    def min_output(self, case: Case, coin: DexCoin) -> int:
        return 1

    def on_anomaly(self, case: Case) -> Outcome | None:
        return None

    def finish(self, case: Case, amount_out: int) -> Outcome:
        idle = Idle(self.spec.config, self.spec.account)
        return Outcome(self.contract.payment(case, idle), idle)

    def stored(self) -> Any:
        return msgspec.to_builtins(self.spec)


State = OpenIca | Idle | Stage


class Profit(Native):
    """A sub-protocol's profit collector."""

    tag = "[Profit]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = answers.Sudo
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self.currencies: CurrencySet = build.currencies
        self._release = protocol_release(build, "profit", VERSION, 1)

    # -- messages ------------------------------------------------------------------------------------------------

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        for address in (msg.treasury, msg.oracle, msg.timealarms):
            check_contract(case.querier, address, self.tag)
        case.storage.set(_OWNER, case.info.sender.encode())
        case.storage.set(_TIMEALARMS, msg.timealarms.encode())
        self._store(case, OpenIca(Config(msg.cadence_hours, msg.treasury, msg.oracle, msg.timealarms), msg.dex))
        response = Response()
        response.send(interchain.register_account(msg.dex.connection_id))
        return response

    def execute_time_alarm(self, case: Case, msg: Any) -> Response:
        check_sender(case, (case.storage.get(_TIMEALARMS) or b"").decode(), self.tag)
        state = self._load(case)
        if isinstance(state, Idle):
            return self._followed(case, self._round(case, state))
        if isinstance(state, Stage):
            return self._followed(case, state.on_time_alarm(case))
        raise unsupported("handle time alarm", state)

    def execute_config(self, case: Case, msg: Cadence) -> Response:
        check_sender(case, (case.storage.get(_OWNER) or b"").decode(), self.tag)
        state = self._load(case)
        if not isinstance(state, Idle):
            cause = "Configuration changes are not allowed in this state!"
            raise ContractError(f"{self.tag} Operation is not supported at this time. Cause: {cause}")
        changed = msgspec.structs.replace(
            state, config=msgspec.structs.replace(state.config, cadence_hours=msg.cadence_hours)
        )
        return self._followed(case, Outcome(changed.entered(case), changed))

    def execute_dex_callback(self, case: Case, msg: Any) -> Response:
        self._check_self(case)
        state = self._load(case)
        if isinstance(state, dex.Delivery):
            return self._followed(case, state.on_inner(case))
        raise unsupported("handle inner", state)

    def execute_dex_callback_continue(self, case: Case, msg: Any) -> Response:
        self._check_self(case)
        raise unsupported("handle inner to 'Continue' response", self._load(case))

    def execute_heal(self, case: Case, msg: Any) -> Response:
        state = self._load(case)
        if isinstance(state, Stage):
            return self._followed(case, state.heal(case))
        raise unsupported("handle heal", state)

    def on_reply(self, case: Case, reply: Reply) -> Response:
        state = self._load(case)
        if isinstance(state, dex.Delivery):
            return self._followed(case, state.on_reply(case))
        raise unsupported("handle reply", state)

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        return Response()

    # -- answers of the interchain modules -----------------------------------------------------------------------

    def sudo_open_ack(self, case: Case, msg: answers.OpenAck) -> Response:
        state = self._load(case)
        if not isinstance(state, OpenIca):
            raise unsupported("handle open ica response", state)
        idle = Idle(state.config, Account(case.env.contract, dex.opened_host(msg.counterparty_version), state.dex))
        opened = events.RegisterIca(id=case.env.contract, ica_host=idle.account.host)
        response = idle.entered(case)
        response.events.append(Event(opened.type, opened.attributes()))
        return self._followed(case, Outcome(response, idle))

    def sudo_response(self, case: Case, msg: answers.Response) -> Response:
        state = self._load(case)
        if not isinstance(state, dex.TransferOut | dex.SwapExactIn | dex.TransferInInit):
            raise unsupported("handle transaction response", state)
        delivery = dex.Delivery(state, dex.answer_bytes(msg.data))
        return self._followed(case, Outcome(delivery.enter(case), delivery))

    def sudo_error(self, case: Case, msg: answers.Error) -> Response:
        state = self._load(case)
        if isinstance(state, Stage):
            return self._followed(case, state.on_error(case, msg.details))
        raise unsupported(f"handle ICA error with details '{msg.details}'", state)

    def sudo_timeout(self, case: Case, msg: answers.Timeout) -> Response:
        state = self._load(case)
        if isinstance(state, Stage):
            return self._followed(case, state.on_timeout(case))
        raise unsupported("handle transaction timeout", state)

    # -- queries -------------------------------------------------------------------------------------------------

    def query_config(self, case: Case, msg: Any) -> Cadence:
        return Cadence(self._settings(self._load(case)).cadence_hours)

    def query_protocol_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    # -- rounds --------------------------------------------------------------------------------------------------

    def _round(self, case: Case, idle: Idle) -> Outcome:
        """Buy back when anything but the native currency is held, else pay at once."""
        held = [
            PaymentCoin(str(amount), currency.ticker)
            for currency in self.currencies.all
            if currency is not self.currencies.native
            and (amount := case.querier.balance(case.env.contract, currency.bank_symbol))
        ]
        if not held:
            return Outcome(self.payment(case, idle), idle)
        task = BuyBack(Spec(idle.config, idle.account, held), self)
        stage = dex.TransferOut.start(task, self.currencies)
        return Outcome(stage.enter(case), stage)

    def payment(self, case: Case, idle: Idle) -> Response:
        """Send the native currency held, less what pays future fees, and wait for the next round."""
        native = self.currencies.native
        amount = case.querier.balance(case.env.contract, native.bank_symbol) - FEE_RESERVE
        response = Response()
        if amount > 0:
            response.send(BankSend(idle.config.treasury, (BankCoin(native.bank_symbol, amount),)))
            env = case.env
            paid = events.Profit(
                height=env.height,
                at=env.time_ns,
                idx=env.tx_index,
                profit_amount_amount=amount,
                profit_amount_symbol=native.ticker,
            )
            response.events.append(Event(paid.type, paid.attributes()))
        response.messages += idle.entered(case).messages
        return response

    # -- state ---------------------------------------------------------------------------------------------------

    def _check_self(self, case: Case) -> None:
        if case.info.sender != case.env.contract:
            raise Refused(UNAUTHORIZED)

    def _settings(self, state: State) -> Config:
        if isinstance(state, OpenIca | Idle):
            return state.config
        stage = state.handler if isinstance(state, dex.Delivery) else state
        assert isinstance(stage.task, BuyBack)
        return stage.task.spec.config

    def _followed(self, case: Case, outcome: Outcome) -> Response:
        self._store(case, outcome.state)
        return outcome.response

    def _store(self, case: Case, state: State) -> None:
        if isinstance(state, OpenIca):
            stored: Any = {"OpenIca": state}
        elif isinstance(state, Idle):
            stored = {"Idle": state}
        else:
            stored = {LABEL: {state.name: state.stored()}}
        case.storage.set(_STATE, msgspec.json.encode(stored))

    def _load(self, case: Case) -> State:
        ((name, body),) = msgspec.json.decode(case.storage.get(_STATE) or b"{}").items()
        if name == "OpenIca":
            return msgspec.convert(body, OpenIca)
        if name == "Idle":
            return msgspec.convert(body, Idle)
        return dex.loaded(body, lambda spec: BuyBack(msgspec.convert(spec, Spec), self), self.currencies)
