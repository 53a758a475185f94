"""Third-party clients that are neither ours nor from npm: cosmpy in an environment of its own, and grpcurl.

`python -m tests.conformance.clients` provides them before a run; a fixture that finds one missing provides it itself.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CLIENTS = HERE / ".clients"
COSMPY_LOCK = HERE / "python" / "requirements.lock"
GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3"


class ClientMissing(Exception):
    """A client can't be had here; the message says why."""


def cosmpy_python() -> Path:
    """Interpreter of an environment with the locked cosmpy, which pins an older protobuf than ours."""
    environment = CLIENTS / "cosmpy"
    interpreter = environment / "bin" / "python"
    with _once(environment, COSMPY_LOCK.read_text()) as missing:
        if missing:
            shutil.rmtree(environment, ignore_errors=True)
            _run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(interpreter)]
            _run([*pip, "install", "--quiet", "--require-hashes", "-r", str(COSMPY_LOCK)])
    return interpreter


def grpcurl() -> Path:
    """The reflection-driven gRPC client, built with the machine's Go."""
    go = shutil.which("go")
    if go is None:
        raise ClientMissing("needs Go to build grpcurl")
    folder = CLIENTS / "grpcurl"
    with _once(folder, GRPCURL) as missing:
        if missing:
            # The installed toolchain will do: no other is fetched, and no C compiler is asked for.
            settings = {"GOBIN": str(folder), "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": ""}
            _run([go, "install", GRPCURL], settings)
    return folder / "grpcurl"


@contextmanager
def _once(folder: Path, wanted: str) -> Iterator[bool]:
    """Whether the folder lacks what is wanted; it counts as provided when the block ends, and workers take turns."""
    CLIENTS.mkdir(exist_ok=True)
    with (CLIENTS / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CLIENTS / f"{folder.name}.provided"
        missing = not stamp.exists() or stamp.read_text() != wanted or not folder.exists()
        yield missing
        if missing:
            stamp.write_text(wanted)


def _run(command: list[str], settings: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env={**os.environ, **(settings or {})}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClientMissing(f"{' '.join(command[:4])} failed: {done.stderr[-500:]}")


def main() -> None:
    """Provide both, at the machine's leisure; grpcurl only where Go is present."""
    os.nice(5)
    cosmpy_python()
    try:
        grpcurl()
    except ClientMissing as reason:
        sys.stderr.write(f"grpcurl is left out: {reason}\n")


if __name__ == "__main__":
    main()
