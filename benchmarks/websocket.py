"""The application WebSocket with many subscribers of prices: one process on one core, the clients on the other.

    python -m benchmarks.websocket [--clients 10000] [--updates 20] [--kilobytes 2] [--blocks 60]

Prints how long an update takes to the last client, the memory of a connection and what is kept after all have left,
how HTTP answers meanwhile, and the processor time of an update. That is compared, in turns within one run, with

- a *naive* server: Starlette on uvicorn as they come, a queue and a task per client, each of which turns the update
  into JSON and has the library make a frame of it. It has its own process on the same core and its own clients;
- the same server *in a loop*, one client after the other without queue and task: cheaper, but a slow client stops all;
- *bare* writes: the finished frame given to every socket in a loop and nothing else, nearly all of it the kernel's.

Once with clients that offer no compression, once with clients that offer it as every browser does: then the naive
server's library compresses per client (uvicorn's default), ours once. What connections cost without any update (pings,
for instance) is measured beside each and taken off, and clients look at their sockets every ten milliseconds only, so
that no server pays for waking their core. Times are of one monotonic clock that all processes share.

Last it prints how soon after a block is available its events reach 500 subscribers (`_websocket.events`).

Exit code 1 when an aim is missed: the last client within a second (p99), 32 KB a connection, after all have left less
kept than a tenth of what the public service keeps (700 MB, of half as many clients), HTTP p99 below 20 ms, five times
less processor time than the naive server, with and without compression, and events and prices within 100 ms (p99) of
their block with 500 subscribers. The loop is shown beside the naive server and bare writes beside both: without
compression they leave hardly room to be five times cheaper than the loop. Shown without an aim, too: blocks that change
something of every one of the 500, each another thing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks._websocket.processes import Child, child, percentile

SERVER_CORE, CLIENT_CORE = "0", "1"
LAST_SECONDS, CONNECTION_BYTES, HTTP_SECONDS, CPU_RATIO = 1.0, 32 * 1024, 0.020, 5.0
PUBLIC_KEPT_BYTES = 700e6
KEPT_BYTES = PUBLIC_KEPT_BYTES / 10
EVENT_SECONDS = 0.1
TURNS = 5


@dataclass
class Crowd:
    """A server with its clients, and what updates cost it."""

    server: Child
    subscribers: Child
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    size: int = 0
    idle: float = 0.0

    def rest(self) -> None:
        """Note what a second without updates costs."""
        told = self.server.ask("idle")
        self.idle = told["cpu"] / told["seconds"]

    def update(self, way: str) -> float:
        """Publish once; processor seconds that this alone cost."""
        told = self.server.ask(way)
        heard = self.subscribers.ask("")
        self.first.append(heard["first"] - told["at"])
        self.last.append(heard["last"] - told["at"])
        self.size = heard["size"]
        cost: float = told["cpu"] - self.idle * told["seconds"]
        return cost


@dataclass(frozen=True)
class Costs:
    """Processor seconds of an update, medians of one run."""

    ours: float
    bare: float
    naive: float
    loop: float
    ours_bytes: int
    naive_bytes: int

    def is_low(self) -> bool:
        """Whether ours are low beside the naive server's."""
        return self.ours * CPU_RATIO <= self.naive

    def __str__(self) -> str:
        return (
            f"{self.ours * 1000:.0f} ms, naive {self.naive * 1000:.0f} ms, ratio {self.naive / self.ours:.1f}, naive in"
            f" a loop {self.loop * 1000:.0f} ms, ratio {self.loop / self.ours:.1f} (of bare writes,"
            f" {self.bare * 1000:.0f} ms: {self.loop / self.bare:.1f}; frames of {self.ours_bytes} and"
            f" {self.naive_bytes} bytes)"
        )


def crowd(stack: ExitStack, server: Child, port: str, count: int, *, offers: bool) -> Crowd:
    """Subscribe clients to a server."""
    more = ["--offers"] if offers else []
    subscribers = stack.enter_context(child(CLIENT_CORE, "--subscribe", port, "--clients", str(count), *more))
    subscribers.expect("ready")
    return Crowd(server, subscribers)


def in_turns(ours: Crowd, naive: Crowd, turns: int) -> Costs:
    """What updates cost either server; in turns, so that what else the machine does disturbs both alike."""
    for one in (ours, naive):
        one.subscribers.ask("rest")
    spent: dict[str, list[float]] = {"ours": [], "bare": [], "naive": [], "loop": []}
    for turn in range(turns + 1):
        ours.rest()
        naive.rest()
        for way, one in (("bare", ours), ("naive", naive), ("ours", ours), ("loop", naive)):
            cost = one.update(way)
            # The first of each warms up what the rest uses.
            if turn:
                spent[way].append(cost)
    medians = {way: statistics.median(costs) for way, costs in spent.items()}
    return Costs(medians["ours"], medians["bare"], medians["naive"], medians["loop"], ours.size, naive.size)


@dataclass
class Run:
    """Everything that was measured."""

    count: int
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    http: list[float] = field(default_factory=list)
    memory: float = 0.0
    naive_memory: float = 0.0
    kept: float = 0.0
    left: int = 0
    plain: Costs | None = None
    packed: Costs | None = None


