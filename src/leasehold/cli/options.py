"""Options every command takes, before or after its name, and the settings they lead to."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from leasehold.core.configuration import Loaded

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAMES = ("profile", "home", "assignments", "port_offset", "log_level")
DEFAULT_HOME = "~/.leasehold"


@dataclass(frozen=True, slots=True)
class Invocation:
    """What the shared options said, from both places they may stand in."""

    profile: str = "devnet"
    home: Path = field(default_factory=lambda: Path(DEFAULT_HOME).expanduser())
    flags: Mapping[str, str] = field(default_factory=dict)

    def load(self, environment: Mapping[str, str] = os.environ) -> Loaded:
        """The settings of this invocation."""
        from leasehold.core import configuration

        return configuration.load(profile=self.profile, environment=environment, flags=self.flags)

    def child_environment(self, database_url: str = "") -> dict[str, str]:
        """Environment under which another process loads the same settings.

        Flags travel as variables, because a command line is public to every user of the machine.
        """
        from leasehold.core import configuration

        known = configuration.declared()
        result = dict(os.environ)
        result |= {known[key].variable: value for key, value in self.flags.items()}
        result |= {"LEASEHOLD_PROFILE": self.profile, "LEASEHOLD_HOME": str(self.home)}
        if database_url:
            result[known["database.url"].variable] = database_url
        return result


def shared(function: _Function) -> _Function:
    """Add the shared options to a command."""
    for option in reversed(
        (
            click.option("--profile", metavar="NAME|FILE", help="Preset of settings.  [default: devnet]"),
            click.option("--home", metavar="DIR", help=f"Where state and logs live.  [default: {DEFAULT_HOME}]"),
            click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Change one setting."),
            click.option("--port-offset", metavar="N", type=int, help="Add N to every port."),
            click.option(
                "--log-level",
                type=click.Choice(["debug", "info", "warning", "error"]),
                help="How much the logs say.  [default: info]",
            ),
        )
    ):
        function = option(function)
    return function


def remember(ctx: click.Context, given: Mapping[str, Any]) -> None:
    """Keep what stood before the command's name for `invocation`."""
    ctx.obj = {name: given.get(name) for name in _NAMES}


def invocation(ctx: click.Context, given: Mapping[str, Any]) -> Invocation:
    """The shared options of a command: its own win over those before its name, both over the environment."""
    before: Mapping[str, Any] = ctx.obj or {}

    def pick(name: str, variable: str | None = None) -> Any:
        for source in (given, before):
            if source.get(name) is not None:
                return source[name]
        return os.environ.get(variable) if variable else None

    flags: dict[str, str] = {}
    for assignment in (*(before.get("assignments") or ()), *(given.get("assignments") or ())):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise click.BadParameter(f"{assignment!r} is not KEY=VALUE", param_hint="--set")
        flags[key] = value
    if (offset := pick("port_offset")) is not None:
        flags["listen.port_offset"] = str(offset)
    if (level := pick("log_level")) is not None:
        flags["logs.level"] = level
    home = Path(pick("home", "LEASEHOLD_HOME") or DEFAULT_HOME).expanduser().absolute()
    return Invocation(pick("profile", "LEASEHOLD_PROFILE") or "devnet", home, flags)


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The candidate most like a mistyped name."""
    return difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.0)[0]
