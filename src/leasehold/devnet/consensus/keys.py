"""Keys of the validators and of the node itself, derived from the devnet's seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leasehold.chain.comet.validators import address_of


def derived_key(seed: int, name: str) -> Ed25519PrivateKey:
    """The ed25519 key that a seed gives to a name, always the same."""
    return Ed25519PrivateKey.from_private_bytes(sha256(f"leasehold/{seed}/{name}".encode()).digest())


def node_id(seed: int) -> str:
    """The p2p id a node of this seed shows: 40 lower-case hex digits."""
    return address_of(derived_key(seed, "node").public_key().public_bytes_raw()).hex()


class ValidatorKeys:
    """Consensus keys this node signs with, by validator address."""

    def __init__(self, keys: Iterable[Ed25519PrivateKey] = ()) -> None:
        self._keys: dict[bytes, Ed25519PrivateKey] = {}
        self._public: dict[bytes, bytes] = {}
        for key in keys:
            self.add(key)

    @classmethod
    def derive(cls, seed: int, count: int) -> ValidatorKeys:
        """The keys of a devnet's first `count` validators."""
        return cls(derived_key(seed, f"validator/{number}") for number in range(count))

    def add(self, key: Ed25519PrivateKey) -> bytes:
        """Own a key; returns its validator address."""
        public = key.public_key().public_bytes_raw()
        address = address_of(public)
        self._keys[address] = key
        self._public[address] = public
        return address

    def __contains__(self, address: object) -> bool:
        return address in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._keys)

    def public_keys(self) -> tuple[bytes, ...]:
        """Public keys in the order they were added."""
        return tuple(self._public.values())

    def public_key(self, address: bytes) -> bytes:
        return self._public[address]

    def sign(self, address: bytes, data: bytes) -> bytes:
        return self._keys[address].sign(data)
