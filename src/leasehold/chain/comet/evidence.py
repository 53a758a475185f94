"""Evidence that a validator voted for two blocks of one height, as it stands in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from leasehold.chain.comet.blocks import BlockID
from leasehold.chain.comet.wire import blob, content, integer, message, read_fields, read_timestamp, signed, timestamp
from leasehold.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Vote:
    """What a validator signed."""

    kind: int
    height: int
    round: int
    block_id: BlockID
    time_ns: int
    address: bytes
    index: int
    signature: bytes

    def encode(self) -> bytes:
        return (
            integer(1, self.kind)
            + integer(2, self.height)
            + integer(3, self.round)
            + message(4, self.block_id.encode())
            + message(5, timestamp(self.time_ns))
            + blob(6, self.address)
            + integer(7, self.index)
            + blob(8, self.signature)
        )

    @classmethod
    def decode(cls, data: bytes) -> Vote:
        found: dict[int, Any] = dict(read_fields(data))
        return cls(
            signed(found.get(1, 0)),
            signed(found.get(2, 0)),
            signed(found.get(3, 0)),
            BlockID.decode(content(found.get(4, b""))),
            read_timestamp(content(found.get(5, b""))),
            content(found.get(6, b"")),
            signed(found.get(7, 0)),
            content(found.get(8, b"")),
        )


@dataclass(frozen=True, slots=True)
class DuplicateVote:
    """Two votes of one validator, with its power, everybody's, and the time of the block they should have been on."""

    first: Vote
    second: Vote
    total_power: int
    power: int
    time_ns: int

    def bare(self) -> bytes:
        return (
            message(1, self.first.encode())
            + message(2, self.second.encode())
            + integer(3, self.total_power)
            + integer(4, self.power)
            + message(5, timestamp(self.time_ns))
        )

    def encode(self) -> bytes:
        """As an entry of a block's list."""
        return message(1, self.bare())

    def hash(self) -> bytes:
        return sha256(self.bare()).digest()

    @classmethod
    def decode(cls, data: bytes) -> DuplicateVote:
        ((kind, body),) = read_fields(data)
        if kind != 1:
            raise InvalidInput("only evidence of duplicate votes is known")
        found: dict[int, Any] = dict(read_fields(content(body)))
        return cls(
            Vote.decode(content(found[1])),
            Vote.decode(content(found[2])),
            signed(found.get(3, 0)),
            signed(found.get(4, 0)),
            read_timestamp(content(found.get(5, b""))),
        )
