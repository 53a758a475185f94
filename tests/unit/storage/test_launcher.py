"""The launcher becomes a program that is unprivileged and does not outlive its parent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leasehold.storage import launcher

LAUNCH = [sys.executable, "-I", "-S", launcher.__file__]
STATUS = ["--", "/bin/cat", "/proc/self/status"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give it up")


def status(*arguments: str) -> dict[str, str]:
    done = subprocess.run([*LAUNCH, *arguments, *STATUS], capture_output=True, text=True, check=True)
    return dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)


@as_root
def test_root_is_given_up_whole() -> None:
    """Real, effective and saved ids change, groups and capabilities go."""
    shown = status("--user", "65534")
    assert shown["Uid"].split() == shown["Gid"].split() == ["65534"] * 4
    assert shown["Groups"].split() == []
    assert {shown[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}


@as_root
def test_a_capability_is_kept_only_where_a_path_is_closed(tmp_path: Path) -> None:
    """An open path costs no capability; a closed one is read with exactly one."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert int(status("--user", "65534", "--reach", "/")["CapEff"], 16) == 0
    assert int(status("--user", "65534", "--reach", str(closed))["CapEff"], 16).bit_count() == 1


@as_root
def test_what_may_be_read_is_seen_to_be_readable(tmp_path: Path) -> None:
    """A program that asks with access() about a file in a closed folder is told yes; PostgreSQL's programs ask so."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").touch()
    script = f"import os, sys; sys.exit(not os.access({str(closed / 'file')!r}, os.R_OK))"
    asked = [sys.executable, "-I", "-S", "-c", script]
    launched = [*LAUNCH, "--user", "65534", "--reach", str(closed), "--", *asked]
    assert subprocess.run(launched, check=False).returncode == 0


@as_root
def test_a_path_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    """What no capability can help with is one line and its own exit code."""
    missing = str(tmp_path / "missing")
    done = subprocess.run([*LAUNCH, "--user", "65534", "--reach", missing, *STATUS], capture_output=True, text=True)
    assert done.returncode == launcher.UNREACHABLE
    assert done.stderr == f"user 65534 can't reach {missing}\n"


def test_a_parent_that_is_gone_already_is_not_waited_for() -> None:
    """Started for a process that is not its parent any more, the program never begins."""
    done = subprocess.run([*LAUNCH, "--parent", "1", *STATUS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_program_dies_with_its_parent() -> None:
    """kill -9 of the parent ends the program at once."""
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([*sys.argv[1:], '--parent', str(os.getpid()), '--', '/bin/sleep', '60'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, *LAUNCH], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = Path(f"/proc/{int(parent.stdout.readline())}")
        wait_until(lambda: (child / "comm").read_text() == "sleep\n")
        parent.kill()
    wait_until(lambda: not child.exists() or (child / "stat").read_text().rpartition(")")[2].split()[0] == "Z")


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
