"""The development chain put together: state machine, block store, node and queries, without any server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leasehold.chain.registry import Registry, registry
from leasehold.core import fixed_point
from leasehold.core.clock import Clock, SystemClock
from leasehold.core.settings import Settings
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.consensus.blockstore import BlockStore
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.keys import ValidatorKeys, node_id
from leasehold.devnet.consensus.node import Node, NodeIdentity
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import VALIDATORS
from leasehold.devnet.genesis.market import market_genesis
from leasehold.devnet.services import node_handlers
from leasehold.devnet.state.versions import History, VersionedState

GENESIS_FILE = "genesis.json"
_STORE = "chain.sqlite"


@dataclass(slots=True)
class Devnet:
    """A chain that is open: it can be asked, and it seals when told to."""

    settings: Settings
    registry: Registry
    app: ChainApplication
    node: Node
    deployment: Deployment

    @classmethod
    def open(
        cls,
        settings: Settings,
        folder: Path | None,
        *,
        clock: Clock | None = None,
        genesis: bytes | None = None,
        genesis_time_ns: int | None = None,
        durable: bool = True,
    ) -> Devnet:
        """Open the chain kept in a folder, or begin it there; without a folder it lives in memory.

        The genesis document is written to the folder when the chain begins and read from there ever after.
        """
        clock = clock or SystemClock()
        identity = settings.identity
        keys = ValidatorKeys.derive(settings.devnet.seed, len(VALIDATORS))
        document = genesis
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            kept = folder / GENESIS_FILE
            if kept.exists():
                document = kept.read_bytes()
        deployment = Deployment(identity)
        if document is None:
            document = market_genesis(deployment, keys=keys, time_ns=genesis_time_ns or clock.now_ns())
        if folder is not None and not (folder / GENESIS_FILE).exists():
            (folder / GENESIS_FILE).write_bytes(document)
        store = BlockStore(":memory:" if folder is None else folder / _STORE, durable=durable)
        window = settings.devnet.pruning_window
        state = VersionedState(History(store.connection), window=window)
        types = registry(identity.namespace)
        app = ChainApplication(identity, types, state)
        for code in deployment.codes:
            app.modules.wasm.install(code.program, code.checksum)
        app.modules.tax.minimum_gas_price = fixed_point.parse(settings.devnet.minimum_gas_price)
        host = settings.listen.host
        described = NodeIdentity(
            id=node_id(settings.devnet.seed),
            listen_address="tcp://0.0.0.0:26656",
            rpc_address=f"tcp://{host}:{settings.port('rpc')}",
        )
        node = Node(
            app, store, Genesis.parse(document), clock=clock, keys=keys, identity=described, pruning_window=window
        )
        node.start()
        app.queries.extend(node_handlers(app, node, minimum_gas_price=settings.devnet.minimum_gas_price))
        return cls(settings, types, app, node, deployment)

    def close(self) -> None:
        self.node.store.close()


def forget(folder: Path | None) -> None:
    """Remove a chain from its folder; the next open begins it anew."""
    if folder is None:
        return
    for name in (GENESIS_FILE, _STORE, f"{_STORE}-wal", f"{_STORE}-shm"):
        (folder / name).unlink(missing_ok=True)
