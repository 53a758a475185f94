"""The application API against the chain: its answers are recomputed from raw contract answers at the same height.

Nothing of the application API is imported: what it should say is computed here with fractions, from the LCD.
"""

from __future__ import annotations

import json
import re
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from tests.end_to_end.conftest import Stack

TOLERANCE = Fraction(1, 10**12)


class Chain:
    """The LCD of a stack, read at one height."""

    def __init__(self, base: str, height: int) -> None:
        self.base = base
        self.height = height

    def get(self, path: str) -> Any:
        headers = {"x-cosmos-block-height": str(self.height)}
        with urllib.request.urlopen(urllib.request.Request(self.base + path, headers=headers), timeout=10) as answer:
            return json.loads(answer.read())

    def smart(self, contract: str, query: Any) -> Any:
        text = urllib.parse.quote(b64encode(json.dumps(query).encode()).decode(), safe="")
        return self.get(f"/cosmwasm/wasm/v1/contract/{contract}/smart/{text}")["data"]


def _get(url: str) -> tuple[dict[str, str], Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, json.loads(answer.read())


def _eventually(condition: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except OSError:
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack with a day of history behind it, whose application API is warm."""
    running = Stack(
        tmp_path_factory.mktemp("market"),
        "devnet.market=true",
        "devnet.history_days=1",
        "devnet.block_interval_ms=1000",
    )
    try:
        running.wait_for("all ready", 180)
        app = running.url("app_api")
        _eventually(lambda: _get(f"{app}/api/health/detailed")[1]["cache"]["status"] == "healthy")
        # The index may still be catching up with the day; everything on the chain must be in it before we compare.
        _eventually(lambda: _get(f"{running.url('indexer')}/ready"))
        _eventually(
            lambda: len(_get(f"{app}/api/protocols/gated")[1]["protocols"]) == len(_get(f"{app}/api/earn/pools")[1]) > 0
        )
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def protocols(market: Stack) -> dict[str, Any]:
    found: dict[str, Any] = _get(f"{market.url('app_api')}/api/config/protocols")[1]
    return found


@pytest.fixture(scope="module")
def decimals(market: Stack, protocols: dict[str, Any]) -> dict[str, int]:
    """Decimals by currency and protocol, as the oracles say."""
    height = int(_get(f"{market.url('app_api')}/api/node/status")[1]["latest_block_height"])
    chain = Chain(market.url("lcd"), height)
    return {
        f"{one['ticker']}@{name}": one["decimal_digits"]
        for name, protocol in protocols.items()
        for one in chain.smart(protocol["contracts"]["oracle"], {"currencies": {}})
    }


def _ratio(price: Any) -> Fraction:
    return Fraction(int(price["amount_quote"]["amount"]), int(price["amount"]["amount"]))


def _prices(chain: Chain, protocols: dict[str, Any], decimals: dict[str, int]) -> dict[str, Fraction]:
    """USD prices from the oracles' own answers."""
    found = {}
    for name, protocol in protocols.items():
        oracle = protocol["contracts"]["oracle"]
        lpn = chain.smart(oracle, {"base_currency": {}})
        stable = chain.smart(oracle, {"stable_price": {"currency": lpn}})
        shift = decimals[f"{lpn}@{name}"] - decimals[f"{stable['amount_quote']['ticker']}@{name}"]
        usd = _ratio(stable) * Fraction(10) ** shift
        found[f"{lpn}@{name}"] = usd
        for price in chain.smart(oracle, {"prices": {}})["prices"]:
            key = f"{price['amount']['ticker']}@{name}"
            if key != f"{lpn}@{name}":
                found[key] = _ratio(price) * usd * Fraction(10) ** (decimals[key] - decimals[f"{lpn}@{name}"])
    return found


def _close(text: str, exact: Fraction) -> bool:
    return abs(Fraction(text) - exact) <= abs(exact) * TOLERANCE


def test_the_history_was_shown_while_it_was_told(market: Stack) -> None:
    """Whoever runs `up` on an empty home sees how far the simulated history is, before the chain is ready."""
    shown = [line for line in market.lines if line.startswith("simulating 1 days of market: ")]
    assert re.match(r"simulating 1 days of market: \d+%", shown[0])
    assert "done in" in shown[-1]
    ready = next(line for line in market.lines if line.startswith("devnet ready"))
    assert market.lines.index(shown[-1]) < market.lines.index(ready)


def test_prices_are_what_the_oracles_say(market: Stack, protocols: dict[str, Any], decimals: dict[str, int]) -> None:
    """Every price equals the product of the oracle's rationals at the height the answer names."""
    headers, body = _get(f"{market.url('app_api')}/api/prices")
    exact = _prices(Chain(market.url("lcd"), int(headers["x-block-height"])), protocols, decimals)
    assert set(body["prices"]) == set(exact)
    for key, info in body["prices"].items():
        assert _close(info["price_usd"], exact[key]), key


def test_pools_are_what_their_contracts_say(market: Stack) -> None:
    """Balances and capacities of pools are the contracts' own at the height the answer names."""
    headers, pools = _get(f"{market.url('app_api')}/api/earn/pools")
    chain = Chain(market.url("lcd"), int(headers["x-block-height"]))
    assert pools
    for pool in pools:
        balance = chain.smart(pool["lpp_address"], {"lpp_balance": []})
        total = int(balance["balance"]["amount"])
        assert pool["total_deposited"] == str(total)
        assert pool["available_liquidity"] == str(max(0, total - int(balance["total_principal_due"]["amount"])))
        capacity = chain.smart(pool["lpp_address"], {"deposit_capacity": []})
        assert pool["deposit_capacity"] == (capacity["amount"] if capacity else None)


def test_a_wallets_leases_are_what_their_contracts_say(
    market: Stack, protocols: dict[str, Any], decimals: dict[str, int]
) -> None:
    """Debt, worth and liquidation price of every open lease follow from the contract's state at one height."""
    app = market.url("app_api")
    positions = _eventually(lambda: _get(f"{market.url('data_api')}/api/positions")[1])
    listed = positions["positions"] if isinstance(positions, dict) else positions
    owner = listed[0]["user"]

    def agree() -> bool:
        # The block may move on between two requests; a pair within one block is what is compared.
        before = _get(f"{app}/api/node/status")[1]["latest_block_height"]
        _, body = _get(f"{app}/api/leases?address={owner}")
        headers, _ = _get(f"{app}/api/prices")
        if _get(f"{app}/api/node/status")[1]["latest_block_height"] != before or headers["x-block-height"] != before:
            return False
        chain = Chain(market.url("lcd"), int(before))
        prices = _prices(chain, protocols, decimals)
        return _leases_agree(chain, body, protocols, prices, decimals)

    assert _eventually(agree)


def _leases_agree(
    chain: Chain, body: Any, protocols: dict[str, Any], prices: dict[str, Fraction], decimals: dict[str, int]
) -> bool:
    assert body["leases"]
    worth = debt = Fraction(0)
    for lease in body["leases"]:
        state = chain.smart(lease["address"], {"state": {"due_projection_secs": 400}})
        assert list(state) == [lease["status"]]
        if lease["status"] != "opened":
            continue
        opened, name = state["opened"], lease["protocol"]
        parts = ("principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest")
        total = sum(int(opened[part]["amount"]) for part in parts)
        asset_key = f"{opened['amount']['ticker']}@{name}"
        debt_key = f"{opened['principal_due']['ticker']}@{name}"
        units = Fraction(int(opened["amount"]["amount"]), 10 ** decimals[asset_key])
        owed = Fraction(total, 10 ** decimals[debt_key])
        if lease["debt"]["total"] != str(total) or lease["amount"]["amount"] != opened["amount"]["amount"]:
            return False
        if not _close(lease["amount"]["amount_usd"], units * prices[asset_key]):
            return False
        spec = chain.smart(protocols[name]["contracts"]["leaser"], {"config": {}})["config"]["lease_position_spec"]
        share = Fraction(spec["liability"]["max"], 1000)
        short = protocols[name]["position_type"] == "short"
        expected = units * share / owed if short else owed / units / share
        assert _close(lease["liquidation_price"], expected)
        worth += units * prices[asset_key]
        debt += owed * prices[debt_key]
    return _close(body["total_collateral_usd"], worth) and _close(body["total_debt_usd"], debt)


def test_a_wallets_balances_are_what_the_bank_says(
    market: Stack, protocols: dict[str, Any], decimals: dict[str, int]
) -> None:
    """Every coin of a known currency is listed with the bank's amount, and its worth by an oracle of that block."""
    app = market.url("app_api")
    owner = _eventually(lambda: _get(f"{market.url('data_api')}/api/positions")[1])
    owner = (owner["positions"] if isinstance(owner, dict) else owner)[0]["user"]
    known = {info["bank_symbol"] for info in _get(f"{app}/api/currencies")[1]["currencies"].values()}

    def agree() -> bool:
        before = _get(f"{app}/api/node/status")[1]["latest_block_height"]
        _, body = _get(f"{app}/api/balances?address={owner}")
        if _get(f"{app}/api/node/status")[1]["latest_block_height"] != before:
            return False
        chain = Chain(market.url("lcd"), int(before))
        held = {one["denom"]: one["amount"] for one in chain.get(f"/cosmos/bank/v1beta1/balances/{owner}")["balances"]}
        if {one["denom"]: one["amount"] for one in body["balances"]} != {k: v for k, v in held.items() if k in known}:
            return False
        prices = _prices(chain, protocols, decimals)
        worth = [
            Fraction(int(one["amount"]), 10 ** one["decimal_digits"]) * prices[one["key"]] for one in body["balances"]
        ]
        return all(_close(one["amount_usd"], usd) for one, usd in zip(body["balances"], worth, strict=True)) and _close(
            body["total_value_usd"], sum(worth, Fraction(0))
        )

    assert _eventually(agree)


def test_staking_and_governance_are_the_chains_own(market: Stack) -> None:
    """Validators, parameters, the staking pool and tallies are passed on without change."""
    app, lcd = market.url("app_api"), market.url("lcd")
    headers, validators = _get(f"{app}/api/staking/validators")
    chain = Chain(lcd, int(headers["x-block-height"]))
    known = {one["operator_address"]: one for one in chain.get("/cosmos/staking/v1beta1/validators")["validators"]}
    assert {one["operator_address"]: one["tokens"] for one in validators} == {
        address: one["tokens"] for address, one in known.items()
    }
    headers, pool = _get(f"{app}/api/governance/staking-pool")
    assert pool == Chain(lcd, int(headers["x-block-height"])).get("/cosmos/staking/v1beta1/pool")
    _, listed = _get(f"{app}/api/governance/proposals")
    newest = Chain(lcd, 0).get("/cosmos/gov/v1/proposals?pagination.reverse=true")["proposals"]
    assert [one["id"] for one in listed["proposals"]] == [one["id"] for one in newest]