def measure(count: int, updates: int, kilobytes: float) -> Run:
    """Run everything."""
    run = Run(count)
    size = str(kilobytes)
    with (
        child(SERVER_CORE, "--serve", "ours", "--kilobytes", size) as ours,
        child(SERVER_CORE, "--serve", "naive", "--kilobytes", size) as naive,
    ):
        port, naive_port = ours.line(), naive.line()
        empty, naive_empty = ours.ask("state")["rss"], naive.ask("state")["rss"]
        with ExitStack() as stack:
            mine = crowd(stack, ours, port, count, offers=False)
            mine.update("ours")
            run.memory = (ours.ask("state")["rss"] - empty) / count
            with child(CLIENT_CORE, "--probe", port) as prober:
                prober.expect("ready")
                begun = len(mine.last)
                for _ in range(updates):
                    mine.update("ours")
                run.http = json.loads(prober.finish())
            run.first, run.last = mine.first[begun:], mine.last[begun:]
            theirs = crowd(stack, naive, naive_port, count, offers=False)
            run.plain = in_turns(mine, theirs, TURNS)
            run.naive_memory = (naive.ask("state")["rss"] - naive_empty) / count
        while ours.ask("state")["connections"]:
            time.sleep(0.5)
        time.sleep(2.5)
        state = ours.ask("state")
        run.kept, run.left = state["rss"] - empty, state["connections"]
        with ExitStack() as stack:
            mine = crowd(stack, ours, port, count, offers=True)
            theirs = crowd(stack, naive, naive_port, count, offers=True)
            run.packed = in_turns(mine, theirs, TURNS)
    return run


def report(run: Run) -> list[str]:
    """Print the figures; which aims are missed."""
    assert run.plain is not None
    assert run.packed is not None
    figures = [
        (
            "last client, median / p99",
            f"{statistics.median(run.last) * 1000:.0f} / {percentile(run.last, 0.99) * 1000:.0f} ms",
        ),
        ("first client, median", f"{statistics.median(run.first) * 1000:.0f} ms"),
        ("processor time, browsers", str(run.packed)),
        ("processor time, no compression", str(run.plain)),
        ("memory of a connection", f"{run.memory / 1024:.1f} KB (naive {run.naive_memory / 1024:.1f} KB)"),
        (
            "kept after they left",
            f"{run.kept / 1e6:.0f} MB with {run.left} connections, aim {KEPT_BYTES / 1e6:.0f} MB (a tenth of the"
            f" public service's {PUBLIC_KEPT_BYTES / 1e6:.0f} MB)",
        ),
        (
            "HTTP meanwhile, median / p99 / worst",
            f"{statistics.median(run.http) * 1000:.1f} / {percentile(run.http, 0.99) * 1000:.1f} /"
            f" {max(run.http) * 1000:.1f} ms of {len(run.http)}",
        ),
    ]
    for name, value in figures:
        print(f"  {name:<38} {value}")
    aims = {
        "last client": percentile(run.last, 0.99) < LAST_SECONDS,
        "memory": run.memory < CONNECTION_BYTES,
        "memory kept": run.kept < KEPT_BYTES,
        "HTTP": percentile(run.http, 0.99) < HTTP_SECONDS,
        "processor": run.packed.is_low() and run.plain.is_low(),
    }
    return [name for name, good in aims.items() if not good]


def report_events(blocks: int) -> list[str]:
    """Time events, print how long they took; which aims are missed."""
    from benchmarks._websocket import events

    with events.Database() as database, child(SERVER_CORE, "--database", database) as service:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {int(CLIENT_CORE)})
        found = asyncio.run(events.drive(service, blocks))
    print(f"{events.SUBSCRIBERS} followers of {len(events.TOPICS)} topics")
    missed = []
    for name, count in (("ordinary", events.CHANGES), ("everybody", events.SUBSCRIBERS)):
        timed = found[name]
        for what, seconds in (("changes", timed.seconds), ("prices", timed.prices)):
            worst = percentile(seconds, 0.99)
            print(
                f"  {f'{count} changes a block, {what}, median / p99':<38} {statistics.median(seconds) * 1000:.0f} /"
                f" {worst * 1000:.0f} ms of {len(seconds)}, worst {max(seconds) * 1000:.0f} ms"
            )
            # The other kind of block is shown for what it is: as many updates as there are subscribers, each its own.
            if worst >= EVENT_SECONDS and name == "ordinary":
                missed.append(f"events, {count} changes a block, {what}")
        print(
            f"  {'processor time of such a block':<38} {timed.service * 1000:.0f} ms, of chain and clients"
            f" {timed.others * 1000:.0f} ms"
        )
    return missed


def _part(options: argparse.Namespace) -> Coroutine[Any, Any, None] | None:
    """What this process is, None for the one that starts the others."""
    # Each process loads what it needs, so that none waits for what another does.
    if options.serve:
        from benchmarks._websocket import servers

        return (servers.ours if options.serve == "ours" else servers.naive)(options.kilobytes)
    if options.database:
        from benchmarks._websocket import events

        return events.serve(options.database)
    from benchmarks._websocket import clients

    if options.subscribe:
        return clients.subscribe(options.subscribe, options.clients, options.offers)
    return clients.probe(options.probe) if options.probe else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--kilobytes", type=float, default=2.0)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--serve", choices=("ours", "naive"), help=argparse.SUPPRESS)
    parser.add_argument("--subscribe", metavar="PORT", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--offers", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    parser.add_argument("--probe", metavar="PORT", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.clients + 200
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            print(f"websocket: not run, {wanted} open files are needed and {hard} allowed")
            return 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    part = _part(options)
    if part is not None:
        import uvloop

        uvloop.run(part)
        return 0
    print(f"{options.clients} clients, {options.kilobytes:g} KB, {options.updates} updates")
    missed = report(measure(options.clients, options.updates, options.kilobytes)) if options.clients else []
    missed += report_events(options.blocks)
    print("aims hold" if not missed else f"aims missed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
