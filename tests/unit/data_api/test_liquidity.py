"""Pools and lenders are what deposits, withdrawals and loans come to."""

from __future__ import annotations

from fractions import Fraction

from tests.unit.data_api.facts import HOUR, Facts, instant, plain
from tests.unit.data_api.raw_history import RawHistory
from tests.unit.data_api.served_history import Client, History


def test_pools_on_the_hour(client: Client, history: History) -> None:
    """Supplied, utilization and configured percents per active pool, by protocol name."""
    facts = Facts(history.scenario)
    page = client.json("/api/pools")
    assert [pool["protocol"] for pool in page["protocols"]] == sorted(facts.markets)
    assert page["optimal"] == "70.00"
    for pool in page["protocols"]:
        market = facts.markets[pool["protocol"]]
        balance, principal, interest, _, usd = facts.truth.pool_hours[market.address("lpp"), facts.last_hour]
        value = balance + principal + interest
        assert pool["supplied"] == plain(usd)
        assert pool["utilization"] == plain(principal * 100 * 10**18 // value)
        assert pool["utilization_optimal"] == "70"
        assert pool["pool"] == market.address("lpp")


def test_utilization_history(client: Client, history: History) -> None:
    """Bare figures newest first as JSON, with their hours as CSV."""
    facts = Facts(history.scenario)
    market = history.scenario.markets[1]
    hours = sorted((hour for pool, hour in facts.truth.pool_hours if pool == market.address("lpp")), reverse=True)
    expected = []
    for hour in hours:
        balance, principal, interest, _, _ = facts.truth.pool_hours[market.address("lpp"), hour]
        value = balance + principal + interest
        expected.append(plain(principal * 100 * 10**18 // value) if value else "0")
    path = f"/api/utilization-level?protocol={market.name.lower()}&period=all"
    assert client.json(path) == expected
    lines = client.get(path + "&format=csv").lines
    assert lines[0] == "timestamp,utilization_level"
    assert lines[1] == f"{instant(hours[0] * HOUR)},{expected[0]}"
    assert client.get("/api/utilization-level").status == 400
    assert client.get("/api/utilization-level?protocol=NOBODY").status == 404


def test_flows_newest_first(client: Client, history: History) -> None:
    """Every deposit and withdrawal with its USD and pool."""
    facts = Facts(history.scenario)
    expected = [
        {
            "transaction_type": kind.capitalize(),
            "timestamp": instant(facts.times[key[0]]),
            "user": lender,
            "amount": plain(usd),
            "pool": facts.label(facts.market_of(pool)),
        }
        for key, (kind, pool, lender, _, _, usd, _) in sorted(facts.truth.pool_flows.items(), reverse=True)
    ]
    assert client.json("/api/historical-lenders?period=all") == expected


def test_current_lenders(client: Client, history: History) -> None:
    """Whoever has receipts is there once per pool, joined with the first deposit, worth their share of the pool."""
    facts = Facts(history.scenario)
    rows = client.json("/api/current-lenders")
    expected = {}
    for (lender, pool), (receipts, _, _) in facts.truth.lenders.items():
        if receipts == 0:
            continue
        market = facts.market_of(pool)
        first = min(
            key for key, row in facts.truth.pool_flows.items() if row[0] == "deposit" and row[1:3] == (pool, lender)
        )
        *_, issued, usd = facts.truth.pool_hours[pool, facts.last_hour]
        worth = Fraction(receipts * usd, issued)
        expected[lender, facts.label(market)] = (instant(facts.times[first[0]]), worth)
    assert {(row["lender"], row["pool"]) for row in rows} == set(expected)
    for row in rows:
        joined, worth = expected[row["lender"], row["pool"]]
        assert row["joined"] == joined
        # Told exactly among the figures; the share is cut to the token's decimals before it is priced.
        assert abs(Fraction(row["lent_stables"]) * 10**18 - worth) <= Fraction(70_000, 10**6) * 10**18
    assert [row["joined"] for row in rows] == sorted((row["joined"] for row in rows), reverse=True)


def test_withdrawal_of_a_transaction(client: Client, history: History, raw: RawHistory) -> None:
    """The old row and what newer clients read, amounts in base units; unknown and lower-case hashes are 404."""
    facts = Facts(history.scenario)
    key, (_, pool, lender, amount, receipts, usd, closes) = next(
        (key, row) for key, row in sorted(facts.truth.pool_flows.items()) if row[0] == "withdraw"
    )
    tx = raw.hashes[key[:2]]
    market = facts.market_of(pool)
    decimals = market.decimals(market.lpn)
    row = client.json(f"/api/lp-withdraw?tx={tx}")
    assert row == {
        "Tx_Hash": tx,
        "LP_withdraw_height": key[0],
        "LP_withdraw_idx": key[2],
        "LP_address_id": lender,
        "LP_timestamp": instant(facts.times[key[0]]),
        "LP_Pool_id": pool,
        "LP_amnt_stable": str((usd * 10**decimals * 2 + 10**18) // (2 * 10**18)),
        "LP_amnt_asset": str(amount),
        "LP_amnt_receipts": str(receipts),
        "LP_deposit_close": closes,
        "tx": tx,
        "amount": str(amount),
        "asset": market.lpn,
        "pool": facts.label(market),
        "amount_usd": plain(usd),
    }
    for unknown in (tx.lower(), "AB", "0" * 64, "';--"):
        assert client.get(f"/api/lp-withdraw?tx={unknown}").status == 404
    assert client.get("/api/lp-withdraw").status == 400
