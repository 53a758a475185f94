"""Profit and loss of closed and of open positions."""

from __future__ import annotations

from tests.unit.data_api.facts import HOUR, Facts, instant, plain
from tests.unit.data_api.served_history import Client, History


def test_realized_by_account_and_in_total(client: Client, history: History) -> None:
    """What came back less what went in, over closed positions; a JSON number per account, a string in total."""
    facts = Facts(history.scenario)
    for account in history.scenario.users:
        expected = sum(facts.pnl(facts.truth.leases[a]) for a in facts.closed if facts.truth.leases[a].owner == account)
        found = client.json(f"/api/realized-pnl?address={account}")["realized_pnl"]
        assert isinstance(found, float)
        assert abs(found - expected / 10**18) <= 1e-9 * abs(found)
    total = facts.truth.totals["realized_pnl"]
    cents = abs(total) // 10**16
    assert client.json("/api/realized-pnl-stats") == {
        "amount": f"{'-' if total < 0 else ''}{cents // 100}.{cents % 100:02d}"
    }


def test_closed_positions(client: Client, history: History) -> None:
    """One row per closed position, the last closed first."""
    facts = Facts(history.scenario)
    rows = client.json("/api/realized-pnl-wallet?period=all")
    leases = facts.newest_first(facts.closed)
    assert [row["contract_id"] for row in rows] == [lease.address for lease in leases]
    for row, lease in zip(rows, leases, strict=True):
        assert row["down_payment_stable"] == plain(lease.down_usd)
        assert row["manual_repayments_stable"] == plain(lease.repaid_usd)
        assert row["total_outflow_stable"] == plain(lease.down_usd + lease.repaid_usd)
        assert row["returned_amount_stable"] == plain(lease.collected_usd or 0)
        assert row["realized_pnl_stable"] == plain(facts.pnl(lease))
        assert row["liquidation_events"] == lease.liquidations


def test_trades_of_an_account(client: Client, history: History) -> None:
    """Two rows per closed position, in and out, by date."""
    facts = Facts(history.scenario)
    account = history.scenario.users[0]
    mine = [facts.truth.leases[a] for a in facts.closed if facts.truth.leases[a].owner == account]
    rows = client.json(f"/api/realized-pnl-data?address={account}")
    assert len(rows) == 2 * len(mine)
    assert [row["Date"] for row in rows] == sorted(row["Date"] for row in rows)
    for lease in mine:
        into, out = (row for row in rows if row["Position ID"] == lease.address)
        size = plain(lease.bought, lease.market.decimals(lease.asset))
        assert (into["Sent Amount"], into["Received Amount"]) == (plain(lease.down_usd + lease.repaid_usd), size)
        assert (out["Sent Amount"], out["Received Amount"]) == (size, plain(lease.collected_usd or 0))
        assert into["Description"].endswith("opening")
        ending = "closing" if lease.collected_usd else "liquidation"
        assert out["Description"].endswith(ending)
        assert (into["Fee Amount"], into["Label"]) == ("0", "margin trading")


def test_unrealized(client: Client, history: History) -> None:
    """The hour's value less debt, down payment and repayments: in total, by account, and hour by hour of a lease."""
    facts = Facts(history.scenario)
    now = facts.now_open()
    assert client.json("/api/unrealized-pnl") == {"unrealized_pnl": plain(sum(row[8] for row in now.values()))}
    for account in history.scenario.users:
        # A position that was closed after the hour is realized already.
        mine = sum(
            row[8]
            for address, row in now.items()
            if facts.truth.leases[address].owner == account and facts.truth.leases[address].status == "open"
        )
        assert client.json(f"/api/unrealized-pnl-by-address?address={account}") == {"unrealized_pnl": plain(mine)}
    lease = max(now, key=lambda address: sum(a == address for a, _ in facts.truth.position_hours))
    hours = sorted((hour, row[8]) for (a, hour), row in facts.truth.position_hours.items() if a == lease)
    for days in (1, 30, 500):
        since = history.now_ns - min(days, 30) * 24 * HOUR
        expected = [{"amount": plain(pnl), "date": instant(h * HOUR)} for h, pnl in hours if h * HOUR >= since]
        assert client.json(f"/api/pnl-over-time?address={lease}&interval={days}") == expected
    assert client.get(f"/api/pnl-over-time?address={lease}&interval=-1").status == 400
    assert client.get(f"/api/pnl-over-time?address={lease}").status == 400
