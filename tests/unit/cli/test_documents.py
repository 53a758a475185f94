"""The documents say what is so: every dependency, every exit code, every option."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click

from leasehold.cli import catalogue, options
from leasehold.core import errors

REPOSITORY = Path(__file__).resolve().parents[3]


def test_every_dependency_has_its_line() -> None:
    """docs/dependencies.md and pyproject.toml name the same packages."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["dev"]}
    assert _listed()[0] == sorted(re.split(r"[<>=]", name)[0] for name in wanted)


def test_every_package_of_the_web_application_has_its_line() -> None:
    """docs/dependencies.md names what npm installs for the pages, their tests and the carried browser."""
    wanted: set[str] = set()
    for folder in ("web", "tests/browser/carried"):
        package = json.loads((REPOSITORY / folder / "package.json").read_text())
        wanted |= {*package["dependencies"], *package.get("devDependencies", {})}
        assert '"resolved"' not in (REPOSITORY / folder / "package-lock.json").read_text()
    assert _listed()[1] == sorted(wanted)


def _listed() -> tuple[list[str], list[str]]:
    """Packages in docs/dependencies.md: Python's, and the web application's."""
    python, web = (REPOSITORY / "docs" / "dependencies.md").read_text().split("## The web application")
    found = [re.findall(r"^\| (@?[a-z][\w\-\[\]/]+) \|", part, re.M) for part in (python, web)]
    return sorted(found[0]), sorted(found[1])


def test_operations_has_every_option_and_exit_code() -> None:
    """docs/operations.md covers the shared options, the start order and the exit codes of the error tree."""
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    command = options.shared(click.command()(lambda **_: None))
    for parameter in command.params:
        assert f"`{parameter.opts[0]}" in text, parameter.opts
    for error in (errors.LeaseholdError, errors.ConfigurationError, errors.AlreadyRunning, errors.Unavailable):
        assert f"\n| {error.exit_code} |" in text
    assert ", ".join(["postgres", *(service.name for service in catalogue.SERVICES)]) in text.replace("\n", " ")


def test_locks_record_no_address() -> None:
    """A lock has names, versions and hashes only."""
    for lock in REPOSITORY.glob("requirements*.lock"):
        assert "://" not in lock.read_text(), lock.name
        assert "--index" not in lock.read_text(), lock.name
