"""The README's commands are ones that there are, with options that they have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from leasehold.cli.main import cli

README = Path(__file__).resolve().parents[3] / "README.md"


def commands() -> list[str]:
    """Each line of a code block that begins with the program's name, without what is said about it."""
    blocks = re.findall(r"```\n(.*?)```", README.read_text(), re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line.removeprefix("leasehold ") for line in lines if line.startswith("leasehold ")]


def test_there_are_commands() -> None:
    """The page still names some; an empty list would pass everything."""
    assert len(commands()) >= 4


@pytest.mark.parametrize("command", commands())
def test_a_command_is_understood(command: str) -> None:
    """What a reader copies is parsed: the help that ends it is shown, not a complaint."""
    found = CliRunner().invoke(cli, [*shlex.split(command), "--help"])
    assert (found.exit_code, "Usage" in found.output) == (0, True), found.output
