"""What a killed PostgreSQL leaves running: finding and ending the processes of one data folder.

The caller holds the lock of the home, so whatever still runs on its data folder belongs to a stack that is gone.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_STEPS = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


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
    """End every process left on the data folder, gently first; true when there was one.

    A live postmaster gets its own fast, then immediate shutdown; backends without one are only in the way, and
    as long as one lives a new server refuses to start.
    """
    if not (left := processes(data)):
        _forget_reused_process(data)
        return False
    leader = postmaster(data)
    steps = _STEPS if leader in left else _STEPS[1:]
    for step, patience in steps:
        targets = [leader] if leader in left and step is not signal.SIGKILL else left
        for process in targets:
            _send(process, step)
        deadline = time.monotonic() + patience
        while (left := processes(data)) and time.monotonic() < deadline:
            time.sleep(0.02)
        if not left:
            break
    _forget_reused_process(data)
    return True


def _forget_reused_process(data: Path) -> None:
    """Drop a lock file whose process id was given to a stranger meanwhile: PostgreSQL would take it for a server."""
    leader = postmaster(data)
    if leader is not None and (_PROC / str(leader)).exists() and leader not in processes(data):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _send(process: int | None, signal_number: signal.Signals) -> None:
    if process is None:
        return
    try:
        os.kill(process, signal_number)
    except ProcessLookupError:
        return
