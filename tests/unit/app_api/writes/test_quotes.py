"""Quotes: what the leaser says, and where the position would be liquidated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.app_api.conftest import CONTRACTS, LEASE, LONG, OWNER, SHORT, Running, World, coin, opened, started

RATES = {"annual_interest_rate": 60, "annual_interest_rate_margin": 40}
PAID = {"downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "100000000"}
CASES = [(LONG, ("25000000", "ATOM"), ("150000000", "USDC_NOBLE")), (SHORT, ("250", "USDC_NOBLE"), ("300", "ATOM"))]


def quotes(world: World, protocol: str, asset: str, total: tuple[str, str], borrow: tuple[str, str]) -> None:
    """Let the leaser of a protocol quote."""
    query = {"downpayment": {"amount": PAID["downpayment_amount"], "ticker": "USDC_NOBLE"}, "lease_asset": asset}
    world.ask(
        CONTRACTS[protocol]["leaser"], {"quote": query}, {"total": coin(*total), "borrow": coin(*borrow), **RATES}
    )


async def quote(running: Running, **body: Any) -> tuple[int, Any]:
    async with running.client.post("/api/leases/quote", json={**PAID, **body}) as reply:
        return reply.status, await reply.json()


@pytest.mark.parametrize(("protocol", "total", "borrow"), CASES, ids=["long", "short"])
async def test_a_quote_tells_where_its_lease_will_be_liquidated(
    warm: Running, protocol: str, total: tuple[str, str], borrow: tuple[str, str]
) -> None:
    """A lease that opens with the quoted amounts is liquidated at the estimated price."""
    quotes(warm.world, protocol, total[1], total, borrow)
    status, found = await quote(warm, protocol=protocol)
    assert status == 200, found
    assert (found["borrow_ticker"], found["borrow_amount"], found["annual_interest_rate"]) == (*borrow[::-1], 10.0)
    state = opened(int(total[0]), total[1], int(borrow[0]), borrow[1])
    for due in ("overdue_margin", "overdue_interest", "due_margin", "due_interest"):
        state["opened"][due]["amount"] = "0"
    warm.world.ask(LEASE, {"state": {"due_projection_secs": 400}}, state)
    for name in CONTRACTS:
        owned = [LEASE] if name == protocol else []
        warm.world.ask(CONTRACTS[name]["leaser"], {"leases": {"owner": OWNER}}, owned)
    _, listed = await warm.get(f"/api/leases?address={OWNER}")
    (lease,) = listed["leases"]
    assert found["estimated_liquidation_price"] == lease["liquidation_price"] is not None


async def test_a_quote_of_no_asset_in_particular_has_no_liquidation_price(world: World, database: str) -> None:
    """Where the protocol leases several assets and none is named, the loan is quoted and the price is null."""
    other = {"ticker": "OSMO", "decimal_digits": 6, "is_active": True}
    mapping = {"protocol": LONG, "group": "lease", "bank_symbol": "ibc/OSMO", "dex_symbol": "uosmo"}
    world.paths["/api/currencies"]["currencies"].append({**other, "protocols": [mapping]})
    for asset in ("ATOM", "OSMO"):
        quotes(world, LONG, asset, ("25000000", asset), ("150000000", "USDC_NOBLE"))
    async with started(world, database) as running:
        await running.warm()
        _, open_choice = await quote(running, protocol=LONG)
        _, chosen = await quote(running, protocol=LONG, lease_asset="OSMO")
    assert open_choice["borrow_amount"] == chosen["borrow_amount"] == "150000000"
    assert open_choice["estimated_liquidation_price"] is None
    assert chosen["estimated_liquidation_price"] == "6.666666666666667"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("[Position] The transaction amount should worth at least 1", (400, "VALIDATION_FAILED", "downpayment_amount")),
        ("[Oracle] No price for pair", (502, "CHAIN_ERROR", None)),
    ],
)
async def test_a_leaser_that_refuses_is_told(warm: Running, words: str, expected: tuple[int, str, str | None]) -> None:
    """Too little is the caller's mistake, anything else the chain's failure; both with the contract's reason."""
    paid = {"amount": PAID["downpayment_amount"], "ticker": "USDC_NOBLE"}
    key = json.dumps({"quote": {"downpayment": paid, "lease_asset": "ATOM", "max_ltd": 5}}, sort_keys=True)
    warm.world.smart[CONTRACTS[LONG]["leaser"], key] = ValueError(words)
    status, found = await quote(warm, protocol=LONG, max_ltd=5)
    error = found["error"]
    assert (status, error["code"], error.get("field")) == expected
    assert words in error["message"]
    assert "http" not in error["message"]
