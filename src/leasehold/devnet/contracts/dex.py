"""Legs on the DEX: coins go out, are swapped there and come back, one interchain answer at a time.

A contract describes what it wants as a `SwapTask`; the stages here send the messages, take the answers, and hand the
result back to the task. A stage never writes storage: it returns a response and the next state, and the contract
stores that under the names of the real ones.

An answer is not handled where it arrives: the contract keeps it as a `Delivery` and calls itself, so that a failure
leaves the answer to be delivered again by a time alarm.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from leasehold.devnet.contracts.native import Case
from leasehold.devnet.contracts.platform import time_alarm
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import BankCoin, ContractError, Event, ReplyOn, Response, SubMessage, WasmExecute
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.interchain import AccountVersion
from leasehold.protocol.messages.values import Account

SECOND = 1_000_000_000
POLLING = 5 * SECOND
TIMEOUT = 86_400 * SECOND
DELIVERY_REPLY = 12345678901
CALLBACK = b'{"dex_callback":[]}'


class DexCoin(NamedTuple):
    """An amount of a ticker on its way."""

    amount: int
    ticker: str


class Outcome(NamedTuple):
    """What a step asks for, and the state that follows; the contract knows how to store it."""

    response: Response
    state: Any


class SwapTask(Protocol):
    """What a leg is for. `local` tells whether the result comes back, or stays on the remote account."""

    @property
    def label(self) -> str: ...

    @property
    def local(self) -> bool: ...

    @property
    def out_ticker(self) -> str: ...

    @property
    def account(self) -> Account: ...

    @property
    def time_alarms(self) -> str: ...

    @property
    def oracle(self) -> str: ...

    def coins(self) -> Sequence[DexCoin]: ...

    def min_output(self, case: Case, coin: DexCoin) -> int: ...

    def on_anomaly(self, case: Case) -> Outcome | None:
        """What follows a refused swap; None to try it again."""
        ...

    def finish(self, case: Case, amount_out: int) -> Outcome: ...

    def stored(self) -> Any:
        """The task as JSON, under `spec`."""
        ...


class Stage:
    """A stage of a leg; what it does not override is refused in the real contracts' words."""

    name: ClassVar[str]
    task: SwapTask
    currencies: CurrencySet

    def __str__(self) -> str:
        return f"{self.name} at {self.task.label}"

    def enter(self, case: Case) -> Response:
        """Send what this stage waits for."""
        raise unsupported("enter", self)

    def on_response(self, case: Case, data: bytes) -> Outcome:
        raise unsupported("handle transaction response", self)

    def on_error(self, case: Case, details: str) -> Outcome:
        raise unsupported(f"handle ICA error with details '{details}'", self)

    def on_timeout(self, case: Case) -> Outcome:
        raise unsupported("handle transaction timeout", self)

    def on_time_alarm(self, case: Case) -> Outcome:
        raise unsupported("handle time alarm", self)

    def heal(self, case: Case) -> Outcome:
        raise unsupported("handle heal", self)

    def stored(self) -> dict[str, Any]:
        """The stage as JSON, under its name."""
        return {"spec": self.task.stored()}

    def retried(self, case: Case) -> Outcome:
        """The stage entered again, saying so."""
        response = self.enter(case)
        response.events.append(Event(self.task.label, [("id", case.env.contract), ("timeout", "retry")]))
        return Outcome(response, self)


def unsupported(operation: str, state: object) -> Refused:
    """The refusal of an operation in a state."""
    return Refused(f"[Dex] The operation '{operation}' is not supported in the current state '{state}'")


