"""Reads over HTTP: what is served while upstreams fail, and what is asked of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from tests.unit.app_api.conftest import LEASE, LONG, OWNER, Running, World, opened, started
from tests.unit.app_api.test_service import CACHED, FROM_MEMORY

from leasehold.app_api.app import App
from leasehold.app_api.resources import health

# Values that only the configuration feeds have no upstream that could fail.
UPSTREAM = frozenset(("chain", "data API", "data API and chain"))


def lose_patience(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give upstreams up soon, from now on: while they answered they had the usual time, however slow the machine is."""
    links = app.upstreams
    others = (links.data, links.lcd, links.swap, links.referral, links.payments, links.svm)
    for transport in (*links.node.transports, *(one.transport for one in others)):
        transport.manners = replace(transport.manners, seconds=0.3)
    monkeypatch.setattr(health, "PROBE_SECONDS", 0.3)


@pytest.mark.parametrize("mode", ["500", "garbage", "hang"])
async def test_whatever_fails_what_was_read_stays_and_grows_old(
    world: World, database: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cached route answers as before, whether upstreams refuse, lie or hang; ages and failures say so."""
    paths = [*CACHED, *FROM_MEMORY, "/api/governance/proposals"]
    async with started(world, database) as warm:
        await warm.warm()
        before = {path: await warm.get(path) for path in paths}
        assert {status for status, _ in before.values()} == {200}
        # A new block is known, so that nothing can be answered from what was read of the last.
        node = warm.app.upstreams.node
        assert node.newest is not None
        node.newest = replace(node.newest, height=world.height + 1, seen=warm.app.clock.monotonic())
        world.mode = mode
        if mode == "hang":
            lose_patience(warm.app, monkeypatch)
        fed = [name for name, one in warm.graph.refreshers.items() if one.source in UPSTREAM]
        results = await asyncio.gather(*(warm.graph.run(warm.graph.refreshers[name]) for name in fed))
        assert not any(results), [name for name, good in zip(fed, results, strict=True) if good]
        assert {path: await warm.get(path) for path in paths} == before
        cells = (await warm.get("/api/health/detailed"))[1]["cache"]["cells"]
        async with warm.client.get("/metrics") as response:
            measured = await response.text()
    for name in fed:
        told = cells[name]
        assert (told["populated"], told["source"] in UPSTREAM) == (True, True)
        assert told["failures"] >= 1, name
        assert told["age_seconds"] > 0.01, name
        assert f'leasehold_cell_age_seconds{{cell="{name}"}} ' in measured


class MeetingWorld(World):
    """A world that answers none of the awaited paths before all of them were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited: set[str] = set()
        self.met = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.awaited:
            self.awaited.discard(request.path)
            if not self.awaited:
                self.met.set()
            await self.met.wait()
        return await super().answer(request)


async def test_detailed_health_asks_everybody_at_once(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six upstreams that answer only when all are asked do answer, and are told apart."""
    monkeypatch.setattr(health, "PROBE_SECONDS", 60.0)
    world = MeetingWorld()
    world.paths |= {
        "/cosmos/base/tendermint/v1beta1/node_info": {},
        "/v2/info/chains": {"chains": []},
        "/api/referrals/validate/HEALTH_CHECK": (404, {}),
        "/api/v1/campaigns/active": (401, {}),
    }
    async with started(world, database) as warm:
        await warm.warm()
        world.awaited = {
            "/cosmos/base/tendermint/v1beta1/node_info",
            "/v2/info/chains",
            "/api/referrals/validate/HEALTH_CHECK",
            "/api/v1/campaigns/active",
        }
        status, body = await warm.get("/api/health/detailed")
        assert world.met.is_set()
        assert (status, body["status"], body["cache"]["status"]) == (200, "healthy", "healthy")
        names = {"etl_api", "chain_rpc", "chain_rest", "skip_api", "referral_api", "zero_interest_api"}
        assert set(body["services"]) == names
        assert {one["status"] for one in body["services"].values()} == {"healthy"}
        assert all(one["latency_ms"] >= 0 for one in body["services"].values())
        world.paths["/v2/info/chains"] = (500, {})
        services = (await warm.get("/api/health/detailed"))[1]["services"]
        assert services["skip_api"] == {
            "status": "unhealthy",
            "configured": True,
            "error": "HTTP 500 Internal Server Error",
        }


async def test_basic_health_asks_nobody(cold: Running) -> None:
    """It is answered in process, whatever the upstreams do."""
    cold.world.mode = "hang"
    status, body = await cold.get("/api/health")
    assert (status, body["status"]) == (200, "healthy")
    assert (await cold.get("/api/health"))[1]["uptime_seconds"] >= body["uptime_seconds"]


async def test_the_age_of_proposals_is_counted_when_asked(warm: Running) -> None:
    """Cache-Age grows between two requests although nothing was refreshed."""
    cell = warm.app.cells.proposals
    ages = []
    for seconds in (0.0, 17.0, 40.0):
        cell._at = warm.app.clock.monotonic() - seconds
        _, headers, _ = await warm.full("/api/governance/proposals")
        ages.append(int(headers["cache-age"]))
    assert ages == [0, 17, 40]


async def test_proposals_are_hidden_when_asked(warm: Running) -> None:
    """A proposal that was hidden a moment ago is neither listed nor counted, without another read of the chain."""
    assert (await warm.get("/api/governance/proposals"))[1]["pagination"]["total"] == "2"
    runs = warm.graph.refreshers["proposals_with_tally"].runs
    await warm.app.store.put("ui-settings", {"hidden_proposals": ["2"]})
    assert await warm.graph.run(warm.graph.refreshers["gated_config"])
    _, body = await warm.get("/api/governance/proposals")
    assert ([one["id"] for one in body["proposals"]], body["pagination"]["total"]) == (["1"], "1")

    async def told() -> bool:
        return (await warm.get("/api/governance/hidden-proposals"))[1] == {"hidden_ids": ["2"]}

    await warm.until(told)
    assert warm.graph.refreshers["proposals_with_tally"].runs == runs


async def test_transactions_are_asked_for_as_asked(warm: Running) -> None:
    """`address`, `skip`, `limit`, `filter` and `to` reach the data API, others don't; only what users start is kept."""
    sent = {"type": "/cosmos.bank.v1beta1.MsgSend", "value": "CgFhEgFi", "tx_hash": "A"}
    update = {"type": "/ibc.core.client.v1.MsgUpdateClient", "value": "", "tx_hash": "B"}
    warm.world.paths["/api/txs"] = [sent, update]
    asked = f"address={OWNER}&skip=5&limit=7&filter=positions_ids&to=a,b"
    status, body = await warm.get(f"/api/etl/txs?{asked}&extra=1")
    assert (status, [one["tx_hash"] for one in body]) == (200, ["A"])
    assert body[0]["data"] == {"amount": [], "fromAddress": "a", "toAddress": "b"}
    assert f"/api/txs?{asked}" in warm.world.calls
    for refusal, expected in (((400, {"error": "no"}), 400), ((500, {}), 502), ((200, {"not": "a list"}), 502)):
        warm.world.paths["/api/txs"] = refusal
        assert (await warm.get(f"/api/etl/txs?address={OWNER}"))[0] == expected
    warm.world.paths["/api/txs"] = (400, {"error": "an address is required"})
    assert await warm.get("/api/etl/txs?limit=2") == (200, [])


@pytest.mark.parametrize(
    ("what", "answer", "path"),
    [
        ("a leaser", RuntimeError("boom"), f"/api/leases?address={OWNER}"),
        ("a pool", RuntimeError("boom"), f"/api/earn/positions?address={OWNER}"),
    ],
)
async def test_a_part_that_fails_fails_the_whole(warm: Running, what: str, answer: Any, path: str) -> None:
    """A list of a wallet is never silently short: one contract that does not answer is 502."""
    held = warm.app.cells.contracts.value.of(LONG)
    contract, query = (
        (held.leaser, {"leases": {"owner": OWNER}})
        if what == "a leaser"
        else (held.lpp, {"balance": {"address": OWNER}})
    )
    assert (await warm.get(path))[0] == 200
    warm.world.ask(contract, query, answer)
    warm.world.height += 1
    await warm.app.upstreams.node.refresh()
    status, body = await warm.get(path)
    assert (status, body["error"]["code"]) == (502, "CHAIN_ERROR")


async def test_amounts_that_are_none_are_the_chains_failure(warm: Running) -> None:
    """An amount that is no number is an answer that can't be read: 502, in lists and alone, and never an accident."""
    held = warm.app.cells.contracts.value.of(LONG)
    nonsense = {"amount": "12e3", "ticker": "USDC_NOBLE"}
    warm.world.paths[f"/cosmos/bank/v1beta1/balances/{OWNER}"] = {"balances": [{"denom": "ulsh", "amount": "-1"}]}
    warm.world.ask(held.lpp, {"balance": {"address": OWNER}}, {"amount": "9" * 5000})
    state = opened()
    state["opened"]["principal_due"] = nonsense
    warm.world.ask(LEASE, {"state": {"due_projection_secs": 400}}, state)
    rewards = f"/cosmos/distribution/v1beta1/delegators/{OWNER}/rewards"
    warm.world.paths |= {
        f"/cosmos/staking/v1beta1/delegations/{OWNER}": {"delegation_responses": []},
        f"/cosmos/staking/v1beta1/delegators/{OWNER}/unbonding_delegations": {"unbonding_responses": []},
        rewards: {"rewards": [], "total": [{"denom": "ulsh", "amount": "many"}]},
    }
    warm.world.height += 1
    await warm.app.upstreams.node.refresh()
    for path in ("balances", "leases", "earn/positions", "staking/positions"):
        status, body = await warm.get(f"/api/{path}?address={OWNER}")
        assert (path, status, body["error"]["code"]) == (path, 502, "CHAIN_ERROR")
    assert (await warm.get(f"/api/leases/{LEASE}?protocol={LONG}"))[0] == 502
