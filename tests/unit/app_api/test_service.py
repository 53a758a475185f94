"""The application API over HTTP: cold, warm, stale, with failing upstreams and bad input."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest
from tests.unit.app_api.conftest import LEASE, LONG, OWNER, SHORT, STRANGER, VALIDATOR, Running, World, started
from yarl import URL

from leasehold.app_api.upstreams import all as upstreams
from leasehold.app_api.upstreams.transport import Manners
from leasehold.core.addresses import encode
from leasehold.serving.contracts import Contract

CACHED = {
    "/api/assets": "Assets",
    "/api/config": "App config",
    "/api/config/networks": "App config",
    "/api/config/protocols": "App config",
    "/api/currencies": "Currencies",
    "/api/earn/pools": "Filter context",
    "/api/earn/stats": "Earn stats",
    "/api/etl/batch/loans-stats": "Loans stats",
    "/api/etl/batch/stats-overview": "Stats overview",
    "/api/fees/gas-config": "Gas fee config",
    "/api/governance/apr": "Annual inflation",
    "/api/governance/hidden-proposals": "Gated config",
    "/api/governance/staking-pool": "Staking pool",
    "/api/networks/gated": "Networks",
    "/api/prices": "Prices",
    "/api/protocols": "Protocols",
    "/api/protocols/active": "Protocols",
    "/api/protocols/gated": "Protocols",
    "/api/staking/validators": "Validators",
    "/api/swap/config": "Swap config",
}
FROM_MEMORY = (
    "/api/assets/ATOM",
    "/api/currencies/ATOM",
    f"/api/earn/pools/{LONG}",
    f"/api/leases/config/{LONG}",
    "/api/networks/OSMOSIS/info",
    "/api/networks/OSMOSIS/assets",
    "/api/networks/OSMOSIS/protocols",
    "/api/networks/OSMOSIS/pools",
    f"/api/protocols/{LONG}/currencies",
    f"/api/staking/validators/{VALIDATOR}",
)


async def test_cold_routes_say_what_is_missing(cold: Running) -> None:
    """Every cached route answers 503 and names what is not there yet, except the list of proposals."""
    for path, name in CACHED.items():
        status, body = await cold.get(path)
        assert (path, status, body["error"]["message"]) == (path, 503, f"{name} not yet available")
    for path in FROM_MEMORY:
        assert (await cold.get(path))[0] == 503, path
    status, headers, body = await cold.full("/api/governance/proposals")
    assert (status, body) == (200, {"proposals": [], "pagination": {"total": "0", "next_key": None}})
    assert headers["cache-status"] == "cold"
    assert "cache-age" not in headers


async def test_a_dead_upstream_empties_nothing(warm: Running) -> None:
    """Whatever is cached answers the same after every upstream has died as before; only clocks move on."""
    paths = [*CACHED, *FROM_MEMORY, "/api/governance/proposals"]
    before = {path: await warm.get(path) for path in paths}
    assert {status for status, _ in before.values()} == {200}
    warm.world.mode = "500"
    warm.world.height += 5
    for name in warm.graph.refreshers:
        warm.graph.poke(name)
    await asyncio.sleep(0.5)
    after = {path: await warm.get(path) for path in paths}
    assert after == before


async def test_an_index_that_begins_anew_empties_nothing(warm: Running) -> None:
    """A data API that suddenly knows no protocols and currencies is waited for, and what is shown stays."""
    warm.world.paths["/api/protocols"] = {"protocols": []}
    warm.world.paths["/api/currencies"] = {"currencies": []}
    for name in ("indexed_protocols", "indexed_currencies"):
        assert await warm.graph.run(warm.graph.refreshers[name]) is False
    assert (await warm.get("/api/protocols"))[1]["count"] == 2
    assert (await warm.get("/api/assets"))[1]["count"] == 3


async def test_live_reads_fail_as_bad_gateways(warm: Running) -> None:
    """A wallet's reads are 502 when the chain fails, hangs or answers HTML, and nothing of the upstream shows."""
    for transport in (warm.app.upstreams.lcd.transport, warm.app.upstreams.data.transport):
        transport.manners = Manners(seconds=0.5)
    paths = ("balances", "leases", "earn/positions", "staking/positions", "etl/batch/user-history")
    for mode in ("500", "garbage", "hang"):
        warm.world.mode = mode
        answers = await asyncio.gather(*(warm.get(f"/api/{path}?address={STRANGER}") for path in paths))
        for status, body in answers:
            assert status == 502, (mode, body)
            assert "secret" not in body["error"]["message"]
            assert "http://" not in body["error"]["message"]
        assert (await warm.get("/api/prices"))[0] == 200


