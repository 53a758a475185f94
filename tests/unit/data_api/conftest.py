"""One simulated chain and one data API over it for all tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.unit.data_api.lively_scenario import LivelyScenario
from tests.unit.data_api.raw_history import RawHistory
from tests.unit.data_api.served_history import (
    BLOCKS,
    SEED,
    Client,
    History,
    index,
    own_database,
    served,
)

from leasehold.core.clock import ManualClock
from leasehold.storage.embedded import EmbeddedServer


@pytest.fixture(scope="session")
def history(postgres: EmbeddedServer) -> Iterator[History]:
    """A simulated chain of some days, indexed."""
    scenario = LivelyScenario(SEED)
    scenario.advance(BLOCKS)
    with own_database(postgres, "data_api_history") as url:
        asyncio.run(index(scenario, url))
        yield History(url, scenario)


@pytest.fixture(scope="session")
def raw(history: History) -> RawHistory:
    """The same chain, read again from its blocks."""
    return RawHistory(history.scenario)


@pytest.fixture(scope="session")
def client(history: History) -> Iterator[Client]:
    """The data API over the simulated chain, at the time of its last block."""
    with served(history.settings, ManualClock(history.now_ns)) as found:
        yield found
