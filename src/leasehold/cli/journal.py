"""The log file of one service: bounded, and readable while it grows."""

from __future__ import annotations

import os
from pathlib import Path

BOUND = 16 * 1024 * 1024
"""Bytes a log and its predecessor may take together."""


class Journal:
    """Appends to `<name>.log`; when that is half the bound it becomes `<name>.log.1` and a new one begins."""

    def __init__(self, folder: Path, name: str, *, bound: int = BOUND) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{name}.log"
        self.last_line = ""
        self.lost = 0
        self._bound = bound
        self.file = open(self.path, "ab", buffering=0)  # noqa: SIM115 (held open for the life of the service)

    def write(self, data: bytes) -> None:
        """Append what a service said; what a full disk refuses is counted in `lost`, so that the service goes on."""
        lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
        if lines:
            self.last_line = lines[-1]
        try:
            self._append(data)
        except OSError:
            self.lost += len(data)

    def _append(self, data: bytes) -> None:
        if os.fstat(self.file.fileno()).st_size + len(data) > self._bound // 2:
            self.file.close()
            self.path.replace(self.path.with_name(self.path.name + ".1"))
            self.file = open(self.path, "ab", buffering=0)  # noqa: SIM115 (as above)
        self.file.write(data[-self._bound // 2 :])

    def close(self) -> None:
        self.file.close()
