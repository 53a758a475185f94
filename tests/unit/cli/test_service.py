"""A service command gives its service settings, a home, a database and a way to say it is ready."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import psycopg
import pytest

from leasehold.cli import catalogue, home, service
from leasehold.cli.options import Invocation
from leasehold.core.errors import AlreadyRunning
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Database, Settings
from leasehold.storage.embedded import EmbeddedServer

FAKE = catalogue.Service("supply-api", "fake", ("supply_api",), database=False)


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[ServiceContext]:
    """What the fake service's `run` was given."""
    given: list[ServiceContext] = []
    module = ModuleType(FAKE.module)
    module.run = given.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "leasehold.fake", ModuleType("leasehold.fake"))
    monkeypatch.setitem(sys.modules, FAKE.module, module)
    return given


def test_a_service_gets_settings_and_home(contexts: list[ServiceContext], tmp_path: Path) -> None:
    """`run` is called once with the loaded settings and the home."""
    service.run(FAKE, Invocation(home=tmp_path, flags={"devnet.seed": "4"}), print)
    (context,) = contexts
    assert context.settings.devnet.seed == 4
    assert context.home == tmp_path


def test_a_service_runs_once_per_home(contexts: list[ServiceContext], tmp_path: Path) -> None:
    """A second process of the same service on the same home is refused before it runs."""
    with home.held(tmp_path, "supply-api"), pytest.raises(AlreadyRunning):
        service.run(FAKE, Invocation(home=tmp_path), print)
    assert contexts == []


def test_a_configured_database_is_used_as_it_is(tmp_path: Path) -> None:
    """With a URL nothing is started and the home stays untouched."""
    settings = replace(Settings(), database=Database(url="postgresql://configured/x"))
    with service.with_database(settings, tmp_path) as given:
        assert given is settings
    assert list(tmp_path.iterdir()) == []


def test_a_running_embedded_server_is_shared(postgres: EmbeddedServer) -> None:
    """A server that answers is used and left running."""
    with service.with_database(Settings(), postgres.home) as given:
        assert given.database.url == postgres.url()
    assert postgres.answers()


def test_an_absent_embedded_server_lives_as_long_as_the_service(tmp_path: Path) -> None:
    """Alone on its home, a service brings its own server and takes it away again."""
    with service.with_database(Settings(), tmp_path) as given:
        psycopg.connect(given.database.url).close()
    assert not EmbeddedServer(tmp_path).answers()
    assert "ready to accept connections" in (tmp_path / "logs" / "postgres.log").read_text()


def test_ready_goes_to_the_supervisor_or_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    """With a descriptor the line goes there and the descriptor is closed; without, to stderr."""
    reader, writer = os.pipe()
    ready = service.announcer("x", writer)
    ready("listening on http://h:1")
    ready("a second time is not heard")
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "listening on http://h:1\n"
    service.announcer("x", None)("listening on http://h:1")
    assert capsys.readouterr().err == "x ready: listening on http://h:1\n"


COMMAND = """
import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from leasehold.cli.main import main

def run(context):
    context.ready(f"listening on {context.settings.url('supply_api')}")
    print(context.home, flush=True)

module = ModuleType("leasehold.supply_api.service")
module.__spec__ = ModuleSpec(module.__name__, None)
module.run = run
sys.modules[module.__name__] = module
main()
"""


def test_the_command_runs_its_service_and_ends_with_it(tmp_path: Path) -> None:
    """From the command line to the service's `run` and back: options, ready line, home, exit code."""
    arguments = ["--port-offset", "5", "supply-api", "--home", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}\n"
    assert done.stderr == "supply-api ready: listening on http://127.0.0.1:8087\n"
