"""Blocks, headers and commits with their protobuf encodings and hashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from leasehold.chain.comet import merkle
from leasehold.chain.comet.wire import (
    ZERO_TIME_NS,
    blob,
    content,
    integer,
    message,
    read_fields,
    read_timestamp,
    signed,
    timestamp,
)

BLOCK_PROTOCOL = 11
PART_SIZE = 65_536

ABSENT, COMMIT, NIL = 1, 2, 3


@dataclass(frozen=True, slots=True)
class BlockID:
    """The hash of a header and of the parts the block travels in; empty for the block before the first."""

    hash: bytes = b""
    parts_total: int = 0
    parts_hash: bytes = b""

    def encode(self) -> bytes:
        return blob(1, self.hash) + message(2, integer(1, self.parts_total) + blob(2, self.parts_hash))

    @classmethod
    def decode(cls, data: bytes) -> BlockID:
        digest, total, parts = b"", 0, b""
        for number, value in read_fields(data):
            if number == 1:
                digest = content(value)
            elif number == 2:
                for inner, item in read_fields(content(value)):
                    if inner == 1:
                        total = signed(item)
                    elif inner == 2:
                        parts = content(item)
        return cls(digest, total, parts)


NO_BLOCK = BlockID()


@dataclass(frozen=True, slots=True)
class Header:
    """What a block's hash covers; times are nanoseconds since the epoch."""

    chain_id: str
    height: int
    time_ns: int
    last_block_id: BlockID
    last_commit_hash: bytes
    data_hash: bytes
    validators_hash: bytes
    next_validators_hash: bytes
    consensus_hash: bytes
    app_hash: bytes
    last_results_hash: bytes
    evidence_hash: bytes
    proposer_address: bytes
    app_version: int = 0
    block_version: int = BLOCK_PROTOCOL

    def _digests(self) -> tuple[bytes, ...]:
        return (
            self.last_commit_hash,
            self.data_hash,
            self.validators_hash,
            self.next_validators_hash,
            self.consensus_hash,
            self.app_hash,
            self.last_results_hash,
            self.evidence_hash,
            self.proposer_address,
        )

    def hash(self) -> bytes:
        """Root over the fourteen encoded fields: the block hash."""
        leaves = [
            integer(1, self.block_version) + integer(2, self.app_version),
            blob(1, self.chain_id.encode()),
            integer(1, self.height),
            timestamp(self.time_ns),
            self.last_block_id.encode(),
        ]
        leaves.extend(blob(1, digest) for digest in self._digests())
        return merkle.root(leaves)

    def encode(self) -> bytes:
        head = (
            message(1, integer(1, self.block_version) + integer(2, self.app_version))
            + blob(2, self.chain_id.encode())
            + integer(3, self.height)
            + message(4, timestamp(self.time_ns))
            + message(5, self.last_block_id.encode())
        )
        return head + b"".join(blob(number, digest) for number, digest in enumerate(self._digests(), 6))

    @classmethod
    def decode(cls, data: bytes) -> Header:
        digests = [b""] * 9
        chain_id, height, time_ns, last, block_version, app_version = "", 0, 0, NO_BLOCK, 0, 0
        for number, value in read_fields(data):
            if number >= 6:
                if number <= 14:
                    digests[number - 6] = content(value)
            elif number == 2:
                chain_id = content(value).decode()
            elif number == 3:
                height = signed(value)
            elif number == 4:
                time_ns = read_timestamp(content(value))
            elif number == 5:
                last = BlockID.decode(content(value))
            elif number == 1:
                for inner, item in read_fields(content(value)):
                    if inner == 1:
                        block_version = signed(item)
                    elif inner == 2:
                        app_version = signed(item)
        commit, data, validators, following, consensus, app, results, evidence, proposer = digests
        return cls(
            chain_id, height, time_ns, last, commit, data, validators, following, consensus, app, results, evidence,
            proposer, app_version, block_version,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommitSig:
    """One validator's part in a commit."""

    flag: int
    address: bytes = b""
    time_ns: int = ZERO_TIME_NS
    signature: bytes = b""

    def encode(self) -> bytes:
        return (
            integer(1, self.flag)
            + blob(2, self.address)
            + message(3, timestamp(self.time_ns))
            + blob(4, self.signature)
        )

    @classmethod
    def decode(cls, data: bytes) -> CommitSig:
        flag, address, time_ns, signature = 0, b"", 0, b""
        for number, value in read_fields(data):
            if number == 1:
                flag = signed(value)
            elif number == 2:
                address = content(value)
            elif number == 3:
                time_ns = read_timestamp(content(value))
            elif number == 4:
                signature = content(value)
        return cls(flag, address, time_ns, signature)


ABSENT_SIGNATURE = CommitSig(ABSENT)


@dataclass(frozen=True, slots=True)
class Commit:
    """The votes that decided a block, one entry per validator of its set, in the set's order."""

    height: int = 0
    round: int = 0
    block_id: BlockID = NO_BLOCK
    signatures: tuple[CommitSig, ...] = ()
    _leaves: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)

    def leaves(self) -> list[bytes]:
        """The encoded signatures; made once, because the header's hash and the block's bytes both need them."""
        if not self._leaves:
            self._leaves.extend(signature.encode() for signature in self.signatures)
        return self._leaves

    def hash(self) -> bytes:
        return merkle.root(self.leaves())

    def encode(self) -> bytes:
        head = integer(1, self.height) + integer(2, self.round) + message(3, self.block_id.encode())
        return head + b"".join([message(4, leaf) for leaf in self.leaves()])

    @classmethod
    def decode(cls, data: bytes) -> Commit:
        height, round_number, block_id = 0, 0, NO_BLOCK
        signatures: list[CommitSig] = []
        for number, value in read_fields(data):
            if number == 1:
                height = signed(value)
            elif number == 2:
                round_number = signed(value)
            elif number == 3:
                block_id = BlockID.decode(content(value))
            elif number == 4:
                signatures.append(CommitSig.decode(content(value)))
        return cls(height, round_number, block_id, tuple(signatures))


