"""The command line finds its commands lazily and ends with codes that mean something."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from leasehold.cli import main
from leasehold.cli.entries import ENTRIES, Entry, exists
from leasehold.core.errors import AlreadyRunning, ConfigurationError, LeaseholdError, NotFound, Unavailable

HEAVY = ("asyncio", "structlog", "psycopg", "asyncpg", "msgspec", "aiohttp", "uvicorn", "leasehold.core", "tomllib")


def test_help_imports_almost_nothing() -> None:
    """`leasehold --help` stays instant because neither services, settings nor drivers are loaded for it."""
    script = (
        "import json, sys\n"
        "from leasehold.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr))
    assert "click" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_help_has_examples_and_only_commands_that_exist() -> None:
    """Help of the whole and of each command shows an example; nothing is listed that can't run."""
    shown = CliRunner().invoke(main.cli, ["--help"])
    assert shown.exit_code == 0
    assert "Examples:" in shown.output
    assert "Exit codes:" in shown.output
    for name, entry in ENTRIES.items():
        listed = f"\n  {name} " in shown.output
        assert listed == (entry.needs is None or exists(entry.needs)), name
        if listed:
            assert "Examples:" in CliRunner().invoke(main.cli, [name, "--help"]).output, name


def test_a_command_whose_service_is_missing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without a service does not pretend to have it."""
    monkeypatch.setitem(ENTRIES, "ghost", Entry("leasehold.cli.service", "Haunt.", "leasehold.ghost.service"))
    assert "ghost" not in CliRunner().invoke(main.cli, ["--help"]).output
    assert CliRunner().invoke(main.cli, ["ghost"]).exit_code == 2


def test_a_mistyped_command_names_the_nearest() -> None:
    """The nearest command is suggested."""
    done = CliRunner().invoke(main.cli, ["confgi"])
    assert done.exit_code == 2
    assert "did you mean 'config'?" in done.output


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigurationError("a"), 2), (AlreadyRunning("a"), 3), (Unavailable("a"), 4), (NotFound("a"), 1)],
)
def test_an_error_is_one_line_and_its_own_exit_code(
    error: LeaseholdError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An expected failure shows its message, no stack trace, and the code of its type."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    assert capsys.readouterr().err == "leasehold: a\n"


def test_an_unexpected_error_keeps_its_stack_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug is not dressed up as a message."""

    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(main.cli, "main", fail)
    with pytest.raises(ZeroDivisionError):
        main.main()


def test_the_version_is_printed() -> None:
    """--version prints the distribution's version alone."""
    assert CliRunner().invoke(main.cli, ["--version"]).output.strip().count(".") == 2