async def test_it_listens_while_upstreams_hang(world: World, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With upstreams that accept and never answer, the service still answers at once."""
    # Whoever waited for one of them would wait much longer than the slowest machine needs.
    monkeypatch.setattr(upstreams, "CHAIN", Manners(seconds=600.0))
    monkeypatch.setattr(upstreams, "SERVICE", Manners(seconds=600.0))
    world.mode = "hang"
    async with started(world, database, gated=False) as running, asyncio.timeout(60):
        assert (await running.get("/api/health"))[0] == 200
        assert (await running.get("/api/prices"))[0] == 503


async def test_every_answer_is_as_described(warm: Running) -> None:
    """Answers fit the OpenAPI document that the service itself publishes."""
    contract = Contract(warm.app.registry)
    live = (
        f"/api/balances?address={OWNER}",
        f"/api/leases?address={OWNER}",
        f"/api/leases/{LEASE}?protocol={LONG}",
        f"/api/leases/{LEASE}/history",
        f"/api/earn/positions?address={OWNER}",
        "/api/governance/proposals",
        "/api/health",
        "/api/health/detailed",
        "/api/node/info",
        "/api/node/status",
        "/api/locales/en",
        "/api/assets/NOPE",
        "/api/balances",
    )
    for path in (*CACHED, *FROM_MEMORY, *live):
        async with warm.client.get(path) as response:
            body = await response.read()
            contract.validate("GET", path, response.status, response.headers["content-type"], body)


async def test_a_thousand_readers_cost_one_batch(warm: Running) -> None:
    """However many ask for a wallet's leases in one block, the chain is asked once for each part, at one height."""
    warm.world.calls.clear()
    warm.world.heights.clear()
    answers = await asyncio.gather(*(warm.get(f"/api/leases?owner={OWNER}") for _ in range(200)))
    assert {status for status, _ in answers} == {200}
    assert all(body == answers[0][1] for _, body in answers)
    asked = [call for call in warm.world.calls if "/smart/" in call and "prices" not in call]
    assert len([call for call in asked if LEASE in call]) <= 2
    assert len(asked) < 50
    assert warm.world.heights == {str(warm.world.height)}


async def test_a_change_of_the_configuration_needs_no_restart(warm: Running) -> None:
    """What is hidden by a stored document disappears within moments, from lists and from wallets."""
    rules = {"asset_restrictions": {"ignore_all": ["ATOM"]}}
    assert "ATOM" in [one["ticker"] for one in (await warm.get("/api/assets"))[1]["assets"]]
    assert len((await warm.get(f"/api/leases?address={OWNER}"))[1]["leases"]) == 1
    await warm.app.store.put("lease-rules", rules)

    async def gone() -> bool:
        return "ATOM" not in [one["ticker"] for one in (await warm.get("/api/assets"))[1]["assets"]]

    await warm.until(gone)
    assert (await warm.get(f"/api/leases?address={OWNER}"))[1]["leases"] == []
    assert (await warm.get("/api/currencies/ATOM"))[1]["is_active"] is False


async def test_a_new_block_brings_new_prices(warm: Running) -> None:
    """Prices follow blocks, exactly."""
    oracle = warm.app.cells.protocols.value[LONG].contracts.oracle
    assert oracle is not None
    usdc = {"amount": {"amount": "7", "ticker": "ATOM"}, "amount_quote": {"amount": "22", "ticker": "USDC_NOBLE"}}
    warm.world.ask(oracle, {"prices": {}}, {"prices": [usdc]})
    warm.world.height += 1

    async def moved() -> bool:
        return warm.app.cells.prices.value.get(f"ATOM@{LONG}") == Fraction(22, 7)

    await warm.until(moved)
    _, body = await warm.get("/api/prices")
    assert body["prices"][f"ATOM@{LONG}"]["price_usd"] == "3.142857142857143"


async def test_a_wallet_is_valued(warm: Running) -> None:
    """Balances, leases and deposits carry their worth in USD, and totals are sums."""
    _, balances = await warm.get(f"/api/balances?address={OWNER}")
    assert [one["amount_usd"] for one in balances["balances"]] == ["4.5", "0.02469"]
    assert balances["total_value_usd"] == "4.52469"
    _, leases = await warm.get(f"/api/leases?address={OWNER}")
    (lease,) = leases["leases"]
    assert (lease["amount"]["amount_usd"], lease["debt"]["total"]) == ("6", "5000010")
    assert (leases["total_collateral_usd"], leases["total_debt_usd"]) == ("6", "5.00001")
    expected = Fraction(5_000_010, 2_000_000) / Fraction(9, 10)
    assert abs(Fraction(lease["liquidation_price"]) - expected) < Fraction(1, 10**12)
    _, earn = await warm.get(f"/api/earn/positions?address={OWNER}")
    assert earn["positions"][0]["deposited_lpn"] == "13"
    assert earn["positions"][0]["lpp_price"] == "1.333333"


MIXED = OWNER[:-2] + OWNER[-2:].upper()
ODD = (
    "ATOM%20",
    "atom",
    "A%2FB",
    "..%2FATOM",
    "ATOM@",
    "@",
    "%F0%9F%98%80",
    "%27%3B--",
    "%3Cb%3E",
    "a" * 3000,
    "%2E%2E",
)
BAD = [
    ("/api/balances?address=foo", 400, "address"),
    (f"/api/balances?address={OWNER.upper()}", 400, "address"),
    (f"/api/balances?address={OWNER[:-1]}q", 400, "address"),
    (f"/api/balances?address={encode('osmo', bytes(20))}", 400, "address"),
    (f"/api/balances?address={OWNER}&owner={OWNER}", 400, "address"),
    (f"/api/balances?address={OWNER}&address={OWNER}", 400, "address"),
    ("/api/balances", 400, "address"),
    (f"/api/leases?delegator={OWNER}", 400, "address"),
    ("/api/leases?address=", 400, "address"),
    (f"/api/leases/{LEASE}", 400, "protocol"),
    (f"/api/leases/{LEASE}?protocol=", 400, "protocol"),
    (f"/api/leases/{LEASE}?protocol=NOPE", 400, "protocol"),
    (f"/api/leases/{LEASE}?protocol={SHORT}", 400, "protocol"),
    (f"/api/leases/{STRANGER}?protocol={LONG}", 404, None),
    (f"/api/leases/{encode('osmo', bytes(32))}?protocol={LONG}", 404, None),
    ("/api/governance/proposals?limit=-1", 400, "limit"),
    ("/api/governance/proposals?limit=4294967296", 400, "limit"),
    ("/api/etl/liquidations", 404, None),
    ("/api/etl/..%2Fprotocols", 404, None),
    ("/api/etl/pools/extra", 404, None),
    ("/api/etl/txs?skip=-1", 400, "skip"),
    ("/api/locales/toolong", 400, "lang"),
    ("/api/locales/..%2F", 400, "lang"),
    ("/api/locales/e_n", 400, "lang"),
    ("/api/locales/fr", 404, None),
    ("/api/networks/osmosis/info", 404, None),
    ("/api/assets/%00", 400, None),
    ("/api/assets/%F0%9F%98%80", 404, None),
    (f"/api/referral/rewards/{OWNER}?status=nope", 400, "status"),
    (f"/api/referral/payouts/{OWNER}?limit=-1", 400, "limit"),
    ("/api/solana/balances/0OIl", 400, "address"),
    ("/api/transfer/status/nope", 404, None),
    ("/api/nope", 404, None),
    *(
        (f"/api/{route}?address={address}", 400, "address")
        for route in ("balances", "leases", "earn/positions", "staking/positions", "etl/batch/user-dashboard")
        for address in ("", "foo", MIXED, f"{OWNER[:-1]}q", f"{OWNER}%20", f"{OWNER}%00", "1" * 2000)
    ),
    *(
        (f"/api/{route}?address={OWNER}&{again}={OWNER}", 400, "address")
        for route in ("earn/positions", "staking/positions")
        for again in ("address", "owner", "delegator")
    ),
    (f"/api/leases?owner={OWNER}&address={OWNER}", 400, "address"),
    (f"/api/leases?address={OWNER}&protocol=A&protocol=B", 400, "protocol"),
    (f"/api/leases/{LEASE}?protocol={LONG}&protocol={LONG}", 400, "protocol"),
    (f"/api/leases/{MIXED}?protocol={LONG}", 400, "address"),
    (f"/api/leases/..%2Fconfig?protocol={LONG}", 400, "address"),
    ("/api/leases/config/..%2F..%2Fx", 404, None),
    ("/api/governance/proposals?limit=1&limit=2", 400, "limit"),
    (f"/api/governance/proposals?voter={OWNER}&voter={OWNER}", 400, "voter"),
    ("/api/governance/proposals?limit=1.5", 400, "limit"),
    ("/api/governance/proposals?limit=", 400, "limit"),
    ("/api/etl/txs?limit=2147483648", 400, "limit"),
    ("/api/etl/txs?skip=1&skip=2", 400, "skip"),
    ("/api/etl/%2e%2e%2fprotocols", 404, None),
    ("/api/etl/pools%2F..%2Fprotocols", 404, None),
    ("/api/etl/pools%00", 400, None),
    ("/api/etl/POOLS", 404, None),
    ("/api/etl/", 404, None),
    ("/api/locales/en%00", 400, None),
    ("/api/locales/%2e%2e", 400, "lang"),
    ("/api/locales/..%2F..%2Fetc", 400, "lang"),
    ("/api/locales/audit", 404, None),
    ("/api/locales/EN", 404, None),
    ("/api/locales/e%20n", 400, "lang"),
    ("/api/locales/%C3%A9n", 400, "lang"),
    ("/api/swap/chains?include_evm=1", 400, "include_evm"),
    ("/api/swap/status/AB", 400, "chain_id"),
    ("/api/swap/status/AB?chain_id=a&chain_id=b", 400, "chain_id"),
    ("/api/campaigns/eligibility", 400, "wallet"),
    (f"/api/zero-interest/eligibility?lease={LEASE}", 400, "owner"),
    (f"/api/referral/rewards/{OWNER}?limit=9223372036854775808", 400, "limit"),
    (f"/api/referral/referrals/{OWNER}?status=paid", 400, "status"),
    *((f"/api/{what}/{odd}", 404, None) for what in ("assets", "currencies", "staking/validators") for odd in ODD),
    *((f"/api/protocols/{odd}/currencies", 404, None) for odd in ODD),
    *((f"/api/networks/{odd}/{what}", 404, None) for odd in ODD for what in ("info", "assets", "protocols", "pools")),
    *((f"/api/earn/pools/{odd}", 404, None) for odd in ODD),
]


async def test_bad_input_is_told(warm: Running) -> None:
    """Wrong input is the documented status with an envelope that names the field."""
    codes = {400: "VALIDATION_FAILED", 404: "NOT_FOUND"}
    wrong = []
    for path, status, field in BAD:
        async with warm.client.get(URL(path, encoded=True)) as response:
            error = (await response.json())["error"]
        if (response.status, error["code"], error.get("field")) != (status, codes[status], field):
            wrong.append((path[:200], response.status, error))
    assert wrong == []


async def test_an_account_of_another_chain_owns_nothing_here(warm: Running) -> None:
    """Its lists are empty without asking the chain, which would refuse the address; upper case is the same account."""
    foreign = encode("osmo", bytes(20))
    warm.world.calls.clear()
    for path, member in (("leases", "leases"), ("earn/positions", "positions"), ("staking/positions", "delegations")):
        status, body = await warm.get(f"/api/{path}?address={foreign}")
        assert (status, body[member]) == (200, [])
    assert not any(foreign in call for call in warm.world.calls)
    _, lower = await warm.get(f"/api/leases?address={OWNER}")
    assert (await warm.get(f"/api/leases?address={OWNER.upper()}"))[1] == lower


async def test_proposals_know_their_voters(warm: Running) -> None:
    """A vote that is not there is no failure, a failing look-up is 502; a limit of 0 gives none."""
    voted = {"vote": {"proposal_id": "2", "voter": OWNER, "options": [{"option": "VOTE_OPTION_YES", "weight": "1"}]}}
    votes = "/cosmos/gov/v1/proposals/2/votes/"
    warm.world.paths[votes + OWNER] = voted
    absent = {"code": 3, "message": f"voter: {STRANGER} not found for proposal: 2"}
    warm.world.paths[votes + STRANGER] = (400, absent)
    warm.world.paths[votes + "broken"] = (400, {"code": 3, "message": "decoding bech32 failed"})
    _, headers, body = await warm.full(f"/api/governance/proposals?voter={OWNER}")
    assert [one.get("voted") for one in body["proposals"]] == [True, None]
    assert body["proposals"][0]["tally"]["yes_count"] == "5"
    assert (headers["cache-status"], headers["cache-control"]) == ("warm", "no-store")
    assert int(headers["cache-age"]) >= 0
    _, body = await warm.get(f"/api/governance/proposals?limit=1&voter={STRANGER}")
    assert [one.get("voted") for one in body["proposals"]] == [False]
    assert body["pagination"]["total"] == "2"
    assert (await warm.get("/api/governance/proposals?voter=broken"))[0] == 502
    assert (await warm.get("/api/governance/proposals?limit=0"))[1]["proposals"] == []


async def test_the_data_api_is_passed_on_as_it_is(warm: Running) -> None:
    """The query reaches the data API letter by letter; its refusals keep their status, in our envelope."""
    warm.world.paths["/api/prices"] = [[1, 1e-7]]
    assert (await warm.get("/api/etl/prices?key=A%20B&key=C&z="))[1] == [[1, 1e-7]]
    assert "/api/prices?key=A B&key=C&z=" in warm.world.calls
    warm.world.paths["/api/lp-withdraw"] = (404, {"error": "Record not found"})
    status, body = await warm.get("/api/etl/lp-withdraw?tx=Z")
    assert (status, body["error"]["code"]) == (404, "NOT_FOUND")
    warm.world.paths["/api/earnings"] = (500, {"error": "boom"})
    assert (await warm.get("/api/etl/earnings"))[0] == 502


async def test_free_json_of_the_data_api_is_alphabetical(warm: Running) -> None:
    """Members come in order, in batches too; lists, numbers and texts stay as they are, whatever their size."""
    figures = {"z": [{"b": 1e-7, "a": "0.10"}], "a": {"y": 12345678901234567890123, "x": None}}
    told = '{"a":{"x":null,"y":12345678901234567890123},"z":[{"a":"0.10","b":1e-7}]}'
    large = {**figures, "zz": "x" * 300_000}
    warm.world.paths |= {"/api/pools": figures, "/api/history-stats": figures, "/api/revenue": large}
    warm.world.paths["/api/realized-pnl-data"] = [figures]
    assert await _text(warm, "/api/etl/pools") == told
    assert (await _text(warm, "/api/etl/revenue")).startswith(told[:-1])
    batch = await _text(warm, f"/api/etl/batch/user-history?address={OWNER}")
    assert batch == f'{{"history_stats":{told},"realized_pnl_data":[{told}]}}'


async def _text(warm: Running, path: str) -> str:
    async with warm.client.get(path) as response:
        return await response.text()


async def test_one_pool_is_shown_without_the_icon_it_has_in_the_list(warm: Running) -> None:
    """Everything else is the same."""
    _, listed = await warm.get("/api/earn/pools")
    pool = next(one for one in listed if one["protocol"] == LONG)
    assert "icon" in pool
    assert (await warm.get(f"/api/earn/pools/{LONG}"))[1] == {n: v for n, v in pool.items() if n != "icon"}


async def test_agents_find_the_description(warm: Running) -> None:
    """The OpenAPI document, the overview for agents and robots.txt are there before anything else."""
    status, _, document = await warm.full("/api/openapi.json")
    assert (status, document["openapi"], document["info"]["version"]) == (200, "3.1.0", "1.0.0")
    for path in ("/llms.txt", "/robots.txt", "/.well-known/llms.txt", "/.well-known/api-catalog"):
        async with warm.client.get(path) as response:
            assert response.status == 200
            assert "/api/openapi.json" in await response.text()


async def test_detailed_health_asks_everybody(warm: Running) -> None:
    """Each upstream is asked live; HTML with 200 is not healthy; the ages of everything computed are told."""
    _, body = await warm.get("/api/health/detailed")
    assert body["services"]["chain_rpc"]["status"] == "healthy"
    assert body["cache"]["status"] == "healthy"
    assert body["cache"]["cells"]["prices"]["age_seconds"] >= 0
    assert body["cache"]["cells"]["prices"]["source"] == "chain"
    warm.world.mode = "garbage"
    _, body = await warm.get("/api/health/detailed")
    assert body["status"] == "unhealthy"
    assert {one["status"] for one in body["services"].values()} == {"unhealthy"}
