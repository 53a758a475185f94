"""The supervisor starts in order, restarts with back-off and leaves nothing running."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leasehold.cli.supervised import Hopeless, Patience, Program, launched
from leasehold.cli.supervisor import Supervisor
from leasehold.core.progress import Report

QUICK = Patience(first=0.05, longest=0.2, stable=60, stop=0.5)
READY = "import os, signal, sys, time; os.write(int(sys.argv[1]), b'here\\n'); os.close(int(sys.argv[1]));"


def fake(name: str, script: str) -> Program:
    """A program that is one line of Python, given the descriptor for its ready line."""
    return Program(
        name, lambda descriptor: launched([sys.executable, "-I", "-S", "-c", script, str(descriptor)]), os.environ
    )


class Stack:
    """A supervisor whose announcements a test can wait for."""

    def __init__(self, logs: Path, *programs: Program, patience: Patience = QUICK) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()
        self.reports: list[Report] = []
        self.supervisor = Supervisor(
            programs, logs=logs, announce=self._announce, progress=self.reports.append, patience=patience
        )
        self.logs = logs

    def _announce(self, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    async def __aenter__(self) -> Stack:
        self.task = asyncio.create_task(self.supervisor.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.supervisor.request_stop()
        await asyncio.gather(self.task, return_exceptions=True)

    async def until(self, condition: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition(self.lines):
                self._news.clear()
                waiting = asyncio.create_task(self._news.wait())
                await asyncio.wait([waiting, self.task], return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if self.task.done() and not condition(self.lines):
                    pytest.fail(f"the stack ended: {self.lines} {self.task.exception()}")

    def process(self, index: int = 0) -> int:
        process = self.supervisor.children[index].process
        assert process is not None
        return process.pid


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def eventually(condition: Callable[[], bool]) -> None:
    """Return when a condition outside this process's events holds; fail after ten seconds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came true")


def up(lines: list[str]) -> bool:
    return "all ready; Ctrl-C stops" in lines


async def test_each_starts_when_the_one_before_is_ready(tmp_path: Path) -> None:
    """Ready lines come in order even when the first is slow."""
    slow = fake("first", "import time; time.sleep(0.3);" + READY + "time.sleep(60)")
    async with Stack(tmp_path, slow, fake("second", READY + "time.sleep(60)")) as stack:
        await stack.until(up)
        assert stack.lines == ["first ready: here", "second ready: here", "all ready; Ctrl-C stops"]


async def test_stopping_is_in_reverse_and_leaves_nothing(tmp_path: Path) -> None:
    """Each gets its signal when those after it are gone, and may finish what it does."""
    note = tmp_path / "order"
    script = (
        "import signal, sys, time\n"
        "def finish(*_):\n    time.sleep(0.1); open({note!r}, 'a').write({name!r} + ' '); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, finish)\n" + READY + "time.sleep(60)"
    )
    programs = [fake(name, script.format(note=str(note), name=name)) for name in ("a", "b", "c")]
    async with Stack(tmp_path / "logs", *programs) as stack:
        await stack.until(up)
        processes = [stack.process(index) for index in range(3)]
    assert note.read_text() == "c b a "
    assert not any(alive(process) for process in processes)


async def test_a_crash_is_restarted_with_growing_pauses(tmp_path: Path) -> None:
    """A program that keeps ending is tried again, later each time, up to the longest pause."""
    async with Stack(tmp_path, fake("x", READY + "sys.exit(5)")) as stack:
        await stack.until(lambda lines: sum("restarting" in line for line in lines) == 4)
    pauses = [line.split("restarting in ")[1].split()[0] for line in stack.lines if "restarting" in line]
    assert pauses[:4] == ["0.05", "0.1", "0.2", "0.2"]
    assert any(line.startswith("x ended with exit code 5") for line in stack.lines)


async def test_a_killed_program_comes_back_while_others_go_on(tmp_path: Path) -> None:
    """kill -9 of one program restarts that one alone."""
    programs = [fake(name, READY + "time.sleep(60)") for name in ("a", "b")]
    async with Stack(tmp_path, *programs) as stack:
        await stack.until(up)
        killed, other = stack.process(0), stack.process(1)
        os.kill(killed, signal.SIGKILL)
        await stack.until(lambda lines: lines.count("a ready: here") == 2)
        assert any(line.startswith("a was ended by SIGKILL") for line in stack.lines)
        assert stack.process(0) != killed
        assert stack.process(1) == other
        assert stack.lines.count("b ready: here") == 1


