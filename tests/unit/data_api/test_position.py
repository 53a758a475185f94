"""Open positions and their sums are those of the newest hour."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from tests.unit.data_api.facts import DAY, HOUR, Facts, instant, plain
from tests.unit.data_api.served_history import Client, History


def _traded(facts: Facts, lease) -> str:  # type: ignore[no-untyped-def]
    return f"{lease.market.lpn} (Short)" if facts.is_short(lease.market) else lease.asset


def test_every_open_position(client: Client, history: History) -> None:
    """Value, principal, profit and its percent of the down payment; the last opened first."""
    facts = Facts(history.scenario)
    rows = client.json("/api/positions")
    now = facts.now_open()
    assert [row["contract_id"] for row in rows] == [
        lease.address for lease in facts.newest_first(facts.opened) if lease.address in now
    ]
    for row in rows:
        lease, figures = facts.truth.leases[row["contract_id"]], now[row["contract_id"]]
        short = facts.is_short(lease.market)
        assert row["lease_value"] == plain(figures[6])
        assert row["pnl"] == plain(figures[8])
        assert row["down_payment"] == plain(lease.down_usd)
        percent = Decimal(figures[8]) / Decimal(lease.down_usd) * 100
        assert abs(Decimal(row["pnl_percent"]) - percent) <= Decimal("0.005")
        assert row["user"] == lease.owner
        assert (row["symbol"], row["asset"]) == (lease.market.lpn if short else lease.asset, lease.asset)
        assert row["date"] == instant(facts.times[facts.opened[lease.address][0]] // 10**9 * 10**9)


def test_liquidation_prices(client: Client, history: History) -> None:
    """The price of the traded token at which debt is nine tenths of value."""
    facts = Facts(history.scenario)
    for row in client.json("/api/positions"):
        lease, figures = facts.truth.leases[row["contract_id"]], facts.now_open()[row["contract_id"]]
        value, debt = Decimal(figures[6]), Decimal(figures[7])
        current = Decimal(row["current_price"])
        if facts.is_short(lease.market):
            expected = current * value * Decimal("0.9") / debt
        else:
            expected = current * debt / (value * Decimal("0.9"))
        assert abs(Decimal(row["liquidation_price"]) - expected) <= Decimal("0.0001") + expected / 10**9


def test_csv_and_export_have_the_same_rows(client: Client) -> None:
    """JSON, CSV and export tell the same in the same order."""
    rows = client.json("/api/positions")
    table = client.get("/api/positions?format=csv")
    export = client.get("/api/positions?export=true")
    assert table.headers["content-type"] == export.headers["content-type"] == "text/csv"
    assert table.headers["content-disposition"] == 'attachment; filename="positions.csv"'
    assert table.lines == export.lines
    assert table.lines[0].split(",") == list(rows[0])
    assert [line.split(",") for line in table.lines[1:]] == [list(row.values()) for row in rows]


def test_sums_by_token(client: Client, history: History) -> None:
    """Value by token, largest first."""
    facts = Facts(history.scenario)
    sums = facts.by_token(6, lambda lease: _traded(facts, lease))
    expected = [
        {"token": token, "market_value": plain(value)} for token, value in sorted(sums.items(), key=lambda i: -i[1])
    ]
    assert client.json("/api/open-positions-by-token") == expected


def test_buckets_have_no_holes(client: Client) -> None:
    """Every open position is in exactly one of six ranges; ranges without any are left out."""
    loans = [Decimal(row["loan"]) for row in client.json("/api/positions")]
    names = ["0-0.999k", "1-1.9k", "2-4.9k", "5-9.9k", "10-14.9k", "15k+"]
    limits = [0, 1000, 2000, 5000, 10_000, 15_000, 10**18]
    expected = []
    for name, least, below in zip(names, limits[:-1], limits[1:], strict=True):
        inside = [loan for loan in loans if least <= loan < below]
        if inside:
            expected.append((name, len(inside), sum(inside)))
    buckets = client.json("/api/position-buckets")
    assert [(b["loan_category"], b["loan_count"], Decimal(b["loan_size"])) for b in buckets] == expected


def test_loans_by_day(client: Client, history: History) -> None:
    """USD opened and paid back on every day between the first and the last."""
    truth = history.scenario.truth
    opened = {day: usd for (day, name), usd in truth.days.items() if name == "opened_loans_usd"}
    closed = {day: usd for (day, name), usd in truth.days.items() if name == "closed_loans_usd"}
    days = range(min({*opened, *closed}), max({*opened, *closed}) + 1)
    assert client.json("/api/daily-positions?period=all") == [
        {
            "date": instant(day * DAY),
            "closed_loans": plain(closed.get(day, 0)),
            "opened_loans": plain(opened.get(day, 0)),
        }
        for day in days
    ]


def test_value_and_debt_of_an_account(client: Client, history: History) -> None:
    """Hour by hour, over all leases the account had open then."""
    facts = Facts(history.scenario)
    owner = next(iter(facts.now_open()))
    account = facts.truth.leases[owner].owner
    value: dict[int, int] = defaultdict(int)
    debt: dict[int, int] = defaultdict(int)
    for (lease, hour), row in facts.truth.position_hours.items():
        if facts.truth.leases[lease].owner == account:
            value[hour] += row[6]
            debt[hour] += row[7]
    found = client.json(f"/api/position-debt-value?address={account}")
    for name, sums in (("position", value), ("debt", debt)):
        assert found[name] == [
            {"amount": plain(usd), "time": instant(hour * HOUR)} for hour, usd in sorted(sums.items())
        ]


def test_openings_of_an_account(client: Client, history: History) -> None:
    """All of them newest first, page by page, as JSON and as CSV."""
    facts = Facts(history.scenario)
    account = max(facts.scenario.users, key=lambda user: sum(facts.truth.leases[a].owner == user for a in facts.opened))
    mine = [lease for lease in facts.newest_first(facts.opened) if lease.owner == account]
    path = f"/api/position-opens?address={account}"
    assert [row["contract_id"] for row in client.json(path + "&limit=100")] == [lease.address for lease in mine]
    assert [row["contract_id"] for row in client.json(path)] == [lease.address for lease in mine[:10]]
    assert client.json(path + "&skip=3&limit=2") == client.json(path + "&limit=100")[3:5]
    assert len(client.get(path + "&format=csv&limit=4").lines) == 5
