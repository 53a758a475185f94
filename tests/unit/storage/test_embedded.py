"""The embedded PostgreSQL is private, unprivileged and survives what happens to it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leasehold.storage import embedded, launcher, orphans
from leasehold.storage.embedded import EmbeddedServer, EmbeddedServerFailed

HOLD = """
import sys, time
from pathlib import Path
from leasehold.storage.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), durable=False)
server.start()
print(server.data.joinpath("postmaster.pid").read_text().split()[0], flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a stopped server, shared by the tests that start it."""
    folder = tmp_path_factory.mktemp("home")
    server = EmbeddedServer(folder, durable=False)
    server.start()
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (42)")
    server.stop()
    yield folder
    orphans.clear(server.data)


def kept(server: EmbeddedServer) -> int:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT n FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def wait_until_gone(process: int, data: Path) -> None:
    deadline = time.monotonic() + 10
    while process in orphans.processes(data):
        assert time.monotonic() < deadline, f"process {process} outlived its parent"
        time.sleep(0.02)


def test_the_services_role_owns_its_database_and_no_more(postgres: EmbeddedServer) -> None:
    """The services can make schemas, but not read files, make roles or databases."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA mine")
        connection.execute("DROP SCHEMA mine")
        for forbidden in ("CREATE ROLE other", "CREATE DATABASE other", "SELECT pg_read_file('PG_VERSION')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden)


def test_nothing_listens_on_tcp_and_a_password_is_needed(postgres: EmbeddedServer) -> None:
    """The socket is the only way in, and not without the home's password."""
    with psycopg.connect(postgres.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.url().replace(postgres._known().role, "wrong"))


def test_the_server_is_not_root_and_its_folders_are_private(postgres: EmbeddedServer) -> None:
    """Folder and process belong to an unprivileged user; no one else may enter."""
    process = orphans.postmaster(postgres.data)
    assert Path(f"/proc/{process}").stat().st_uid == postgres.user != 0
    for folder in (postgres.folder, postgres.data, postgres.socket_folder):
        assert (folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) == (postgres.user, 0o700)
    assert stat.S_IMODE((postgres.folder / "credentials.json").stat().st_mode) == 0o600


def test_no_permission_outside_the_folder_changes(tmp_path: Path) -> None:
    """A home below closed folders works, and every parent keeps its owner and mode."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    parents = [closed, *closed.parents]
    before = [(path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in parents]
    server = EmbeddedServer(closed / "home", durable=False)
    server.start()
    try:
        assert server.answers()
        assert [(path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in parents] == before
    finally:
        server.stop()
    assert not server.answers()


def test_a_restart_keeps_the_rows(home: Path) -> None:
    """Stopping and starting again loses nothing and makes no second data folder."""
    server = EmbeddedServer(home, durable=False)
    server.start()
    try:
        assert kept(server) == 42
    finally:
        server.stop()


def test_a_killed_server_starts_again_over_its_orphans(home: Path) -> None:
    """After kill -9 of the server, with a backend still busy, the next start works."""
    server = EmbeddedServer(home, durable=False)
    server.start()
    postmaster = orphans.postmaster(server.data)
    assert postmaster is not None
    with psycopg.connect(server.url()) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)  # a backend too busy to notice
        os.kill(postmaster, signal.SIGKILL)
        again = EmbeddedServer(home, durable=False)
        again.start()
        try:
            assert kept(again) == 42
            assert backend not in orphans.processes(again.data)
        finally:
            again.stop()
    server.stop()


def test_the_server_dies_with_its_parent(home: Path) -> None:
    """kill -9 of the process that started it takes the server along, and the next start works."""
    parent = subprocess.Popen([sys.executable, "-c", HOLD, str(home)], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        postmaster = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    wait_until_gone(postmaster, EmbeddedServer(home).data)
    server = EmbeddedServer(home, durable=False)
    server.start()
    try:
        assert kept(server) == 42
    finally:
        server.stop()


def test_a_server_left_running_is_taken_over(home: Path) -> None:
    """A live server that nobody holds any more is shut down before a new one starts on its data."""
    abandoned = EmbeddedServer(home, durable=False)
    abandoned.start()
    old = orphans.postmaster(abandoned.data)
    server = EmbeddedServer(home, durable=False)
    server.start()
    try:
        assert kept(server) == 42
        assert orphans.postmaster(server.data) != old
    finally:
        server.stop()
        abandoned.stop()


def test_a_reused_process_id_does_not_block_the_start(home: Path) -> None:
    """A lock file that names a living stranger is no server."""
    server = EmbeddedServer(home, durable=False)
    # The stranger has the server's own uid: of others PostgreSQL itself knows that they are no server.
    stranger = subprocess.Popen(
        [sys.executable, "-I", "-S", launcher.__file__]
        + (["--user", str(server.user)] if os.geteuid() == 0 else [])
        + ["--", "/bin/sleep", "60"]
    )
    for lock in (server.data / "postmaster.pid", server.socket_folder / ".s.PGSQL.5432.lock"):
        lock.write_text(f"{stranger.pid}\n{server.data}\n")
        os.chown(lock, server.user, -1)
    try:
        server.start()
    finally:
        stranger.kill()
        stranger.wait()
    try:
        assert kept(server) == 42
    finally:
        server.stop()


def test_an_interrupted_first_start_is_begun_anew(tmp_path: Path) -> None:
    """Half a data folder is never taken for a whole one."""
    server = EmbeddedServer(tmp_path, durable=False)
    server._make_folders()
    half = server.folder / "data.unfinished"
    half.mkdir()
    (half / "PG_VERSION").write_text("18")
    server.start()
    try:
        assert server.answers()
        assert not half.exists()
    finally:
        server.stop()


def test_a_long_home_gets_a_private_socket_folder_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where the path exceeds a socket's limit, the socket lives in a private folder elsewhere until the stop."""
    short = tmp_path_factory.mktemp("t")
    monkeypatch.setattr(embedded.tempfile, "gettempdir", lambda: str(short))
    server = EmbeddedServer(tmp_path / ("long" * 25), durable=False)
    server.start()
    try:
        assert server.answers()
        assert server.socket_folder.parent == short
        assert stat.S_IMODE(server.socket_folder.stat().st_mode) == 0o700
    finally:
        server.stop()
    assert list(short.iterdir()) == []


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A folder someone prepared with open permissions is neither used nor repaired."""
    folder = tmp_path / "postgres"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(EmbeddedServerFailed, match="not a private folder"):
        EmbeddedServer(tmp_path).start()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777


def test_data_of_another_major_version_is_refused(tmp_path: Path) -> None:
    """An older data folder is named as such and not touched."""
    server = EmbeddedServer(tmp_path, durable=False)
    server._make_folders()
    server.data.mkdir()
    (server.data / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedServerFailed, match="PostgreSQL 16, this is 18"):
        server.start()


def test_a_home_without_a_database_has_no_url(tmp_path: Path) -> None:
    """Asking before the first start says what to do."""
    with pytest.raises(EmbeddedServerFailed, match="leasehold up"):
        EmbeddedServer(tmp_path).url()


@pytest.mark.skipif(os.geteuid() != 0, reason="as an ordinary user every other test here shows it")
def test_it_works_as_an_ordinary_user() -> None:
    """Without root the server runs as the caller."""
    folder = Path(embedded.tempfile.mkdtemp(prefix="leasehold-test-"))
    try:
        os.chown(folder, embedded.NOBODY, embedded.NOBODY)
        # The launcher gives up root but lets this checkout and its Python be read wherever they are.
        ordinary = [sys.executable, "-I", "-S", launcher.__file__, "--user", str(embedded.NOBODY)]
        ordinary += ["--reach", sys.executable, "--reach", embedded.__file__, "--"]
        script = HOLD.replace("time.sleep(60)", "server.stop(); print('stopped')")
        done = subprocess.run(
            [*ordinary, sys.executable, "-c", script, str(folder / "home")], capture_output=True, text=True, cwd="/"
        )
        assert done.stdout.endswith("stopped\n"), done.stderr
        assert (folder / "home" / "postgres").stat().st_uid == embedded.NOBODY
    finally:
        shutil.rmtree(folder)
