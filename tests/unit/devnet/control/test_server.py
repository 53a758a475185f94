"""Control over HTTP: what it does, and whom it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.unit.devnet.control.controlled_chain import Ground

from leasehold.devnet.control.server import control_api, serving_control
from leasehold.devnet.genesis.document import address

Make = Callable[..., Ground]
Ask = Callable[..., Awaitable[tuple[int, Any]]]


def _talk(chain: Ground, conversation: Callable[[Ask], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving_control(chain.control, 0) as running, aiohttp.ClientSession() as session:

            async def ask(path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
                method = "GET" if body is None and "data" not in options else "POST"
                sent = {"json": body} if body is not None else {}
                async with session.request(method, running.url + path, **sent, **options) as answer:
                    assert "access-control-allow-origin" not in answer.headers
                    return answer.status, await answer.json()

            await conversation(ask)

    asyncio.run(run())


def test_everything_control_does_can_be_asked_for(ground: Make, tmp_path: Path) -> None:
    """Mine, travel, fund, set, remember, go back, put aside, take up, pause, resume, in one conversation."""
    chain = ground(market=True, folder=tmp_path)
    alice = address(chain.devnet.settings.identity, "alice")

    async def conversation(ask: Ask) -> None:
        status, told = await ask("/control/status")
        assert (status, told["height"], told["paused"]) == (200, 1, False)
        assert (await ask("/control/accounts"))[1][0]["mnemonic"]
        assert "USDC_NOBLE" in (await ask("/control/tickers"))[1]
        assert (await ask("/control/mine", {"blocks": 3, "interval_seconds": 5}))[1]["height"] == 4
        assert (await ask("/control/time", {"seconds": 60}))[1]["height"] == 5
        assert (await ask("/control/time", {"time": "2031-01-01T00:00:00Z"}))[1]["time"] == "2031-01-01T00:00:00Z"
        point = (await ask("/control/snapshot", {}))[1]
        assert (await ask("/control/fund", {"address": alice, "coins": ["5LSH"]}))[0] == 200
        assert (await ask("/control/balance", {"address": alice, "coin": "0USDC_NOBLE"}))[0] == 200
        assert (await ask("/control/price", {"ticker": "ATOM", "usd": 3.5}))[1]["prices"]["ATOM"] == pytest.approx(3.5)
        assert (await ask("/control/revert", {"id": point["id"]}))[1]["height"] == point["height"]
        assert (await ask("/control/dump", {"name": "here"}))[1]["bytes"] > 0
        assert (await ask("/control/load", {"name": "here"}))[1]["dumps"] == ["here"]
        assert (await ask("/control/pause", {}))[1]["paused"] is True
        assert (await ask("/control/resume", {}))[1]["paused"] is False
        faults = (await ask("/control/faults", {"slow_seconds": 0.01, "stale": True, "pruned_below": 2}))[1]["faults"]
        assert faults == {"slow_seconds": 0.01, "pruned_below": 2, "stale_at": point["height"]}

    _talk(chain, conversation)


def test_web_pages_and_rebound_names_are_refused(ground: Make) -> None:
    """An origin, a foreign host name or a body that is not JSON does nothing."""
    chain = ground()

    async def conversation(ask: Ask) -> None:
        origin = {"Origin": "http://localhost:8080"}
        assert (await ask("/control/mine", {"blocks": 1}, headers=origin))[0] == 401
        assert (await ask("/control/status", headers={"Host": "evil.example:26659"}))[0] == 401
        assert (await ask("/control/mine", data=b'{"blocks":1}', headers={"Content-Type": "text/plain"}))[0] == 415
        assert (await ask("/control/mine", data=b"", headers={"Content-Type": "application/json"}))[0] == 400

    _talk(chain, conversation)
    assert chain.devnet.node.height == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/control/mine", {"blocks": 0}, 400),
        ("/control/mine", {"blocks": "many"}, 400),
        ("/control/mine", {"block": 5}, 400),
        ("/control/time", {}, 400),
        ("/control/time", {"seconds": 5, "time": "2031-01-01T00:00:00Z"}, 400),
        ("/control/time", {"time": "tomorrow"}, 400),
        ("/control/time", {"time": "1999-01-01T00:00:00Z"}, 400),
        ("/control/fund", {"address": "nobody", "coins": ["5LSH"]}, 400),
        ("/control/revert", {"id": "s9"}, 404),
        ("/control/load", {"name": "../../etc/passwd"}, 400),
        ("/control/faults", {"slow_seconds": 1e9}, 400),
        ("/control/faults", {"packet": "nonsense"}, 400),
        ("/control/nonsense", {}, 404),
    ],
)
def test_bad_requests_are_told_so_and_change_nothing(ground: Make, path: str, body: Any, status: int) -> None:
    """A wrong wish is a client error with an envelope, and no block is sealed for it."""
    chain = ground()

    async def conversation(ask: Ask) -> None:
        found, answer = await ask(path, body)
        assert found == status
        assert answer["error"]["message"]

    _talk(chain, conversation)
    assert chain.devnet.node.height == 1


def test_every_route_is_guarded(ground: Make) -> None:
    """No route of control is without the check of who asks."""
    assert all(route.guard is not None and route.rate == "none" for route in control_api(ground().control))
