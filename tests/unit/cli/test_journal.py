"""A service's log is bounded and remembers its last line."""

from __future__ import annotations

import stat
from pathlib import Path

from leasehold.cli.journal import Journal


def test_a_log_never_exceeds_its_bound(tmp_path: Path) -> None:
    """However much is written, file and predecessor stay within the bound and hold the newest lines."""
    journal = Journal(tmp_path / "logs", "x", bound=1000)
    for number in range(500):
        journal.write(f"line {number}\n".encode())
    journal.write(b"y" * 5000)
    journal.write(b"the end\n")
    journal.close()
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["x.log", "x.log.1"]
    assert sum(path.stat().st_size for path in (tmp_path / "logs").iterdir()) <= 1000
    assert journal.path.read_bytes().endswith(b"the end\n")


def test_a_log_is_continued(tmp_path: Path) -> None:
    """A new run appends to the log of the last one, which others can't read."""
    for text in (b"one\n", b"two\n\n"):
        journal = Journal(tmp_path / "logs", "x")
        journal.write(text)
        journal.close()
    assert journal.path.read_bytes() == b"one\ntwo\n\n"
    assert journal.last_line == "two"
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700


def test_a_full_disk_does_not_stop_the_service(tmp_path: Path) -> None:
    """What can't be written is counted, not raised."""
    journal = Journal(tmp_path, "x")
    journal.close()
    journal.file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115 (closed by the journal)
    journal.write(b"lost\n")
    assert (journal.lost, journal.last_line) == (5, "lost")
    journal.close()