async def test_a_program_that_does_not_stop_is_killed_with_its_children(tmp_path: Path) -> None:
    """Who ignores the signal is ended after the time to stop, and whatever it started too."""
    note = tmp_path / "grandchild"
    script = READY + (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); child = os.spawnv(os.P_NOWAIT, '/bin/sleep', ['sleep', '60']);"
        f"open({str(note)!r}, 'w').write(str(child)); time.sleep(60)"
    )
    async with Stack(tmp_path / "logs", fake("x", script)) as stack:
        await stack.until(up)
        await eventually(lambda: note.exists() and note.read_text() != "")
        process = stack.process()
    assert "x did not stop in 0.5 s and was killed" in stack.lines
    assert not alive(process)
    await eventually(lambda: not alive(int(note.read_text())))


async def test_a_second_request_does_not_wait(tmp_path: Path) -> None:
    """Asking twice ends everything at once."""
    stubborn = fake("x", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + READY + "time.sleep(60)")
    async with Stack(tmp_path, stubborn, patience=Patience(stop=60)) as stack:
        await stack.until(up)
        stack.supervisor.request_stop()
        stack.supervisor.request_stop()
        await asyncio.wait_for(stack.task, 60)


async def test_a_stop_while_starting_is_obeyed(tmp_path: Path) -> None:
    """A stack whose first program never gets ready can still be stopped."""
    async with Stack(tmp_path, fake("x", "import time; time.sleep(60)"), fake("y", READY)) as stack:
        await eventually(lambda: stack.supervisor.children[0].process is not None)
        process = stack.process()
    assert not alive(process)
    assert stack.lines == []


@pytest.mark.parametrize("code", [2, 3])
async def test_a_wrong_setting_ends_the_stack(tmp_path: Path, code: int) -> None:
    """Ending before ever being ready with a code that a restart can't change stops everything with that code."""
    wrong = fake("wrong", f"import sys; print('leasehold: no such thing', file=sys.stderr); sys.exit({code})")
    stack = Stack(tmp_path, fake("first", READY + "time.sleep(60)"), wrong)
    with pytest.raises(Hopeless, match="wrong: leasehold: no such thing") as ended:
        await asyncio.wait_for(stack.supervisor.run(), 60)
    assert ended.value.exit_code == code


async def test_the_log_has_what_the_program_said(tmp_path: Path) -> None:
    """stdout and stderr both end up in the service's log."""
    talkative = fake("x", READY + "print('out', flush=True); print('err', file=sys.stderr); time.sleep(60)")
    async with Stack(tmp_path, talkative) as stack:
        await stack.until(up)
        await eventually(lambda: "err" in (tmp_path / "x.log").read_text())
    assert (tmp_path / "x.log").read_text() == "out\nerr\n"


async def test_a_signal_stops_the_stack(tmp_path: Path) -> None:
    """SIGTERM to the supervisor is the clean stop."""
    async with Stack(tmp_path, fake("x", READY + "time.sleep(60)")) as stack:
        await stack.until(up)
        process = stack.process()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stack.task, 60)
    assert not alive(process)


async def test_an_ignored_hangup_stays_ignored(tmp_path: Path) -> None:
    """Under nohup, closing the terminal does not stop the stack."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with Stack(tmp_path, fake("x", READY + "time.sleep(60)")) as stack:
            await stack.until(up)
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.1)
            assert not stack.task.done()
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_what_a_program_tells_of_long_work_comes_before_its_ready_line(tmp_path: Path) -> None:
    """Progress told on the ready pipe is passed on, line by line, and the ready line is still the ready line."""
    work = (
        "import os, sys, time; fd = int(sys.argv[1]);"
        "os.write(fd, b'\\x01cooking\\x1f0.2500\\x1fone pot\\n'); os.write(fd, b'\\x01cooking\\x1f1.0000\\x1f\\n');"
        "os.write(fd, b'here\\n'); os.close(fd); time.sleep(60)"
    )
    async with Stack(tmp_path, fake("cook", work)) as stack:
        await stack.until(lambda lines: "cook ready: here" in lines)
        assert stack.reports == [Report("cooking", 0.25, "one pot"), Report("cooking", 1.0, "")]
