"""`leasehold up`: the whole stack under one supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import Any, TextIO

import click

from leasehold.cli import catalogue, home, options
from leasehold.cli.supervised import Program, launched
from leasehold.cli.supervisor import Supervisor
from leasehold.core.errors import ConfigurationError
from leasehold.core.progress import ProgressBar, Report
from leasehold.storage.embedded import EmbeddedServer


@click.command(name="up")
@options.shared
@click.option("--only", metavar="SERVICE[,…]", multiple=True, help="Run only these services, and what they need.")
@click.pass_context
def command(ctx: click.Context, /, only: tuple[str, ...], **given: Any) -> None:
    """Run the whole stack until Ctrl-C or SIGTERM.

    Services start in order and are restarted when they end; their logs are in HOME/logs. A second Ctrl-C does not wait
    for what is in flight.

    \b
    Examples:
      leasehold up
      leasehold up --home /tmp/second --port-offset 100
      leasehold up --only devnet,supply-api
      DATABASE_URL=postgresql://… leasehold up
    """
    names = [name.strip() for value in only for name in value.split(",") if name.strip()]
    up(options.invocation(ctx, given), names, click.echo)


def up(invocation: options.Invocation, only: Sequence[str], announce: Callable[[str], None]) -> None:
    """Run the stack in this process; refuses, before it changes anything, a home or a port that is taken."""
    settings = invocation.load().settings
    services = catalogue.selected(settings, only)
    if not services:
        raise ConfigurationError("there is no service to run")
    embedded = not settings.database.url and any(service.database for service in services)
    home.refuse_if_held(invocation.home, "up")
    home.refuse_if_taken(settings, services)
    with ExitStack() as stack:
        stack.enter_context(home.held(invocation.home, "up"))
        if embedded:
            stack.enter_context(home.held(invocation.home, "postgres"))
        asyncio.run(_run(invocation, services, embedded, announce))


async def _run(
    invocation: options.Invocation,
    services: Sequence[catalogue.Service],
    embedded: bool,
    announce: Callable[[str], None],
) -> None:
    async with AsyncExitStack() as stack:
        programs = []
        url = ""
        if embedded:
            server = EmbeddedServer(invocation.home)
            # The URL exists only after the first preparation, which is before any service starts.
            await asyncio.to_thread(server.prepare)
            stack.callback(server.tidy)
            url = server.url()
            programs.append(postgres_program(server))
        environment = invocation.child_environment(url)
        programs += [service_program(service, environment) for service in services]
        board = Board(announce)
        await Supervisor(
            programs, logs=invocation.home / "logs", announce=board.announce, progress=board.progress
        ).run()


class Board:
    """What people see of the stack: a line per event, and how far the work is that readiness waits for."""

    def __init__(self, announce: Callable[[str], None], stream: TextIO | None = None) -> None:
        self._announce = announce
        self._stream = stream
        self._bar: ProgressBar | None = None
        self._title = ""

    def announce(self, line: str) -> None:
        if self._bar is not None:
            self._bar.interrupt()
        self._announce(line)

    def progress(self, report: Report) -> None:
        if self._bar is None or self._title != report.title:
            self._title = report.title
            self._bar = ProgressBar(report.title, stream=self._stream)
        if report.share < 1:
            self._bar.show(report.share, report.detail)
        else:
            self._bar.__exit__(None, None, None)
            self._bar = None


def postgres_program(server: EmbeddedServer) -> Program:
    """The embedded server as a supervised program."""

    async def prepare() -> None:
        await asyncio.to_thread(server.prepare)

    async def confirm(alive: Callable[[], bool]) -> str:
        await asyncio.to_thread(server.finish_start, alive)
        return f"socket in {server.socket_folder}"

    return Program(
        name="postgres",
        command=lambda _: server.command(),
        environment=os.environ,
        farewell=signal.SIGINT,
        prepare=prepare,
        confirm=confirm,
    )


def service_program(service: catalogue.Service, environment: dict[str, str]) -> Program:
    """A service as a supervised program: its own command in a process of its own."""
    return Program(
        name=service.name,
        command=lambda descriptor: launched(
            [sys.executable, "-m", "leasehold.cli.main", service.name, "--ready-fd", str(descriptor)]
        ),
        environment=environment,
        # Everything else talks to the chain; nothing else waits for another.
        awaited=service.name == "devnet",
    )
