"""Processes that are pinned to a core and answer lines: what one is told, what it did, and what that cost."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SETTLE_SECONDS = 0.3


def prices_of(kilobytes: float, turn: int) -> dict[str, str]:
    """As many prices as make about that many kilobytes of JSON, other ones each turn."""
    found: dict[str, str] = {}
    size = 120
    while size < kilobytes * 1024:
        number = len(found)
        key, value = f"TICKER_{number}@OSMOSIS-OSMOSIS-USDC_NOBLE", f"{number * 1.2345678901 + turn * 0.0071:.12f}"
        found[key] = value
        size += len(key) + len(value) + 6
    return found


def rss() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def lines() -> AsyncIterator[str]:
    """What this process is told, until its input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().strip()


def say(found: object) -> None:
    print(json.dumps(found), flush=True)


async def obey(ways: Mapping[str, Callable[[int], Awaitable[None]]], connections: Callable[[], int]) -> None:
    """A server's side: each line is a way to publish, answered with when it began and what it cost until all was
    quiet again; `idle` costs what the connections cost alone, `state` is memory and connections."""
    turn = 0
    async for line in lines():
        if line == "state":
            say({"rss": rss(), "connections": connections()})
            continue
        turn += 1
        started, spent = time.monotonic(), time.process_time()
        if line != "idle":
            await ways[line](turn)
        # What the transports still hold goes out in the next turns of the loop.
        await asyncio.sleep(SETTLE_SECONDS)
        say({"at": started, "seconds": time.monotonic() - started, "cpu": time.process_time() - spent})


class Child:
    """A process of this benchmark as its parent sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def expect(self, text: str) -> None:
        """Wait until it says something."""
        said = self.line()
        if json.loads(said or "null") != text:
            raise SystemExit(f"a process of the benchmark said {said!r}, not {text!r}")

    def ask(self, text: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self.line())
        return found

    def finish(self) -> str:
        """End its input; the last thing it says."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.line()


@contextmanager
def child(core: str, *arguments: str) -> Iterator[Child]:
    """Start this benchmark in another process and on a core of its own."""
    pinned = ["taskset", "-c", core] if shutil.which("taskset") else []
    command = [*pinned, sys.executable, "-m", "benchmarks.websocket", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Child(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
