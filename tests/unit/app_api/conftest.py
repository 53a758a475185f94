"""A small world for the application API: a chain, an index and services that answer from dictionaries."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import aiohttp
import pytest
from aiohttp import web

from leasehold.app_api import service
from leasehold.app_api.api import assemble
from leasehold.app_api.app import App
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.refresh import Graph
from leasehold.core.addresses import contract_address, encode
from leasehold.core.clock import SystemClock
from leasehold.core.configuration import load
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.service import serving

PREFIX = "chain"
OWNER = encode(PREFIX, b"\x01" * 20)
STRANGER = encode(PREFIX, b"\x02" * 20)
LONG = "OSMOSIS-OSMOSIS-USDC_NOBLE"
SHORT = "OSMOSIS-OSMOSIS-ATOM"
VALIDATOR = encode(f"{PREFIX}valoper", b"\x03" * 20)


def contract(number: int) -> str:
    """Address of the contract with a number."""
    return encode(PREFIX, contract_address(number, number))


ADMIN, TREASURY = contract(3), contract(2)
LEASE = contract(40)


def contracts_of(first: int) -> dict[str, str]:
    return dict(
        zip(("leaser", "lpp", "oracle", "profit", "reserve"), map(contract, range(first, first + 5)), strict=True)
    )


CONTRACTS = {LONG: contracts_of(10), SHORT: contracts_of(20)}


def coin(amount: int | str, ticker: str) -> dict[str, str]:
    return {"amount": str(amount), "ticker": ticker}


def price(amount: int, base: str, quote: int, ticker: str) -> dict[str, Any]:
    return {"amount": coin(amount, base), "amount_quote": coin(quote, ticker)}


def opened(amount: int = 2_000_000, ticker: str = "ATOM", principal: int = 5_000_000, lpn: str = "USDC_NOBLE") -> Any:
    """An opened lease's answer."""
    return {
        "opened": {
            "amount": coin(amount, ticker),
            "loan_interest_rate": 60,
            "margin_interest_rate": 40,
            "principal_due": coin(principal, lpn),
            "overdue_margin": coin(1, lpn),
            "overdue_interest": coin(2, lpn),
            "overdue_collect_in": 7_000_000_000,
            "due_margin": coin(3, lpn),
            "due_interest": coin(4, lpn),
            "due_projection_ns": 400_000_000_000,
            "close_policy": {"take_profit": None, "stop_loss": 850},
            "validity": "1",
            "status": "idle",
        }
    }


