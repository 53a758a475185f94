"""The node: proposes, finalizes, commits, indexes and announces blocks, one at a time, in this process.

A block's time is the time of the votes for the block before it (BFT time), so those votes are signed when the next
block is sealed; until then `seen_commit()` signs votes of its own for the head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter

from leasehold.chain.comet import blocks, merkle
from leasehold.chain.comet.blocks import Block, Commit, Header
from leasehold.chain.comet.validators import Validator
from leasehold.chain.comet.votes import median_time
from leasehold.core.clock import Clock
from leasehold.core.errors import InvalidInput, Unavailable
from leasehold.core.garbage import rare_collections
from leasehold.devnet.app.abci import Application, FinalizeResult, LengthyQuery, Misbehavior, QueryResult, TxResult
from leasehold.devnet.consensus.blockstore import BlockStore, StoredBlock
from leasehold.devnet.consensus.electorate import Electorate
from leasehold.devnet.consensus.evidence import EvidencePool
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.handshake import finalize_request, shake_hands, stored_head
from leasehold.devnet.consensus.head import Head, following_set
from leasehold.devnet.consensus.keys import ValidatorKeys, node_id
from leasehold.devnet.consensus.mempool import Mempool

MILLISECOND = 1_000_000

# Bytes a block may need besides its transactions, per signature and in all.
SIGNATURE_BYTES = 111
OVERHEAD_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """What the node says about itself."""

    id: str = node_id(1)
    moniker: str = "devnet"
    listen_address: str = "tcp://0.0.0.0:26656"
    rpc_address: str = "tcp://0.0.0.0:26657"
    version: str = "0.38.19"
    channels: str = "402021222330386061"


@dataclass(frozen=True, slots=True)
class SealedBlock:
    """A committed block with everything that is announced about it."""

    stored: StoredBlock
    results: FinalizeResult
    round: int
    updates: tuple[Validator, ...] = ()
    # How long it took, for whoever measures.
    seconds: float = 0.0

    @property
    def block(self) -> Block:
        return self.stored.block

    @property
    def height(self) -> int:
        return self.stored.block.header.height


Listener = Callable[[SealedBlock], None]


class Node:
    """A single node that holds the keys of some or all validators."""

    def __init__(
        self,
        app: Application,
        store: BlockStore,
        genesis: Genesis,
        *,
        clock: Clock,
        keys: ValidatorKeys | None = None,
        identity: NodeIdentity | None = None,
        pruning_window: int = 0,
        mempool: Mempool | None = None,
    ) -> None:
        self.app = app
        self.store = store
        self.genesis = genesis
        self.clock = clock
        self.keys = keys or ValidatorKeys()
        self.identity = identity or NodeIdentity()
        self.pruning_window = pruning_window
        self.mempool = mempool or Mempool(lambda tx, recheck: app.check_tx(tx, recheck=recheck))
        self.evidence = EvidencePool(store, genesis.chain_id)
        self._electorate = Electorate(genesis.chain_id, self.keys)
        # Addresses of held validators that are away: they neither vote nor propose.
        self.absent = self._electorate.absent
        # Where a replica that stopped following would stand; None follows.
        self.frozen: int | None = None
        self._listeners: list[Listener] = []
        self._unannounced: list[SealedBlock] = []
        self._seen: tuple[int, Commit] | None = None
        self._head: Head | None = None

    # What others ask

    @property
    def chain_id(self) -> str:
        return self.genesis.chain_id

    @property
    def height(self) -> int:
        """Height of the last block; 0 before the first."""
        return self.store.height

    @property
    def base(self) -> int:
        """Lowest block kept, or shown."""
        return max(self.store.base, self.store.block.floor)

    @property
    def shown_height(self) -> int:
        """Height of the last block that readers of the node's services see."""
        return self.height if self.frozen is None else min(self.frozen, self.height)

    @property
    def head(self) -> Head:
        if self._head is None:
            raise Unavailable("the node has not been started", hint="call start() first")
        return self._head

    @property
    def time_ns(self) -> int:
        """Time of the last block, or of genesis."""
        return self.head.time_ns

    def query(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        return self.app.query(path, data, height, prove)

    def lengthy_query(self, path: str, data: bytes, height: int, prove: bool) -> LengthyQuery:
        """A query that the application, if it can tell, knows to take long; ABCI itself has no such thing."""
        lengthy = getattr(self.app, "lengthy_query", None)
        return None if lengthy is None else lengthy(path, data, height, prove)

    def submit(self, tx: bytes) -> TxResult:
        """Offer a transaction to the mempool; raises TxInCache and the mempool's other refusals."""
        return self.mempool.add(tx)

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every block once it is committed, indexed and visible to every reader."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        with suppress(ValueError):
            self._listeners.remove(listener)

    def start(self) -> None:
        """Begin the chain, or continue it: blocks that the application missed are replayed to it."""
        self._head = shake_hands(self.app, self.store, self.genesis)

    # Sealing

    def seal(
        self,
        time_ns: int | None = None,
        txs: Sequence[bytes] | None = None,
        *,
        signers: Mapping[bytes, int] | None = None,
        last_commit: Commit | None = None,
        commit_round: int | None = None,
        misbehavior: Iterable[Misbehavior] = (),
    ) -> SealedBlock:
        """Seal the next block.

        `time_ns` defaults to the clock, at least a millisecond after the block before; `txs` to the mempool's.
        `signers` says how the validators of the block before voted on it (address to flag 1 absent, 2 commit, 3 nil);
        `last_commit` gives those votes whole. `commit_round` forces the round, and with it the proposer.
        """
        started = perf_counter()
        head = self.head
        height = head.height + 1
        time_ns, commit = self._last_commit(head, time_ns, signers, last_commit)
        chosen = self._reap(head) if txs is None else tuple(txs)
        evidence = self.evidence.pending()
        round_number, proposer = self._electorate.elect(head.validators, commit_round, signers)
        header = Header(
            chain_id=self.genesis.chain_id,
            height=height,
            time_ns=time_ns,
            last_block_id=head.id,
            last_commit_hash=commit.hash(),
            data_hash=blocks.data_hash(chosen),
            validators_hash=head.validators.hash(),
            next_validators_hash=head.next_validators.hash(),
            consensus_hash=head.consensus_hash,
            app_hash=head.app_hash,
            last_results_hash=head.results_hash,
            evidence_hash=blocks.evidence_hash(evidence) if evidence else merkle.EMPTY,
            proposer_address=proposer.address,
            app_version=head.params.app_version,
        )
        block = Block(header, chosen, evidence, commit)
        encoded = block.encode()
        stored = StoredBlock(block.id(encoded), block, len(encoded))
        results = self.app.finalize_block(finalize_request(stored, head.last_validators, tuple(misbehavior)))
        if len(results.tx_results) != len(chosen):
            raise Unavailable(f"{len(results.tx_results)} results for {len(chosen)} transactions")
        with self.store.transaction():
            self.store.append(stored, encoded, results, head.params)
            if evidence:
                self.evidence.settle(height, evidence)
            updates, following = following_set(head.next_validators, results)
            self.store.put_validators(height + 2, following)
            self.app.commit()
            if self.pruning_window and height - self.store.base >= self.pruning_window:
                self.store.prune(height - self.pruning_window + 1)
        self._head = head.advanced(stored.id, time_ns, results, following, round_number)
        self._seen = None
        self.mempool.update(chosen, results.tx_results)
        sealed = SealedBlock(stored, results, round_number, updates, perf_counter() - started)
        self._announce(sealed)
        return sealed

    def _last_commit(
        self, head: Head, time_ns: int | None, signers: Mapping[bytes, int] | None, given: Commit | None
    ) -> tuple[int, Commit]:
        if head.last_validators is None:
            # The first block has the time of genesis and no votes to show.
            return (self.genesis.time_ns if time_ns is None else time_ns), Commit()
        if time_ns is None and given is not None:
            time_ns = median_time(given, head.last_validators)
        if time_ns is None:
            time_ns = max(self.clock.now_ns(), head.time_ns + MILLISECOND)
        if time_ns <= head.time_ns:
            raise InvalidInput(f"block time {time_ns} is not after {head.time_ns}", field="time_ns")
        return time_ns, given or self._electorate.vote(head, time_ns, signers)

    def seen_commit(self) -> Commit | None:
        """The votes this node has seen for its head, which the next block may replace by others."""
        head = self.head
        if head.last_validators is None:
            return None
        if self._seen is None or self._seen[0] != head.height:
            self._seen = (head.height, self._electorate.vote(head, head.time_ns + MILLISECOND))
        return self._seen[1]

    def _reap(self, head: Head) -> tuple[bytes, ...]:
        if not len(self.mempool):
            return ()
        room = head.params.block_max_bytes
        if room > -1:
            room -= OVERHEAD_BYTES + SIGNATURE_BYTES * len(head.validators.validators)
        return self.mempool.reap(room, head.params.block_max_gas)

    def _announce(self, sealed: SealedBlock) -> None:
        if not self._listeners:
            return
        self._unannounced.append(sealed)
        if not self.store.connection.in_transaction:
            self.announce_pending()

    def announce_pending(self) -> None:
        """Tell listeners of blocks that have become visible since the last announcement."""
        self.store.flush()
        pending, self._unannounced = self._unannounced, []
        for sealed in pending:
            for listener in list(self._listeners):
                listener(sealed)

    def fast_forward(
        self, count: int, interval_ns: int, *, group: int = 256, each: Callable[[SealedBlock], None] | None = None
    ) -> None:
        """Seal `count` blocks `interval_ns` apart in block time, sharing fsyncs."""
        with self.store.grouped(group), rare_collections():
            for _ in range(count):
                sealed = self.seal(self.head.time_ns + interval_ns if self.head.last_validators else None)
                if each is not None:
                    each(sealed)
        self.announce_pending()

    def revert(self, height: int) -> None:
        """Forget every block after `height`; the application reverts by itself, inside the same transaction."""
        if not self.store.base <= height <= self.height:
            raise InvalidInput(f"height {height} is not between {self.store.base} and {self.height}", field="height")
        with self.store.transaction():
            self.store.revert(height)
        self._unannounced = [sealed for sealed in self._unannounced if sealed.height <= height]
        self.resume()

    def resume(self) -> None:
        """Stand where the store says the chain stands, with nothing waiting for a block."""
        self.mempool.clear()
        self.evidence.clear()
        self._seen = None
        self._head = stored_head(self.store, self.genesis)
