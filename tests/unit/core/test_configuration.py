"""Settings come from profile, environment and flags, later ones winning, and every mistake is named."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from leasehold.core import configuration
from leasehold.core.errors import ConfigurationError
from leasehold.core.logging import MASK


def test_later_sources_win_and_are_remembered(tmp_path: Path) -> None:
    """Default, profile, environment, flag: each overrides the one before."""
    profile = tmp_path / "p.toml"
    profile.write_text("[devnet]\nseed = 2\nhistory_days = 2\npruning_window = 2\n")
    loaded = configuration.load(
        profile=str(profile),
        environment={"LEASEHOLD_DEVNET_HISTORY_DAYS": "3", "LEASEHOLD_DEVNET_PRUNING_WINDOW": "3", "PATH": "/bin"},
        flags={"devnet.pruning_window": "4"},
    )
    devnet = loaded.settings.devnet
    assert (devnet.block_interval_ms, devnet.seed, devnet.history_days, devnet.pruning_window) == (1000, 2, 3, 4)
    assert loaded.origins["devnet.block_interval_ms"] == "default"
    assert loaded.origins["devnet.seed"] == f"profile {profile}"
    assert loaded.origins["devnet.history_days"] == "LEASEHOLD_DEVNET_HISTORY_DAYS"
    assert loaded.origins["devnet.pruning_window"] == "flag"


def test_settings_are_frozen() -> None:
    """After start nothing changes."""
    settings = configuration.load().settings
    with pytest.raises(FrozenInstanceError):
        settings.devnet.seed = 5  # type: ignore[misc]


@pytest.mark.parametrize("name", configuration.profile_names())
def test_every_shipped_profile_loads(name: str) -> None:
    """No profile that comes with the package has a mistake in it."""
    assert configuration.load(profile=name).settings.identity.prefix


def test_a_profile_extends_another() -> None:
    """devnet-nolus is the devnet with the public identity."""
    extended = configuration.load(profile="devnet-nolus").settings
    assert extended.identity.prefix == "nolus"
    assert extended.limits == configuration.load(profile="devnet").settings.limits


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[devnet]\nsede = 1", r"unknown setting 'devnet\.sede'.*did you mean 'devnet\.seed'"),
        ("seed = 1", "must stand under a"),
        ("[devnet", "not valid TOML"),
        ('[devnet]\nseed = "many"', r"devnet\.seed .* must be a int, got 'many'"),
        ("[devnet]\nseed = true", r"devnet\.seed .* must be a int"),
        ("[identity]\nprefix = 5", r"identity\.prefix .* must be a str"),
        ("[chain]\nrpc_urls = 5", r"chain\.rpc_urls .* must be a comma-separated list"),
    ],
)
def test_a_wrong_profile_says_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    """File, setting and expectation are in the message."""
    profile = tmp_path / "p.toml"
    profile.write_text(text)
    with pytest.raises(ConfigurationError, match=complaint):
        configuration.load(profile=str(profile))


def test_an_unknown_profile_names_the_nearest(tmp_path: Path) -> None:
    """Both a name and a file that are not there are told."""
    with pytest.raises(ConfigurationError, match="did you mean 'nolus'"):
        configuration.load(profile="nolsu")
    with pytest.raises(ConfigurationError, match="does not exist"):
        configuration.load(profile=str(tmp_path / "absent.toml"))


def test_an_unknown_variable_names_the_nearest() -> None:
    """A misspelt variable is an error, not silence; variables of tools are let pass."""
    with pytest.raises(ConfigurationError, match="did you mean 'LEASEHOLD_LISTEN_RPC'"):
        configuration.load(environment={"LEASEHOLD_LISTEN_RCP": "1"})
    configuration.load(environment=dict.fromkeys(configuration.NOT_SETTINGS, "1"))


@pytest.mark.parametrize(("text", "value"), [("true", True), ("ON", True), ("1", True), ("no", False), ("0", False)])
def test_switches_have_many_spellings(text: str, value: bool) -> None:
    """What people write for yes and no is understood."""
    assert configuration.load(flags={"devnet.market": text}).settings.devnet.market is value


def test_other_spellings_of_a_switch_are_refused() -> None:
    """Maybe is no answer."""
    with pytest.raises(ConfigurationError, match="must be a bool, got 'maybe'"):
        configuration.load(flags={"devnet.market": "maybe"})


def test_lists_are_split_and_trimmed(tmp_path: Path) -> None:
    """Text splits at commas, TOML gives arrays; empty parts vanish."""
    profile = tmp_path / "p.toml"
    profile.write_text('[limits]\nexempt = ["10.0.0.0/8"]\n')
    assert configuration.load(profile=str(profile)).settings.limits.exempt == ("10.0.0.0/8",)
    loaded = configuration.load(flags={"limits.exempt": " a, b,,"})
    assert loaded.settings.limits.exempt == ("a", "b")
    assert {key: shown for key, shown, _, _ in loaded.rows()}["limits.exempt"] == "a,b"


def test_database_url_has_a_customary_name() -> None:
    """DATABASE_URL is read, and our own variable wins over it whatever their order."""
    loaded = configuration.load(environment={"DATABASE_URL": "postgresql://a"})
    assert loaded.settings.database.url == "postgresql://a"
    assert loaded.origins["database.url"] == "DATABASE_URL"
    both = {"LEASEHOLD_DATABASE_URL": "postgresql://b", "DATABASE_URL": "postgresql://a"}
    for environment in (both, dict(reversed(both.items()))):
        assert configuration.load(environment=environment).settings.database.url == "postgresql://b"


def test_secrets_are_masked_when_shown_and_in_errors() -> None:
    """Neither the table nor a message has the value of a secret; an empty one shows as empty."""
    rows = {key: shown for key, shown, _, _ in configuration.load(flags={"database.url": "hunter2"}).rows()}
    assert rows["database.url"] == MASK
    assert rows["database.primary_url"] == ""
