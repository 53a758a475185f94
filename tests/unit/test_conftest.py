"""The tests' own ground: no network beyond loopback, a database each, one seed."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import psycopg
import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("2001:db8::1", 9)])
def test_a_connection_beyond_loopback_is_refused_and_remembered(loopback_only: Any, address: tuple[str, int]) -> None:
    """Nothing leaves the machine, and the attempt would fail the test even if swallowed."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as probe, pytest.raises(OSError, match="may not reach"):
        probe.connect(address)
    assert loopback_only.attempts == [f"{address[0]}:9"]
    loopback_only.attempts.clear()


async def test_a_look_up_beyond_loopback_is_refused(loopback_only: Any) -> None:
    """Not even a name is asked for; names that can't exist fail as they would anywhere."""
    with pytest.raises(OSError, match="may not reach"):
        await asyncio.get_running_loop().getaddrinfo("example.org", 80)
    loopback_only.attempts.clear()
    with pytest.raises(socket.gaierror):
        await asyncio.get_running_loop().getaddrinfo("nowhere.invalid", 80)
    assert loopback_only.attempts == []


def test_loopback_is_free() -> None:
    """Servers on this machine may be reached by address and by name."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()


@pytest.mark.parametrize("run", [1, 2])
def test_each_test_has_its_own_database(database: str, run: int) -> None:
    """What one test makes, the next does not see."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE same_name (n int)")


def test_the_seed_is_the_runs(seed: int) -> None:
    """The fixture and the header speak of the same number."""
    assert str(seed) == os.environ["LEASEHOLD_SEED"]
