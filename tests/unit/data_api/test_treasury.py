"""Revenue, buy-backs and rewards are what the treasury's events add up to."""

from __future__ import annotations

from collections import defaultdict

from simulated_chain import NATIVE
from tests.unit.data_api.facts import DAY, Facts, instant, plain
from tests.unit.data_api.served_history import Client, History


def test_totals(client: Client, history: History) -> None:
    """Native figures are whole tokens, revenue is USD at the time of each buy-back."""
    truth = history.scenario.truth
    flows = truth.treasury_flows.values()
    bought = sum(amount for kind, amount, _ in flows if kind == "profit")
    given = sum(amount for kind, amount, _ in flows if kind == "rewards")
    assert client.json("/api/revenue") == {"revenue": plain(truth.totals["profit"])}
    assert client.json("/api/buyback-total") == {"buyback_total": plain(bought, 6)}
    assert client.json("/api/distributed") == {"distributed": plain(given, 6)}
    held = truth.balances[history.scenario.treasury, NATIVE]
    assert client.json("/api/incentives-pool") == {"incentives_pool": plain(held, 6)}


def test_buyback_runs_from_the_beginning(client: Client, history: History) -> None:
    """Each row is the sum of all buy-backs up to it, whatever window is asked for."""
    facts = Facts(history.scenario)
    running, expected = 0, []
    for key, (kind, amount, _) in sorted(facts.truth.treasury_flows.items()):
        if kind == "profit":
            running += amount
            expected.append({"bought_back": plain(running, 6), "timestamp": instant(facts.times[key[0]])})
    assert client.json("/api/buyback?period=all") == expected
    middle = expected[len(expected) // 2]["timestamp"]
    assert client.json(f"/api/buyback?from={middle}") == [row for row in expected if row["timestamp"] > middle]


def test_revenue_by_day(client: Client, history: History) -> None:
    """Days carry their own revenue and all of it so far."""
    facts = Facts(history.scenario)
    days: dict[int, int] = defaultdict(int)
    for key, (kind, _, usd) in facts.truth.treasury_flows.items():
        if kind == "profit":
            days[facts.times[key[0]] // DAY] += usd
    running, expected = 0, []
    for day, usd in sorted(days.items()):
        running += usd
        expected.append({"time": instant(day * DAY), "daily": plain(usd), "cumulative": plain(running)})
    assert client.json("/api/revenue-series?period=all") == expected
