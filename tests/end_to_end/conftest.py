"""A whole stack of its own: `leasehold up` on free ports and a fresh home."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PORTS = {
    "rpc": 26657, "lcd": 1317, "grpc": 9090, "control": 26659, "app_api": 8080, "data_api": 8081,
    "supply_api": 8082, "upstreams": 8083, "indexer": 8084,
}  # fmt: skip


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

    def wait_for(self, pattern: str, seconds: float = 90, *, times: int = 1) -> None:
        """Wait until the stack has printed a line that matches, so many times."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if sum(1 for line in list(self.lines) if re.search(pattern, line)) >= times:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"no line like {pattern!r}:\n{''.join(self.lines)}\n{self.logs()}")

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
        code = self.process.wait(60)
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


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
