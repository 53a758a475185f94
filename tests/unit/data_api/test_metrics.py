"""Platform totals are what the raw history adds up to."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.unit.data_api.facts import HOUR, Facts, instant, plain
from tests.unit.data_api.raw_history import RawHistory
from tests.unit.data_api.served_history import Client, History


def test_totals_on_the_hour(client: Client, history: History, raw: RawHistory) -> None:
    """TVL is positions plus idle deposits; open interest is all debt; nothing is counted twice."""
    facts = Facts(history.scenario)
    rows = facts.now_open().values()
    value, debt = sum(row[6] for row in rows), sum(row[7] for row in rows)
    pools = [row for (_, hour), row in facts.truth.pool_hours.items() if hour == facts.last_hour]
    supplied = sum(row[4] for row in pools)
    borrowed = 0
    for market in history.scenario.markets:
        _, principal, *_ = facts.truth.pool_hours[market.address("lpp"), facts.last_hour]
        price = raw.prices[raw.height_at(facts.last_hour), market.name, market.lpn]
        borrowed += principal * int(price * 10**18) // 10 ** market.decimals(market.lpn)
    assert client.json("/api/open-position-value") == {"open_position_value": plain(value)}
    assert client.json("/api/open-interest") == {"open_interest": plain(debt)}
    assert client.json("/api/supplied-funds") == {"amount": f"{supplied // 10**18}.{supplied // 10**16 % 100:02d}"}
    assert client.json("/api/borrowed") == {"borrowed": plain(borrowed)}
    assert client.json("/api/total-value-locked") == {"total_value_locked": plain(value + supplied - borrowed)}


def test_borrowed_of_one_protocol(client: Client) -> None:
    """The parts of all protocols make the whole; a name works in any case; an unknown one is 404."""
    from decimal import Decimal

    parts = [client.json(f"/api/borrowed?protocol=OSMOSIS-OSMOSIS-{name}")["borrowed"] for name in ("USDC", "BTC")]
    assert sum(map(Decimal, parts)) == Decimal(client.json("/api/borrowed")["borrowed"])
    assert client.json("/api/borrowed?protocol=osmosis-osmosis-usdc") == {"borrowed": parts[0]}
    assert client.get("/api/borrowed?protocol=NOBODY").status == 404
    assert client.get("/api/borrowed?protocol=").status == 404


def test_lifetime_volume(client: Client, history: History) -> None:
    """Volume is everything opened, repaid, closed on the market, deposited and withdrawn."""
    assert client.json("/api/total-tx-value") == {"total_tx_value": plain(history.scenario.truth.totals["tx_value"])}


def test_supplied_and_borrowed_history(client: Client, history: History) -> None:
    """One point per hour, newest first; of one pool its own hours."""
    facts = Facts(history.scenario)
    points = client.json("/api/supplied-borrowed-history?period=all")
    hours = sorted({hour for _, hour in facts.truth.pool_hours}, reverse=True)
    assert [point["lp_pool_timestamp"] for point in points] == [instant(hour * HOUR) for hour in hours]
    supplied = [sum(row[4] for (_, at), row in facts.truth.pool_hours.items() if at == hour) for hour in hours]
    assert [point["supplied"] for point in points] == [plain(value) for value in supplied]
    market = history.scenario.markets[0]
    own = client.json(f"/api/supplied-borrowed-history?period=all&protocol={market.name}")
    expected = [facts.truth.pool_hours[market.address("lpp"), hour][4] for hour in hours]
    assert [point["supplied"] for point in own] == [plain(value) for value in expected]
    assert client.get("/api/supplied-borrowed-history?protocol=NOBODY").status == 404
    series = client.json("/api/total-value-locked-series?period=all")
    assert series[0]["total_value_locked"] == client.json("/api/total-value-locked")["total_value_locked"]
    assert len(series) == len(points)


def test_active_wallets(client: Client, history: History) -> None:
    """Every month counts each account once."""
    months: dict[str, set[str]] = {}
    for day, address in history.scenario.truth.wallets:
        months.setdefault(datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m"), set()).add(address)
    expected = [{"month": month, "unique_addresses": len(seen)} for month, seen in sorted(months.items())]
    assert client.json("/api/monthly-active-wallets?period=all") == expected
    lines = client.get("/api/monthly-active-wallets?period=all&format=csv").lines
    assert lines == ["month,unique_addresses", *(f"{row['month']},{row['unique_addresses']}" for row in expected)]
