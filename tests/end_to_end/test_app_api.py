"""The application API against the chain: its answers are recomputed from raw contract answers at the same height.

Nothing of the application API is imported: what it should say is computed here with fractions, from the LCD.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from tests.end_to_end.conftest import Stack, living
from tests.end_to_end.raw_chain import (
    Chain,
    agree,
    close,
    decimals_of,
    eventually,
    fetched,
    fixed,
    priced,
    still,
    usd_prices,
)

DUE = ("overdue_margin", "overdue_interest", "due_margin", "due_interest")


class Market:
    """A running stack with what the tests keep asking for."""

    def __init__(self, stack: Stack) -> None:
        self.app, self.data, self.lcd = stack.url("app_api"), stack.url("data_api"), stack.url("lcd")
        self.control = stack.url("control")
        self.protocols: dict[str, Any] = self.ask("config/protocols")
        height = int(self.ask("node/status")["latest_block_height"])
        self.decimals = decimals_of(Chain(self.lcd, height), self.protocols)

    def ask(self, path: str) -> Any:
        return fetched(f"{self.app}/api/{path}")[1]

    def index(self, path: str) -> Any:
        return fetched(f"{self.data}/api/{path}")[1]

    def at(self, headers: dict[str, str]) -> Chain:
        """The chain as of the height that an answer names."""
        return Chain(self.lcd, int(headers["x-block-height"]))

    def prices(self, chain: Chain) -> dict[str, Fraction]:
        return usd_prices(chain, self.protocols, self.decimals)

    def agree(self, path: str, check: Any) -> None:
        """Hold an answer against the chain at its newest block, which stays the newest."""
        with still(self.control):
            agree(self.lcd, lambda: self.ask(path), check)

    def units(self, amount: str, key: str) -> Fraction:
        return Fraction(int(amount), 10 ** self.decimals[key])

    def owner(self) -> str:
        """Somebody with an open position."""

        def found() -> str | None:
            positions = self.index("positions")
            listed = positions["positions"] if isinstance(positions, dict) else positions
            # The index lists what it knew a while ago; some of it may be over.
            owners = dict.fromkeys(str(one["user"]) for one in listed)
            return next((one for one in owners if self._open(one)), None)

        return str(eventually(found))

    def _open(self, owner: str) -> bool:
        return any(lease["status"] == "opened" for lease in self.ask(f"leases?address={owner}")["leases"])


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """A stack with a day of history behind it, whose application API is warm."""
    settings = ("devnet.market=true", "devnet.history_days=1", "devnet.block_interval_ms=1000")
    with living(tmp_path_factory.mktemp("market"), *settings) as running:
        running.wait_until_warm()
        app = running.url("app_api")
        # The index may still be catching up with the day; everything on the chain must be in it before we compare.
        eventually(lambda: fetched(f"{running.url('indexer')}/ready"))
        eventually(
            lambda: (
                len(fetched(f"{app}/api/protocols/gated")[1]["protocols"])
                == len(fetched(f"{app}/api/earn/pools")[1])
                > 0
            )
        )
        yield Market(running)


def test_prices_are_what_the_oracles_say(market: Market) -> None:
    """Every price equals the product of the oracle's rationals at the height the answer names."""
    headers, body = fetched(f"{market.app}/api/prices")
    exact = market.prices(market.at(headers))
    assert set(body["prices"]) == set(exact)
    for key, info in body["prices"].items():
        assert close(info["price_usd"], exact[key]), key


