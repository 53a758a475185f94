"""A stack with a moving market, a real Chromium, and scripts that drive the one with the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.conftest import Stack

from leasehold.app_api import site

HERE = Path(__file__).resolve().parent
WEB = HERE.parent.parent / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Drive = Callable[..., Any]


def _installed() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """An installed Chromium; Debian's where it may be installed."""
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(command, capture_output=True, check=False, env=environment, timeout=300)
        found = _installed()
    if found is None:
        pytest.skip("needs a browser: install chromium or google-chrome")
    return found


@pytest.fixture(scope="session")
def node() -> str:
    """Node, with the driver from the web application's own packages."""
    # `make node` puts it beside the virtual environment where the machine has none.
    beside = HERE.parent.parent / ".venv" / "node-bin" / "node"
    found = str(beside) if beside.exists() else shutil.which("node")
    if found is None:
        pytest.skip("needs Node: run `make node` first")
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("needs the web application's packages: run `make web` first")
    return found


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, chromium: str, node: str) -> Iterator[Stack]:
    """One stack for all browser tests, its market moving."""
    if not site.files():
        pytest.skip("the web application is not built: run `make web` first")
    running = Stack(tmp_path_factory.mktemp("browser"), "devnet.market=true", "devnet.history_days=1")
    try:
        running.wait_for("all ready")
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def service_pid(stack: Stack, name: str) -> int:
    """The process that runs one of the stack's services."""
    for pid in stack.children():
        if name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            return pid
    raise AssertionError(f"the stack runs no {name}")


@pytest.fixture
def drive(stack: Stack, chromium: str, node: str) -> Drive:
    """Run a script in the browser against the stack; what it prints last is its finding, as JSON."""

    def run(script: str, seconds: float = 90, **given: str) -> Any:
        environment = {
            **os.environ, "CHROMIUM": chromium, "WEB": str(WEB), "BASE": stack.url("app_api"), **given
        }  # fmt: skip
        done = subprocess.run(
            [node, str(HERE / "js" / script)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        return json.loads(done.stdout.strip().splitlines()[-1])

    return run
