"""Months of market: how long history takes to simulate, and what the market costs a live chain.

    python -m benchmarks.history [--days 90] [--live 120]

Prints processor seconds on one core, so that other work on the machine counts as little as possible. Exit code 1 when
ninety days take more than 120 seconds, hold less than they should, or the live market takes more than a tenth of a
core.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.prices import DAY_SECONDS

NOW = 1_790_000_000
LIMIT_SECONDS, AIM_SECONDS = 120, 60
LEAST = {"blocks": 6_000, "transactions": 20_000, "leases": 1_000, "liquidations": 300}
SHARE = 0.1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--live", type=int, default=300, help="blocks of the live market, a second apart")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(NOW * NANOSECONDS)
        begin = NOW - given.days * DAY_SECONDS
        devnet = Devnet.open(Settings(), Path(folder), clock=clock, genesis_time_ns=begin * NANOSECONDS)
        market = Market(devnet, start=begin)
        missed = history(devnet, market, given.days)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"on disk: {size / 2**20:.0f} MiB, {len(devnet.app.state.head)} keys in the state")
        missed += live(devnet, market, clock, given.live)
        devnet.close()
    return 1 if missed else 0


def history(devnet: Devnet, market: Market, days: int) -> int:
    """Simulate, print, and count what was missed."""
    started, wall = time.process_time(), time.perf_counter()
    told = simulate(devnet, market, NOW)
    spent, waited = time.process_time() - started, time.perf_counter() - wall
    events: Counter[str] = Counter()
    for height in range(1, devnet.node.height + 1):
        results = devnet.node.store.results(height)
        assert results is not None
        events.update(event.type for result in results.tx_results for event in result.events)
    seen = {
        "blocks": told.blocks,
        "transactions": told.txs,
        "leases": events["wasm-ls-open"],
        "liquidations": events["wasm-ls-liquidation"],
    }
    print(f"{days} days: {spent:.1f} s of one core ({waited:.1f} s by the clock), {told.failed} transactions failed")
    print(f"  aim {AIM_SECONDS} s, limit {LIMIT_SECONDS} s; {told.txs / spent:.0f} transactions a second")
    missed = int(spent > LIMIT_SECONDS * days / 90)
    for name, count in seen.items():
        least = LEAST[name] * days // 90
        missed += count < least
        print(f"  {name:<14} {count:>7}  (at least {least}){'' if count >= least else '  MISSED'}")
    print(f"  warnings {events['wasm-ls-liquidation-warning']}, closed by hand {events['wasm-ls-close-position']}")
    return missed


def live(devnet: Devnet, market: Market, clock: ManualClock, blocks: int) -> int:
    """What the market adds to a chain that seals a block a second, as a share of a core."""
    spent = [0.0]

    class Measured(LiveMarket):
        def on_block(self, sealed: SealedBlock) -> None:
            before = time.process_time()
            super().on_block(sealed)
            spent[0] += time.process_time() - before

    plain = _sealing(devnet, clock, blocks)
    lively = Measured.resume(devnet, clock, market)
    lively.attach()
    before = devnet.node.height
    total = _sealing(devnet, clock, blocks)
    txs = sum(
        len(found.block.txs) for height in range(before, before + blocks) if (found := devnet.node.store.block(height))
    )
    share = (total - plain) / blocks
    print(f"live, a block a second: {share:.3f} of a core for the market and its {txs} transactions in {blocks} s")
    print(f"  planning alone {spent[0] / blocks:.3f}; the chain without it {plain / blocks:.3f} (aim: below {SHARE})")
    return int(share > SHARE)


def _sealing(devnet: Devnet, clock: ManualClock, blocks: int) -> float:
    clock.set(max(clock.now_ns(), devnet.node.time_ns))
    started = time.process_time()
    for _ in range(blocks):
        clock.advance(seconds=1)
        devnet.node.seal()
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