@dataclass
class TransferOut(Stage):
    """Coins are on their way to the DEX's chain, one transfer each."""

    name: ClassVar[str] = "TransferOut"
    task: SwapTask
    currencies: CurrencySet
    acks_left: int

    @classmethod
    def start(cls, task: SwapTask, currencies: CurrencySet) -> TransferOut:
        return cls(task, currencies, len(task.coins()))

    def enter(self, case: Case) -> Response:
        account = self.task.account
        memo = f"Transfer out: {account.owner} -> {account.host}"
        response = Response()
        for coin in self.task.coins():
            token = BankCoin(self.currencies.denom(coin.ticker), coin.amount)
            channel = account.dex.transfer_channel.local_endpoint
            message = interchain.transfer_out(channel, token, account.owner, account.host, case.now + TIMEOUT, memo)
            response.send(message)
        return response

    def on_response(self, case: Case, data: bytes) -> Outcome:
        progress = Event(self.task.label)
        if self.acks_left > 1:
            return Outcome(Response(events=[progress]), TransferOut(self.task, self.currencies, self.acks_left - 1))
        swap = SwapExactIn(self.task, self.currencies)
        response = swap.enter(case)
        response.events.append(progress)
        return Outcome(response, swap)

    def on_timeout(self, case: Case) -> Outcome:
        return self.retried(case)

    def on_error(self, case: Case, details: str) -> Outcome:
        return self.retried(case)

    def stored(self) -> dict[str, Any]:
        return {**super().stored(), "acks_left": self.acks_left}


@dataclass
class SwapExactIn(Stage):
    """One remote transaction swaps every coin that is not yet of the wanted currency."""

    name: ClassVar[str] = "SwapExactIn"
    task: SwapTask
    currencies: CurrencySet

    def enter(self, case: Case) -> Response:
        account = self.task.account
        messages = []
        for coin in self.task.coins():
            if coin.ticker != self.task.out_ticker:
                token = BankCoin(self.currencies.by_ticker[coin.ticker].dex_symbol, coin.amount)
                minimum = self.task.min_output(case, coin)
                messages.append(interchain.swap(account.host, self._routes(case, coin.ticker), token, minimum))
        response = Response()
        response.send(interchain.submit(account.dex.connection_id, messages))
        return response

    def _routes(self, case: Case, ticker: str) -> list[tuple[int, str]]:
        query = msgspec.json.encode({"swap_path": {"from": ticker, "to": self.task.out_ticker}})
        try:
            answer = case.querier.smart(self.task.oracle, query)
        except ContractError as error:
            raise Refused(f"[Dex] [Oracle; Stub] Failed to query swap path! Cause: {error}") from None
        path = msgspec.json.decode(answer, type=list[tuple[int, str]])
        return [(pool, self.currencies.by_ticker[target].dex_symbol) for pool, target in path]

    def on_response(self, case: Case, data: bytes) -> Outcome:
        kept = sum(coin.amount for coin in self.task.coins() if coin.ticker == self.task.out_ticker)
        wanted = sum(coin.ticker != self.task.out_ticker for coin in self.task.coins())
        swapped = interchain.swapped(data)
        if len(swapped) < wanted:
            raise Refused("[Dex] [Swap] Expected response to swap request is not found")
        amount_out = kept + sum(swapped[:wanted])
        if not self.task.local:
            return self.task.finish(case, amount_out)
        back = TransferInInit(self.task, self.currencies, amount_out)
        return Outcome(back.enter(case), back)

    def on_timeout(self, case: Case) -> Outcome:
        return self.retried(case)

    def on_error(self, case: Case, details: str) -> Outcome:
        outcome = self.task.on_anomaly(case)
        return Outcome(self.enter(case), self) if outcome is None else outcome


@dataclass
class TransferInInit(Stage):
    """The result was told to come back."""

    name: ClassVar[str] = "TransferInInit"
    task: SwapTask
    currencies: CurrencySet
    amount_in: int

    def enter(self, case: Case) -> Response:
        account = self.task.account
        token = BankCoin(self.currencies.by_ticker[self.task.out_ticker].dex_symbol, self.amount_in)
        channel = account.dex.transfer_channel.remote_endpoint
        message = interchain.transfer_back(channel, token, account.host, account.owner, case.now + TIMEOUT)
        response = Response()
        response.send(interchain.submit(account.dex.connection_id, [message]))
        return response

    def on_response(self, case: Case, data: bytes) -> Outcome:
        return TransferInFinish(self.task, self.currencies, self.amount_in, case.now + TIMEOUT).try_complete(case)

    def on_timeout(self, case: Case) -> Outcome:
        return self.retried(case)

    def heal(self, case: Case) -> Outcome:
        return self.on_response(case, b"")

    def stored(self) -> dict[str, Any]:
        amount = {"amount": str(self.amount_in), "ticker": self.task.out_ticker}
        return {**super().stored(), "amount_in": amount}


