"""A home has one holder, and a stack takes no port that is in use."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leasehold.cli import home
from leasehold.cli.catalogue import Service
from leasehold.core.errors import AlreadyRunning, Unavailable
from leasehold.core.settings import Listen, Settings

HOLD = """
import sys, time
from pathlib import Path
from leasehold.cli import home
with home.held(Path(sys.argv[1]), "up"):
    print("held", flush=True)
    time.sleep(60)
"""
SUPPLY = Service("supply-api", "supply_api", ("supply_api",), database=False)


def listening(port: int, host: str = "127.0.0.1") -> Settings:
    return replace(Settings(), listen=Listen(host=host, supply_api=port))


def test_a_second_holder_is_told_who_holds(tmp_path: Path) -> None:
    """One line names the home and the process; the lock goes with the holder."""
    with home.held(tmp_path / "new", "up"):
        with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"), home.held(tmp_path / "new", "up"):
            pass
        with pytest.raises(AlreadyRunning):
            home.refuse_if_held(tmp_path / "new", "up")
    home.refuse_if_held(tmp_path / "new", "up")


def test_parts_are_held_apart(tmp_path: Path) -> None:
    """A service and the stack may be held by different processes."""
    with home.held(tmp_path, "up"), home.held(tmp_path, "devnet"):
        pass


def test_asking_creates_nothing(tmp_path: Path) -> None:
    """A home that does not exist is free and stays absent."""
    home.refuse_if_held(tmp_path / "absent", "up")
    assert not (tmp_path / "absent").exists()


def test_a_killed_holder_leaves_the_home_free(tmp_path: Path) -> None:
    """kill -9 needs no clean-up."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(AlreadyRunning, match=f"process {holder.pid}"):
            home.refuse_if_held(tmp_path, "up")
        holder.kill()
    with home.held(tmp_path, "up"):
        pass


def test_a_home_that_is_a_file_can_not_be_used(tmp_path: Path) -> None:
    """A path that can't be a folder is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="can't be used"), home.held(tmp_path / "file", "up"):
        pass


def test_a_taken_port_is_named_with_its_service() -> None:
    """Port and service are in the message, with the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AlreadyRunning, match=rf"port {port} of 127\.0\.0\.1 \(supply-api\).*--port-offset"):
            home.refuse_if_taken(listening(port), [SUPPLY])
    home.refuse_if_taken(listening(port), [SUPPLY])


def test_an_impossible_port_is_named() -> None:
    """An offset beyond the last port says so."""
    with pytest.raises(Unavailable, match="70000 is no port"):
        home.refuse_if_taken(listening(70000), [SUPPLY])
