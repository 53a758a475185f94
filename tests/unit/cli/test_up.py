"""`leasehold up`: one stack per home and ports, restarted where it breaks, gone when it is told to go."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leasehold.cli.up import Board
from leasehold.core.progress import Report
from leasehold.storage import orphans
from leasehold.storage.embedded import EmbeddedServer

# A stack with one service, which listens, needs the database, and says which one it was given.
STACK = """
import sys, os
from pathlib import Path
from leasehold.cli import catalogue, main, up
from leasehold.cli.supervised import Program, launched

SERVICE = '''
import os, socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
import psycopg
psycopg.connect(os.environ["LEASEHOLD_DATABASE_URL"]).close()
os.write(int(sys.argv[1]), b"listening, process %d" % os.getpid()); os.close(int(sys.argv[1]))
time.sleep(60)
'''
port = sys.argv[1]
catalogue.SERVICES = (catalogue.Service("data-api", "data_api", ("data_api",), database=True),)
catalogue.exists = lambda _: True
up.service_program = lambda service, environment: Program(
    "data-api",
    lambda descriptor: launched([sys.executable, "-c", SERVICE, str(descriptor), port]),
    environment,
)
sys.argv = ["leasehold", "up", "--set", f"listen.data_api={port}", *sys.argv[2:]]
main.main()
"""


class Stack:
    """A running `up` of which a test reads the lines."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self.process = subprocess.Popen(command(home, port), stdout=subprocess.PIPE, text=True, env=environment())
        self.children: list[int] = []

    def line(self, part: str) -> str:
        """The next line with `part` in it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "process " in line:
                self.children.append(int(line.split("process ")[1]))
            if part in line:
                return line
        raise AssertionError(f"no line with {part!r}; exit code {self.process.wait()}")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONUNBUFFERED": "1"}


def command(home: Path, port: int) -> list[str]:
    return [sys.executable, "-c", STACK, str(port), "--home", str(home)]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: object, *, seconds: float = 15) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
        return number


@pytest.fixture
def stack(tmp_path: Path, port: int) -> Iterator[Stack]:
    running = Stack(tmp_path / "home", port)
    try:
        running.line("all ready")
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        assert running.process.stdout is not None
        running.process.stdout.close()
        server = EmbeddedServer(running.home)
        wait_until(lambda: not orphans.processes(server.data))
        server.tidy()


def test_a_stack_is_refused_twice_and_stops_clean(stack: Stack, tmp_path: Path) -> None:
    """A second `up` on the home or the ports is one line and exit code 3; a stop leaves no process."""
    for home in (stack.home, tmp_path / "other"):
        before = sorted(str(path) for path in tmp_path.iterdir())
        second = subprocess.run(command(home, stack.port), capture_output=True, text=True, env=environment())
        assert second.returncode == 3
        assert second.stderr.count("\n") == 1
        assert second.stderr.startswith("leasehold: ")
        assert sorted(str(path) for path in tmp_path.iterdir()) == before
    psycopg.connect(EmbeddedServer(stack.home).url()).close()
    assert stack.stop() == 0
    assert not any(alive(child) for child in stack.children)
    assert orphans.processes(EmbeddedServer(stack.home).data) == []
    assert {path.name for path in (stack.home / "logs").iterdir()} == {"postgres.log", "data-api.log"}


def test_a_killed_postgres_comes_back(stack: Stack) -> None:
    """kill -9 of the database server ends in a server that answers, without a restart of the stack."""
    server = EmbeddedServer(stack.home)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    old = orphans.postmaster(server.data)
    assert old is not None
    os.kill(old, signal.SIGKILL)
    stack.line("postgres was ended by SIGKILL")
    stack.line("postgres ready")
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (42,)
    assert alive(stack.children[-1])


def test_a_killed_supervisor_takes_everything_along_and_can_be_followed(stack: Stack) -> None:
    """kill -9 of `up` ends services and database, and a new `up` on the same home and ports works."""
    stack.process.kill()
    stack.process.wait()
    wait_until(lambda: not alive(stack.children[-1]))
    successor = Stack(stack.home, stack.port)
    try:
        successor.line("all ready")
        assert successor.stop() == 0
    finally:
        successor.process.kill()
        successor.process.wait()
        assert successor.process.stdout is not None
        successor.process.stdout.close()


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_people_see_how_far_the_work_is_that_readiness_waits_for() -> None:
    """On a terminal a service's long work is a bar, left alone by other lines; elsewhere it is plain lines."""
    lines: list[str] = []
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        board = Board(lines.append, stream)
        board.progress(Report("simulating 90 days of market", 0.25, "2800 blocks"))
        board.announce("postgres ready")
        board.progress(Report("simulating 90 days of market", 0.5, "5500 blocks"))
        board.progress(Report("simulating 90 days of market", 1.0))
        board.announce("devnet ready")
    assert lines == ["postgres ready", "devnet ready"] * 2
    assert "\rsimulating 90 days of market ███████" in terminal.getvalue()
    assert "25% 2800 blocks" in terminal.getvalue().split("\n")[0]
    assert log.getvalue().startswith("simulating 90 days of market: 25% 2800 blocks")
    assert "\r" not in log.getvalue()
    for stream in (terminal, log):
        assert stream.getvalue().endswith("simulating 90 days of market: done in 0 s\n")
