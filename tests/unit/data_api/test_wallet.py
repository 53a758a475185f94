"""What one account did and earned."""

from __future__ import annotations

from fractions import Fraction

from tests.unit.data_api.facts import Facts, instant, plain
from tests.unit.data_api.served_history import Client, History


def test_lending_earnings(client: Client, history: History) -> None:
    """Worth of the receipts plus what was taken out less what was put in, never below zero per pool."""
    facts = Facts(history.scenario)
    prices = {(row["protocol"], row["symbol"]): Fraction(row["price"]) for row in client.json("/api/prices")}
    for lender in history.scenario.lenders:
        expected = Fraction(0)
        for (who, pool), (receipts, deposited, withdrawn) in facts.truth.lenders.items():
            if who == lender:
                market = facts.market_of(pool)
                balance, principal, interest, issued, _ = facts.truth.pool_hours[pool, facts.last_hour]
                tokens = Fraction(receipts * (balance + principal + interest), issued) + withdrawn - deposited
                gain = tokens / 10 ** market.decimals(market.lpn) * prices[market.name, market.lpn]
                expected += max(gain, Fraction(0))
        found = client.json(f"/api/earnings?address={lender}")
        # Tokens are cut to their decimals before they are priced, once per pool.
        assert abs(Fraction(found["earnings"]) - expected) <= Fraction(140_000, 10**6)


def test_history_stats(client: Client, history: History) -> None:
    """Profit, volume, share of winners, and closed positions by their profit in percent."""
    facts = Facts(history.scenario)
    for account in history.scenario.users:
        mine = [facts.truth.leases[a] for a in facts.closed if facts.truth.leases[a].owner == account]
        bands = [0] * 5
        for lease in mine:
            percent = Fraction(facts.pnl(lease) * 100, lease.down_usd + lease.repaid_usd)
            bands[0 if percent < 0 else 1 if percent < 50 else 2 if percent < 100 else 3 if percent <= 300 else 4] += 1
        found = client.json(f"/api/history-stats?address={account}")
        assert [band["positions"] for band in found["bucket"]] == bands
        assert [b["bucket"] for b in found["bucket"]] == ["<0", "0-50", "51\u2013100", "101\u2013300", "301+"]
        assert found["win_rate"] == sum(facts.pnl(lease) > 0 for lease in mine) * 100 / len(mine)
        share = sum(Fraction(band["share_percent"]) for band in found["bucket"])
        assert abs(share - 100) <= Fraction(3, 100)
        assert isinstance(found["tx_volume"], float)
    stranger = client.json(f"/api/history-stats?address={history.scenario.lenders[0]}")
    assert (stranger["pnl"], stranger["tx_volume"], stranger["win_rate"]) == (0.0, 0.0, 0.0)
    assert {band["share_percent"] for band in stranger["bucket"]} == {"0"}


def test_staking(client: Client, history: History) -> None:
    """Delegations and withdrawn rewards newest first, and the sum of the rewards."""
    facts = Facts(history.scenario)
    for account in history.scenario.users:
        mine = sorted((row for row in facts.truth.staking if row[2] == account), reverse=True)
        rows = client.json(f"/api/staking-activity?address={account}&limit=100")
        assert [(row["block"], row["type"], row["amount"]) for row in rows] == [
            (height, kind, str(amount)) for height, _, _, kind, amount in mine
        ]
        taken = [row for row in mine if row[3] == "withdraw"]
        earned = client.json(f"/api/staking-earnings?address={account}")
        assert earned["earnings"] == plain(sum(row[4] for row in taken), 6)
        assert earned["withdrawals"] == len(taken)
        assert earned["last_withdrawal"] == (instant(facts.times[taken[0][0]]) if taken else None)
