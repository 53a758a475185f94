"""`config` shows every setting, its value and its origin, and no secret."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from leasehold.cli.main import cli
from leasehold.core import configuration
from leasehold.core.errors import ConfigurationError
from leasehold.core.logging import MASK


def shown(*arguments: str, **environment: str) -> dict[str, dict[str, str]]:
    done = CliRunner().invoke(cli, [*arguments, "--json"], env=environment, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return {row["key"]: row for row in json.loads(done.output)}


def test_every_setting_is_shown_with_its_origin() -> None:
    """Default, profile, environment and flag are told apart."""
    rows = shown("--profile", "nolus", "config", "show", "--set", "devnet.seed=7", LEASEHOLD_LISTEN_RPC="1")
    assert list(rows) == list(configuration.declared())
    assert rows["devnet.seed"]["value"] == "7"
    assert {key: rows[key]["origin"] for key in ("devnet.seed", "listen.rpc", "identity.prefix", "listen.lcd")} == {
        "devnet.seed": "flag",
        "listen.rpc": "LEASEHOLD_LISTEN_RPC",
        "identity.prefix": "profile nolus",
        "listen.lcd": "default",
    }


def test_secrets_are_masked_in_both_forms() -> None:
    """A secret is never printed, whether for people or for programs."""
    secret = "postgresql://u:hunter2@h/d"
    assert shown("config", "show", DATABASE_URL=secret)["database.url"]["value"] == MASK
    plain = CliRunner().invoke(cli, ["config", "show"], env={"DATABASE_URL": secret})
    assert "hunter2" not in plain.output
    assert "database.url" in plain.output


def test_options_may_stand_at_every_level() -> None:
    """A flag means the same before `config`, after it and after `show`."""
    for arguments in (
        ("--set", "devnet.seed=3", "config", "show"),
        ("config", "--set", "devnet.seed=3", "show"),
        ("config", "show", "--set", "devnet.seed=3"),
    ):
        assert shown(*arguments)["devnet.seed"]["value"] == "3"


@pytest.mark.parametrize(
    ("arguments", "environment"), [(["--set", "listen.rcp=1"], {}), ([], {"LEASEHOLD_LISTEN_RCP": "1"})]
)
def test_an_unknown_setting_names_the_nearest(arguments: list[str], environment: dict[str, str]) -> None:
    """A misspelt setting is an error wherever it comes from."""
    with pytest.raises(ConfigurationError, match=r"did you mean '(listen\.rpc|LEASEHOLD_LISTEN_RPC)'"):
        CliRunner().invoke(cli, ["config", "show", *arguments], env=environment, catch_exceptions=False)


def test_profiles_are_listed() -> None:
    """Every profile that comes with the package is named, one a line."""
    assert CliRunner().invoke(cli, ["config", "profiles"]).output.split() == configuration.profile_names()
