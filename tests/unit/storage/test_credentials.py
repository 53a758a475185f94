"""Credentials are random, private, and kept whole."""

from __future__ import annotations

import stat
from pathlib import Path

from leasehold.storage import credentials


def test_what_was_made_is_read_back(tmp_path: Path) -> None:
    """A folder has none until they are made, then always the same."""
    assert credentials.read(tmp_path) is None
    made = credentials.make(tmp_path)
    assert credentials.read(tmp_path) == made
    assert [path.name for path in tmp_path.iterdir()] == ["credentials.json"]
    assert stat.S_IMODE((tmp_path / "credentials.json").stat().st_mode) == 0o600


def test_no_two_are_alike(tmp_path: Path) -> None:
    """Both passwords differ from each other and from those made before, and are long."""
    first, second = credentials.make(tmp_path), credentials.make(tmp_path)
    assert len({first.owner, first.role, second.owner, second.role}) == 4
    assert len(first.role) >= 32


def test_a_private_file_replaces_what_stood_there(tmp_path: Path) -> None:
    """A file prepared by someone else, open or a link, is not written through."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "secret").symlink_to(victim)
    credentials.write_private(tmp_path / "secret", "new")
    assert victim.read_text() == "untouched"
    assert (tmp_path / "secret").read_text() == "new"
