"""What the pool stores: its configuration, totals, loans, deposits and the rewards' index.

Keys: `config`, `total`, `index`, `loans/<lease>`, `deposits/<lender>`; numbers are decimal texts with spaces between.
"""

from __future__ import annotations

import msgspec

from leasehold.devnet.wasm.contract import Storage
from leasehold.protocol import pool, rewards
from leasehold.protocol.messages import lpp as wire
from leasehold.protocol.price import Price
from leasehold.protocol.serde import encode

_CONFIG, _TOTAL, _INDEX = b"config", b"total", b"index"
_LOANS, _LOANS_END = b"loans/", b"loans0"
_DEPOSITS, _DEPOSITS_END = b"deposits/", b"deposits0"
_DECODE_CONFIG = msgspec.json.Decoder(wire.Config).decode


def _numbers(*values: int) -> bytes:
    return " ".join(map(str, values)).encode()


def _parsed(raw: bytes) -> list[int]:
    return [int(part) for part in raw.split()]


class Ledger:
    """What the pool stores."""

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def config(self) -> wire.Config:
        return _DECODE_CONFIG(self._storage.get(_CONFIG) or b"")

    def set_config(self, config: wire.Config) -> None:
        self._storage.set(_CONFIG, encode(config))

    def totals(self) -> pool.PoolTotals:
        return pool.PoolTotals(*_parsed(self._storage.get(_TOTAL) or b""))

    def set_totals(self, totals: pool.PoolTotals) -> None:
        self._storage.set(_TOTAL, _numbers(*totals))

    def loan(self, lease: str) -> pool.Loan | None:
        raw = self._storage.get(_LOANS + lease.encode())
        return None if raw is None else pool.Loan(*_parsed(raw))

    def set_loan(self, lease: str, loan: pool.Loan) -> None:
        if loan.principal:
            self._storage.set(_LOANS + lease.encode(), _numbers(*loan))
        else:
            self._storage.delete(_LOANS + lease.encode())

    def has_loans(self) -> bool:
        return next(iter(self._storage.iterate(_LOANS, _LOANS_END)), None) is not None

    def index(self) -> Price | None:
        raw = self._storage.get(_INDEX)
        return None if raw is None else Price(*_parsed(raw))

    def set_index(self, index: Price) -> None:
        self._storage.set(_INDEX, _numbers(*index))

    def deposit(self, lender: str) -> rewards.Deposit | None:
        raw = self._storage.get(_DEPOSITS + lender.encode())
        return None if raw is None else _deposit(raw)

    def deposits(self) -> list[tuple[str, rewards.Deposit]]:
        found = self._storage.iterate(_DEPOSITS, _DEPOSITS_END)
        return [(key[len(_DEPOSITS) :].decode(), _deposit(raw)) for key, raw in found]

    def set_deposit(self, lender: str, deposit: rewards.Deposit) -> None:
        if deposit.receipts:
            since = deposit.since or (0, 0)
            self._storage.set(_DEPOSITS + lender.encode(), _numbers(deposit.receipts, deposit.pending, *since))
        else:
            self._storage.delete(_DEPOSITS + lender.encode())


def _deposit(raw: bytes) -> rewards.Deposit:
    receipts, pending, amount, quote = _parsed(raw)
    return rewards.Deposit(receipts, Price(amount, quote) if amount else None, pending)
