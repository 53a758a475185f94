"""Passthroughs: what is sent to an upstream, what becomes of its answers, and what of its failures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.app_api.write_stage import LEASE, LONG, WALLET, Stage, staged

from leasehold.app_api.upstreams import all as upstreams
from leasehold.app_api.upstreams.breaker import FIRST_SECONDS, Breaker
from leasehold.app_api.upstreams.transport import Manners
from leasehold.core.addresses import encode

ROUTE = {
    "source_asset_denom": "ulsh",
    "source_asset_chain_id": "leasehold-1",
    "dest_asset_denom": "uosmo",
    "dest_asset_chain_id": "osmosis-1",
    "amount_in": "1000",
}
FOUND = {**ROUTE, "amount_out": "990", "chain_ids": ["leasehold-1"], "operations": [{"z": 1, "a": 2}]}
MESSAGES = {**ROUTE, "amount_out": "990", "address_list": [WALLET]}
PAYMENT = {"lease_address": LEASE, "amount": "5", "denom": "ulsh", "owner_address": WALLET, "signature": "s"}
CANCEL = {"owner_address": WALLET, "signature": "s"}


async def test_a_route_is_asked_for_with_the_configuration(stage: Stage) -> None:
    """The provider gets fee, venues and options of the gated configuration; its answer passes byte for byte."""
    exact = b'{"big":12345678901234567890123,"tiny":1e-30,' + json.dumps(FOUND).encode()[1:]
    stage.world.answers["POST /v2/fungible/route"] = lambda body: (200, exact)
    async with stage.session.post(f"{stage.base}/api/swap/route", json={**ROUTE, "network": "OSMO"}) as reply:
        assert reply.status == 200
        assert await reply.read() == exact
        assert reply.headers["cache-control"] == "no-store"
    ((_, sent),) = stage.world.calls
    assert sent["cumulative_affiliate_fee_bps"] == "35"
    assert sent["swap_venues"] == [{"name": "osmosis-poolmanager", "chain_id": "osmosis-1"}]
    assert "amount_out" not in sent
    assert sent["smart_swap_options"] == {"split_routes": True, "evm_swaps": True}


async def test_messages_name_who_gets_the_fee(stage: Stage) -> None:
    """Operations reach the provider as they came, with the affiliates of the venues they pass."""
    gated = stage.app.cells.gated.value
    venue = type(gated.networks["OSMOSIS"].swap_venue)("osmosis-poolmanager", "osmo1fee")  # type: ignore[union-attr]
    import msgspec

    networks = {**gated.networks, "OSMOSIS": msgspec.structs.replace(gated.networks["OSMOSIS"], swap_venue=venue)}
    stage.app.cells.gated.put(msgspec.structs.replace(gated, networks=networks))
    stage.world.answers["POST /v2/fungible/msgs"] = (200, {"txs": [{"evm_tx": {}}]})
    operations = [{"transfer": {"z": 1, "a": 2}}, {"swap": {"swap_venue": {"name": "osmosis-poolmanager"}}}]
    status, _ = await stage.send("/api/swap/messages", {**MESSAGES, "operations": operations})
    assert status == 200
    ((_, sent),) = stage.world.calls
    assert sent["operations"] == operations
    entry = {"address": "osmo1fee", "basisPointsFee": "35"}
    assert sent["chain_ids_to_affiliates"] == {"osmosis-1": {"affiliates": [entry]}}
    assert (sent["slippage_tolerance_percent"], sent["timeout_seconds"]) == ("1", "60")


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {**FOUND, "operations": "x"},
        {**FOUND, "amount_out": 5},
        {name: value for name, value in FOUND.items() if name != "chain_ids"},
    ],
)
async def test_a_route_without_what_clients_need_failed(stage: Stage, broken: dict[str, Any]) -> None:
    """A route that lacks a member clients rely on is SWAP_ROUTE_FAILED, not passed on."""
    stage.world.answers["POST /v2/fungible/route"] = (200, broken)
    status, answer = await stage.send("/api/swap/route", ROUTE)
    assert (status, answer["error"]["code"]) == (502, "SWAP_ROUTE_FAILED")
    assert answer["error"]["message"] == "Skip: Malformed Skip route response"


async def test_swaps_wait_for_the_configuration() -> None:
    """Without gated configuration routes and messages are 503, and nobody is asked."""
    async with staged(filled=False) as stage:
        for path, body in (("/api/swap/route", ROUTE), ("/api/swap/messages", {**MESSAGES, "operations": []})):
            status, answer = await stage.send(path, body)
            assert (status, answer["error"]["message"]) == (503, "Gated config not yet available")
        assert stage.world.calls == []


REFERRER = {
    "wallet_address": WALLET,
    "referral_code": "ABC",
    "tier": "general",
    "created_at": "2026-01-01T00:00:00Z",
    "already_registered": False,
}
ASSIGNED = {
    "id": 7,
    "referrer_wallet": WALLET,
    "referred_wallet": WALLET,
    "referral_code": "ABC",
    "assigned_at": "2026-01-01T00:00:00Z",
}


async def test_registering_is_201_then_200(stage: Stage) -> None:
    """A new referrer is 201, a known one 200, with the same body."""
    for known, expected in ((False, 201), (True, 200)):
        data = {**REFERRER, "already_registered": known}
        stage.world.answers["POST /api/referrers/register"] = (200, {"success": True, "data": data, "error": None})
        assert await stage.send("/api/referral/register", {"wallet_address": WALLET}) == (expected, data)


@pytest.mark.parametrize(
    ("upstream", "expected", "words"),
    [
        ((201, {"data": ASSIGNED}), 201, None),
        ((404, {"error": "referral code not found"}), 404, "Referral code not found"),
        ((409, {"error": "wallet already assigned"}), 502, "Referral: Wallet already has a referrer"),
        ((409, {"error": "Self-referral not allowed"}), 502, "Referral: Cannot refer yourself"),
        ((409, {"error": "already referrer"}), 502, "Referral: Wallet is already a referrer"),
        ((409, {"error": "the secret of the universe"}), 502, "Referral: API error: 409 Conflict"),
        ((200, {"data": None, "error": "no"}), 502, "Referral: no"),
    ],
)
async def test_assigning_has_the_interface_statuses(
    stage: Stage, upstream: tuple[int, Any], expected: int, words: str | None
) -> None:
    """201, 404 for an unknown code, 502 for every conflict, each in words of its own."""
    stage.world.answers["POST /api/referrals/assign"] = upstream
    status, answer = await stage.send("/api/referral/assign", {"referral_code": "ABC", "referred_wallet": WALLET})
    assert status == expected
    assert answer == ASSIGNED if words is None else answer["error"]["message"] == words


async def test_services_that_are_off_are_502() -> None:
    """A referral or payments service that is not configured is 502."""
    async with staged(referral_url=upstreams.OFF, payments_url=upstreams.OFF) as stage:
        for path, body in (
            ("/api/referral/register", {"wallet_address": WALLET}),
            ("/api/referral/assign", {"referral_code": "A", "referred_wallet": WALLET}),
            ("/api/zero-interest/payments", PAYMENT),
        ):
            status, answer = await stage.send(path, body)
            assert (status, answer["error"]["code"]) == (502, "EXTERNAL_SERVICE_ERROR")


async def test_payments_are_made_and_cancelled(stage: Stage) -> None:
    """A payment passes as it is; a cancel is 200 without a body, 404 for an unknown one, 502 for a refusal."""
    made = {**{k: PAYMENT[k] for k in ("lease_address", "amount", "denom")}, "id": "p", "payment_date": "d"}
    made["status"] = "pending"
    stage.world.answers["POST /zero-interest/payments"] = (200, {"payment": made, "tx_hash": None})
    assert await stage.send("/api/zero-interest/payments", PAYMENT) == (200, {"payment": made, "tx_hash": None})
    unsigned = {**CANCEL, "signature": ""}
    status, body = await stage.send("/api/zero-interest/payments/p", unsigned, method="DELETE")
    assert (status, body["error"]["field"]) == (400, "signature")
    for upstream, expected in ((204, 200), (404, 404), (409, 502)):
        stage.world.answers["DELETE /zero-interest/payments/p"] = (upstream, {"error": "x"})
        status, body = await stage.send("/api/zero-interest/payments/p", CANCEL, method="DELETE")
        assert status == expected
        assert body == "" if expected == 200 else body["error"]["code"]


async def test_a_subscription_is_sent_once_and_passed_on(stage: Stage) -> None:
    """The data API's text passes; its refusal is 400 in its words; its failure 502; never a second try."""
    stage.world.answers["POST /api/subscribe"] = (200, "subscribed")
    assert await stage.send("/api/etl/subscribe", {"address": WALLET}) == (200, "subscribed")
    stage.world.answers["POST /api/subscribe"] = (400, {"error": "Bad Request", "message": "no keys", "status": 400})
    status, answer = await stage.send("/api/etl/subscribe", {"address": WALLET})
    assert (status, answer["error"]["message"]) == (400, "no keys")
    for upstream, expected in ((429, 429), (403, 502), (404, 404), (500, 502)):
        stage.world.answers["POST /api/subscribe"] = (upstream, {"message": "x"})
        assert (await stage.send("/api/etl/subscribe", {"address": WALLET}))[0] == expected
    stage.world.calls.clear()
    stage.world.answers["POST /api/subscribe"] = (503, "busy")
    assert (await stage.send("/api/etl/subscribe", {"address": WALLET}))[0] == 502
    assert len(stage.world.calls) == 1


