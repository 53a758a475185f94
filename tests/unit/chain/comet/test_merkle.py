"""Merkle roots and proofs."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.comet import merkle


def recursive_root(items: list[bytes]) -> bytes:
    if not items:
        return sha256(b"").digest()
    if len(items) == 1:
        return sha256(b"\x00" + items[0]).digest()
    middle = 1
    while middle * 2 < len(items):
        middle *= 2
    return sha256(b"\x01" + recursive_root(items[:middle]) + recursive_root(items[middle:])).digest()


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_root_equals_the_recursive_definition(items: list[bytes]) -> None:
    """Folding level by level builds the tree that RFC 6962 defines by splitting."""
    assert merkle.root(items) == recursive_root(items)


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40), st.data())
def test_proofs_verify_only_their_item(items: list[bytes], data: st.DataObject) -> None:
    """A proof leads to the root for its own item and for no other."""
    index = data.draw(st.integers(0, len(items) - 1))
    proof = merkle.prove(items, index)
    root = merkle.root(items)
    assert proof.verify(root, items[index])
    assert not proof.verify(root, items[index] + b"x")
    assert not proof.verify(sha256(root).digest(), items[index])


def test_misshapen_proofs_have_no_root() -> None:
    """Too many or too few aunts, or an index outside the tree, prove nothing."""
    proof = merkle.prove([b"a", b"b", b"c"], 1)
    assert merkle.Proof(proof.total, proof.index, proof.leaf, proof.aunts[:1]).root() is None
    assert merkle.Proof(proof.total, proof.index, proof.leaf, (*proof.aunts, b"z" * 32)).root() is None
    assert merkle.Proof(proof.total, 3, proof.leaf, proof.aunts).root() is None
