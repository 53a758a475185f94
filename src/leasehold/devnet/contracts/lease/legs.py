"""DEX legs: coins out, a swap, coins home; how each stage is entered and what its answers lead to.

A leg is a kind (the state's variant) and a stage over a task. Whatever ends a leg is given by the caller as `finish`,
which turns the output into a step of the lease.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.devnet.contracts.lease.records import (
    Account,
    BuyAsset,
    Delivery,
    Holding,
    OpenIca,
    SellAsset,
    State,
    SwapExactIn,
    TransferInFinish,
    TransferInInit,
    TransferOut,
    leg_state,
)
from leasehold.devnet.contracts.lease.scene import Scene, Step, emitted, merged
from leasehold.devnet.contracts.platform import UNAUTHORIZED, time_alarm
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import (
    BankCoin,
    ContractError,
    ContractTrap,
    Message,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
)
from leasehold.protocol import events
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.interchain import AccountVersion
from leasehold.protocol.messages.values import PaymentCoin
from leasehold.protocol.percent import MILLE, of

DAY = 86_400_000_000_000
POLLING = 5_000_000_000
DELIVERY_REPLY = 12_345_678_901
LABELS = {
    "buy_asset": "ls-open-swap",
    "buy_lpn": "ls-repay-swap",
    "partial_close": "ls-close-position",
    "full_close": "ls-close-position",
    "partial_liquidation": "ls-liquidation-swap",
    "full_liquidation": "ls-liquidation-swap",
    "closing_transfer_in": "ls-close-transfer-in",
}
_CALLBACK = b'{"dex_callback":[]}'
_CALLBACK_CONTINUE = b'{"dex_callback_continue":[]}'

Finish = Callable[[str, Any, int], Step]


def shown(kind: str, stage: Any) -> str:
    """How error texts name a stage."""
    if isinstance(stage, Delivery):
        return f"ResponseDelivery({shown(kind, stage.handler)})"
    if isinstance(stage, OpenIca):
        return "IcaConnector(OpenIcaAccount)"
    return f"{type(stage).__name__} at {LABELS[kind]}"


def unsupported(operation: str, kind: str, stage: Any) -> Refused:
    """The refusal of an operation by a stage."""
    return Refused(f"[Dex] The operation '{operation}' is not supported in the current state '{shown(kind, stage)}'")


class Legs:
    """The transitions of one call."""

    def __init__(self, scene: Scene, finish: Finish) -> None:
        self._scene = scene
        self._finish = finish

    # -- entering a stage ----------------------------------------------------------------------------------------

    def enter(self, kind: str, stage: Any, before: Response | None = None) -> Step:
        """The step into a stage, after what was already decided."""
        response = Response()
        for message in self._messages(stage):
            response.send(message)
        return Step(response if before is None else merged(before, response), leg_state(kind, stage))

    def _messages(self, stage: Any) -> list[Message]:
        if isinstance(stage, TransferOut):
            return self._transfers(stage.spec.account, stage.spec.coins)
        if isinstance(stage, SwapExactIn):
            return [self._swaps(stage.spec)]
        if isinstance(stage, TransferInInit):
            return [self._transfer_home(stage.spec.account, stage.amount_in)]
        raise ContractTrap("a stage that can't be entered")

    def _transfers(self, account: Account, coins: tuple[tuple[str, int], ...]) -> list[Message]:
        channel = account.dex.transfer_channel.local_endpoint
        memo = f"Transfer out: {account.owner} -> {account.host}"
        timeout = self._scene.now + DAY
        return [
            interchain.transfer_out(
                channel, self._scene.coin(amount, ticker), account.owner, account.host, timeout, memo
            )
            for ticker, amount in coins
        ]

    def _swaps(self, task: Any) -> Message:
        currencies, account = self._scene.currencies, task.account
        swaps = []
        for ticker, amount in task.coins:
            if ticker != task.target:
                least = self._least(task, ticker, amount)
                routes = [(pool, currencies.by_ticker[hop].dex_symbol) for pool, hop in self._path(task, ticker)]
                coin = BankCoin(currencies.by_ticker[ticker].dex_symbol, amount)
                swaps.append(interchain.swap(account.host, routes, coin, least))
        if not swaps:
            raise ContractTrap(f"No coins with currency != {task.target}")
        return interchain.submit(account.dex.connection_id, swaps)

    def _path(self, task: Any, ticker: str) -> list[tuple[int, str]]:
        query = b'{"swap_path":{"from":"%b","to":"%b"}}' % (ticker.encode(), task.target.encode())
        try:
            answer = self._scene.case.querier.smart(task.oracle, query)
        except ContractError as error:
            raise Refused(f"[Dex] [Oracle; Stub] Failed to query swap path! Cause: {error}") from None
        return msgspec.json.decode(answer, type=list[tuple[int, str]])

    def _least(self, task: Any, ticker: str, amount: int) -> int:
        """The least output accepted of a swap."""
        if not isinstance(task, SellAsset) or task.slippage_calc.max_slippage is None:
            return 1
        try:
            worth = self._scene.prices(task.oracle).in_lpn(amount, ticker)
        except Refused as refusal:
            raise Refused(
                "[Dex] [Oracle; Price; Stub] Failed to convert to the quote currency! Cause: " + refusal.message
            ) from None
        return of(MILLE - task.slippage_calc.max_slippage, worth)

    def _transfer_home(self, account: Account, coin: PaymentCoin) -> Message:
        dex, denom = account.dex, self._scene.currencies.by_ticker[coin.ticker].dex_symbol
        message = interchain.transfer_back(
            dex.transfer_channel.remote_endpoint,
            BankCoin(denom, coin.units),
            account.host,
            account.owner,
            self._scene.now + DAY,
        )
        return interchain.submit(dex.connection_id, [message])

    # -- answers of the chain ------------------------------------------------------------------------------------

    def on_response(self, kind: str, stage: Any, data: str) -> Step:
        """An acknowledgement is kept and handled in a call of its own, so that a failure can't lose it."""
        if isinstance(stage, TransferOut | SwapExactIn | TransferInInit):
            return self._forwarded(kind, Delivery(stage, data), _CALLBACK)
        raise unsupported("handle transaction response", kind, stage)

    def on_open_ica(self, kind: str, stage: Any, version: str) -> Step:
        if isinstance(stage, OpenIca):
            return self._forwarded(kind, Delivery(stage, version), _CALLBACK_CONTINUE)
        raise unsupported("handle open ica response", kind, stage)

    def _forwarded(self, kind: str, stage: Delivery[Any], message: bytes) -> Step:
        callback = SubMessage(WasmExecute(self._scene.me, message), DELIVERY_REPLY, ReplyOn.ERROR)
        return Step(Response([callback]), leg_state(kind, stage))

    def on_error(self, kind: str, stage: Any, details: str) -> Step:
        if isinstance(stage, TransferOut):
            return self.on_timeout(kind, stage)
        if not isinstance(stage, SwapExactIn):
            raise unsupported(f"handle ICA error with details '{details}'", kind, stage)
        task = stage.spec
        if isinstance(task, SellAsset) and task.slippage_calc.max_slippage is not None:
            core = task.lease.lease
            anomaly = events.SlippageAnomaly(
                customer=core.customer,
                lease=core.addr,
                lease_asset=core.position.amount.ticker,
                max_slippage=task.slippage_calc.max_slippage,
            )
            return Step(Response(events=[emitted(anomaly)]), State(slippage_anomaly=Holding(task.lease)))
        return self.enter(kind, stage)

    def on_timeout(self, kind: str, stage: Any) -> Step:
        if not isinstance(stage, TransferOut | SwapExactIn | TransferInInit):
            raise unsupported("handle transaction timeout", kind, stage)
        step = self.enter(kind, stage)
        event = events.DexProgress(label=LABELS[kind], id=self._scene.me, timeout="retry")
        step.response.events.append(emitted(event, event.label))
        return step

    def on_reply(self, kind: str, stage: Any) -> Step:
        """Handling failed: try again with the next time alarm."""
        if not isinstance(stage, Delivery):
            raise unsupported("handle reply", kind, stage)
        response = Response(events=[emitted(events.NextDelivery(what="dex-response"))])
        response.send(time_alarm(self._time_alarms(stage.handler), self._scene.now + 1))
        return Step(response, leg_state(kind, stage))

    def _time_alarms(self, stage: Any) -> str:
        if isinstance(stage, OpenIca):
            return stage.connectee.deps[2].addr
        alarms: str = stage.spec.time_alarms
        return alarms

    # -- handling ------------------------------------------------------------------------------------------------

    def on_callback(self, kind: str, stage: Any) -> Step:
        if not isinstance(stage, Delivery):
            raise unsupported("handle inner", kind, stage)
        if isinstance(stage.handler, OpenIca):
            raise unsupported("deliver transaction response", kind, stage.handler)
        return self._delivered(kind, stage)

    def on_callback_continue(self, kind: str, stage: Any) -> Step:
        if not isinstance(stage, Delivery):
            raise unsupported("handle inner to 'Continue' response", kind, stage)
        if not isinstance(stage.handler, OpenIca):
            raise unsupported("deliver ica_open response", kind, stage.handler)
        return self._delivered(kind, stage)

    def on_time_alarm(self, kind: str, stage: Any) -> Step:
        if isinstance(stage, Delivery):
            return self._delivered(kind, stage)
        if not isinstance(stage, TransferInFinish):
            raise unsupported("handle time alarm", kind, stage)
        if self._scene.case.info.sender != stage.spec.time_alarms:
            raise Refused(f"[Dex] {UNAUTHORIZED}")
        return self._completed(kind, stage)

    def heal(self, kind: str, stage: Any) -> Step:
        if isinstance(stage, TransferInInit):
            return self._acknowledged_home(kind, stage)
        if isinstance(stage, TransferInFinish):
            return self._completed(kind, stage)
        raise unsupported("handle heal", kind, stage)

    def _delivered(self, kind: str, delivery: Delivery[Any]) -> Step:
        stage = delivery.handler
        if isinstance(stage, OpenIca):
            return self._connected(kind, stage, delivery.response)
        if isinstance(stage, TransferOut):
            return self._transferred_out(kind, stage)
        if isinstance(stage, SwapExactIn):
            return self._swapped(kind, stage, delivery.response)
        return self._acknowledged_home(kind, stage)

    def _connected(self, kind: str, stage: OpenIca, version: str) -> Step:
        try:
            host = msgspec.json.decode(version, type=AccountVersion).address
        except msgspec.MsgspecError as error:
            raise Refused(f"[Dex] [Platform] [Std] An error occured on data deserialization: {error}") from None
        if not host:
            raise Refused("[Dex] [ICA] Invalid ICA host account")
        waiting, me = stage.connectee, self._scene.me
        task = BuyAsset(
            waiting.new_lease.form,
            Account(me, host, waiting.new_lease.dex),
            waiting.downpayment,
            waiting.loan,
            waiting.deps,
            waiting.start_opening_at,
        )
        registered = Response(events=[emitted(events.RegisterIca(id=me, ica_host=host))])
        return self.enter(kind, TransferOut(task, len(task.coins)), registered)

    def _transferred_out(self, kind: str, stage: TransferOut[Any]) -> Step:
        acknowledged = Response(events=[emitted(events.DexProgress(label=LABELS[kind]), LABELS[kind])])
        if stage.acks_left == 1:
            return self.enter(kind, SwapExactIn(stage.spec), acknowledged)
        return Step(acknowledged, leg_state(kind, TransferOut(stage.spec, stage.acks_left - 1)))

    def _swapped(self, kind: str, stage: SwapExactIn[Any], data: str) -> Step:
        task = stage.spec
        try:
            outputs = interchain.swapped(b64decode(data, validate=True))
        except Base64Error:
            raise Refused("[Dex] [Platform] [Std] Invalid Base64 string") from None
        kept = sum(amount for ticker, amount in task.coins if ticker == task.target)
        wanted = sum(ticker != task.target for ticker, _ in task.coins)
        if len(outputs) < wanted:
            raise Refused("[Dex] [Swap] Expected response to swap request is not found")
        amount = kept + sum(outputs[:wanted])
        if isinstance(task, BuyAsset):
            return self._finish(kind, task, amount)
        return self.enter(kind, TransferInInit(task, PaymentCoin(str(amount), task.target)))

    def _acknowledged_home(self, kind: str, stage: TransferInInit[Any]) -> Step:
        return self._completed(kind, TransferInFinish(stage.spec, stage.amount_in, str(self._scene.now + DAY)))

    def _completed(self, kind: str, stage: TransferInFinish[Any]) -> Step:
        """Finish when the coins are there, else wait for them, and ask again after the timeout."""
        scene, coin = self._scene, stage.amount_in
        held = scene.case.querier.balance(scene.me, scene.currencies.denom(coin.ticker))
        if held >= coin.units:
            return self._finish(kind, stage.spec, coin.units)
        event = events.DexProgress(
            label=LABELS[kind], stage="transfer-in", amount_amount=coin.units, amount_symbol=coin.ticker
        )
        waiting = Response(events=[emitted(event, event.label)])
        if scene.now >= int(stage.timeout):
            return self.enter(kind, TransferInInit(stage.spec, coin), waiting)
        waiting.send(time_alarm(stage.spec.time_alarms, scene.now + POLLING))
        return Step(waiting, leg_state(kind, stage))