class World:
    """Answers by path or by contract and query; `mode` is good, 500, garbage or hang."""

    def __init__(self) -> None:
        self.mode = "good"
        self.height = 100
        self.calls: list[str] = []
        self.heights: set[str | None] = set()
        self.smart: dict[tuple[str, str], Any] = {}
        self.paths: dict[str, Any] = {}
        self._chain()
        self._index()

    def ask(self, address: str, query: Any, answer: Any) -> None:
        """Let a contract answer a query."""
        self.smart[address, json.dumps(query, sort_keys=True)] = answer

    def _chain(self) -> None:
        self.ask(ADMIN, {"platform": {}}, {"treasury": TREASURY, "timealarms": contract(1)})
        self.ask(ADMIN, {"protocols": {}}, [LONG, SHORT])
        self.ask(TREASURY, {"calculate_rewards": {}}, 85)
        for name, lpn in ((LONG, "USDC_NOBLE"), (SHORT, "ATOM")):
            held = CONTRACTS[name]
            self.ask(ADMIN, {"protocol": name}, {"network": "Osmosis", "dex": "Osmosis", "contracts": held})
            self.ask(held["lpp"], {"lpn": []}, lpn)
            balance = {"balance": coin(900, lpn), "total_principal_due": coin(400, lpn)}
            self.ask(held["lpp"], {"lpp_balance": []}, {**balance, "total_interest_due": coin(5, lpn)})
            self.ask(held["lpp"], {"deposit_capacity": []}, None)
            self.ask(held["lpp"], {"price": []}, price(3, "NLpn", 4, lpn))
            self.ask(held["lpp"], {"balance": {"address": OWNER}}, {"amount": "10" if name == LONG else "0"})
            spec = {"liability": {"max": 900}, "min_asset": coin(15, lpn), "min_transaction": coin(1, lpn)}
            self.ask(held["leaser"], {"config": {}}, {"config": {"lease_position_spec": spec}})
            self.ask(held["leaser"], {"leases": {"owner": OWNER}}, [LEASE] if name == LONG else [])
            self.ask(held["oracle"], {"base_currency": {}}, lpn)
        self.ask(
            CONTRACTS[LONG]["oracle"],
            {"stable_price": {"currency": "USDC_NOBLE"}},
            price(1, "USDC_NOBLE", 1, "USDC_NOBLE"),
        )
        listed = [price(1, "ATOM", 3, "USDC_NOBLE"), price(1_000_000, "LSH", 12_345, "USDC_NOBLE")]
        self.ask(CONTRACTS[LONG]["oracle"], {"prices": {}}, {"prices": listed})
        self.ask(CONTRACTS[SHORT]["oracle"], {"stable_price": {"currency": "ATOM"}}, price(1, "ATOM", 3, "USDC_NOBLE"))
        self.ask(CONTRACTS[SHORT]["oracle"], {"prices": {}}, {"prices": [price(3, "USDC_NOBLE", 1, "ATOM")]})
        self.ask(LEASE, {"state": {"due_projection_secs": 400}}, opened())
        self.paths |= {
            "/abci_info": {"result": {"response": {"version": "v1"}}},
            "/leasehold/tax/v2/params": {
                "params": {"dex_fee_params": [{"accepted_denoms_min_prices": [{"denom": "ibc/X", "min_price": "0.1"}]}]}
            },
            "/leasehold/mint/v1beta1/annual_inflation": {"annual_inflation": "1000"},
            "/cosmos/staking/v1beta1/pool": {"pool": {"not_bonded_tokens": "1", "bonded_tokens": "2"}},
            "/cosmos/gov/v1/proposals": {"proposals": [proposal("2", voting=True), proposal("1", voting=False)]},
            "/cosmos/gov/v1/proposals/2/tally": {
                "tally": {"yes_count": "5", "abstain_count": "0", "no_count": "0", "no_with_veto_count": "0"}
            },
            "/cosmos/staking/v1beta1/validators?status=BOND_STATUS_BONDED": {"validators": [validator()]},
            "/cosmos/staking/v1beta1/validators": {"validators": []},
            f"/cosmos/bank/v1beta1/balances/{OWNER}": {
                "balances": [
                    {"denom": "ibc/ATOM", "amount": "1500000"},
                    {"denom": "ibc/UNKNOWN", "amount": "7"},
                    {"denom": "ulsh", "amount": "2000000"},
                ]
            },
        }

    def _index(self) -> None:
        def mapped(ticker: str, group: str, *names: str) -> list[dict[str, str]]:
            denom = "ulsh" if ticker == "LSH" else f"ibc/{ticker}"
            return [
                {"protocol": name, "group": group, "bank_symbol": denom, "dex_symbol": f"dex-{ticker}"}
                for name in names
            ]

        self.paths |= {
            "/api/protocols": {
                "protocols": [
                    {
                        "name": name,
                        "network": "Osmosis",
                        "dex": "Osmosis",
                        "position_type": kind,
                        "lpn_symbol": lpn,
                        "is_active": True,
                        "contracts": CONTRACTS[name],
                    }
                    for name, kind, lpn in ((LONG, "Long", "USDC_NOBLE"), (SHORT, "Short", "ATOM"))
                ]
            },
            "/api/currencies": {
                "currencies": [
                    {
                        "ticker": "LSH",
                        "decimal_digits": 6,
                        "is_active": True,
                        "protocols": mapped("LSH", "native", LONG),
                    },
                    {
                        "ticker": "USDC_NOBLE",
                        "decimal_digits": 6,
                        "is_active": True,
                        "protocols": mapped("USDC_NOBLE", "lpn", LONG) + mapped("USDC_NOBLE", "lease", SHORT),
                    },
                    {
                        "ticker": "ATOM",
                        "decimal_digits": 6,
                        "is_active": True,
                        "protocols": mapped("ATOM", "lease", LONG) + mapped("ATOM", "lpn", SHORT),
                    },
                ]
            },
            "/api/pools": {"protocols": [{"protocol": LONG, "earn_apr": "8.5", "utilization": "61.2"}]},
            "/api/ls-opening": None,
        }
        for endpoint in (
            "total-value-locked",
            "total-tx-value",
            "buyback-total",
            "realized-pnl-stats",
            "revenue",
            "open-position-value",
            "open-interest",
        ):
            self.paths[f"/api/{endpoint}"] = {endpoint.replace("-", "_"): "1.5"}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What this world says."""
        raw = unquote(request.raw_path)
        self.calls.append(raw)
        if self.mode == "hang":
            await asyncio.sleep(30)
        if self.mode == "500":
            return web.Response(status=500, text="secret upstream text")
        if self.mode == "garbage":
            return web.Response(text="<html>")
        path = request.path
        if path == "/status":
            sync = {"latest_block_height": str(self.height), "latest_block_time": "2026-01-01T00:00:00Z"}
            info = {"node_info": {"network": "leasehold-1"}, "sync_info": {**sync, "catching_up": False}}
            return web.json_response({"result": info})
        if "/smart/" in raw:
            self.heights.add(request.headers.get("x-cosmos-block-height"))
            return self._contract(request.raw_path)
        for key in (raw, raw.partition("&")[0], path):
            if key in self.paths:
                found = self.paths[key]
                return (
                    web.json_response(found[1], status=found[0])
                    if isinstance(found, tuple)
                    else web.json_response(found)
                )
        return web.json_response({"code": 5, "message": "not found"}, status=404)

    def _contract(self, raw: str) -> web.Response:
        address, _, encoded = raw.split("/contract/")[1].partition("/smart/")
        query = json.dumps(json.loads(b64decode(unquote(encoded))), sort_keys=True)
        try:
            found = self.contract_answer(address, query)
        except LookupError:
            return web.json_response({"code": 2, "message": f"no such contract: address {address}"}, status=404)
        if isinstance(found, Exception):
            return web.json_response({"code": 2, "message": f"{found}: query wasm contract failed"}, status=500)
        return web.json_response({"data": found})

    def contract_answer(self, address: str, query: str) -> Any:
        """What a contract says; LookupError where there is none."""
        if (address, query) in self.smart:
            return self.smart[address, query]
        if any(known == address for known, _ in self.smart):
            return [] if "leases" in query else {"amount": "0"}
        raise LookupError(address)


def proposal(number: str, *, voting: bool) -> dict[str, Any]:
    status = "PROPOSAL_STATUS_VOTING_PERIOD" if voting else "PROPOSAL_STATUS_PASSED"
    return {"id": number, "status": status, "title": f"Proposal {number}", "messages": []}


def validator() -> dict[str, Any]:
    rates = {"rate": "0.05", "max_rate": "0.2", "max_change_rate": "0.01"}
    return {
        "operator_address": VALIDATOR,
        "status": "BOND_STATUS_BONDED",
        "tokens": "10",
        "delegator_shares": "10.0",
        "description": {"moniker": "one", "identity": "", "website": "", "details": ""},
        "commission": {"commission_rates": rates},
    }


@asynccontextmanager
async def served(world: World) -> AsyncIterator[str]:
    """The world at a base URL."""
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", world.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site.name
    finally:
        await runner.cleanup()


def settings_for(base: str, database: str) -> Settings:
    """Settings of an application API in front of a world."""
    settings = load(profile="devnet").settings
    return replace(
        settings,
        chain=replace(settings.chain, rpc_urls=(base,), lcd_url=base, admin_contract=ADMIN),
        database=replace(settings.database, url=database),
        app_api=replace(
            settings.app_api, data_api_url=base, swap_url=base, referral_url=base, payments_url=base, svm_url=base
        ),
    )


class Running:
    """An application API that answers, with the world behind it."""

    def __init__(self, world: World, app: App, graph: Graph, client: aiohttp.ClientSession) -> None:
        self.world = world
        self.app = app
        self.graph = graph
        self.client = client

    async def get(self, path: str) -> tuple[int, Any]:
        status, _, body = await self.full(path)
        return status, body

    async def full(self, path: str) -> tuple[int, dict[str, str], Any]:
        async with self.client.get(path) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return response.status, headers, json.loads(await response.read() or b"null")

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(60):
            while not await condition():  # noqa: ASYNC110 - what is waited for happens behind HTTP
                await asyncio.sleep(0.05)

    async def warm(self) -> None:
        async with asyncio.timeout(60):
            await self.graph.settled()


@asynccontextmanager
async def started(world: World, database: str, *, gated: bool = True) -> AsyncIterator[Running]:
    """An application API in front of a world, with the first configuration unless told otherwise."""
    async with served(world) as base:
        settings = settings_for(base, database)
        app = assemble(settings, SystemClock())
        metrics = Metrics()
        graphs: list[Graph] = []

        @asynccontextmanager
        async def lifespan() -> AsyncIterator[None]:
            async with service.running(app, metrics) as graph:
                graphs.append(graph)
                yield

        application = Application(
            app.registry, limits=settings.limits, snapshots=app.snapshots, metrics=metrics, lifespan=lifespan
        )
        async with serving(application, grace_seconds=1) as running, aiohttp.ClientSession(running.url) as client:
            if gated:
                await app.store.import_documents(first_documents(replace(settings, chain=load().settings.chain)))
                graphs[0].poke("gated_config")
            yield Running(world, app, graphs[0], client)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def cold(world: World, database: str) -> AsyncIterator[Running]:
    """An application API without any configuration, whose upstreams are dead."""
    world.mode = "500"
    async with started(world, database, gated=False) as running:
        yield running


@pytest.fixture
async def warm(world: World, database: str) -> AsyncIterator[Running]:
    """A warm application API."""
    async with started(world, database) as running:
        await running.warm()
        yield running
