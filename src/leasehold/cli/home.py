"""The home of a stack: who holds it, and whether its ports are free."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leasehold.cli.catalogue import Service
from leasehold.core.errors import AlreadyRunning, Unavailable
from leasehold.core.settings import Settings


@contextmanager
def held(home: Path, part: str) -> Iterator[None]:
    """Hold a part of a home (`up`, `postgres`, a service) against every other process until the end.

    The kernel drops the lock with the process, so a killed holder leaves nothing to clean up.
    """
    path = _lock_path(home, part)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+")  # noqa: SIM115 (closed below, held open meanwhile)
    except OSError as error:
        raise Unavailable(f"home {home} can't be used: {error.strerror}", hint="choose another --home") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _already(home, part, path) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def refuse_if_held(home: Path, part: str) -> None:
    """AlreadyRunning if another process holds that part of the home; creates nothing."""
    path = _lock_path(home, part)
    try:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return
    except BlockingIOError:
        raise _already(home, part, path) from None
    except PermissionError as error:
        raise Unavailable(f"home {home} belongs to another user", hint="choose another --home") from error


def refuse_if_taken(settings: Settings, services: Iterable[Service]) -> None:
    """AlreadyRunning if a port of one of the services is taken."""
    host = settings.listen.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for service in services:
        for name in service.ports:
            port = settings.port(name)
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((host, port))
                except OverflowError:
                    raise Unavailable(f"{port} is no port ({service.name})", hint="lower --port-offset") from None
                except PermissionError as error:
                    raise Unavailable(f"port {port} of {host} ({service.name}) is not allowed") from error
                except OSError as error:
                    raise AlreadyRunning(
                        f"port {port} of {host} ({service.name}) is in use",
                        hint="another stack? give this one --port-offset",
                    ) from error


def _already(home: Path, part: str, path: Path) -> AlreadyRunning:
    holder = path.read_text().strip() or "?"
    what = "a stack" if part == "up" else part
    return AlreadyRunning(
        f"{what} is already running on home {home} (process {holder})", hint="stop it, or give this one its own --home"
    )


def _lock_path(home: Path, part: str) -> Path:
    return home / "locks" / f"{part}.lock"
