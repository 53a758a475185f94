"""A real chain, real processes and injected faults: whatever goes wrong, every table equals the chain's own state."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devnet_history import History, told
from devnet_run import seeded_run

from leasehold.storage.embedded import EmbeddedServer

SEEDS = int(os.environ.get("LEASEHOLD_SEEDS", "20"))
# Runs that share a market; telling a market's history costs about as much as indexing it.
RUNS = 10
# What happens in a run at the least, by turns (an indexer that is done can't be killed); all else is up to its seed.
MUST = ("indexer killed", "postgres killed", "node restart", "indexer killed", "postgres killed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A durable PostgreSQL that the runs may kill."""
    server = EmbeddedServer(tmp_path_factory.mktemp("killed"), durable=True)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], History]:
    """Markets by seed; the last one is kept."""
    kept: list[History] = []

    def of(seed: int) -> History:
        if not kept or kept[0].seed != seed:
            for old in kept:
                shutil.rmtree(old.folder)
            kept[:] = [told(seed, tmp_path_factory.mktemp(f"market{seed}") / "chain")]
        return kept[0]

    return of


# A killed indexer drops its sockets wherever it stands, also half-way through connecting; that is the point here.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.simulation
@pytest.mark.parametrize("offset", range(SEEDS))
def test_every_table_equals_the_chain_whatever_goes_wrong(
    server: EmbeddedServer, histories: Callable[[int], History], tmp_path: Path, seed: int, offset: int
) -> None:
    """Node restarts, dropped sockets, slow, failing and doubled answers, SIGKILL of indexer and PostgreSQL."""
    market = histories(seed + offset // RUNS)
    report = seeded_run(market, seed + offset, server, tmp_path / "chain", must=frozenset({MUST[offset % len(MUST)]}))
    assert report.is_good, "\n".join([str(report), *report.differences])
