"""The state machine: an ABCI application over versioned state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from leasehold import __version__
from leasehold.chain.registry import Registry
from leasehold.chain.transactions import Transaction, UndecodableTransaction, decode_transaction
from leasehold.core.addresses import decode
from leasehold.core.settings import Identity
from leasehold.devnet.app import abci
from leasehold.devnet.app.ante import Ante
from leasehold.devnet.app.assembly import BEGIN_ORDER, END_ORDER, GENESIS_ORDER, Modules, assemble
from leasehold.devnet.app.context import Block, Context, Mode
from leasehold.devnet.app.errors import (
    INVALID_GAS_LIMIT,
    INVALID_REQUEST,
    OUT_OF_GAS,
    TX_DECODE,
    UNKNOWN_REQUEST,
    ChainError,
    Kind,
    PlainError,
    SimulationError,
)
from leasehold.devnet.app.queries import Queries
from leasehold.devnet.app.scalars import NotANumber, ScalarCheck
from leasehold.devnet.app.signers import signer_addresses
from leasehold.devnet.state.gas import GasMeter, OutOfGas
from leasehold.devnet.state.store import Overlay
from leasehold.devnet.state.versions import Prepared, VersionedState

_BLOCK = b"app/block"
_CONSENSUS_PARAMS = b"app/params"

PANIC = Kind("undefined", 111222, "panic")

Handler = Callable[[Context, Any], Any]
Change = Callable[[Context], None]


class _BlockRecord(msgspec.Struct, array_like=True):
    """The block the state belongs to, kept in the state so that every height knows its own time."""

    height: int
    time_ns: int
    proposer: bytes


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


class ChainApplication:
    """The chain's state machine behind ABCI."""

    def __init__(self, identity: Identity, registry: Registry, state: VersionedState) -> None:
        self.identity = identity
        self.registry = registry
        self.state = state
        self.modules: Modules = assemble(identity, registry, self)
        self.params = abci.ConsensusParams()
        self.chain_id = identity.chain_id
        self._beginning = self.modules.ordered(BEGIN_ORDER)
        self._ending = self.modules.ordered(END_ORDER)
        self._ante = Ante(registry, self.modules)
        self._scalars = ScalarCheck(registry)
        self._handlers: dict[str, Handler] = {}
        self._validators: dict[str, Callable[[Any], None]] = {}
        answers: dict[str, Handler] = {}
        for module in self.modules.all():
            self._handlers.update(module.marked("handles"))
            self._validators.update(module.marked("validates"))
            answers.update(("/" + name, handler) for name, handler in module.marked("answers"))
        self.queries = Queries(self, registry, answers)
        self._pending: Overlay | None = None
        self._prepared: Prepared | None = None
        self._changes: list[Change] = []
        self._check = Overlay(state.head)
        if state.height:
            self._restore()

    def _restore(self) -> None:
        data = self.state.head.get(_CONSENSUS_PARAMS)
        assert data is not None
        stored = json.loads(data)
        self.chain_id = stored.pop("chain_id")
        stored["pub_key_types"] = tuple(stored["pub_key_types"])
        self.params = abci.ConsensusParams(**stored)

    # ABCI.

    def info(self) -> abci.AppInfo:
        return abci.AppInfo(
            name=self.identity.namespace,
            version=__version__,
            app_version=self.params.app_version,
            last_height=self.state.height,
            last_app_hash=self.state.app_hash,
        )

    def init_chain(self, request: abci.InitChain) -> abci.InitChainResult:
        """Build the genesis state; it becomes readable with the first block, as on a real node."""
        self.chain_id = request.chain_id
        self.params = request.params
        document = json.loads(request.app_state)
        overlay = Overlay(self.state.head)
        block = Block(0, request.time_ns, request.chain_id)
        ctx = Context(overlay, block, Mode.GENESIS)
        self._save_params(overlay)
        for module in self.modules.ordered(GENESIS_ORDER):
            part = document.get(module.name)
            module.init_genesis(ctx, part if part is not None else {})
        self._pending = overlay
        updates = self._genesis_validators(ctx, document)
        # Transactions are already checked against what the first block will begin with.
        self._check = Overlay(overlay)
        return abci.InitChainResult(tuple(updates), self.state.app_hash, self.params)

    def _genesis_validators(self, ctx: Context, document: dict[str, Any]) -> list[abci.ValidatorUpdate]:
        for raw in document.get("genutil", {}).get("gen_txs", []):
            self._genesis_transaction(ctx, raw)
        staking = getattr(self.modules, "staking", None)
        return [] if staking is None else staking.validator_updates(ctx)

    def _genesis_transaction(self, ctx: Context, document: dict[str, Any]) -> None:
        auth = self.modules.auth
        messages = [auth.any_from_json(message) for message in document["body"]["messages"]]
        for message in messages:
            self.execute(ctx, message)
        signers = list(dict.fromkeys(text for message in messages for text in self.registry.signers(message)))
        for text, info in zip(signers, document["auth_info"]["signer_infos"], strict=False):
            account = auth.get(ctx, decode(text)[1])
            assert account is not None
            account.sequence += 1
            account.pub_key = self.registry.pack(auth.any_from_json(info["public_key"])).SerializeToString()
            auth.save(ctx, account)

    def _save_params(self, overlay: Overlay) -> None:
        members = {name: getattr(self.params, name) for name in self.params.__dataclass_fields__}
        overlay.set(_CONSENSUS_PARAMS, json.dumps(members | {"chain_id": self.chain_id}).encode())

    def set_consensus_params(self, ctx: Context, **changes: int) -> None:
        """Change consensus parameters from the next block on."""
        self.params = replace(self.params, **changes)  # type: ignore[arg-type]
        self._save_params(ctx.overlay)

    def check_tx(self, tx: bytes, *, recheck: bool = False) -> abci.TxResult:
        block = self._next_block()
        overlay = Overlay(self._check)
        mode = Mode.RECHECK if recheck else Mode.CHECK
        decoded = self._decoded(tx)
        if isinstance(decoded, ChainError):
            return _failure(decoded, 0, 0)
        wanted = decoded.auth_info.fee.gas_limit
        ctx = Context(overlay, block, mode, gas=GasMeter(wanted))
        try:
            self._validate(decoded)
            self._limit_gas(wanted)
            self._ante.run(ctx, decoded)
        except (ChainError, OutOfGas) as error:
            return _failure(_registered(error), wanted, ctx.gas.used)
        overlay.write(self._check)
        return abci.TxResult(data=b"", gas_wanted=wanted, gas_used=ctx.gas.used)

    def finalize_block(self, request: abci.FinalizeBlock) -> abci.FinalizeResult:
        overlay = self._pending or Overlay(self.state.head)
        block = Block(
            height=request.height,
            time_ns=request.time_ns,
            chain_id=self.chain_id,
            proposer=request.proposer,
            commit=request.commit,
            misbehavior=request.misbehavior,
            next_validators_hash=request.next_validators_hash,
            app_hash=self.state.app_hash,
        )
        ctx = Context(overlay, block, Mode.BLOCK)
        overlay.set(_BLOCK, msgspec.msgpack.encode(_BlockRecord(block.height, block.time_ns, block.proposer)))
        self._ante.drop_expired(ctx)
        while self._changes:
            self._changes.pop(0)(ctx)
        for module in self._beginning:
            module.begin_block(ctx)
        events = _marked(ctx.events, "BeginBlock")
        results = [self._deliver(overlay, block, tx, index) for index, tx in enumerate(request.txs)]
        ctx = Context(overlay, block, Mode.BLOCK)
        for module in self._ending:
            module.end_block(ctx)
        events += _marked(ctx.events, "EndBlock")
        staking = getattr(self.modules, "staking", None)
        updates = [] if staking is None else staking.validator_updates(ctx)
        self._pending = None
        self._prepared = self.state.prepare(request.height, overlay.writes)
        return abci.FinalizeResult(events, results, updates, self.params, self._prepared.app_hash)

    def commit(self) -> None:
        if self._prepared is not None:
            self.state.commit(self._prepared)
            self._prepared = None
        self._check = Overlay(self.state.head)

    def before_next_block(self, change: Change) -> None:
        """Run a change at the start of the next block; its events stand among that block's."""
        self._changes.append(change)

    def revert(self, height: int) -> None:
        """Make a past height the latest; the caller commits the SQLite transaction."""
        self.state.revert(height)
        self.resume()

    def resume(self) -> None:
        """Stand where the state stands: nothing checked, nothing pending, the parameters of that height."""
        self._check = Overlay(self.state.head)
        self._pending = None
        self._prepared = None
        self._changes.clear()
        if self.state.height:
            self._restore()

    def query(self, path: str, data: bytes, height: int, prove: bool) -> abci.QueryResult:
        return self.queries.abci(path, data, height, prove)

    # Transactions.

    def _decoded(self, raw: bytes) -> Transaction | ChainError:
        # The real chain wraps the decoder's error, itself of this kind, once more.
        try:
            decoded = decode_transaction(self.registry, raw)
            for message in decoded.messages:
                self._scalars.check(message)
                signer_addresses(self.registry, self.modules.auth.prefixes, message)
        except UndecodableTransaction as error:
            return ChainError(TX_DECODE, f"{error.message}: {TX_DECODE.description}")
        except (NotANumber, PlainError) as error:
            return ChainError(TX_DECODE, f"{error}: {TX_DECODE.description}")
        try:
            for payer in filter(None, (decoded.auth_info.fee.payer, decoded.auth_info.fee.granter)):
                self.modules.auth.address_bytes(payer)
        except PlainError as error:
            return TX_DECODE(str(error))
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

    def _limit_gas(self, wanted: int) -> None:
        limit = self.params.block_max_gas
        if limit > 0 and wanted > limit:
            raise INVALID_GAS_LIMIT(f"tx gas limit {wanted} exceeds block max gas {limit}")

    def _deliver(self, overlay: Overlay, block: Block, raw: bytes, index: int) -> abci.TxResult:
        decoded = self._decoded(raw)
        if isinstance(decoded, ChainError):
            return _failure(decoded, 0, 0)
        wanted = decoded.auth_info.fee.gas_limit
        meter = GasMeter(wanted)
        outer = Overlay(overlay)
        ctx = Context(outer, block, Mode.DELIVER, gas=meter, tx_index=index)
        try:
            self._validate(decoded)
            self._limit_gas(wanted)
            self._ante.run(ctx, decoded)
        except (ChainError, OutOfGas) as error:
            return _failure(_registered(error), wanted, meter.used)
        outer.write(overlay)
        inner = ctx.fork()
        try:
            run = self._run(inner, decoded)
        except (ChainError, OutOfGas) as error:
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

    def message_events(self, message: Any, events: list[abci.Event], index: int) -> list[abci.Event]:
        """A message's own event followed by what its handler emitted, each closed by the message's index."""
        name = message.DESCRIPTOR.full_name
        head = abci.Event("message", [("action", "/" + name)])
        signers = self.registry.signers(message)
        if signers:
            head.attributes.append(("sender", self._signer_text(signers[0])))
        if not any(key == "module" for event in events for key, _ in event.attributes):
            head.attributes.append(("module", name.split(".")[1]))
        for event in (head, *events):
            event.attributes.append(("msg_index", str(index)))
        return [head, *events]

    def _signer_text(self, text: str) -> str:
        """A signer given as operator address is shown as the account of the same bytes."""
        return self.modules.auth.text(decode(text)[1])

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

    def _data(self, responses: list[Any]) -> bytes:
        packed = [self.registry.pack(response) for response in responses]
        message = self.registry.new("cosmos.base.abci.v1beta1.TxMsgData", msg_responses=packed)
        return bytes(message.SerializeToString())

    def simulate(self, raw: bytes) -> Simulation:
        """Run a transaction on a branch of the check state without verifying signatures."""
        decoded = self._decoded(raw)
        if isinstance(decoded, ChainError):
            raise SimulationError(decoded, 0)
        ctx = Context(Overlay(self._check), self._next_block(), Mode.SIMULATE, gas=GasMeter())
        try:
            self._validate(decoded)
            self._ante.run(ctx, decoded)
            run = self._run(ctx.fork(), decoded)
        except (ChainError, OutOfGas) as error:
            raise SimulationError(_registered(error), ctx.gas.used) from None
        return Simulation(ctx.gas.used, self._data(run.responses), ctx.events + run.events, run.responses)

    # Reading.

    def block_at(self, height: int) -> Block:
        """The block whose state a height has."""
        return self._block_of(self.state.view(height).get(_BLOCK))

    def _block_of(self, data: bytes | None) -> Block:
        if data is None:
            return Block(0, 0, self.chain_id)
        record = msgspec.msgpack.decode(data, type=_BlockRecord)
        return Block(record.height, record.time_ns, self.chain_id, record.proposer)

    def _next_block(self) -> Block:
        last = self._block_of(self.state.head.get(_BLOCK))
        return replace(last, height=last.height + 1)

    def context(self, height: int = 0) -> Context:
        """A throw-away context over the state of a height; 0 is the latest."""
        at = height or self.state.height
        reader = self.state.view(at)
        return Context.for_query(reader, self._block_of(reader.get(_BLOCK)))


def _marked(events: list[abci.Event], mode: str) -> list[abci.Event]:
    for event in events:
        event.attributes.append(("mode", mode))
    return events


def _registered(error: ChainError | OutOfGas) -> ChainError:
    if isinstance(error, ChainError):
        return error
    return OUT_OF_GAS(f"out of gas in location: {error.location}; gasWanted: {error.limit}, gasUsed: {error.used}")


def _failure(error: ChainError, wanted: int, used: int) -> abci.TxResult:
    return abci.TxResult(
        code=error.kind.code, log=error.log, codespace=error.kind.codespace, gas_wanted=wanted, gas_used=used
    )
