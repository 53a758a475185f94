"""What Prometheus reads from a devnet: figures that follow the chain, where control is served."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import aiohttp
from tests.unit.devnet.control.controlled_chain import Ground

from leasehold.core.metrics import Metrics
from leasehold.devnet.control.faults import Surfaces
from leasehold.devnet.control.measures import ChainMeasures
from leasehold.devnet.control.server import serving_control
from leasehold.devnet.genesis.document import address
from leasehold.devnet.rpc.server import RpcServer

Make = Callable[..., Ground]


def figures(text: str) -> dict[str, float]:
    """Samples by name and labels."""
    pairs = re.findall(r"^(leasehold_chain_\S+) (\S+)$", text, re.MULTILINE)
    return {name.removeprefix("leasehold_chain_"): float(value) for name, value in pairs}


def test_figures_follow_the_chain(ground: Make) -> None:
    """Blocks, transactions by outcome, gas, sealing time, height and mempool are those of the chain."""
    chain = ground()
    node = chain.devnet.node
    metrics = Metrics()
    measures = ChainMeasures(metrics, node, Surfaces())
    chain.control.mine(3, 5)
    chain.control.fund(address(chain.devnet.settings.identity, "alice"), ["5LSH"])
    found = figures(metrics.exposition().decode())
    assert found["height"] == node.height
    assert found["blocks_total"] == found["seal_seconds_count"] == 4
    assert 0 < found["seal_seconds_sum"] < 60
    assert found['transactions_total{outcome="succeeded"}'] == 1
    assert found["gas_total"] > 50_000
    assert found["mempool_transactions"] == found["mempool_bytes"] == 0
    measures.close()
    chain.control.mine(1, 5)
    after = figures(metrics.exposition().decode())
    assert (after["blocks_total"], after["height"]) == (4, node.height)


def test_they_are_served_beside_control(ground: Make) -> None:
    """`/metrics` of the control port has them, with connections and subscribers of the RPC."""
    chain = ground()

    async def run() -> dict[str, float]:
        async with RpcServer(chain.devnet.node, port=0) as rpc, aiohttp.ClientSession() as session:
            chain.control.faults.surfaces.rpc = rpc
            async with (
                session.ws_connect(f"http://127.0.0.1:{rpc.port}/websocket") as socket,
                serving_control(chain.control, 0) as running,
            ):
                subscribe = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": ["tm.event='NewBlock'"]}
                await socket.send_json(subscribe)
                await socket.receive_json()
                async with session.get(running.url + "/metrics") as answer:
                    return figures(await answer.text())

    found = asyncio.run(run())
    assert (found["subscribers"], found["rpc_connections"], found["height"]) == (1, 1, chain.devnet.node.height)
