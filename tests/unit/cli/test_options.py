"""Shared options mean the same before and after a command's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from leasehold.cli import options
from leasehold.core import configuration

NOTHING: dict[str, Any] = {"profile": None, "home": None, "assignments": (), "port_offset": None, "log_level": None}


def invocation(before: dict[str, Any], after: dict[str, Any]) -> options.Invocation:
    ctx = click.Context(click.Command("x"))
    options.remember(ctx, NOTHING | before)
    return options.invocation(ctx, NOTHING | after)


def test_the_options_after_the_name_win() -> None:
    """Both places are read; the nearer one wins, and single settings add up."""
    made = invocation(
        {"profile": "nolus", "home": "/a", "assignments": ("devnet.seed=1", "devnet.market=no")},
        {"home": "/b", "assignments": ("devnet.seed=2",), "port_offset": 7, "log_level": "debug"},
    )
    assert (made.profile, made.home) == ("nolus", Path("/b"))
    assert made.flags == {
        "devnet.seed": "2",
        "devnet.market": "no",
        "listen.port_offset": "7",
        "logs.level": "debug",
    }


def test_the_environment_gives_home_and_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """LEASEHOLD_HOME and LEASEHOLD_PROFILE stand in for absent options."""
    monkeypatch.setenv("LEASEHOLD_HOME", "/somewhere")
    monkeypatch.setenv("LEASEHOLD_PROFILE", "devnet-nolus")
    assert invocation({}, {}) == options.Invocation("devnet-nolus", Path("/somewhere"), {})
    assert invocation({}, {"home": "/b", "profile": "nolus"}).home == Path("/b")


def test_an_assignment_needs_an_equals_sign() -> None:
    """--set without a value is wrong usage."""
    with pytest.raises(click.BadParameter, match="KEY=VALUE"):
        invocation({}, {"assignments": ("devnet.seed",)})


def test_a_child_loads_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process started with the child environment and no flags sees what its parent saw, and the database."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/x")
    monkeypatch.setenv("LEASEHOLD_DEVNET_SEED", "5")
    parent = invocation({}, {"assignments": ("devnet.seed=9", "limits.exempt=10.0.0.0/8,::1/128"), "port_offset": 3})
    child = configuration.load(environment=parent.child_environment("postgresql://embedded/y")).settings
    mine = parent.load().settings
    assert (child.devnet, child.limits, child.listen) == (mine.devnet, mine.limits, mine.listen)
    assert child.devnet.seed == 9
    assert child.database.url == "postgresql://embedded/y"
