"""Months of market in seconds: the chain is driven from its genesis to now, block by simulated block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leasehold.core.clock import NANOSECONDS
from leasehold.core.garbage import rare_collections
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.deeds import Deed
from leasehold.devnet.market.market import Market

# Blocks that share one fsync while nobody watches.
GROUP = 500
Progress = Callable[[float, str], None]


@dataclass(slots=True)
class Told:
    """What a simulated history came to."""

    blocks: int = 0
    txs: int = 0
    failed: int = 0


def simulate(
    devnet: Devnet, market: Market, until: int, progress: Progress | None = None, *, lively_end: bool = True
) -> Told:
    """Drive the chain to a unix second; `progress` hears the share done and how much that was.

    With a `lively_end` there are proposals still open when it is reached.
    """
    node = devnet.node
    told = Told()
    start = now = max(market.start, node.time_ns // NANOSECONDS)
    if lively_end:
        market.at(until - 6 * 3600, Deed("keep open"))
    with rare_collections(), node.store.grouped(GROUP):
        if node.height == 0:
            node.seal(None, [])
            told.blocks += 1
        busy = market.is_busy(devnet.app.context())
        while True:
            now = market.next_moment(now, busy=busy)
            if now > until:
                break
            plan = market.plan(devnet.app.context(), now * NANOSECONDS)
            sealed = node.seal(now * NANOSECONDS, plan.txs)
            market.learn(sealed)
            busy = market.is_busy(devnet.app.context())
            told.blocks += 1
            told.txs += len(plan.txs)
            told.failed += sum(1 for result in sealed.results.tx_results if result.code)
            if progress is not None and told.blocks % 200 == 0:
                detail = f"{told.blocks} blocks, {told.txs} transactions"
                progress((now - start) / max(1, until - start), detail)
    node.announce_pending()
    return told