def test_assets_are_priced_by_their_networks_primary_protocol(market: Market) -> None:
    """The catalogue, a network's assets, one asset and a protocol's currencies show the oracles' prices of a block."""
    primary = {one["network"]: one.get("primaryProtocol") for one in market.ask("networks/gated")["networks"]}

    def expected(prices: dict[str, Fraction], asset: Any) -> Fraction:
        networks = sorted(network.upper() for network in asset["networks"])
        keys = [f"{asset['ticker']}@{primary.get(network)}" for network in networks]
        others = sorted(key for key in prices if key.startswith(f"{asset['ticker']}@"))
        return next(prices[key] for key in (*keys, *others) if key in prices)

    headers, body = fetched(f"{market.app}/api/assets")
    prices = market.prices(market.at(headers))
    assert body["count"] == len(body["assets"]) > 10
    for asset in body["assets"]:
        assert close(asset["price"], expected(prices, asset)), asset["ticker"]
    ticker = body["assets"][0]["ticker"]

    def one_network(chain: Chain, answer: Any) -> None:
        known = market.prices(chain)
        assert answer["assets"]
        for asset in answer["assets"]:
            assert priced(asset.get("price"), f"{asset['ticker']}@{primary['OSMOSIS']}", known)

    def one_asset(chain: Chain, answer: Any) -> None:
        known = market.prices(chain)
        assert close(answer["price"], expected(known, answer))
        for detail in answer["protocol_details"]:
            assert priced(detail.get("price"), f"{ticker}@{detail['protocol']}", known)

    def one_protocol(chain: Chain, answer: Any) -> None:
        known = market.prices(chain)
        for currency in answer["currencies"]:
            key = f"{currency['ticker']}@{answer['protocol']}"
            assert currency["decimals"] == market.decimals[key]
            assert priced(currency.get("price"), key, known)

    market.agree("networks/OSMOSIS/assets", one_network)
    market.agree(f"assets/{ticker}", one_asset)
    market.agree(f"protocols/{primary['OSMOSIS']}/currencies", one_protocol)


def test_pools_are_what_their_contracts_say(market: Market) -> None:
    """Balances, worth and capacities of pools are the contracts' own at the height the answer names."""
    headers, pools = fetched(f"{market.app}/api/earn/pools")
    chain = market.at(headers)
    prices = market.prices(chain)
    assert pools
    for pool in pools:
        lpn = chain.smart(pool["lpp_address"], {"lpn": []})
        balance = chain.smart(pool["lpp_address"], {"lpp_balance": []})
        total, key = int(balance["balance"]["amount"]), f"{lpn}@{pool['protocol']}"
        assert (pool["currency"], pool["total_deposited"]) == (lpn, str(total))
        assert close(pool["total_deposited_usd"], market.units(str(total), key) * prices[key])
        assert pool["available_liquidity"] == str(max(0, total - int(balance["total_principal_due"]["amount"])))
        capacity = chain.smart(pool["lpp_address"], {"deposit_capacity": []})
        assert pool["deposit_capacity"] == (capacity["amount"] if capacity else None)


def test_pool_figures_and_totals_are_the_index_s(market: Market) -> None:
    """Yields and utilization are what the index says, in the list, in totals and in batches."""

    def agreeing() -> bool:
        listed = {one["protocol"]: one for one in market.index("pools")["protocols"]}
        if not listed:
            return False
        stats = market.ask("earn/stats")
        mean = sum(Fraction(one["earn_apr"]) for one in listed.values()) / len(listed)
        return (
            all(
                (pool["apy"], pool["utilization"])
                == (float(listed[pool["protocol"]]["earn_apr"]), float(listed[pool["protocol"]]["utilization"]))
                for pool in market.ask("earn/pools")
            )
            and stats["total_value_locked"] == market.index("total-value-locked")["total_value_locked"]
            and stats["pools_count"] == len(listed)
            and abs(Fraction(stats["average_apy"]) - mean) <= abs(mean) / 10**9
            and market.ask("etl/batch/loans-stats")["open_interest"] == market.index("open-interest")
            and market.ask("etl/pools") == market.index("pools")
        )

    assert eventually(agreeing)


def test_a_lenders_positions_are_what_the_pools_say(market: Market) -> None:
    """Receipts are turned into deposits at the pool's own rate, and into USD at the oracle's price of the block."""
    lender = eventually(lambda: market.index("current-lenders"))[0]["lender"]

    def check(chain: Chain, answer: Any) -> None:
        prices, total = market.prices(chain), Fraction(0)
        found = {one["protocol"]: one for one in answer["positions"]}
        for name, protocol in market.protocols.items():
            lpp = protocol["contracts"]["lpp"]
            receipts = int(chain.smart(lpp, {"balance": {"address": lender}})["amount"])
            assert (name in found) == (receipts > 0)
            if not receipts:
                continue
            price, lpn = chain.smart(lpp, {"price": []}), chain.smart(lpp, {"lpn": []})
            rate = Fraction(int(price["amount_quote"]["amount"]), int(price["amount"]["amount"]))
            deposited = receipts * int(price["amount_quote"]["amount"]) // int(price["amount"]["amount"])
            usd = market.units(str(deposited), f"{lpn}@{name}") * prices[f"{lpn}@{name}"]
            total += usd
            one = found[name]
            assert (one["deposited_nlpn"], one["deposited_lpn"]) == (str(receipts), str(deposited))
            assert (one["currency"], one["lpp_price"]) == (lpn, fixed(rate, 6))
            assert close(one["deposited_usd"], usd)
        assert answer["total_deposited_usd"] == fixed(total, 2)

    market.agree(f"earn/positions?address={lender}", check)


