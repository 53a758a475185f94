"""The state machine: an ABCI application over versioned state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from leasehold import __version__
from leasehold.chain.registry import Registry
from leasehold.core.addresses import decode
from leasehold.core.settings import Identity
from leasehold.devnet.app import abci
from leasehold.devnet.app.assembly import BEGIN_ORDER, END_ORDER, GENESIS_ORDER, Modules, assemble
from leasehold.devnet.app.context import Block, Context, Mode
from leasehold.devnet.app.execution import Execution, Handler, Simulation
from leasehold.devnet.app.queries import Queries
from leasehold.devnet.state.store import Overlay
from leasehold.devnet.state.versions import Prepared, VersionedState

_BLOCK = b"app/block"
_CONSENSUS_PARAMS = b"app/params"

Change = Callable[[Context], None]


class _BlockRecord(msgspec.Struct, array_like=True):
    """The block the state belongs to, kept in the state so that every height knows its own time."""

    height: int
    time_ns: int
    proposer: bytes


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
        self._execution = Execution(registry, self.modules)
        self.execute = self._execution.execute
        self.check = self._execution.check
        self.routes = self._execution.routes
        self.message_events = self._execution.message_events
        answers: dict[str, Handler] = {}
        for module in self.modules.all():
            answers.update(("/" + name, handler) for name, handler in module.marked("answers"))
        parted = {"/" + name for module in self.modules.all() for name, _ in module.marked("parts")}
        self.queries = Queries(self, registry, answers, parted)
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
        # As on a real node, nothing of it is there for checks before the first block: they refuse every fee.
        self._check = Overlay(self.state.head)
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
        return self._execution.offered(
            self._check, self._next_block(), tx, recheck=recheck, max_gas=self.params.block_max_gas
        )

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
        self._execution.drop_expired(ctx)
        while self._changes:
            self._changes.pop(0)(ctx)
        for module in self._beginning:
            module.begin_block(ctx)
        events = _marked(ctx.events, "BeginBlock")
        max_gas = self.params.block_max_gas
        deliver = self._execution.delivered
        results = [deliver(overlay, block, tx, index, max_gas=max_gas) for index, tx in enumerate(request.txs)]
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

    def lengthy_query(self, path: str, data: bytes, height: int, prove: bool) -> abci.LengthyQuery:
        """A query that is awaited because it takes long; None for all others."""
        return self.queries.paths.lengthy(path, data, height, prove)

    def simulate(self, raw: bytes) -> Simulation:
        """Run a transaction on what the mempool's checks have left, without verifying signatures."""
        return self._execution.simulated(self._check, self._next_block(), raw)

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
