"""Shell completion scripts exist for three shells and complete real commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from leasehold.cli.completion import SHELLS
from leasehold.cli.main import cli


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(shell: str) -> None:
    """The script asks the command itself what may follow."""
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_LEASEHOLD_COMPLETE={shell}_complete" in done.output


def test_commands_are_completed() -> None:
    """What the script asks for is answered with the commands that fit."""
    environment = os.environ | {
        "_LEASEHOLD_COMPLETE": "bash_complete",
        "COMP_WORDS": "leasehold con",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from leasehold.cli.main import cli; cli(prog_name='leasehold')"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["plain,config"]
