"""Transactions: decoded, checked, run by the modules' handlers, and told as results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.chain.transactions import Transaction, UndecodableTransaction, decode_transaction
from leasehold.core import logging
from leasehold.core.addresses import decode
from leasehold.devnet.app import abci
from leasehold.devnet.app.ante import Ante
from leasehold.devnet.app.assembly import Modules
from leasehold.devnet.app.context import Block, Context, Mode
from leasehold.devnet.app.errors import (
    INVALID_GAS_LIMIT,
    INVALID_REQUEST,
    OUT_OF_GAS,
    PANIC,
    TX_DECODE,
    UNKNOWN_REQUEST,
    ChainError,
    SimulationError,
)
from leasehold.devnet.app.scalars import NotANumber, ScalarCheck
from leasehold.devnet.state.gas import GasMeter, OutOfGas
from leasehold.devnet.state.store import Overlay

Handler = Callable[[Context, Any], Any]
_log = logging.get("execution")
# What reading the parameters of consensus costs, before anything is known of a transaction.
_PARAMETERS_GAS = 1162


@dataclass(slots=True)
class Simulation:
    """Outcome of a dry run."""

    gas_used: int
    data: bytes
    events: list[abci.Event]
    responses: list[Any]


@dataclass(slots=True)
class _Run:
    """A transaction after its messages ran."""

    responses: list[Any] = field(default_factory=list)
    events: list[abci.Event] = field(default_factory=list)


class Execution:
    """Runs transactions and messages against a state that the caller keeps or throws away."""

    def __init__(self, registry: Registry, modules: Modules) -> None:
        self._registry = registry
        self._modules = modules
        self._ante = Ante(registry, modules)
        self._scalars = ScalarCheck(registry)
        self._handlers: dict[str, Handler] = {}
        self._validators: dict[str, Callable[[Any], None]] = {}
        for module in modules.all():
            self._handlers.update(module.marked("handles"))
            self._validators.update(module.marked("validates"))

    # Transactions.

    def drop_expired(self, ctx: Context) -> None:
        """Forget what unordered transactions no longer need remembered."""
        self._ante.drop_expired(ctx)

    def offered(self, overlay: Overlay, block: Block, raw: bytes, *, recheck: bool, max_gas: int) -> abci.TxResult:
        """Whether the mempool may take a transaction; what its checks write goes to the overlay."""
        decoded = self._checked(raw)
        if isinstance(decoded, ChainError):
            return _failure(decoded, 0, _PARAMETERS_GAS)
        wanted = decoded.auth_info.fee.gas_limit
        branch = Overlay(overlay)
        ctx = Context(branch, block, Mode.RECHECK if recheck else Mode.CHECK, gas=GasMeter(wanted))
        try:
            _limit_gas(wanted, max_gas)
            self._ante.run(ctx, decoded)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong fails the transaction, never the block
            return _failure(_registered(error), wanted, ctx.gas.used)
        branch.write(overlay)
        return abci.TxResult(data=b"", gas_wanted=wanted, gas_used=ctx.gas.used)

    def delivered(self, overlay: Overlay, block: Block, raw: bytes, index: int, *, max_gas: int) -> abci.TxResult:
        """Run a transaction of a block; what it keeps goes to the overlay, fees and sequence even if it fails."""
        decoded = self._checked(raw)
        if isinstance(decoded, ChainError):
            return _failure(decoded, 0, _PARAMETERS_GAS)
        wanted = decoded.auth_info.fee.gas_limit
        meter = GasMeter(wanted)
        outer = Overlay(overlay)
        ctx = Context(outer, block, Mode.DELIVER, gas=meter, tx_index=index)
        try:
            _limit_gas(wanted, max_gas)
            self._ante.run(ctx, decoded)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong fails the transaction, never the block
            return _failure(_registered(error), wanted, meter.used)
        outer.write(overlay)
        inner = ctx.fork()
        try:
            run = self._run(inner, decoded)
        except Exception as error:  # noqa: BLE001 - as above
            result = _failure(_registered(error), wanted, meter.used)
            result.events = ctx.events
            return result
        inner.overlay.write(overlay)
        return abci.TxResult(
            data=self._data(run.responses),
            gas_wanted=wanted,
            gas_used=meter.used,
            events=ctx.events + run.events,
        )

    def simulated(self, overlay: Overlay, block: Block, raw: bytes) -> Simulation:
        """Run a transaction on a branch of a state without verifying signatures."""
        decoded = self._checked(raw)
        if isinstance(decoded, ChainError):
            raise SimulationError(decoded, _PARAMETERS_GAS)
        ctx = Context(Overlay(overlay), block, Mode.SIMULATE, gas=GasMeter())
        try:
            self._ante.run(ctx, decoded)
            run = self._run(ctx.fork(), decoded)
        except Exception as error:  # noqa: BLE001 - as above
            raise SimulationError(_registered(error), ctx.gas.used) from None
        return Simulation(ctx.gas.used, self._data(run.responses), ctx.events + run.events, run.responses)

    def _checked(self, raw: bytes) -> Transaction | ChainError:
        """A transaction whose messages make sense by themselves; no gas is asked for before that is known."""
        try:
            decoded = self._decode(raw)
            if not isinstance(decoded, ChainError):
                self._validate(decoded)
        except Exception as error:  # noqa: BLE001 - as above
            return _registered(error)
        return decoded

    def _decode(self, raw: bytes) -> Transaction | ChainError:
        # The real chain wraps the decoder's error, itself of this kind, once more.
        try:
            decoded = decode_transaction(self._registry, raw)
            for message in decoded.messages:
                self._scalars.check(message)
        except UndecodableTransaction as error:
            return ChainError(TX_DECODE, f"{error.message}: {TX_DECODE.description}")
        except NotANumber as error:
            return ChainError(TX_DECODE, f"{error}: {TX_DECODE.description}")
        return decoded

    def _validate(self, tx: Transaction) -> None:
        if not tx.messages:
            raise INVALID_REQUEST("must contain at least one message")
        for message in tx.messages:
            name = message.DESCRIPTOR.full_name
            if (validator := self._validators.get(name)) is not None:
                validator(message)
            if name not in self._handlers:
                raise UNKNOWN_REQUEST(f"no message handler found for /{name}")

    def _run(self, ctx: Context, tx: Transaction) -> _Run:
        run = _Run()
        for index, message in enumerate(tx.messages):
            ctx.events = []
            try:
                response = self.execute(ctx, message)
            except ChainError as error:
                raise error.wrap(f"failed to execute message; message index: {index}") from None
            run.responses.append(response)
            run.events += self.message_events(message, ctx.events, index)
        return run

    def _data(self, responses: list[Any]) -> bytes:
        packed = [self._registry.pack(response) for response in responses]
        message = self._registry.new("cosmos.base.abci.v1beta1.TxMsgData", msg_responses=packed)
        return bytes(message.SerializeToString())

    # Messages.

    def execute(self, ctx: Context, message: Any) -> Any:
        """Run a message's handler; events go to the context."""
        handler = self._handlers.get(message.DESCRIPTOR.full_name)
        if handler is None:
            raise UNKNOWN_REQUEST(f"no message handler found for /{message.DESCRIPTOR.full_name}")
        return handler(ctx, message)

    def check(self, message: Any) -> None:
        """Run a message's stateless check."""
        if (validator := self._validators.get(message.DESCRIPTOR.full_name)) is not None:
            validator(message)

    def routes(self, name: str) -> bool:
        """Whether a message of this name has a handler."""
        return name in self._handlers

    def message_events(self, message: Any, events: list[abci.Event], index: int) -> list[abci.Event]:
        """A message's own event followed by what its handler emitted, each closed by the message's index."""
        name = message.DESCRIPTOR.full_name
        head = abci.Event("message", [("action", "/" + name)])
        signers = self._registry.signers(message)
        if signers:
            head.attributes.append(("sender", self._signer_text(signers[0])))
        if not any(key == "module" for event in events for key, _ in event.attributes):
            head.attributes.append(("module", name.split(".")[1]))
        for event in (head, *events):
            event.attributes.append(("msg_index", str(index)))
        return [head, *events]

    def _signer_text(self, text: str) -> str:
        """A signer given as operator address is shown as the account of the same bytes."""
        return self._modules.auth.text(decode(text)[1])


def _limit_gas(wanted: int, limit: int) -> None:
    if limit > 0 and wanted > limit:
        raise INVALID_GAS_LIMIT(f"tx gas limit {wanted} exceeds block max gas {limit}")


def _registered(error: Exception) -> ChainError:
    """The error a transaction ends with; one that nobody foresaw is a panic, told to the operator too."""
    if isinstance(error, ChainError):
        return error
    if isinstance(error, OutOfGas):
        return OUT_OF_GAS(f"out of gas in location: {error.location}; gasWanted: {error.limit}, gasUsed: {error.used}")
    _log.error("a transaction failed unexpectedly", exc_info=error)
    frames = extract_tb(error.__traceback__)
    stack = "\n".join(f"{frame.name} {Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return PANIC(f"recovered: {type(error).__name__}: {error}\nstack:\n{stack}")


def _failure(error: ChainError, wanted: int, used: int) -> abci.TxResult:
    return abci.TxResult(
        code=error.kind.code, log=error.log, codespace=error.kind.codespace, gas_wanted=wanted, gas_used=used
    )
