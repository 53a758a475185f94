"""The data API's own page in a browser: search, try it, copy as curl."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from tests.browser.chromium import HERE, WEB
from tests.browser.conftest import SECONDS
from tests.unit.data_api.served_history import SEED, Client, History, Scenario, index, own_database, served

from leasehold.core.clock import ManualClock
from leasehold.storage.embedded import EmbeddedServer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def api(postgres: EmbeddedServer) -> Iterator[Client]:
    """A data API over a short simulated chain."""
    scenario = Scenario(SEED)
    scenario.advance(150)
    with own_database(postgres, "data_index") as url:
        asyncio.run(index(scenario, url))
        history = History(url, scenario)
        with served(history.settings, ManualClock(history.now_ns)) as found:
            yield found


def test_the_page_searches_tries_and_copies(api: Client, browser: str, node: str) -> None:
    """A word finds routes, a route is tried where it stands and copied as curl, and each has an address of its own."""
    base = f"http://{api.host}:{api.port}"
    done = subprocess.run(
        [node, str(HERE / "js" / "data_index.mjs")],
        env={**os.environ, "BROWSER": browser, "WEB": str(WEB), "BASE": base},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2500:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["all"] == sum(1 for _ in api.application.registry)
    assert found["found"]
    assert all("liquidat" in path or path == "/api/positions" for path in found["found"])
    assert "/api/liquidations" in found["found"]
    assert [tag.rstrip("0123456789") for tag in found["tags"]] == ["Position", "Lease"]
    assert found["nothing"]
    assert found["told"].startswith("200 in ")
    assert "as of block 150" in found["told"]
    assert json.loads(found["shown"]) == api.json("/api/liquidations?period=all")
    assert found["curl"] == f"curl '{base}/api/liquidations?period=all'"
    assert found["arrived"] == "GET/api/earnings"
    assert json.loads(found["refused"])["status"] == 400
    assert not found["overflow"]
    assert found["errors"] == []