def test_a_wallets_leases_are_what_their_contracts_say(market: Market) -> None:
    """Debt, worth, liquidation price and profit of every open lease follow from its state at one height and from what
    the index knows of its opening."""

    def check(chain: Chain, body: Any) -> None:
        prices, worth, debt = market.prices(chain), Fraction(0), Fraction(0)
        assert body["leases"]
        for lease in body["leases"]:
            state = chain.smart(lease["address"], {"state": {"due_projection_secs": 400}})
            assert list(state) == [lease["status"]]
            if lease["status"] == "opened":
                value, owed = _opened_lease(market, chain, lease, state["opened"], prices)
                worth, debt = worth + value, debt + owed
        assert close(body["total_collateral_usd"], worth)
        assert close(body["total_debt_usd"], debt)

    with still(market.control):
        market.agree(f"leases?address={market.owner()}", check)


def _opened_lease(
    market: Market, chain: Chain, lease: Any, opened: Any, prices: dict[str, Fraction]
) -> tuple[Fraction, Fraction]:
    """Hold an open lease against its contract; its worth and its debt in USD."""
    name = lease["protocol"]
    total = sum(int(opened[part]["amount"]) for part in ("principal_due", *DUE))
    asset, lpn = f"{opened['amount']['ticker']}@{name}", f"{opened['principal_due']['ticker']}@{name}"
    units, owed = market.units(opened["amount"]["amount"], asset), market.units(str(total), lpn)
    assert (lease["debt"]["total"], lease["amount"]["amount"]) == (str(total), opened["amount"]["amount"])
    assert close(lease["amount"]["amount_usd"], units * prices[asset])
    assert close(lease["debt"]["total_usd"], owed * prices[lpn])
    spec = chain.smart(market.protocols[name]["contracts"]["leaser"], {"config": {}})["config"]["lease_position_spec"]
    share = Fraction(spec["liability"]["max"], 1000)
    short = market.protocols[name]["position_type"] == "short"
    assert close(lease["liquidation_price"], units * share / owed if short else owed / units / share)
    known = market.index(f"ls-opening?lease={lease['address']}")
    collateral = f"{known['lease']['LS_cltr_symbol']}@{name}"
    paid = Fraction(known["lease"]["LS_cltr_amnt_stable"]) / 10 ** market.decimals.get(collateral, market.decimals[lpn])
    fee = Fraction(known["fee"]) / 10 ** market.decimals[asset]
    repaid = Fraction(known["repayment_value"])
    profit = units * prices[asset] - owed * prices[lpn] - paid + fee - repaid
    assert lease["pnl"]["amount"] == fixed(profit, 6)
    assert lease["pnl"]["percent"] == fixed(profit / (paid + repaid) * 100, 2)
    assert lease["pnl"]["pnl_positive"] is (profit >= 0)
    return units * prices[asset], owed * prices[lpn]


def test_a_wallets_balances_are_what_the_bank_says(market: Market) -> None:
    """Every coin of a known currency is listed with the bank's amount, and its worth by an oracle of that block."""
    owner = market.owner()
    known = {info["bank_symbol"] for info in market.ask("currencies")["currencies"].values()}

    def check(chain: Chain, body: Any) -> None:
        listed = chain.get(f"/cosmos/bank/v1beta1/balances/{owner}")["balances"]
        held = {one["denom"]: one["amount"] for one in listed if one["denom"] in known}
        assert {one["denom"]: one["amount"] for one in body["balances"]} == held
        prices = market.prices(chain)
        worth = [
            Fraction(int(one["amount"]), 10 ** one["decimal_digits"]) * prices[one["key"]] for one in body["balances"]
        ]
        assert all(close(one["amount_usd"], usd) for one, usd in zip(body["balances"], worth, strict=True))
        assert close(body["total_value_usd"], sum(worth, Fraction(0)))

    market.agree(f"balances?address={owner}", check)


