"""Questions that the recorded world can answer but that no case here asks, answered in the recorded shapes.

Every wallet, lease, currency, protocol, network, validator and proposal of the world is asked about. What an answer
must look like is known of every route: which members, null or absent, text or number.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from tests.golden.app_comparison import FILLED
from tests.golden.app_shapes import Shape
from tests.golden.app_world import RecordedWorld
from tests.golden.test_app import ROOT, SHARED, Scene, pytestmark, staged
from yarl import URL

from leasehold.core.errors import InvalidInput
from leasehold.serving.contracts import Contract
from leasehold.serving.matching import Matcher

__all__ = ("pytestmark",)
SHAPES = next((one / "shapes.json" for one in (ROOT / "app", SHARED / "app") if (one / "shapes.json").exists()), None)
LIMITS = (0, 1, 2, 3, 5, 8, 15, 16, 100)
AT_ONCE = 16
# Members that we add: ages of what is cached, and an icon for a single pool.
MORE = {"/api/health/detailed": frozenset(("cells",)), "/api/earn/pools/{pool_id}": frozenset(("icon",))}
# Free JSON, whose members are somebody else's business; and pools that the public service never showed (D12).
OPAQUE = ("/api/governance/accounts/", "/api/networks/OSMOSIS/pools")


def _about_configuration(world: dict[str, Any]) -> Iterator[str]:
    currencies = world["etl_currencies"]["currencies"]
    protocols = [one["name"] for one in world["etl_protocols"]["protocols"]]
    for currency in currencies:
        ticker = currency["ticker"]
        yield f"assets/{ticker}"
        yield f"currencies/{ticker}"
        for mapping in currency["protocols"]:
            yield f"currencies/{ticker}@{mapping['protocol']}"
    for protocol in protocols:
        yield from (f"protocols/{protocol}/currencies", f"earn/pools/{protocol}", f"leases/config/{protocol}")
    for network in world["gated_files"]["network-config.json"]:
        yield from (f"networks/{network}/{what}" for what in ("info", "assets", "protocols", "pools"))
    for listed in world["lcd_validators"].values():
        yield from (f"staking/validators/{one['operator_address']}" for one in listed)


def _about_wallets(world: dict[str, Any]) -> Iterator[str]:
    protocols = [one["name"] for one in world["etl_protocols"]["protocols"]]
    for wallet in world["wallets"].values():
        for name in ("address", "owner", "delegator"):
            yield from (f"{what}?{name}={wallet}" for what in ("balances", "earn/positions", "staking/positions"))
        yield from (f"leases?address={wallet}&protocol={protocol}" for protocol in protocols)
        yield from (f"governance/proposals?limit={limit}&voter={wallet}" for limit in LIMITS)
        yield from (f"governance/proposals/{one['id']}/votes/{wallet}" for one in world["lcd_proposals"])
        yield from (f"leases?owner={wallet}", f"governance/accounts/{wallet}")
    for lease, known in world["leases"].items():
        yield from (f"leases/{lease}?protocol={known['protocol']}", f"leases/{lease}/history")
        yield from (f"leases/{lease}?protocol={protocol}" for protocol in protocols)


def questions(world: dict[str, Any]) -> list[str]:
    """Reads about everything that the world has."""
    fixed = ["assets", "config", "config/networks", "config/protocols", "currencies", "earn/pools", "earn/stats"]
    fixed += ["health", "health/detailed", "networks/gated", "node/info", "node/status", "prices", "protocols"]
    fixed += ["protocols/active", "protocols/gated", "staking/params", "staking/validators", "fees/gas-config"]
    fixed += ["governance/apr", "governance/staking-pool", "governance/params/tallying", "governance/hidden-proposals"]
    fixed += ["solana/transfer-params", "zero-interest/config", "campaigns/active", "governance/denoms/unls"]
    fixed += [f"governance/proposals?limit={limit}" for limit in LIMITS]
    fixed += [f"governance/proposals/{one['id']}/tally" for one in world["lcd_proposals"]]
    return [f"/api/{one}" for one in (*fixed, *_about_configuration(world), *_about_wallets(world))]


class Asker:
    """Asks our application API and holds its answers against the shapes."""

    def __init__(self, base: str, matcher: Matcher, contract: Contract, world: RecordedWorld) -> None:
        self.base, self.world = base, world
        self._matcher, self._contract = matcher, contract
        self._shapes = (
            {key: Shape(one) for key, one in json.loads(SHAPES.read_bytes())["http"].items()} if SHAPES else {}
        )
        self.statuses: dict[int, int] = {}
        self.wrong: list[str] = []

    async def ask(self, session: aiohttp.ClientSession, target: str) -> None:
        async with session.get(URL(self.base + quote(target, safe="/?=&@%"), encoded=True)) as response:
            status, body = response.status, await response.read()
            kind = response.headers.get("content-type")
        self.statuses[status] = self.statuses.get(status, 0) + 1
        try:
            self._contract.validate("GET", target, status, kind, body)
        except (AssertionError, InvalidInput) as error:
            self.wrong.append(str(error))
        if status in (400, 404, 502):
            code = json.loads(body)["error"]["code"]
            self.wrong += [f"{target}: {code}"] if code == "INTERNAL_ERROR" else []
        elif status != 200:
            self.wrong.append(f"{target}: {status}")
        else:
            self._hold(target, json.loads(body))

    def _hold(self, target: str, answer: Any) -> None:
        match = self._matcher.match(target.partition("?")[0].encode())
        route = match.route("GET") if match else None
        assert route is not None
        shape = self._shapes.get(f"GET {route.openapi_path}")
        if shape is None or answer is None or target.startswith(OPAQUE):
            return
        found = shape.violations(answer, FILLED, MORE.get(route.openapi_path, frozenset()))
        self.wrong += [f"{target}: {text}" for text in found]


@pytest.mark.skipif(SHAPES is None, reason="no recorded shapes")
async def test_whatever_the_world_can_be_asked_has_the_recorded_shape(database: str, tmp_path: Path) -> None:
    """Hundreds of questions beside the recorded ones: declared, shaped as recorded, and none ends in an accident."""
    async with staged(database, Scene(), tmp_path) as (base, app, world), aiohttp.ClientSession() as session:
        asker = Asker(base, Matcher(app.registry), Contract(app.registry), world)
        waiting = iter(questions(world.world))

        async def work() -> None:
            for target in waiting:
                await asker.ask(session, target)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    assert not asker.wrong, "\n".join(asker.wrong[:40])
    assert asker.statuses[200] > 300
