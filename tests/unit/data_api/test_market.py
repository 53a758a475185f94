"""Prices and markets."""

from __future__ import annotations

from tests.unit.data_api.facts import HOUR, Facts, plain
from tests.unit.data_api.served_history import Client, History


def test_price_points_of_an_hour(client: Client, history: History) -> None:
    """Beyond thirty days a point is the highest price of an hour, newest first, in milliseconds."""
    facts = Facts(history.scenario)
    market = history.scenario.markets[0]
    expected = sorted(
        (
            [hour * HOUR // 10**6, candle[1] / 10**18]
            for (name, ticker, hour), candle in facts.truth.candles.items()
            if (name, ticker) == (market.name, "ETH")
        ),
        reverse=True,
    )
    found = client.json(f"/api/prices?interval=30&protocol={market.name}&key=ETH")
    assert [point[0] for point in found] == [point[0] for point in expected]
    assert all(abs(a[1] - b[1]) < 1e-9 * b[1] for a, b in zip(found, expected, strict=True))
    assert client.json(f"/api/prices?interval=1000&protocol={market.name}&key=ETH") == found


def test_width_of_points(client: Client) -> None:
    """Up to seven days a point is a minute, below thirty it is five."""
    path = "/api/prices?protocol=OSMOSIS-OSMOSIS-USDC&key=BTC&interval="
    for days, width in ((7, 60_000), (8, 300_000), (29, 300_000), (30, 3_600_000)):
        points = client.json(path + str(days))
        assert points
        assert all(milliseconds % width == 0 for milliseconds, _ in points), days
    assert client.json(path + "0") == []


def test_bounds_of_price_requests(client: Client) -> None:
    """A chart needs a known protocol and currency; a negative interval is refused."""
    assert client.get("/api/prices?interval=7&key=BTC").status == 400
    assert client.get("/api/prices?interval=7&protocol=OSMOSIS-OSMOSIS-USDC").status == 400
    assert client.get("/api/prices?interval=-1&protocol=OSMOSIS-OSMOSIS-USDC&key=BTC").status == 400
    assert client.get("/api/prices?interval=7&protocol=NOBODY&key=BTC").status == 404
    assert client.get("/api/prices?interval=7&protocol=OSMOSIS-OSMOSIS-USDC&key=NOTHING").status == 404


def test_current_prices(client: Client, history: History) -> None:
    """Without an interval the newest price of every currency of every protocol."""
    rows = client.json("/api/prices")
    assert [(row["symbol"], row["protocol"]) for row in rows] == sorted(
        (ticker, market.name) for market in history.scenario.markets for ticker in market.coins
    )
    facts = Facts(history.scenario)
    for row in rows:
        newest = max(h for name, ticker, h in facts.truth.candles if (name, ticker) == (row["protocol"], row["symbol"]))
        assert row["price"] == plain(facts.truth.candles[row["protocol"], row["symbol"], newest][3])
    assert {row["symbol"] for row in client.json("/api/prices?key=ETH")} == {"ETH"}


def test_markets(client: Client, history: History) -> None:
    """Every leasable asset of a long and every short, with what is open in it."""
    facts = Facts(history.scenario)
    markets = client.json("/api/lease-markets")
    assert [(m["protocol"], m["asset"]) for m in markets if m["position_type"] == "Short"] == [
        ("OSMOSIS-OSMOSIS-BTC", "USDC")
    ]
    assert {m["asset"] for m in markets if m["position_type"] == "Long"} == {"BTC", "ETH"}
    assert sum(m["open_positions"] for m in markets) == len(facts.now_open())
    day_ago = facts.times[max(facts.times)] - 24 * HOUR
    assert sum(m["openings_24h"] for m in markets) == sum(
        facts.times[key[0]] > day_ago for key in facts.opened.values()
    )
    value = facts.by_token(
        6, lambda lease: (lease.market.name, lease.market.lpn if facts.is_short(lease.market) else lease.asset)
    )
    for market in markets:
        traded = market["lpn"] if market["position_type"] == "Short" else market["asset"]
        assert market["value"] == plain(value.get((market["protocol"], traded), 0))
        assert market["price_change_24h"] is not None
    assert [float(m["value"]) for m in markets] == sorted((float(m["value"]) for m in markets), reverse=True)