@dataclass
class TransferInFinish(Stage):
    """The result was sent and is awaited on the contract's account; after a day it is asked for again."""

    name: ClassVar[str] = "TransferInFinish"
    task: SwapTask
    currencies: CurrencySet
    amount_in: int
    timeout: int

    def try_complete(self, case: Case) -> Outcome:
        """Finish when the coins are there, else ask again in a while."""
        denom = self.currencies.denom(self.task.out_ticker)
        if case.querier.balance(case.env.contract, denom) >= self.amount_in:
            return self.task.finish(case, self.amount_in)
        amount = [("amount-amount", str(self.amount_in)), ("amount-symbol", self.task.out_ticker)]
        progress = Event(self.task.label, [("stage", "transfer-in"), *amount])
        if case.now >= self.timeout:
            again = TransferInInit(self.task, self.currencies, self.amount_in)
            response = again.enter(case)
            response.events.append(progress)
            return Outcome(response, again)
        response = Response(events=[progress])
        response.send(time_alarm(self.task.time_alarms, case.now + POLLING))
        return Outcome(response, self)

    def on_time_alarm(self, case: Case) -> Outcome:
        return self.try_complete(case)

    def heal(self, case: Case) -> Outcome:
        return self.try_complete(case)

    def stored(self) -> dict[str, Any]:
        amount = {"amount": str(self.amount_in), "ticker": self.task.out_ticker}
        return {**super().stored(), "amount_in": amount, "timeout": str(self.timeout)}


@dataclass
class Delivery(Stage):
    """An answer that waits to be handled by the contract's call to itself."""

    handler: Stage
    response: bytes

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.handler.name}RespDelivery"

    def __str__(self) -> str:
        return f"ResponseDelivery({self.handler})"

    def enter(self, case: Case) -> Response:
        message = WasmExecute(case.env.contract, CALLBACK)
        return Response([SubMessage(message, DELIVERY_REPLY, ReplyOn.ERROR)])

    def on_inner(self, case: Case) -> Outcome:
        """Handle the answer."""
        return self.handler.on_response(case, self.response)

    def on_time_alarm(self, case: Case) -> Outcome:
        return self.on_inner(case)

    def on_reply(self, case: Case) -> Outcome:
        """The handling failed: have it tried again right after."""
        return Outcome(next_delivery(case, self.handler.task.time_alarms), self)

    def stored(self) -> dict[str, Any]:
        return {"handler": self.handler.stored(), "response": b64encode(self.response).decode()}


def next_delivery(case: Case, time_alarms: str) -> Response:
    """The alarm and the event of an answer whose handling failed."""
    response = Response(events=[Event("next-delivery", [("what", "dex-response")])])
    response.send(time_alarm(time_alarms, case.now + 1))
    return response


def loaded(value: dict[str, Any], task_of: Callable[[Any], SwapTask], currencies: CurrencySet) -> Stage:
    """The stage stored as `{"<name>":{…}}`."""
    ((name, body),) = value.items()
    if name.endswith("RespDelivery"):
        handler = loaded({name.removesuffix("RespDelivery"): body["handler"]}, task_of, currencies)
        return Delivery(handler, b64decode(body["response"]))
    task = task_of(body["spec"])
    match name:
        case "TransferOut":
            return TransferOut(task, currencies, body["acks_left"])
        case "SwapExactIn":
            return SwapExactIn(task, currencies)
        case "TransferInInit":
            return TransferInInit(task, currencies, int(body["amount_in"]["amount"]))
        case _:
            amount = int(body["amount_in"]["amount"])
            return TransferInFinish(task, currencies, amount, int(body["timeout"]))


def opened_host(version: str) -> str:
    """The address of a just opened account, from its channel's version."""
    try:
        host = msgspec.json.decode(version, type=AccountVersion).address
    except msgspec.MsgspecError as error:
        raise Refused(f"[Dex] [Platform] [Std] An error occured on data deserialization: {error}") from None
    if not host:
        raise Refused("[Dex] [ICA] Invalid ICA host account")
    return host


def answer_bytes(data: str) -> bytes:
    """An acknowledgement's data."""
    try:
        return b64decode(data, validate=True)
    except Base64Error:
        raise Refused("[Dex] [Platform] [Std] Invalid Base64 string") from None