@dataclass(frozen=True, slots=True)
class Block:
    """A block; `evidence` holds encoded Evidence messages, `last_commit` is that of the block before."""

    header: Header
    txs: tuple[bytes, ...] = ()
    evidence: tuple[bytes, ...] = ()
    last_commit: Commit = field(default_factory=Commit)

    def encode(self) -> bytes:
        return (
            message(1, self.header.encode())
            + message(2, b"".join(message(1, tx) for tx in self.txs))
            + message(3, b"".join(message(1, item) for item in self.evidence))
            + message(4, self.last_commit.encode())
        )

    @classmethod
    def decode(cls, data: bytes) -> Block:
        header = commit = b""
        txs: tuple[bytes, ...] = ()
        evidence: tuple[bytes, ...] = ()
        for number, value in read_fields(data):
            if number == 1:
                header = content(value)
            elif number == 2:
                txs = tuple(content(item) for inner, item in read_fields(content(value)) if inner == 1)
            elif number == 3:
                evidence = tuple(content(item) for inner, item in read_fields(content(value)) if inner == 1)
            elif number == 4:
                commit = content(value)
        return cls(Header.decode(header), txs, evidence, Commit.decode(commit))

    def id(self, encoded: bytes | None = None) -> BlockID:
        """The block's identity; give its encoding when at hand to spare making it again."""
        total, parts = parts_header(self.encode() if encoded is None else encoded)
        return BlockID(self.header.hash(), total, parts)


def parts_header(encoded: bytes) -> tuple[int, bytes]:
    """Number of parts an encoded block is cut into, and the root over them."""
    if len(encoded) <= PART_SIZE:
        return 1, merkle.leaf_hash(encoded)
    parts = [encoded[at : at + PART_SIZE] for at in range(0, len(encoded), PART_SIZE)]
    return len(parts), merkle.root(parts)


def tx_hash(tx: bytes) -> bytes:
    return sha256(tx).digest()


def data_hash(txs: Sequence[bytes]) -> bytes:
    """Root over the hashes of a block's transactions."""
    return merkle.root([sha256(tx).digest() for tx in txs])


def evidence_hash(evidence: Sequence[bytes]) -> bytes:
    """Root over the bare evidence messages; a list entry wraps its evidence in a oneof member."""
    return merkle.root([content(next(iter(read_fields(item)))[1]) for item in evidence])


def consensus_hash(max_bytes: int, max_gas: int) -> bytes:
    """Hash of the consensus parameters every block commits to."""
    return sha256(integer(1, max_bytes) + integer(2, max_gas)).digest()


def results_hash(results: Iterable[tuple[int, bytes | None, int, int]]) -> bytes:
    """Root over (code, data, gas wanted, gas used) of a block's results, kept in the next header."""
    return merkle.root(
        [
            integer(1, code) + blob(2, data or b"") + integer(5, wanted) + integer(6, used)
            for code, data, wanted, used in results
        ]
    )