def test_terms_and_fees_are_what_the_chain_says(market: Market) -> None:
    """Terms of leases, gas prices and addresses of contracts are those of leasers, tax module and registry."""
    chain = Chain(market.lcd, 0)
    for name, protocol in market.protocols.items():
        answer = market.ask(f"leases/config/{name}")
        spec = chain.smart(protocol["contracts"]["leaser"], {"config": {}})["config"]["lease_position_spec"]
        assert {part: answer[part] for part in ("min_asset", "min_transaction")} == {
            part: spec[part] for part in ("min_asset", "min_transaction")
        }
        registered = chain.smart(market.ask("config")["contracts"]["admin"], {"protocol": name})["contracts"]
        assert {part: registered[part] for part in protocol["contracts"]} == protocol["contracts"]
    headers, fees = fetched(f"{market.app}/api/fees/gas-config")
    params = market.at(headers).get("/leasehold/tax/v2/params")["params"]["dex_fee_params"]
    accepted = {one["denom"]: one["min_price"] for dex in params for one in dex["accepted_denoms_min_prices"]}
    home = next(one for one in market.ask("networks/gated")["networks"] if one["prefix"] == "chain")
    assert fees["gas_prices"] == {**accepted, "ulsh": home["gas_price"].removesuffix("ulsh")}


def test_staking_and_governance_are_the_chains_own(market: Market) -> None:
    """Validators, positions, parameters, the staking pool, inflation and tallies are passed on without change."""
    headers, validators = fetched(f"{market.app}/api/staking/validators")
    known = market.at(headers).get("/cosmos/staking/v1beta1/validators")["validators"]
    tokens = {one["operator_address"]: one["tokens"] for one in validators}
    assert tokens == {one["operator_address"]: one["tokens"] for one in known}
    headers, pool = fetched(f"{market.app}/api/governance/staking-pool")
    assert pool == market.at(headers).get("/cosmos/staking/v1beta1/pool")
    chain = Chain(market.lcd, 0)
    newest = "/cosmos/gov/v1/proposals?pagination.reverse=true"

    def proposals(known: Chain, answer: Any) -> None:
        assert [one["id"] for one in answer["proposals"]] == [one["id"] for one in known.get(newest)["proposals"]]

    market.agree("governance/proposals", proposals)
    number = chain.get(newest)["proposals"][0]["id"]

    def tally(known: Chain, answer: Any) -> None:
        assert answer == known.get(f"/cosmos/gov/v1/proposals/{number}/tally")

    market.agree(f"governance/proposals/{number}/tally", tally)
    params = chain.get("/cosmos/gov/v1/params/tallying")["params"]
    asked = market.ask("governance/params/tallying")["params"]
    assert asked == {name: params[name] for name in asked}
    staking = chain.get("/cosmos/staking/v1beta1/params")["params"]
    asked = market.ask("staking/params")
    assert asked == {name: staking[name] for name in asked}
    apr = market.ask("governance/apr")
    assert apr["apr"] == float(apr["annual_inflation"])
    minted = int(chain.get("/leasehold/mint/v1beta1/annual_inflation")["annual_inflation"])
    # It grows a little with every block, and is read every minute.
    assert abs(int(apr["annual_inflation"]) - minted) <= minted // 1000


def test_a_delegators_positions_are_the_chains_own(market: Market) -> None:
    """Delegations, rewards and totals of a delegator are those of the chain's modules at one height."""
    operator = market.ask("staking/validators")[0]["operator_address"]
    listed = Chain(market.lcd, 0).get(f"/cosmos/staking/v1beta1/validators/{operator}/delegations")
    owner = listed["delegation_responses"][0]["delegation"]["delegator_address"]

    def check(chain: Chain, answer: Any) -> None:
        staked = chain.get(f"/cosmos/staking/v1beta1/delegations/{owner}")["delegation_responses"]
        rewards = chain.get(f"/cosmos/distribution/v1beta1/delegators/{owner}/rewards")
        assert [(one["validator_address"], one["balance"]) for one in answer["delegations"]] == [
            (one["delegation"]["validator_address"], one["balance"]) for one in staked
        ]
        assert answer["total_staked"] == str(sum(int(one["balance"]["amount"]) for one in staked))
        assert [one["rewards"] for one in answer["rewards"]] == [one["reward"] for one in rewards["rewards"]]
        native = [Fraction(one["amount"]) for one in rewards["total"] if one["denom"] == "ulsh"]
        assert answer["total_rewards"] == str(sum(int(amount) for amount in native))

    market.agree(f"staking/positions?address={owner}", check)
