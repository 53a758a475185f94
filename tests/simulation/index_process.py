"""An indexer as a process that can be killed: `index_process.py DATABASE_URL NODE_URL ADMIN HEIGHT`."""

from __future__ import annotations

import asyncio
import sys

import aiohttp

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest


async def main(database: str, node: str, admin: str, until: int) -> None:
    settings = Settings(database=Database(url=database), chain=ChainNodes(admin_contract=admin))
    pace = Pace(batch_blocks=4, request_blocks=2, requests=2, poll_seconds=0.05)
    async with aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(node, session)], SystemClock())
        await Ingest(settings, nodes, SystemClock(), pace=pace).run(until=until)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
