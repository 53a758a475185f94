"""Keys of the original's stores, for clients that read them raw: accounts in `acc`, balances and supply in `bank`.

Everything else keeps this chain's own layout, which is no one's interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from leasehold.devnet.state.store import Reader

Shown = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class StoreView:
    """Keys that begin with `prefix` in the original lie under `own` here; `shown` gives a value its original form."""

    prefix: bytes
    own: bytes
    shown: Shown


def store_views(account: Shown) -> dict[str, tuple[StoreView, ...]]:
    """Views by the original's store; `account` encodes a stored account as the original stores it."""
    return {
        "acc": (StoreView(b"\x01", b"auth/a/", account),),
        "bank": (StoreView(b"\x02", b"bank/b/", bytes), StoreView(b"\x00", b"bank/s/", bytes)),
    }


def read_key(views: tuple[StoreView, ...], state: Reader, key: bytes) -> bytes | None:
    """The value under an original key."""
    for view in views:
        if key.startswith(view.prefix):
            value = state.get(view.own + key[len(view.prefix) :])
            return None if value is None else view.shown(value)
    return None


def read_subspace(views: tuple[StoreView, ...], state: Reader, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Original keys with a prefix, and their values."""
    for view in views:
        if prefix.startswith(view.prefix):
            start = view.own + prefix[len(view.prefix) :]
            for key, value in state.iterate(start, _after(start)):
                yield view.prefix + key[len(view.own) :], view.shown(value)


def _after(prefix: bytes) -> bytes | None:
    """The first key behind all keys with a prefix."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
