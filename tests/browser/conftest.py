"""A stack with a moving market, one Chromium, and scripts that drive the one with the other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from tests.browser.chromium import HERE, WEB, find_chromium, find_node
from tests.end_to_end.builder_client import ask, until
from tests.end_to_end.conftest import PATIENCE, Stack, living

from leasehold.app_api import site

# As many scripts at a time as a small machine takes without making any of them wait long.
TOGETHER = 3
# Long enough for a machine that is slow and busy with other things.
SECONDS = 1200.0

# What pages ask of the index through the application API; a refusal would be an error in their consoles.
SHOWN = (
    "/api/etl/pools",
    "/api/etl/lease-markets",
    "/api/etl/leases-monthly",
    "/api/etl/unrealized-pnl",
    "/api/governance/apr",
    "/api/governance/proposals",
    "/api/staking/params",
)

Drive = Callable[..., "Future[Any]"]


@pytest.fixture(scope="session")
def node() -> str:
    """Node, with the driver from the web application's own packages."""
    found = find_node()
    if found is None:
        pytest.skip("needs Node: run `make node` first")
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("needs the web application's packages: run `make web` first")
    return found


@pytest.fixture(scope="session")
def chromium(node: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An installed Chromium; Debian's where it may be installed; else the one of an npm package."""
    found = find_chromium(node)
    if found is None:
        pytest.skip("needs a browser: install chromium or google-chrome")
    return found


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, chromium: str, node: str) -> Iterator[Stack]:
    """One stack for all browser tests, its market moving."""
    if not site.files():
        pytest.skip("the web application is not built: run `make web` first")
    with living(tmp_path_factory.mktemp("browser"), "devnet.market=true", "devnet.history_days=1") as running:
        running.wait_until_warm()
        # What pages show of the index is there as soon as it has read the chain's day.
        until(lambda: ask(f"{running.url('indexer')}/ready")[0] == 200)
        until(lambda: all(ask(running.url("app_api") + path)[0] == 200 for path in SHOWN))
        yield running


@pytest.fixture(scope="session")
def browser(chromium: str, node: str) -> Iterator[str]:
    """The address of one running browser."""
    server = subprocess.Popen(
        [node, str(HERE / "js" / "server.mjs")],
        env={**os.environ, "CHROMIUM": chromium, "WEB": str(WEB)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.stdin.close()
        server.wait(PATIENCE)
        server.stdout.close()


@pytest.fixture(scope="session")
def drive(stack: Stack, browser: str, node: str) -> Iterator[Drive]:
    """Start a script in the browser against the stack; what it prints last is its finding, as JSON."""
    environment = {**os.environ, "BROWSER": browser, "WEB": str(WEB), "BASE": stack.url("app_api")}

    def run(script: str, given: dict[str, str], seconds: float) -> Any:
        done = subprocess.run(
            [node, str(HERE / "js" / script)],
            env={**environment, **given},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{script}: {done.stdout[-1500:]}\n{done.stderr[-2500:]}"
        return json.loads(done.stdout.strip().splitlines()[-1])

    with ThreadPoolExecutor(TOGETHER) as pool:
        yield lambda script, seconds=SECONDS, **given: pool.submit(run, script, given, seconds)
