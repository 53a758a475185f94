"""The mempool: order, bounds, cache and recheck."""

from __future__ import annotations

import pytest

from leasehold.core.errors import InvalidInput, RateLimited
from leasehold.devnet.app.abci import TxResult
from leasehold.devnet.consensus.mempool import Mempool, TxInCache


class Judge:
    """Refuses what is listed, and counts its judgements."""

    def __init__(self) -> None:
        self.refused: set[bytes] = set()
        self.seen: list[tuple[bytes, bool]] = []

    def __call__(self, tx: bytes, recheck: bool) -> TxResult:
        self.seen.append((tx, recheck))
        return TxResult(code=5 if tx in self.refused else 0, gas_wanted=10)


def test_duplicates_are_refused_while_pending_and_after_delivery() -> None:
    """The cache error comes for pending and delivered bytes; what failed or was rejected may come again."""
    judge = Judge()
    mempool = Mempool(judge)
    assert mempool.add(b"a").code == 0
    with pytest.raises(TxInCache, match="tx already exists in cache"):
        mempool.add(b"a")
    mempool.update([b"a"], [TxResult()])
    with pytest.raises(TxInCache):
        mempool.add(b"a")
    mempool.add(b"b")
    mempool.update([b"b"], [TxResult(code=11)])
    assert mempool.add(b"b").code == 0
    judge.refused.add(b"c")
    assert mempool.add(b"c").code == mempool.add(b"c").code == 5
    assert mempool.first(10) == [b"b"]


def test_what_waits_is_judged_again_after_a_block() -> None:
    """A transaction that the new state refuses leaves the mempool and the cache."""
    judge = Judge()
    mempool = Mempool(judge)
    for tx in (b"a", b"b", b"c"):
        mempool.add(tx)
    judge.refused.add(b"b")
    mempool.update([b"a"], [TxResult()])
    assert judge.seen[-2:] == [(b"b", True), (b"c", True)]
    assert mempool.first(10) == [b"c"]
    assert mempool.size_bytes == 1
    judge.refused.clear()
    assert mempool.add(b"b").code == 0


def test_blocks_take_what_fits_in_order() -> None:
    """Reaping stops at the block's bytes or gas, and never skips ahead."""
    mempool = Mempool(Judge())
    for tx in (b"aaaa", b"b" * 300, b"c"):
        mempool.add(tx)
    assert mempool.reap(-1, -1) == (b"aaaa", b"b" * 300, b"c")
    assert mempool.reap(100, -1) == (b"aaaa",)
    assert mempool.reap(-1, 25) == (b"aaaa", b"b" * 300)


def test_bounds_have_the_originals_texts() -> None:
    """A full mempool and a transaction too large are refused before they are judged."""
    judge = Judge()
    mempool = Mempool(judge, max_txs=1, max_tx_bytes=5)
    with pytest.raises(InvalidInput, match=r"Tx too large\. Max size is 5, but got 6"):
        mempool.add(b"123456")
    mempool.add(b"1")
    with pytest.raises(RateLimited, match=r"mempool is full: number of txs 1 \(max: 1\), total txs bytes 1"):
        mempool.add(b"2")
    assert len(judge.seen) == 1


def test_the_cache_forgets_the_oldest() -> None:
    """Only the newest deliveries are remembered."""
    mempool = Mempool(Judge(), cache_size=2)
    for tx in (b"a", b"b", b"c"):
        mempool.add(tx)
        mempool.update([tx], [TxResult()])
    assert mempool.add(b"a").code == 0
    with pytest.raises(TxInCache):
        mempool.add(b"c")


def test_arrivals_are_told() -> None:
    """Whoever seals on transactions hears of new ones and of those still waiting."""
    mempool = Mempool(Judge())
    told: list[int] = []
    mempool.on_available = lambda: told.append(len(mempool))
    mempool.add(b"a")
    mempool.add(b"b")
    mempool.update([b"a"], [TxResult()])
    assert told == [1, 2, 1]
