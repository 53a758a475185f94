"""Merkle trees as RFC 6962 and CometBFT build them: roots and inclusion proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

EMPTY = sha256(b"").digest()


def leaf_hash(item: bytes) -> bytes:
    return sha256(b"\x00" + item).digest()


def inner_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def split_point(count: int) -> int:
    """The largest power of two smaller than `count` (which is at least 2)."""
    return 1 << (count - 1).bit_length() - 1


def root(items: Sequence[bytes]) -> bytes:
    """Root of the tree over `items`; that of no items is sha256 of nothing."""
    return _fold([sha256(b"\x00" + item).digest() for item in items])


def _fold(level: list[bytes]) -> bytes:
    # Pairing neighbours level by level and carrying an odd last node up gives the same tree as splitting at the
    # largest power of two, without recursion.
    if not level:
        return EMPTY
    while len(level) > 1:
        paired = [sha256(b"\x01" + level[at] + level[at + 1]).digest() for at in range(0, len(level) - 1, 2)]
        if len(level) & 1:
            paired.append(level[-1])
        level = paired
    return level[0]


@dataclass(frozen=True, slots=True)
class Proof:
    """Inclusion of one leaf: `aunts` are the sibling hashes from the leaf up."""

    total: int
    index: int
    leaf: bytes
    aunts: tuple[bytes, ...]

    def root(self) -> bytes | None:
        """The root this proof leads to, or None when its shape is impossible."""
        if not 0 <= self.index < self.total:
            return None
        return _climb(self.index, self.total, self.leaf, list(self.aunts))

    def verify(self, expected: bytes, item: bytes) -> bool:
        """Whether `item` is the leaf and the proof leads to `expected`."""
        return self.leaf == leaf_hash(item) and self.root() == expected


def _climb(index: int, total: int, node: bytes, aunts: list[bytes]) -> bytes | None:
    if total == 1:
        return None if aunts else node
    if not aunts:
        return None
    left_count = split_point(total)
    sibling = aunts.pop()
    if index < left_count:
        below = _climb(index, left_count, node, aunts)
        return None if below is None else inner_hash(below, sibling)
    below = _climb(index - left_count, total - left_count, node, aunts)
    return None if below is None else inner_hash(sibling, below)


def prove(items: Sequence[bytes], index: int) -> Proof:
    """Proof that `items[index]` is in the tree over `items`."""
    leaves = [leaf_hash(item) for item in items]
    aunts: list[bytes] = []
    start, end = 0, len(leaves)
    while end - start > 1:
        middle = start + split_point(end - start)
        if index < middle:
            aunts.append(_fold(leaves[middle:end]))
            end = middle
        else:
            aunts.append(_fold(leaves[start:middle]))
            start = middle
    return Proof(len(leaves), index, leaves[index], tuple(reversed(aunts)))
