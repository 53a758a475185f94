"""The world behind the application API while it is measured: a chain of a real one's size, whose prices move.

Eight protocols with 24 currencies each, a hundred validators and proposals, a wallet with 20 leases; a block a second,
announced over the WebSocket and readable with its results, and in every block every price is another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from aiohttp import WSMsgType, web
from tests.unit.app_api.conftest import (
    ADMIN,
    LONG,
    OWNER,
    VALIDATOR,
    World,
    coin,
    contract,
    contracts_of,
    opened,
    price,
    proposal,
    served,
    validator,
)

LEASES = 20
PROTOCOLS = [LONG, *(f"OSMOSIS-OSMOSIS-T{number}" for number in range(7))]
TICKERS = ["USDC_NOBLE", "ATOM", "LSH", *(f"T{number}" for number in range(21))]
LEASER = contracts_of(1000)["leaser"]


def lpn_of(protocol: str) -> str:
    return protocol.rpartition("-")[2]


class LargeWorld(World):
    """A world of a real one's size; `seal` makes the next block and moves every price."""

    def __init__(self) -> None:
        super().__init__()
        self._sockets: set[web.WebSocketResponse] = set()
        self.contracts = {name: contracts_of(1000 + 10 * number) for number, name in enumerate(PROTOCOLS)}
        self.oracles = {held["oracle"] for held in self.contracts.values()}
        self._protocols()
        self._currencies()
        self._modules()
        self._leases()
        self._price()

    def _protocols(self) -> None:
        self.ask(ADMIN, {"protocols": {}}, PROTOCOLS)
        listed = []
        for name, held in self.contracts.items():
            lpn = lpn_of(name)
            self.ask(ADMIN, {"protocol": name}, {"network": "Osmosis", "dex": "Osmosis", "contracts": held})
            self.ask(held["lpp"], {"lpn": []}, lpn)
            due = {"total_principal_due": coin(400, lpn), "total_interest_due": coin(5, lpn)}
            self.ask(held["lpp"], {"lpp_balance": []}, {"balance": coin(900, lpn), **due})
            self.ask(held["lpp"], {"deposit_capacity": []}, None)
            spec = {"liability": {"max": 900}, "min_asset": coin(15, lpn), "min_transaction": coin(1, lpn)}
            self.ask(held["leaser"], {"config": {}}, {"config": {"lease_position_spec": spec}})
            self.ask(held["oracle"], {"base_currency": {}}, lpn)
            kind = "Long" if name == LONG else "Short"
            entry = {"name": name, "network": "Osmosis", "dex": "Osmosis", "position_type": kind, "lpn_symbol": lpn}
            listed.append({**entry, "is_active": True, "contracts": held})
        self.paths["/api/protocols"] = {"protocols": listed}
        pools = [{"protocol": name, "earn_apr": "8.5", "utilization": "61.2"} for name in PROTOCOLS]
        self.paths["/api/pools"] = {"protocols": pools}

    def _currencies(self) -> None:
        def mapped(ticker: str) -> list[dict[str, str]]:
            denom = "ulsh" if ticker == "LSH" else f"ibc/{ticker:0>64}"
            return [
                {
                    "protocol": name,
                    "group": "lpn" if lpn_of(name) == ticker else "lease",
                    "bank_symbol": denom,
                    "dex_symbol": f"ibc/D{ticker:0>63}",
                }
                for name in PROTOCOLS
            ]

        self.paths["/api/currencies"] = {
            "currencies": [
                {"ticker": ticker, "decimal_digits": 6, "is_active": True, "protocols": mapped(ticker)}
                for ticker in TICKERS
            ]
        }

    def _modules(self) -> None:
        bonded = [{**validator(), "operator_address": f"{VALIDATOR}{number}"} for number in range(100)]
        self.paths["/cosmos/staking/v1beta1/validators?status=BOND_STATUS_BONDED"] = {"validators": bonded}
        proposals = [proposal(str(number), voting=number > 97) for number in range(100, 0, -1)]
        self.paths["/cosmos/gov/v1/proposals"] = {"proposals": proposals}
        for number in (98, 99, 100):
            tally = self.paths["/cosmos/gov/v1/proposals/2/tally"]
            self.paths[f"/cosmos/gov/v1/proposals/{number}/tally"] = tally

    def _leases(self) -> None:
        self.leases = [contract(2000 + number) for number in range(LEASES)]
        self.ask(LEASER, {"leases": {"owner": OWNER}}, self.leases)
        for lease in self.leases:
            self.ask(lease, {"state": {"due_projection_secs": 400}}, opened())

    def _price(self) -> None:
        for name, held in self.contracts.items():
            lpn = lpn_of(name)
            self.ask(
                held["oracle"],
                {"stable_price": {"currency": lpn}},
                price(10**6, lpn, 10**6 + self.height, "USDC_NOBLE"),
            )
            others = [ticker for ticker in TICKERS if ticker != lpn]
            listed = [price(10**6, ticker, 12_345 + self.height * 7, lpn) for ticker in others]
            self.ask(held["oracle"], {"prices": {}}, {"prices": listed})

    async def seal(self) -> None:
        """A new block, announced to whoever listens."""
        self.height += 1
        self._price()
        frame = json.dumps({"result": {"data": {"value": {"header": {"height": str(self.height)}}}}})
        for socket in list(self._sockets):
            with contextlib.suppress(ConnectionError):
                await socket.send_str(frame)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/websocket":
            return await self._listen(request)
        if request.method == "POST" and request.path == "/":
            return web.json_response([self._call(call) for call in await request.json()])
        return await super().answer(request)

    async def _listen(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    break
        finally:
            self._sockets.discard(socket)
        return socket

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        """A block with one transaction that touches the oracle, or its results."""
        height = int(call["params"]["height"])
        if call["method"] == "block":
            moment = f"2026-01-01T{height // 3600 % 24:02d}:{height // 60 % 60:02d}:{height % 60:02d}Z"
            header = {"chain_id": "leasehold-1", "height": str(height), "time": moment, "last_block_id": {"hash": ""}}
            block = {"header": header, "data": {"txs": ["AA=="]}}
            return {"id": call["id"], "result": {"block_id": {"hash": ""}, "block": block}}
        touched = {"key": "_contract_address", "value": next(iter(self.oracles))}
        results = [{"code": 0, "events": [{"type": "wasm", "attributes": [touched]}]}]
        return {"id": call["id"], "result": {"height": str(height), "txs_results": results}}


async def run(address: Any, chain_calls: Synchronized[int], index_calls: Synchronized[int]) -> None:
    """Be the world, a block a second; count what is asked about wallets: leasers and leases, and the index."""
    world = LargeWorld()
    about_wallets = {held["leaser"] for held in world.contracts.values()} | set(world.leases)
    async with served(world) as base:
        address.send(base)
        while True:
            await asyncio.sleep(1)
            await world.seal()
            for call in world.calls:
                chain_calls.value += "/smart/" in call and not about_wallets.isdisjoint(call.split("/"))
                index_calls.value += call.startswith("/api/ls-opening")
            world.calls.clear()
