"""One service as a command: loads its settings, finds its database, runs it until it is told to stop."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from leasehold.cli import catalogue, home, options
from leasehold.cli.entries import ENTRIES
from leasehold.cli.journal import Journal
from leasehold.core import logging
from leasehold.core.errors import AlreadyRunning, Unavailable
from leasehold.core.garbage import rare_collections
from leasehold.core.progress import PipedProgress, ProgressBar
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.storage.embedded import EmbeddedServer


def command_for(name: str) -> click.Command:
    """The command that runs a service."""
    service = catalogue.named(name)

    @click.command(
        name=name,
        help=f"""{ENTRIES[name].about}

        Runs until SIGTERM or Ctrl-C, finishing what is in flight.

        \b
        Examples:
          leasehold {name}
          leasehold {name} --profile devnet-nolus --log-level debug
        """,
    )
    @options.shared
    @click.option("--ready-fd", type=int, hidden=True, help="Write the ready line to this file descriptor.")
    @click.pass_context
    def command(ctx: click.Context, /, ready_fd: int | None, **given: Any) -> None:
        run(service, options.invocation(ctx, given), announcer(name, ready_fd), progress_for(ready_fd))

    return command


def run(
    service: catalogue.Service,
    invocation: options.Invocation,
    ready: Callable[[str], None],
    progress: Callable[[str], ProgressBar] = ProgressBar,
) -> None:
    """Run a service in this process, alone on its home."""
    settings = invocation.load().settings
    logging.configure(service=service.name, level=settings.logs.level, form=settings.logs.form)
    with ExitStack() as stack:
        stack.enter_context(home.held(invocation.home, service.name))
        if service.database:
            settings = stack.enter_context(with_database(settings, invocation.home))
        # Importing a service and warming it up makes many objects that all stay.
        stack.enter_context(rare_collections())
        module = importlib.import_module(service.module)
        module.run(ServiceContext(settings=settings, home=invocation.home, ready=ready, progress=progress))


@contextmanager
def with_database(settings: Settings, folder: Path) -> Iterator[Settings]:
    """Settings whose database URL is filled in: the configured one, else the home's server, started if need be."""
    if settings.database.url:
        yield settings
        return
    server = EmbeddedServer(folder)
    with ExitStack() as stack:
        if not server.answers():
            try:
                stack.enter_context(home.held(folder, "postgres"))
            except AlreadyRunning:
                _await_answers(server)
            else:
                journal = Journal(folder / "logs", "postgres")
                stack.callback(journal.close)
                server.start(journal.file)
                stack.callback(server.stop)
        yield replace(settings, database=replace(settings.database, url=server.url()))


def _await_answers(server: EmbeddedServer, *, patience: float = 30.0) -> None:
    """Wait for the server that another process is just starting."""
    deadline = time.monotonic() + patience
    while not server.answers():
        if time.monotonic() > deadline:
            raise Unavailable(f"the PostgreSQL of {server.home} does not answer", hint="its holder may be stuck")
        time.sleep(0.1)


def progress_for(descriptor: int | None) -> Callable[[str], ProgressBar]:
    """How a service shows long work before it is ready: also to the supervisor that gave it a descriptor."""
    return ProgressBar if descriptor is None else partial(PipedProgress, descriptor=descriptor)


def announcer(name: str, descriptor: int | None) -> Callable[[str], None]:
    """How a service says that it is ready: to the supervisor that gave it a descriptor, else to people."""

    def tell_supervisor(message: str) -> None:
        nonlocal descriptor
        # Once closed, the number may belong to any other file of this process.
        if descriptor is not None:
            os.write(descriptor, message.encode() + b"\n")
            os.close(descriptor)
            descriptor = None

    def tell_people(message: str) -> None:
        click.echo(f"{name} ready: {message}", err=True)

    return tell_people if descriptor is None else tell_supervisor
