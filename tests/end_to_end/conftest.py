"""A whole stack of its own: `leasehold up` on free ports and a fresh home."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

PORTS = {
    "rpc": 26657, "lcd": 1317, "grpc": 9090, "control": 26659, "app_api": 8080, "data_api": 8081,
    "supply_api": 8082, "upstreams": 8083, "indexer": 8084,
}  # fmt: skip
# Nothing here is about speed: a machine that is slow and busy with other things gets there too.
PATIENCE = 300.0
# Below the ports that the system gives to outgoing connections, any of which could take a free one before the stack
# has it.
_LOWEST, _SPAN = 10_000, 22_000
# Where a stack listens by default, perhaps one that somebody starts just now.
_RESERVED = frozenset(PORTS.values())


class Stack:
    """A running stack and what it printed."""

    def __init__(self, home: Path, *settings: str) -> None:
        self.home = home
        self.ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
        flags = [f"listen.{name}={port}" for name, port in self.ports.items()]
        chosen = ["devnet.history_days=0", "devnet.market=false", "devnet.block_interval_ms=300", *settings, *flags]
        arguments = [part for setting in chosen for part in ("--set", setting)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leasehold", "--home", str(home), *arguments, "up"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)

    def url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.ports[service]}"

    def wait_for(self, pattern: str, seconds: float = PATIENCE, *, times: int = 1) -> None:
        """Wait until the stack has printed a line that matches, so many times."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if sum(1 for line in list(self.lines) if re.search(pattern, line)) >= times:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"no line like {pattern!r}:\n{''.join(self.lines)}\n{self.logs()}")

    def wait_until_warm(self) -> None:
        """Wait until the application API has everything it shows: a service is ready as soon as it listens."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self._health()
            if found is not None and found["cache"]["status"] == "healthy" and found["status"] == "healthy":
                return
            assert time.monotonic() < deadline, f"the application API is cold: {found}\n{self.logs()}"
            time.sleep(0.2)

    def _health(self) -> Any:
        try:
            with urllib.request.urlopen(f"{self.url('app_api')}/api/health/detailed", timeout=60) as answer:
                return json.load(answer)
        except OSError:
            return None

    def logs(self) -> str:
        """The end of every service's log."""
        found = sorted((self.home / "logs").glob("*.log"))
        return "\n".join(f"== {path.name}\n" + path.read_text(errors="replace")[-1500:] for path in found)

    def children(self) -> list[int]:
        """Process ids of everything the stack runs."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def pid_of(self, service: str) -> int:
        """Process id of a service."""
        for pid in self.children():
            if service in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                return pid
        raise AssertionError(f"{service} does not run")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the stack to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, and no other test run on this machine takes while this process lives."""
    folder = Path(tempfile.gettempdir()) / "leasehold-test-ports"
    folder.mkdir(exist_ok=True)
    found: list[int] = []
    while len(found) < count:
        port = _LOWEST + random.SystemRandom().randrange(_SPAN)
        if port not in _RESERVED and _claimed(folder / str(port)) and _unused(port):
            found.append(port)
    return found


def _claimed(path: Path) -> bool:
    claim = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(claim)
        return False
    # Kept open: the lock ends with this process.
    return True


def _unused(port: int) -> bool:
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def living(home: Path, *settings: str) -> Iterator[Stack]:
    """A stack that is ready, stopped with the block."""
    running = Stack(home, *settings)
    try:
        running.wait_for("all ready")
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with living(tmp_path_factory.mktemp("stack")) as running:
        yield running
