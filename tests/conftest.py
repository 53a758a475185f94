"""What every test may ask for: a fresh database, the recordings, the run's seed; and no network beyond loopback."""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest

from leasehold.storage.embedded import ROLE, EmbeddedServer

REPOSITORY = Path(__file__).resolve().parent.parent
PARAMETERS = ("LEASEHOLD_SEED", "LEASEHOLD_GOLDEN")

# Wall-clock deadlines would fail tests on a busy machine; the seed, not a database of examples, repeats a run.
hypothesis.settings.register_profile("leasehold", deadline=None, database=None)
hypothesis.settings.load_profile("leasehold")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed of the run before workers start, so that all of them share it."""
    # Settings of the caller's shell must not reach the code under test.
    for name in list(os.environ):
        if name == "DATABASE_URL" or (name.startswith("LEASEHOLD_") and not name.startswith(PARAMETERS)):
            del os.environ[name]
    os.environ.setdefault("LEASEHOLD_SEED", str(random.SystemRandom().randrange(2**32)))
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ["LEASEHOLD_SEED"]


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: LEASEHOLD_SEED={os.environ['LEASEHOLD_SEED']} repeats this run"


@pytest.fixture
def seed() -> int:
    """The seed of this run; a test that wants randomness derives it from here."""
    return int(os.environ["LEASEHOLD_SEED"])


@pytest.fixture(scope="session")
def golden() -> Path:
    """Folder of the recordings; tests that want it are skipped where it is absent."""
    folder = Path(os.environ.get("LEASEHOLD_GOLDEN", REPOSITORY.parent / "shared" / "golden"))
    if not folder.is_dir():
        pytest.skip(f"no recordings: neither LEASEHOLD_GOLDEN nor {folder} is a folder")
    return folder


@pytest.fixture
def share(record_property: Callable[[str, object], None]) -> Callable[[str, int, int], None]:
    """Report, under a name, how many of how many recordings agree; the run's end prints them all."""

    def report(name: str, agreed: int, total: int) -> None:
        record_property("share", [name, agreed, total])

    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed of a quiet run, the shares that tests reported, and how many golden tests of each file passed."""
    counts: dict[str, list[int]] = {}
    shares = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if report.when != "call":
                continue
            shares += [value for name, value in report.user_properties if name == "share"]
            file = report.nodeid.partition("::")[0]
            if file.startswith("tests/golden/"):
                passed_total = counts.setdefault(file.removeprefix("tests/golden/"), [0, 0])
                passed_total[0] += outcome == "passed"
                passed_total[1] += 1
    if terminalreporter.config.get_verbosity() < 0:
        # The header, which has it otherwise, is not shown then.
        terminalreporter.write_line(pytest_report_header(terminalreporter.config))
    rows = [*shares, *([file, passed, total] for file, (passed, total) in sorted(counts.items()))]
    if rows:
        terminalreporter.section("agreement with the recordings")
    for name, agreed, total in rows:
        terminalreporter.write_line(f"{name:<40} {agreed:>6} of {total:<6} {100 * agreed / max(total, 1):6.2f} %")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """An embedded PostgreSQL for this worker's whole run, faster and less durable than a real one."""
    server = EmbeddedServer(tmp_path_factory.mktemp("postgres"), durable=False)
    server.start()
    try:
        yield server
    finally:
        server.stop()


_database_numbers = count(1)


@pytest.fixture
def database(postgres: EmbeddedServer) -> Iterator[str]:
    """URL of an empty database that is this test's alone; its role owns it and is no superuser."""
    name = f"test_{next(_database_numbers)}"
    with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE} STRATEGY FILE_COPY")
        try:
            yield postgres.url(database=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class BeyondLoopback(OSError):
    """A test tried to talk to another machine."""


class NetworkGuard:
    """Refuses connections and look-ups beyond loopback while armed, and remembers them."""

    def __init__(self) -> None:
        self.armed = False
        self.attempts: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event == "socket.connect" or event == "socket.sendto":
            address = arguments[1]
            if isinstance(address, tuple) and not _is_local(str(address[0])):
                self._refuse(f"{address[0]}:{address[1]}")
        elif event == "socket.getaddrinfo":
            host = arguments[0]
            name = host.decode() if isinstance(host, bytes) else host
            if name is not None and name.endswith(".invalid"):
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            if name is not None and not _is_local(name):
                self._refuse(name)

    def _refuse(self, target: str) -> None:
        self.attempts.append(target)
        raise BeyondLoopback(f"a test may not reach {target}; mark it `network` if it installs something")


def _is_local(host: str) -> bool:
    if host in {"", "localhost", socket.gethostname()}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


_guard = NetworkGuard()
sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest) -> Iterator[NetworkGuard]:
    """Fail a test that reaches beyond loopback, even if the code under test swallowed the refusal."""
    _guard.attempts.clear()
    _guard.armed = request.node.get_closest_marker("network") is None
    try:
        yield _guard
    finally:
        _guard.armed = False
    if _guard.attempts:
        pytest.fail(f"reached beyond loopback: {', '.join(_guard.attempts)}")
