"""The node: proposes, finalizes, commits, indexes and announces blocks, one at a time, in this process.

A block's time is the time of the votes for the block before it (BFT time), so those votes are signed when the next
block is sealed; until then `seen_commit()` signs votes of its own for the head. Validators whose keys the node does not
hold are absent unless a caller says how they voted; such a vote carries an all-zero signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from leasehold.chain.comet import blocks, merkle
from leasehold.chain.comet.blocks import (
    ABSENT,
    ABSENT_SIGNATURE,
    COMMIT,
    NO_BLOCK,
    Block,
    BlockID,
    Commit,
    CommitSig,
    Header,
)
from leasehold.chain.comet.validators import Validator, ValidatorSet
from leasehold.chain.comet.votes import PRECOMMIT, median_time, vote_frame
from leasehold.chain.comet.wire import delimited, message, timestamp
from leasehold.core.clock import Clock
from leasehold.core.errors import ConfigurationError, InvalidInput, Unavailable
from leasehold.devnet.app.abci import (
    Application,
    ConsensusParams,
    FinalizeBlock,
    FinalizeResult,
    Misbehavior,
    QueryResult,
    TxResult,
    VoteInfo,
)
from leasehold.devnet.consensus.blockstore import BlockStore, StoredBlock
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.keys import ValidatorKeys, node_id
from leasehold.devnet.consensus.mempool import Mempool

MILLISECOND = 1_000_000
MAX_ROUNDS = 64
UNSIGNED = b"\0" * 64

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

    @property
    def block(self) -> Block:
        return self.stored.block

    @property
    def height(self) -> int:
        return self.stored.block.header.height


Listener = Callable[[SealedBlock], None]


@dataclass(slots=True)
class _Head:
    """Where consensus stands: what the next header needs to know."""

    height: int
    id: BlockID
    time_ns: int
    app_hash: bytes
    results_hash: bytes
    params: ConsensusParams
    last_validators: ValidatorSet | None
    validators: ValidatorSet
    next_validators: ValidatorSet
    round: int = 0
    consensus_hash: bytes = field(default=b"")

    def __post_init__(self) -> None:
        self.consensus_hash = blocks.consensus_hash(self.params.block_max_bytes, self.params.block_max_gas)


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
        self.absent: set[bytes] = set()
        self._listeners: list[Listener] = []
        self._unannounced: list[SealedBlock] = []
        self._seen: tuple[int, Commit] | None = None
        self._head: _Head | None = None

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
        """Lowest block kept."""
        return self.store.base

    @property
    def head(self) -> _Head:
        if self._head is None:
            raise Unavailable("the node has not been started", hint="call start() first")
        return self._head

    @property
    def time_ns(self) -> int:
        """Time of the last block, or of genesis."""
        return self.head.time_ns

    def query(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        return self.app.query(path, data, height, prove)

    def submit(self, tx: bytes) -> TxResult:
        """Offer a transaction to the mempool; raises TxInCache and the mempool's other refusals."""
        return self.mempool.add(tx)

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every block once it is committed, indexed and visible to every reader."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        with suppress(ValueError):
            self._listeners.remove(listener)

    # Starting

    def start(self) -> None:
        """Begin the chain, or continue it: blocks that the application missed are replayed to it."""
        digest = sha256(self.genesis.document).digest()
        known = self.store.meta("genesis")
        if known is not None and known != digest:
            raise ConfigurationError(
                "the store belongs to a chain with another genesis", hint="use another home, or remove its data"
            )
        if known is None:
            with self.store.transaction():
                self._begin()
                self.store.put_meta("genesis", digest)
        else:
            self._handshake()
        self._resume()

    def _begin(self) -> None:
        result = self.app.init_chain(self.genesis.request())
        members = [(update.public_key, update.power) for update in result.validators or self.genesis.validators]
        if not members:
            raise ConfigurationError("the genesis has no validator", hint="add one to the genesis document")
        first = self.genesis.initial_height
        validators = ValidatorSet.create(members)
        self.store.put_validators(first, validators)
        self.store.put_validators(first + 1, validators.rotated())
        self.store.put_meta("app hash", result.app_hash)

    def _handshake(self) -> None:
        reached = self.app.info().last_height
        if reached > self.store.height:
            raise Unavailable(
                f"the application is at height {reached}, the block store at {self.store.height}",
                hint="restore both from the same backup",
            )
        if reached == self.store.height:
            return
        with self.store.transaction():
            if reached == 0:
                self.app.init_chain(self.genesis.request())
            for height in range(max(reached + 1, self.genesis.initial_height), self.store.height + 1):
                stored = self.store.block(height)
                expected = self.store.results(height)
                if stored is None or expected is None:
                    raise Unavailable(
                        f"block {height} is pruned, the application can't be brought up to date",
                        hint="start from an empty home",
                    )
                result = self.app.finalize_block(self._request(stored))
                self.app.commit()
                if result.app_hash != expected.app_hash:
                    raise Unavailable(
                        f"replaying block {height} gave another app hash", hint="the application changed; start afresh"
                    )

    def _request(self, stored: StoredBlock, misbehavior: tuple[Misbehavior, ...] = ()) -> FinalizeBlock:
        block = stored.block
        header = block.header
        voters = self._set_at(header.height - 1) if header.height > self.genesis.initial_height else None
        return FinalizeBlock(
            height=header.height,
            time_ns=header.time_ns,
            txs=block.txs,
            proposer=header.proposer_address,
            commit=_vote_infos(block.last_commit, voters),
            misbehavior=misbehavior,
            hash=stored.id.hash,
            next_validators_hash=header.next_validators_hash,
        )

    def _set_at(self, height: int) -> ValidatorSet | None:
        head = self._head
        if head is not None:
            if height == head.height:
                return head.last_validators
            if height == head.height + 1:
                return head.validators
        return self.store.validators(height)

    def _resume(self) -> None:
        height = self.store.height
        self._seen = None
        if not height:
            first = self.genesis.initial_height
            validators, following = self.store.validators(first), self.store.validators(first + 1)
            assert validators is not None
            assert following is not None
            # Until there is a block, the empty hash stands for the application's, as on a real chain.
            app_hash = self.store.meta("app hash") or merkle.EMPTY
            self._head = _Head(
                first - 1, NO_BLOCK, self.genesis.time_ns, app_hash, merkle.EMPTY, self.genesis.params,
                None, validators, following,
            )  # fmt: skip
            return
        stored, results = self.store.block(height), self.store.results(height)
        last, current, following = (self.store.validators(height + step) for step in range(3))
        if stored is None or results is None or last is None or current is None or following is None:
            raise Unavailable(f"block {height} is incomplete in the store", hint="start from an empty home")
        self._head = _Head(
            height, stored.id, stored.block.header.time_ns, results.app_hash, _results_hash(results), results.params,
            last, current, following, self._round_of(last, stored.block.header.proposer_address),
        )  # fmt: skip

    @staticmethod
    def _round_of(validators: ValidatorSet, proposer: bytes) -> int:
        candidates = validators.copy()
        for number in range(MAX_ROUNDS):
            if candidates.proposer is not None and candidates.proposer.address == proposer:
                return number
            candidates.rotate()
        return 0

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
        head = self.head
        height = head.height + 1
        time_ns, commit = self._last_commit(head, time_ns, signers, last_commit)
        chosen = self._reap(head) if txs is None else tuple(txs)
        round_number, proposer = self._elect(head.validators, commit_round, signers)
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
            evidence_hash=merkle.EMPTY,
            proposer_address=proposer.address,
            app_version=head.params.app_version,
        )
        block = Block(header, chosen, (), commit)
        encoded = block.encode()
        stored = StoredBlock(block.id(encoded), block, len(encoded))
        results = self.app.finalize_block(self._request(stored, tuple(misbehavior)))
        if len(results.tx_results) != len(chosen):
            raise Unavailable(f"{len(results.tx_results)} results for {len(chosen)} transactions")
        with self.store.transaction():
            self.store.append(stored, encoded, results, head.params)
            updates, following = _next_set(head.next_validators, results)
            self.store.put_validators(height + 2, following)
            self.app.commit()
            if self.pruning_window and height - self.store.base >= self.pruning_window:
                self.store.prune(height - self.pruning_window + 1)
        self._head = _Head(
            height, stored.id, time_ns, results.app_hash, _results_hash(results), results.params,
            head.validators, head.next_validators, following, round_number,
        )  # fmt: skip
        self._seen = None
        self.mempool.update(chosen, results.tx_results)
        sealed = SealedBlock(stored, results, round_number, updates)
        self._announce(sealed)
        return sealed

    def _last_commit(
        self, head: _Head, time_ns: int | None, signers: Mapping[bytes, int] | None, given: Commit | None
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
        return time_ns, given or self._sign(head, time_ns, signers)

    def _sign(self, head: _Head, time_ns: int, signers: Mapping[bytes, int] | None) -> Commit:
        """Votes for the head, timed `time_ns`."""
        assert head.last_validators is not None
        before, after = vote_frame(self.genesis.chain_id, head.height, head.round, head.id, PRECOMMIT)
        nothing, _ = vote_frame(self.genesis.chain_id, head.height, head.round, NO_BLOCK, PRECOMMIT)
        timed = message(5, timestamp(time_ns)) + after
        signatures = []
        for validator in head.last_validators.validators:
            address = validator.address
            if signers is None:
                flag = COMMIT if address in self.keys and address not in self.absent else ABSENT
            else:
                flag = signers.get(address, ABSENT)
            if flag == ABSENT:
                signatures.append(ABSENT_SIGNATURE)
                continue
            signed = delimited((before if flag == COMMIT else nothing) + timed)
            signature = self.keys.sign(address, signed) if address in self.keys else UNSIGNED
            signatures.append(CommitSig(flag, address, time_ns, signature))
        return Commit(head.height, head.round, head.id, tuple(signatures))

    def seen_commit(self) -> Commit | None:
        """The votes this node has seen for its head, which the next block may replace by others."""
        head = self.head
        if head.last_validators is None:
            return None
        if self._seen is None or self._seen[0] != head.height:
            self._seen = (head.height, self._sign(head, head.time_ns + MILLISECOND, None))
        return self._seen[1]

    def _reap(self, head: _Head) -> tuple[bytes, ...]:
        if not len(self.mempool):
            return ()
        room = head.params.block_max_bytes
        if room > -1:
            room -= OVERHEAD_BYTES + SIGNATURE_BYTES * len(head.validators.validators)
        return self.mempool.reap(room, head.params.block_max_gas)

    def _elect(
        self, validators: ValidatorSet, forced: int | None, signers: Mapping[bytes, int] | None
    ) -> tuple[int, Validator]:
        """Round and proposer: a proposer that is not there costs a round."""
        proposer = validators.proposer
        assert proposer is not None
        if forced is not None:
            return forced, (validators.rotated(forced).proposer if forced else proposer) or proposer
        if signers is None:
            present = {address for address in self.keys if address not in self.absent}
        else:
            present = {address for address, flag in signers.items() if flag == COMMIT}
        if proposer.address in present or not present:
            return 0, proposer
        candidates = validators.copy()
        for number in range(1, MAX_ROUNDS):
            candidate = candidates.rotate()
            if candidate.address in present:
                return number, candidate
        return 0, proposer

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
        with self.store.grouped(group):
            for _ in range(count):
                sealed = self.seal(self.head.time_ns + interval_ns if self.head.last_validators else None)
                if each is not None:
                    each(sealed)
        self.announce_pending()

    def revert(self, height: int) -> None:
        """Forget every block after `height`; the application reverts by itself, inside the same transaction."""
        if not self.base <= height <= self.height:
            raise InvalidInput(f"height {height} is not between {self.base} and {self.height}", field="height")
        with self.store.transaction():
            self.store.revert(height)
        self._unannounced = [sealed for sealed in self._unannounced if sealed.height <= height]
        self.mempool.clear()
        self._head = None
        self._resume()


def _results_hash(results: FinalizeResult) -> bytes:
    if not results.tx_results:
        return merkle.EMPTY
    return blocks.results_hash((r.code, r.data, r.gas_wanted, r.gas_used) for r in results.tx_results)


def _next_set(validators: ValidatorSet, results: FinalizeResult) -> tuple[tuple[Validator, ...], ValidatorSet]:
    """The set two heights on: updates take effect there, and the election goes one step further."""
    following = validators.copy()
    changes = following.update((update.public_key, update.power) for update in results.validator_updates)
    following.rotate()
    return tuple(changes), following


def _vote_infos(commit: Commit, validators: ValidatorSet | None) -> tuple[VoteInfo, ...]:
    if validators is None:
        return ()
    return tuple(
        VoteInfo(validator.address, validator.power, vote.flag)
        for validator, vote in zip(validators.validators, commit.signatures, strict=True)
    )