async def test_only_safe_calls_are_repeated(stage: Stage) -> None:
    """A busy provider is asked again for a route; a payment or an assignment is never sent twice."""
    for name in ("POST /v2/fungible/route", "POST /zero-interest/payments", "POST /api/referrals/assign"):
        stage.world.answers[name] = (503, {"error": "busy"})
    await stage.send("/api/swap/route", ROUTE)
    assert len(stage.world.calls) == 3
    for path, body in (
        ("/api/zero-interest/payments", PAYMENT),
        ("/api/referral/assign", {"referral_code": "A", "referred_wallet": WALLET}),
    ):
        stage.world.calls.clear()
        assert (await stage.send(path, body))[0] == 502
        assert len(stage.world.calls) == 1


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/swap/route", {**ROUTE, "amount_in": "0"}, "amount_in"),
        ("/api/swap/route", {**ROUTE, "amount_in": "1.5"}, "amount_in"),
        ("/api/swap/messages", {**MESSAGES, "operations": [], "amount_out": "-1"}, "amount_out"),
        ("/api/swap/messages", {**MESSAGES, "operations": {}}, "operations"),
        ("/api/swap/track", {"chain_id": "x"}, "tx_hash"),
        ("/api/referral/register", {"wallet_address": encode("osmo", b"w" * 20)}, "wallet_address"),
        ("/api/referral/assign", {"referral_code": "A", "referred_wallet": "x"}, "referred_wallet"),
        ("/api/zero-interest/payments", {**PAYMENT, "amount": "x"}, "amount"),
        ("/api/zero-interest/payments", {**PAYMENT, "lease_address": WALLET}, "lease_address"),
        ("/api/zero-interest/payments", {**PAYMENT, "signature": " "}, "signature"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_bad_input_never_reaches_an_upstream(stage: Stage, path: str, body: dict[str, Any], field: str) -> None:
    """What is wrong is 400 with the member's name, and nobody is asked."""
    status, answer = await stage.send(path, body)
    assert (status, answer["error"]["field"]) == (400, field), answer
    assert stage.world.calls == []


@asynccontextmanager
async def misbehaving(how: bytes | None) -> AsyncIterator[str]:
    """A server that answers every request with these bytes and closes, or never."""

    done = asyncio.Event()
    handlers: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        await reader.read(1)
        if how is None:
            await done.wait()
        else:
            writer.write(how)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        done.set()
        await asyncio.gather(*handlers, return_exceptions=True)


HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>hi</html>"
LIES = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"txs":[]}'
FAILS = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nsecret"


