"""One process under supervision: started, watched, restarted with back-off, stopped.

    starting ──ready──▶ running ──exit──▶ waiting ──pause over──▶ starting
        └──────exit──────────────────────────▲

`stop` ends it from any of these. A process never outlives its supervisor: the launcher asks the kernel to see to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from leasehold.cli.journal import Journal
from leasehold.core.errors import AlreadyRunning, ConfigurationError, LeaseholdError
from leasehold.core.progress import Report, told
from leasehold.storage import launcher

# Exit codes that trying again can't change.
_HOPELESS = (ConfigurationError.exit_code, AlreadyRunning.exit_code, launcher.UNREACHABLE)


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. `command` is given the descriptor its ready line is to be written to.

    A program that can't write one has `confirm`, which returns the ready line once the process answers; `prepare`
    runs before each start. What comes after an `awaited` program starts only once that is ready.
    """

    name: str
    command: Callable[[int], list[str]]
    environment: Mapping[str, str]
    farewell: signal.Signals = signal.SIGTERM
    prepare: Callable[[], Awaitable[None]] | None = None
    confirm: Callable[[Callable[[], bool]], Awaitable[str]] | None = None
    awaited: bool = True


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: the first and longest pause before a restart, a run that forgets past crashes, the time to stop in."""

    first: float = 0.5
    longest: float = 30.0
    stable: float = 60.0
    stop: float = 20.0


class Hopeless(LeaseholdError):
    """A program that ended before it was ever ready, with a code that trying again can't change."""

    code = "HOPELESS"

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def launched(command: list[str]) -> list[str]:
    """The command, dying with this process."""
    own = [sys.executable, "-I", "-S", launcher.__file__, "--parent", str(os.getpid())]
    return [*own, "--", *command]


@dataclass
class Supervised:
    """A program kept running until `stop`."""

    program: Program
    journal: Journal
    announce: Callable[[str], None]
    patience: Patience = field(default_factory=Patience)
    progress: Callable[[Report], None] = lambda _: None
    restarts: int = 0

    def __post_init__(self) -> None:
        self.ready = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._ever_ready = False

    async def run(self) -> None:
        """Keep the program running; returns after `stop`, raises Hopeless when restarting is no use."""
        pause = self.patience.first
        while not self._stopping.is_set():
            started = asyncio.get_running_loop().time()
            reason = await self._run_once()
            if self._stopping.is_set():
                return
            if asyncio.get_running_loop().time() - started > self.patience.stable:
                pause = self.patience.first
            self.announce(f"{self.program.name} {reason}, restarting in {pause:g} s (log: {self.journal.path})")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            pause = min(pause * 2, self.patience.longest)
            self.restarts += 1

    async def stop(self) -> None:
        """Ask the program to stop, wait, and end it and all it started when it doesn't."""
        self._stopping.set()
        process = self.process
        if process is None:
            return
        self._signal(process, self.program.farewell)
        try:
            await asyncio.wait_for(process.wait(), self.patience.stop)
        except TimeoutError:
            self.announce(f"{self.program.name} did not stop in {self.patience.stop:g} s and was killed")
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End the program and all it started, now."""
        self._stopping.set()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    async def _run_once(self) -> str:
        """One life of the process; returns how it ended."""
        if self.program.prepare is not None:
            try:
                await self.program.prepare()
            except LeaseholdError as error:
                if not self._ever_ready:
                    raise
                return f"can't be prepared: {error}"
            if self._stopping.is_set():
                return "stopped"
        reader, writer = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self.program.command(writer),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(self.program.environment),
                pass_fds=(writer,),
                # Of its own, so that Ctrl-C in the terminal reaches the supervisor alone and stopping keeps its order.
                start_new_session=True,
            )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self.process = process
        if self._stopping.is_set():
            self._signal(process, self.program.farewell)
        pump = asyncio.create_task(self._pump(process), name=f"log of {self.program.name}")
        readiness = asyncio.create_task(self._await_ready(process, reader), name=f"readiness of {self.program.name}")
        try:
            code = await process.wait()
        finally:
            self.process = None
            self.ready.clear()
            readiness.cancel()
            # Whatever it started goes with it, also what would hold the log pipe open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.gather(readiness, return_exceptions=True)
            await asyncio.wait([pump], timeout=1.0)
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
        if code in _HOPELESS and not self._ever_ready and not self._stopping.is_set():
            raise Hopeless(f"{self.program.name}: {self.journal.last_line or f'ended with exit code {code}'}", code)
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    async def _pump(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(65_536):
            self.journal.write(data)

    async def _await_ready(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        line = await self._ready_line(process, descriptor)
        if line is not None:
            self._ever_ready = True
            self.ready.set()
            self.announce(f"{self.program.name} ready: {line}")

    async def _ready_line(self, process: asyncio.subprocess.Process, descriptor: int) -> str | None:
        with os.fdopen(descriptor, "rb", buffering=0) as pipe:
            if self.program.confirm is not None:
                return await self._confirmed(process)
            stream = asyncio.StreamReader()
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(stream), pipe
            )
            try:
                while (report := told(line := await stream.readline())) is not None:
                    self.progress(report)
            finally:
                transport.close()
            return line.decode(errors="replace").strip() or None

    async def _confirmed(self, process: asyncio.subprocess.Process) -> str | None:
        assert self.program.confirm is not None
        try:
            return await self.program.confirm(lambda: process.returncode is None)
        except LeaseholdError as error:
            self.journal.write(f"{error}\n".encode())
            # A process that runs but never answers is no better than one that ended.
            self._signal(process, signal.SIGKILL)
            return None

    def _signal(self, process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
