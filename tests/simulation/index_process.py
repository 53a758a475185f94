"""An indexer as a process of its own, quick to start and killed without warning."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import sys
from dataclasses import dataclass
from multiprocessing.process import BaseProcess

import aiohttp

from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode, Timeouts
from leasehold.core.clock import SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest

# The indexer's own word that something did not agree with the chain.
DIVERGED = 7


@dataclass(frozen=True)
class Assignment:
    """What an indexer shall do."""

    database: str
    node: str
    until: int
    pace: Pace
    admin: str = ""


async def _quick(seconds: float) -> None:
    await asyncio.sleep(min(seconds, 0.02))


async def index(task: Assignment) -> int:
    """Index up to a height; returns how often the chain's word differed from our arithmetic or came from nowhere."""
    settings = Settings(database=Database(url=task.database), chain=ChainNodes(admin_contract=task.admin))
    clock = SystemClock()
    async with aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(task.node, session, timeouts=Timeouts(connect=1, answer=5))], clock)
        ingest = Ingest(settings, nodes, clock, pause=_quick, pace=task.pace)
        hints = asyncio.create_task(
            follow_hints(nodes, session, ingest.follower.announce, silence_seconds=1, pause=_quick)
        )
        try:
            await ingest.run(until=task.until)
        finally:
            hints.cancel()
            await asyncio.gather(hints, return_exceptions=True)
    return ingest.divergences + ingest.orphans + ingest.progress.quarantined


def _run(task: Assignment) -> None:
    logging.disable()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    sys.exit(DIVERGED if asyncio.run(index(task)) else 0)


def started(task: Assignment) -> BaseProcess:
    """A process that indexes; forked from one that has everything imported, so that starting costs next to nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["index_process"])
    process = context.Process(target=_run, args=(task,), daemon=True)
    process.start()
    return process


async def ended(process: BaseProcess, seconds: float) -> bool:
    """Whether a process ended by itself in time."""
    await asyncio.to_thread(process.join, seconds)
    return process.exitcode is not None
