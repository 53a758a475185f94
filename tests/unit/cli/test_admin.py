"""`leasehold admin key`: makes, lists, replaces and revokes keys of a database."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from leasehold.app_api.admin.keys import KeyHash
from leasehold.cli.main import cli
from leasehold.core.errors import ConfigurationError

_SHOWN = re.compile(r"it is not shown again\): (\S{40,})")


def _run(database: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--set", f"database.url={database}", "admin", "key", *arguments])


def test_a_key_lives_from_the_command_line(database: str) -> None:
    """A key is shown when it is made and never again; rotating shows another; a revoked one is listed as ended."""
    made = _run(database, "create", "alice")
    assert made.exit_code == 0, made.output
    (first,) = _SHOWN.findall(made.output)
    (second,) = _SHOWN.findall(_run(database, "rotate", "alice", "--overlap", "5").output)
    assert first != second
    assert isinstance(_run(database, "create", "alice").exception, ConfigurationError)
    listed = _run(database, "list").output
    assert [line.split()[:2] for line in listed.splitlines()] == [["alice", "good"], ["alice", "good"]]
    assert "ends" in listed.splitlines()[0]
    assert _run(database, "revoke", "alice").exit_code == 0
    ended = _run(database, "list").output
    assert [line.split()[:2] for line in ended.splitlines()] == [["alice", "ended"], ["alice", "ended"]]
    assert first not in listed + ended
    assert second not in listed + ended


def test_a_hash_for_the_settings_is_made_without_a_database() -> None:
    """`hash` prints a key and an entry that fits it and does not contain it; the list shows the name alone."""
    done = CliRunner().invoke(cli, ["admin", "key", "hash", "ops"])
    (key,) = _SHOWN.findall(done.output)
    entry = done.output.splitlines()[1].removeprefix("setting: ")
    assert KeyHash.parse(entry).fits(key)
    assert key not in entry


@pytest.mark.parametrize("arguments", [("revoke", "nobody"), ("rotate", "nobody"), ("create", "a:b")])
def test_what_can_not_be_done_is_said(database: str, arguments: tuple[str, ...]) -> None:
    """A key that is not there and a name that is none are refused with what to do."""
    assert isinstance(_run(database, *arguments).exception, ConfigurationError)


def test_keys_of_the_settings_are_listed_without_their_hashes(database: str) -> None:
    """A configured key shows its name and where it stands."""
    entry = CliRunner().invoke(cli, ["admin", "key", "hash", "ops"]).output.splitlines()[1].removeprefix("setting: ")
    done = CliRunner().invoke(
        cli, ["--set", f"database.url={database}", "--set", f"app_api.admin_keys={entry}", "admin", "key", "list"]
    )
    assert done.output.split()[:2] == ["ops", "good"]
    assert entry.split(":")[-1] not in done.output
