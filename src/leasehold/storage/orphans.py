"""What a killed PostgreSQL leaves running: finding and ending the processes of one data folder.

The caller holds the lock of the home, so whatever still runs on its data folder belongs to a stack that is gone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_PROC = Path("/proc")
_SHUTDOWN = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0))


def processes(data: Path) -> list[int]:
    """Processes whose working directory is the data folder, as every PostgreSQL process's is."""
    if not data.exists():
        return []
    wanted = os.path.realpath(data)
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "cwd") == wanted and (entry / "comm").read_text().startswith("postgres"):
                found.append(int(entry.name))
        except OSError:
            # Gone meanwhile, or of another user and so none of ours.
            continue
    return found


def postmaster(data: Path) -> int | None:
    """Process id in the lock file of the data folder."""
    try:
        return int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def clear(data: Path) -> bool:
    """End every process left on the data folder; true when there was one.

    A live postmaster is shut down, fast and then immediately; backends without one have nothing to save, and as long
    as one lives a new server refuses to start.
    """
    if not (left := processes(data)):
        _forget_reused_process(data)
        return False
    leader = postmaster(data)
    for step, patience in _SHUTDOWN:
        if leader is not None and leader in left:
            _send(leader, step)
            left = _wait(data, patience, until=lambda left: leader not in left)
    for process in left:
        _send(process, signal.SIGKILL)
    _wait(data, 5.0, until=lambda left: not left)
    _forget_reused_process(data)
    return True


def _wait(data: Path, patience: float, until: Callable[[list[int]], bool]) -> list[int]:
    """The processes left when `until` holds for them or `patience` seconds have passed."""
    deadline = time.monotonic() + patience
    while not until(left := processes(data)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _forget_reused_process(data: Path) -> None:
    """Drop a lock file whose process id was given to a stranger meanwhile: PostgreSQL would take it for a server."""
    leader = postmaster(data)
    if leader is not None and (_PROC / str(leader)).exists() and leader not in processes(data):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _send(process: int, signal_number: signal.Signals) -> None:
    try:
        os.kill(process, signal_number)
    except ProcessLookupError:
        return
