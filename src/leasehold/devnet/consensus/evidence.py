"""Evidence against validators on its way into a block."""

from __future__ import annotations

from leasehold.chain.comet.blocks import BlockID
from leasehold.chain.comet.evidence import DuplicateVote, Vote
from leasehold.chain.comet.rendering import time as shown_time
from leasehold.chain.comet.votes import sign_bytes, verify_signature
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.abci import ConsensusParams, Misbehavior
from leasehold.devnet.consensus.blockstore import BlockStore

_DUPLICATE_VOTE = 1


class EvidencePool:
    """Keeps evidence that holds until a block has it."""

    def __init__(self, store: BlockStore, chain_id: str) -> None:
        self._store = store
        self._chain_id = chain_id
        self._pending: dict[bytes, DuplicateVote] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, evidence: DuplicateVote, params: ConsensusParams) -> None:
        """Take evidence that holds; what is known already is fine, InvalidInput says what is wrong with any other."""
        if evidence.hash() in self._pending or self._is_committed(evidence):
            return
        self._check(evidence, params)
        self._pending[evidence.hash()] = evidence

    def pending(self) -> tuple[bytes, ...]:
        """What the next block should have, encoded."""
        return tuple(evidence.encode() for evidence in self._pending.values())

    def clear(self) -> None:
        """Forget what waits."""
        self._pending.clear()

    def settle(self, height: int, evidence: tuple[bytes, ...]) -> None:
        """Remember what a block had, within the transaction that stores it."""
        for item in evidence:
            digest = DuplicateVote.decode(item).hash()
            self._store.put_meta(_name(digest), str(height).encode())
            self._pending.pop(digest, None)

    def _is_committed(self, evidence: DuplicateVote) -> bool:
        told = self._store.meta(_name(evidence.hash()))
        stored = self._store.block(int(told)) if told is not None else None
        # A block that was taken back settles nothing.
        return stored is not None and evidence.encode() in stored.block.evidence

    def _check(self, evidence: DuplicateVote, params: ConsensusParams) -> None:
        first, second = evidence.first, evidence.second
        stored = self._store.block(first.height)
        if stored is None:
            raise InvalidInput(f"don't have header #{first.height}")
        block_time = stored.block.header.time_ns
        if evidence.time_ns != block_time:
            both = f"({shown_time(evidence.time_ns)} != {shown_time(block_time)})"
            raise InvalidInput(f"evidence has a different time to the block it is associated with {both}")
        head = self._store.block(self._store.height)
        assert head is not None
        age = head.block.header.height - first.height
        if age > params.evidence_max_age_blocks and head.block.header.time_ns - block_time > params.evidence_max_age_ns:
            least = head.block.header.height - params.evidence_max_age_blocks
            raise InvalidInput(
                f"evidence from height {first.height} (created at: {shown_time(block_time)}) is too old; "
                f"min height is {least}"
            )
        if (first.height, first.round, first.kind) != (second.height, second.round, second.kind):
            shown = f"{first.height}/{first.round}/{first.kind} vs {second.height}/{second.round}/{second.kind}"
            raise InvalidInput(f"h/r/s does not match: {shown}")
        if first.address != second.address:
            raise InvalidInput(
                f"validator addresses do not match: {first.address.hex().upper()} vs {second.address.hex().upper()}"
            )
        if first.block_id == second.block_id:
            raise InvalidInput(f"block IDs are the same ({_shown(first.block_id)}) - not a real duplicate vote")
        self._check_validator(evidence)

    def _check_validator(self, evidence: DuplicateVote) -> None:
        first = evidence.first
        validators = self._store.validators(first.height)
        found = validators.find(first.address) if validators is not None else None
        if validators is None or found is None:
            raise InvalidInput(f"address {first.address.hex().upper()} was not a validator at height {first.height}")
        if evidence.power != found.power:
            both = f"({evidence.power} != {found.power})"
            raise InvalidInput(f"validator power from evidence and our validator set does not match {both}")
        if evidence.total_power != validators.total_power:
            both = f"({evidence.total_power} != {validators.total_power})"
            raise InvalidInput(f"total voting power from the evidence and our validator set does not match {both}")
        for name, vote in (("A", first), ("B", evidence.second)):
            if not verify_signature(found.public_key, self._signed(vote), vote.signature):
                raise InvalidInput(f"verifying Vote{name}: invalid signature")

    def _signed(self, vote: Vote) -> bytes:
        return sign_bytes(self._chain_id, vote.height, vote.round, vote.block_id, vote.time_ns, kind=vote.kind)


def misbehavior(evidence: tuple[bytes, ...]) -> tuple[Misbehavior, ...]:
    """What the application is told about a block's evidence."""
    found = [DuplicateVote.decode(item) for item in evidence]
    return tuple(
        Misbehavior(_DUPLICATE_VOTE, one.first.address, one.power, one.first.height, one.time_ns, one.total_power)
        for one in found
    )


def _name(digest: bytes) -> str:
    return f"evidence {digest.hex()}"


def _shown(block_id: BlockID) -> str:
    return f"{block_id.hash.hex().upper()}:{block_id.parts_total}:{block_id.parts_hash.hex().upper()[:12]}"
