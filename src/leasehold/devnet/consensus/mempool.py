"""Transactions waiting for a block: bounded, in order of arrival, rechecked after every block."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from leasehold.chain.comet.blocks import tx_hash
from leasehold.core.errors import Conflict, InvalidInput, RateLimited
from leasehold.devnet.app.abci import TxResult

Check = Callable[[bytes, bool], TxResult]

MAX_TX_BYTES = 1_048_576
MAX_TXS = 5_000
MAX_BYTES = 1_073_741_824
CACHE_SIZE = 10_000


class TxInCache(Conflict):
    """The same bytes are pending or were delivered not long ago."""

    def __init__(self) -> None:
        super().__init__("tx already exists in cache")


class Mempool:
    """Pending transactions; `check(tx, recheck)` is the application's judgement.

    Delivered transactions stay in the cache, rejected and failed ones leave it, so that only what could succeed again
    is judged again.
    """

    def __init__(
        self,
        check: Check,
        *,
        max_txs: int = MAX_TXS,
        max_bytes: int = MAX_BYTES,
        max_tx_bytes: int = MAX_TX_BYTES,
        cache_size: int = CACHE_SIZE,
    ) -> None:
        self._check = check
        self._max_txs = max_txs
        self._max_bytes = max_bytes
        self._max_tx_bytes = max_tx_bytes
        self._cache_size = cache_size
        self._cache: OrderedDict[bytes, None] = OrderedDict()
        self._pending: OrderedDict[bytes, tuple[bytes, int]] = OrderedDict()
        self.size_bytes = 0
        self.on_available: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, tx: bytes) -> TxResult:
        """Judge a transaction and keep it when it passes; raises when it can't even be judged."""
        if len(self._pending) >= self._max_txs or self.size_bytes + len(tx) > self._max_bytes:
            raise RateLimited(
                f"mempool is full: number of txs {len(self._pending)} (max: {self._max_txs}), "
                f"total txs bytes {self.size_bytes} (max: {self._max_bytes})",
                retry_after=1,
            )
        if len(tx) > self._max_tx_bytes:
            raise InvalidInput(f"Tx too large. Max size is {self._max_tx_bytes}, but got {len(tx)}")
        digest = tx_hash(tx)
        if digest in self._cache:
            self._cache.move_to_end(digest)
            raise TxInCache
        self._remember(digest)
        result = self._check(tx, False)
        if result.code:
            self._cache.pop(digest, None)
            return result
        self._pending[digest] = (tx, result.gas_wanted)
        self.size_bytes += len(tx)
        if self.on_available is not None:
            self.on_available()
        return result

    def _remember(self, digest: bytes) -> None:
        self._cache[digest] = None
        self._cache.move_to_end(digest)
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

    def first(self, count: int) -> list[bytes]:
        """Up to `count` pending transactions in order."""
        return [tx for tx, _ in list(self._pending.values())[:count]]

    def reap(self, max_bytes: int, max_gas: int) -> tuple[bytes, ...]:
        """Transactions for the next block, in order, within its limits (-1 is none)."""
        chosen: list[bytes] = []
        size = gas = 0
        for tx, wanted in self._pending.values():
            # Each entry costs its tag and length on top of its bytes.
            cost = len(tx) + 1 + (len(tx) | 1).bit_length() // 7 + 1
            if max_bytes > -1 and size + cost > max_bytes:
                break
            if max_gas > -1 and gas + wanted > max_gas:
                break
            chosen.append(tx)
            size += cost
            gas += wanted
        return tuple(chosen)

    def update(self, txs: Sequence[bytes], results: Sequence[TxResult]) -> None:
        """Drop what was delivered and judge the rest again on the new state."""
        for tx, result in zip(txs, results, strict=True):
            digest = tx_hash(tx)
            if result.code == 0:
                self._remember(digest)
            else:
                self._cache.pop(digest, None)
            self._drop(digest)
        for digest, (tx, _) in list(self._pending.items()):
            if self._check(tx, True).code:
                self._drop(digest)
                self._cache.pop(digest, None)
        if self._pending and self.on_available is not None:
            self.on_available()

    def _drop(self, digest: bytes) -> None:
        dropped = self._pending.pop(digest, None)
        if dropped is not None:
            self.size_bytes -= len(dropped[0])

    def clear(self) -> None:
        """Forget everything, the cache too (after a revert nothing was delivered)."""
        self._pending.clear()
        self._cache.clear()
        self.size_bytes = 0
