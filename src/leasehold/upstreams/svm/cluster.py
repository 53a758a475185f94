"""The stand-in's time: slots since its beginning, epochs, and blockhashes that expire."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from leasehold.chain.svm import addresses

SLOT_NS = 400_000_000
EPOCH_SLOTS = 432_000
# Slots for which a transaction may name a blockhash.
BLOCKHASH_SLOTS = 150
FIRST_SLOT = 1_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """How slots follow from the clock, the same after every restart."""

    seed: bytes
    started_ns: int

    def slot(self, now_ns: int) -> int:
        return FIRST_SLOT + max(0, now_ns - self.started_ns) // SLOT_NS

    @staticmethod
    def epoch(slot: int) -> int:
        return slot // EPOCH_SLOTS

    def blockhash(self, slot: int) -> bytes:
        return sha256(b"blockhash" + self.seed + slot.to_bytes(8, "big")).digest()

    def is_recent(self, blockhash: bytes, slot: int) -> bool:
        """Whether a transaction with this blockhash is still taken in a slot."""
        return any(self.blockhash(past) == blockhash for past in range(slot, slot - BLOCKHASH_SLOTS - 1, -1))

    def blockhash_text(self, slot: int) -> str:
        return addresses.encode(self.blockhash(slot))
