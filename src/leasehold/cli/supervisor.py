"""The supervisor: starts programs in order, keeps them running, stops them in reverse."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from leasehold.cli.journal import BOUND, Journal
from leasehold.cli.supervised import Patience, Program, Supervised
from leasehold.core.progress import Report

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """A stack of programs, each started when the one before is ready.

    One line per event goes to `announce`, and to `progress` what programs tell of long work before they are ready.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        logs: Path,
        announce: Callable[[str], None],
        progress: Callable[[Report], None] = lambda _: None,
        patience: Patience | None = None,
        log_bound: int = BOUND,
    ) -> None:
        self._announce = announce
        self._journals = [Journal(logs, program.name, bound=log_bound) for program in programs]
        self.children = [
            Supervised(program, journal, announce, patience or Patience(), progress)
            for program, journal in zip(programs, self._journals, strict=True)
        ]
        self._stop = asyncio.Event()
        self._stop_requests = 0

    def request_stop(self) -> None:
        """Begin the clean stop; a second request ends everything at once."""
        self._stop_requests += 1
        self._stop.set()
        if self._stop_requests == 2:
            self._announce("stopping at once")
            for child in self.children:
                child.kill()

    async def run(self) -> None:
        """Run the stack until a stop signal or request; raises what made a program hopeless."""
        loop = asyncio.get_running_loop()
        # A signal that is ignored already (nohup, a shell's background job) stays so.
        heeded = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in heeded:
            loop.add_signal_handler(number, self.request_stop)
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._start(tasks)
            await self._stop_or_failure(tasks)
        finally:
            for child in reversed(self.children):
                await child.stop()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            for journal in self._journals:
                journal.close()
            for number in heeded:
                loop.remove_signal_handler(number)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _start(self, tasks: list[asyncio.Task[None]]) -> None:
        waiting: list[asyncio.Task[bool]] = []
        try:
            for child in self.children:
                tasks.append(asyncio.create_task(child.run(), name=child.program.name))
                waiting.append(asyncio.create_task(child.ready.wait(), name=f"{child.program.name} ready"))
                if child.program.awaited and not await self._all_ready(tasks, waiting):
                    return
            if await self._all_ready(tasks, waiting):
                self._announce("all ready; Ctrl-C stops")
        finally:
            for task in waiting:
                task.cancel()

    async def _all_ready(self, tasks: Sequence[asyncio.Task[None]], waiting: Sequence[asyncio.Task[bool]]) -> bool:
        """Whether everything became ready before a stop request or a program that gave up."""
        for ready in waiting:
            await self._stop_or_failure(tasks, ready)
            if self._stop.is_set() or any(task.done() for task in tasks):
                return False
        return True

    async def _stop_or_failure(self, tasks: Sequence[asyncio.Task[None]], *others: asyncio.Task[bool]) -> None:
        """Wait for a stop request, for a program to give up, or for one of the others."""
        stop = asyncio.create_task(self._stop.wait(), name="stop")
        try:
            await asyncio.wait([stop, *tasks, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