@pytest.mark.parametrize("how", [None, HTML, LIES, FAILS], ids=["hangs", "html", "lies", "fails"])
async def test_a_misbehaving_upstream_is_502_in_time(how: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hang, HTML, a wrong length and a 500 are 502 within the time-out, without its words; other routes stay fast."""
    seconds = 2.0
    monkeypatch.setattr(upstreams, "SERVICE", Manners(seconds=seconds, at_once=8))
    monkeypatch.setattr(upstreams, "CHAIN", Manners(seconds=seconds, at_once=8))
    monkeypatch.setattr("leasehold.app_api.writes.swap.SECONDS", seconds)
    async with misbehaving(how) as url:
        links = ("swap_url", "referral_url", "payments_url", "data_api_url", "svm_url")
        everywhere: dict[str, Any] = dict.fromkeys(links, url)
        async with staged(**everywhere) as stage:
            calls = [
                ("/api/swap/route", ROUTE),
                ("/api/swap/messages", {**MESSAGES, "operations": []}),
                ("/api/swap/track", {"chain_id": "x", "tx_hash": "A"}),
                ("/api/referral/register", {"wallet_address": WALLET}),
                ("/api/referral/assign", {"referral_code": "A", "referred_wallet": WALLET}),
                ("/api/zero-interest/payments", PAYMENT),
                ("/api/etl/subscribe", {"address": WALLET}),
            ]
            started = time.monotonic()
            cancel = stage.send("/api/zero-interest/payments/p-1", CANCEL, method="DELETE")
            svm = stage.send("/api/solana/transfer-params", method="GET")
            status = stage.send("/api/swap/status/AB?chain_id=x", method="GET")
            others = [stage.send(path, body) for path, body in calls]
            waiting = [asyncio.create_task(one) for one in (cancel, svm, status, *others)]
            await asyncio.sleep(0.05)
            assert (await stage.send("/api/earn/deposit", {"protocol": LONG, "amount": "1"}))[0] == 200
            if how is None:
                assert not any(one.done() for one in waiting), "others wait for those that hang"
            for code, answer in await asyncio.gather(*waiting):
                assert code == 502
                assert "secret" not in json.dumps(answer)
                assert url not in json.dumps(answer)
            assert time.monotonic() - started < 60


def test_a_breaker_opens_tries_one_and_closes() -> None:
    """After five failures calls are refused; after a pause one is let through, whose outcome decides."""
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(5):
        assert breaker.allows()
        breaker.failed()
    assert not breaker.allows()
    now = FIRST_SECONDS
    assert breaker.allows()
    assert not breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    now += 2 * FIRST_SECONDS
    assert breaker.allows()
    breaker.abandoned()
    assert breaker.allows()
    breaker.answered()
    assert breaker.allows()
    assert breaker.allows()


@pytest.mark.parametrize(
    ("name", "method", "path", "body"),
    [
        ("swap", "POST", "/api/swap/track", {"chain_id": "x", "tx_hash": "A"}),
        ("referral", "POST", "/api/referral/register", {"wallet_address": WALLET}),
        ("payments", "POST", "/api/zero-interest/payments", PAYMENT),
        ("data", "POST", "/api/etl/subscribe", {"address": WALLET}),
        ("svm", "GET", "/api/solana/transfer-params", None),
    ],
)
async def test_a_dead_upstream_is_left_alone(stage: Stage, name: str, method: str, path: str, body: Any) -> None:
    """Once a service has not answered often enough, callers are told at once, whichever service it is."""
    getattr(stage.app.upstreams, name).transport.base = "http://127.0.0.1:9"
    for _ in range(6):
        status, answer = await stage.send(path, body, method=method)
        assert status == 502
    assert "left alone" in answer["error"]["message"]
