"""docs/devnet.md does what it says: each of its commands is run against a devnet, in order."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.end_to_end.conftest import PATIENCE

from leasehold.cli.main import cli
from leasehold.core.errors import LeaseholdError
from leasehold.core.progress import told
from leasehold.core.settings import Settings
from leasehold.devnet.genesis.document import address

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "devnet.md"
_COMMAND = re.compile(r"^\$ leasehold (devnet .*)$", re.MULTILINE)
_READY = re.compile(r"control (http://127\.0\.0\.1:(\d+))")


def commands() -> list[str]:
    """The commands of the how-to, in order."""
    blocks = re.findall(r"```console\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    return [command for block in blocks for command in _COMMAND.findall(block)]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The control port of a devnet in a process of its own, with a few hours of market."""
    home = tmp_path_factory.mktemp("howto")
    reader, writer = os.pipe()
    given = {
        "devnet.history_days": 1,
        "listen.rpc": 0,
        "listen.lcd": 0,
        "listen.grpc": 0,
        "listen.control": 0,
    }
    flags = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    arguments = [sys.executable, "-m", "leasehold.cli.main", "devnet", "--home", str(home), "--ready-fd", str(writer)]
    with (
        open(home / "log", "w") as log,
        subprocess.Popen([*arguments, *flags], pass_fds=(writer,), stdout=log, stderr=log) as process,
    ):
        os.close(writer)
        try:
            with os.fdopen(reader, "rb") as lines:
                # How far the history is comes first.
                spoken = next(line for line in lines if told(line) is None)
                ready = _READY.search(spoken.decode())
            assert ready, (home / "log").read_text()[-3000:]
            yield int(ready[2])
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


def run(port: int, command: str) -> Result:
    alice = address(Settings().identity, "alice")
    arguments = shlex.split(command.replace("{alice}", alice))
    return CliRunner().invoke(cli, ["--set", f"listen.control={port}", *arguments], catch_exceptions=True)


def test_every_command_of_the_howto_works(port: int) -> None:
    """No command of the page fails, and the lease it opens is there."""
    listed = commands()
    assert len(listed) > 25
    answers: dict[str, str] = {}
    for command in listed:
        result = run(port, command)
        assert result.exit_code == 0, (command, result.output, result.exception)
        answers[command] = result.output
    leases = next(text for command, text in answers.items() if '"leases"' in command)
    assert len(json.loads(leases)) == 1
    assert answers["devnet snapshot"] == "s1\n"
    status = json.loads(run(port, "devnet status").output)
    assert status["paused"] is False
    assert status["snapshots"] == []
    assert status["dumps"] == ["before-the-demo"]
    assert status["time"] < "2040"
    assert status["faults"] == {"slow_seconds": 0, "pruned_below": 0, "stale_at": None}


def test_the_page_knows_every_command_and_no_other() -> None:
    """A command nobody told of, or one that is gone, fails here."""
    listed = CliRunner().invoke(cli, ["devnet", "--help"]).output.partition("Commands:")[2]
    known = set(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE))
    assert {command.split()[1] for command in commands()} == known


@pytest.mark.parametrize(
    "command", ["devnet revert s9", "devnet fund nobody 5LSH", "devnet load never", "devnet warp yesterday"]
)
def test_a_refusal_says_why(port: int, command: str) -> None:
    """What control refuses ends in an error for people, not in a traceback."""
    result = run(port, command)
    assert result.exit_code != 0
    assert isinstance(result.exception, LeaseholdError)
    assert str(result.exception)


def test_without_a_devnet_the_hint_says_what_to_do() -> None:
    """Nobody there is an answer of its own."""
    result = run(1, "devnet status")
    assert "leasehold devnet" in str(result.exception)
