"""Only processes of the data folder are found, and only they are ended."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from leasehold.storage import orphans


def test_strangers_are_left_alone(tmp_path: Path) -> None:
    """Another program in the folder, and a postgres elsewhere, are not ours."""
    sleeper = tmp_path / "postgres"
    shutil.copy("/bin/sleep", sleeper)
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    started = [
        subprocess.Popen(["/bin/sleep", "60"], cwd=data),
        subprocess.Popen([sleeper, "60"], cwd=other),
        subprocess.Popen([sleeper, "60"], cwd=data),
    ]
    try:
        assert orphans.processes(data) == [started[2].pid]
        assert orphans.clear(data)
        assert [process.poll() for process in started] == [None, None, -9]
        assert not orphans.clear(data)
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    """Before the first start there is nothing to clear."""
    assert orphans.processes(tmp_path / "absent") == []
    assert orphans.postmaster(tmp_path / "absent") is None
    assert not orphans.clear(tmp_path / "absent")


def test_a_garbled_lock_file_names_nobody(tmp_path: Path) -> None:
    """What is no process id is no postmaster."""
    (tmp_path / "postmaster.pid").write_text("not a number\n")
    assert orphans.postmaster(tmp_path) is None
