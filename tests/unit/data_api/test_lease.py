"""Leases tell what was put in, what went through them and how they ended."""

from __future__ import annotations

from typing import Any

from tests.unit.data_api.facts import Facts, instant, plain
from tests.unit.data_api.served_history import Client, History


def _busiest(facts: Facts) -> str:
    return max(facts.scenario.users, key=lambda user: sum(facts.truth.leases[a].owner == user for a in facts.opened))


def _rounded(usd: int, decimals: int) -> str:
    return str((usd * 10**decimals * 2 + 10**18) // (2 * 10**18))


def test_leases_of_an_account(client: Client, history: History) -> None:
    """All of them, newest first, in the old form with their status; `_stable` is USD in the token's own scale."""
    facts = Facts(history.scenario)
    account = _busiest(facts)
    mine = [lease for lease in facts.newest_first(facts.opened) if lease.owner == account]
    rows = client.json(f"/api/leases?address={account}&limit=100")
    assert [row["LS_contract_id"] for row in rows] == [lease.address for lease in mine]
    for row, lease in zip(rows, mine, strict=True):
        decimals = lease.market.decimals(lease.market.lpn)
        final = lease.status in ("closed", "liquidated")
        assert row["status"] == (lease.status if final else "open")
        assert row["LS_loan_amnt"] == str(lease.bought)
        assert row["LS_loan_amnt_asset"] == str(lease.loan)
        assert row["LS_loan_amnt_stable"] == _rounded(lease.loan_usd, decimals)
        assert row["LS_cltr_amnt_stable"] == _rounded(lease.down_usd, decimals)
        assert (row["LS_cltr_symbol"], row["LS_cltr_amnt_asset"]) == (lease.down_ticker, str(lease.down))
        assert row["LS_interest"] == lease.rate + 40
        assert row["LS_lpn_decimals"] == 10**decimals
        assert row["pnl"] == (None if lease.collected_usd is None else plain(facts.pnl(lease)))
    assert client.json(f"/api/leases-search?address={account}&limit=100") == [lease.address for lease in mine]


def test_search_takes_text_literally(client: Client, history: History) -> None:
    """Part of an address finds it in any case; wildcards find nothing."""
    facts = Facts(history.scenario)
    account = _busiest(facts)
    lease = next(lease for lease in facts.newest_first(facts.opened) if lease.owner == account)
    path = f"/api/leases-search?address={account}&limit=100&search="
    assert client.json(path + lease.address[10:20].upper()) == [lease.address]
    assert client.json(path + "%25") == []
    assert client.json(path + "_") == []


def test_story_of_a_lease(client: Client, history: History) -> None:
    """Each payment with what it left, in whole tokens; nothing is told about the debt of a short."""
    facts = Facts(history.scenario)
    for address in facts.opened:
        lease = facts.truth.leases[address]
        story = client.json(f"/api/ls-opening?lease={address}")
        events = sorted(
            (key, row)
            for key, row in facts.truth.position_events.items()
            if row[0] == address and row[1] not in ("open", "finish")
        )
        assert [entry["type"] for entry in story["history"]] == [row[1] for _, row in events]
        assert story["repayment_value"] == plain(lease.repaid_usd)
        for entry, (key, (_, _, payment, _, principal, amount)) in zip(story["history"], events, strict=True):
            assert entry["amount"] == str(payment)
            assert entry["time"] == instant(facts.times[key[0]])
            assert entry["collateral_asset"] == plain(amount, lease.market.decimals(lease.asset))
            short = facts.is_short(lease.market)
            assert entry["debt_stable"] == (
                None if short else plain(principal, lease.market.decimals(lease.market.lpn))
            )
            if principal == 0 and not short:
                assert entry["liquidation_price"] == "0"


def test_openings_in_a_batch(client: Client, history: History) -> None:
    """In the order asked for, without those that don't exist; more than a hundred are refused."""
    facts = Facts(history.scenario)
    wanted = sorted(facts.opened)[:3]
    found = client.json(f"/api/ls-opening?leases={wanted[1]},nobody,{wanted[0]},{wanted[1]}")
    assert [row["lease"]["LS_contract_id"] for row in found] == [wanted[1], wanted[0]]
    assert set(found[0]) == {"lease", "downpayment_price"}
    assert client.json("/api/ls-opening?lease=nobody") is None
    assert client.json("/api/ls-opening") == []
    assert client.json(f"/api/ls-openings?leases={wanted[0]}") == [found[1]]
    assert client.get("/api/ls-opening?leases=" + ",".join(f"a{n}" for n in range(101))).status == 400


def test_closings_of_an_account(client: Client, history: History) -> None:
    """At most ten a page, newest first; USD as JSON numbers."""
    facts = Facts(history.scenario)
    account = max(facts.scenario.users, key=lambda user: sum(facts.truth.leases[a].owner == user for a in facts.closed))
    mine = [lease for lease in facts.newest_first(facts.closed) if lease.owner == account]
    assert len(mine) > 10
    rows = client.json(f"/api/ls-loan-closing?address={account}&limit=1000")
    rows += client.json(f"/api/ls-loan-closing?address={account}&skip=10")
    assert [row["LS_contract_id"] for row in rows] == [lease.address for lease in mine][: len(rows)]
    assert len(rows) == min(20, len(mine))
    for row, lease in zip(rows, mine, strict=False):
        sent = lease.down_usd + lease.repaid_usd
        assert row["Type"] == lease.close_kind
        assert row["Ls_sent"] == sent / 10**18
        assert row["Ls_receive"] == (lease.collected_usd or 0) / 10**18
        assert abs(row["LS_pnl"] - facts.pnl(lease) / 10**18) < 1e-6
        assert row["LS_timestamp"] == instant(facts.times[facts.closed[lease.address][0]])


def test_liquidations(client: Client, history: History) -> None:
    """Every one, newest first, in USD whatever the scale of the token."""
    facts = Facts(history.scenario)
    rows = client.json("/api/liquidations?period=all")
    events = facts.events("liquidation")
    assert [row["contract_id"] for row in rows] == [row[0] for _, row in events]
    for row, (key, (address, _, _, usd, principal, _)) in zip(rows, events, strict=True):
        lease = facts.truth.leases[address]
        assert row["liquidation_amount"] == plain(usd)
        assert row["user"] == lease.owner
        assert row["transaction_type"] == "overdue interest"
        assert row["closed_loan"] == (principal == 0 and facts.closed.get(address) == key)
        assert row["down_payment"] == plain(lease.down_usd)
        assert row["loan"] == plain(lease.loan, lease.market.decimals(lease.market.lpn))
        assert row["timestamp"] == instant(facts.times[key[0]])


def test_history_of_openings(client: Client, history: History) -> None:
    """Every opening, newest first; a short carries the label of its pool."""
    facts = Facts(history.scenario)
    rows = client.json("/api/historically-opened?period=all")
    leases = facts.newest_first(facts.opened)
    assert [row["contract_id"] for row in rows] == [lease.address for lease in leases]
    for row, lease in zip(rows, leases, strict=True):
        short = facts.is_short(lease.market)
        assert row["leased_asset"] == (facts.label(lease.market) if short else lease.asset)
        assert row["loan"] == plain(lease.loan_usd)
        assert row["down_payment_amount"] == plain(lease.down_usd)
        assert row["open"] == (lease.status == "open")


def test_history_of_repayments(client: Client, history: History) -> None:
    """Positions paid or closed on the market, with all USD that went in; interest separately."""
    facts = Facts(history.scenario)
    paid = {row[0] for _, row in facts.events("repay", "market-close")}
    rows = {row["contract_id"]: row for row in client.json("/api/historically-repaid?period=all")}
    assert set(rows) == paid
    for address, row in rows.items():
        assert row["loan_closed"] == ("yes" if address in facts.closed else "no")
        assert (row["close_timestamp"] is not None) == (address in facts.closed)
    interest = client.json("/api/interest-repayments?period=all")
    names = {"repay": "repayment", "market-close": "close", "liquidation": "liquidation"}
    expected = [(row[0], names[row[1]]) for _, row in facts.events("repay", "market-close", "liquidation")]
    assert [(row["contract_id"], row["event_type"]) for row in interest] == expected


def test_history_of_liquidated_positions(client: Client, history: History) -> None:
    """Only those that were liquidated, with the sum of it."""
    facts = Facts(history.scenario)
    sums: dict[str, int] = {}
    for _, row in facts.events("liquidation"):
        sums[row[0]] = sums.get(row[0], 0) + row[3]
    rows = client.json("/api/historically-liquidated?period=all")
    assert {row["contract_id"]: row["total_liquidated"] for row in rows} == {a: plain(usd) for a, usd in sums.items()}


def test_totals_by_asset(client: Client, history: History) -> None:
    """Value, principal and lifetime loans by asset; shorts are named by what they sell."""
    facts = Facts(history.scenario)

    def named(lease: Any, label: str) -> str:
        return label if facts.is_short(lease.market) else lease.asset

    value = facts.by_token(6, lambda lease: named(lease, f"{facts.label(lease.market)} (Short)"))
    assert client.json("/api/leased-assets") == [
        {"loan": plain(usd), "asset": asset} for asset, usd in sorted(value.items(), key=lambda item: -item[1])
    ]
    granted: dict[str, int] = {}
    for address in facts.opened:
        lease = facts.truth.leases[address]
        name = named(lease, f"{facts.label(lease.market)} (Short)")
        granted[name] = granted.get(name, 0) + lease.loan_usd
    assert client.json("/api/loans-granted") == [
        {"asset": asset, "loan": plain(usd)} for asset, usd in sorted(granted.items(), key=lambda item: item[1])
    ]
    tokens = {row["symbol"] for row in client.json("/api/loans-by-token")}
    assert tokens == set(facts.by_token(1, lambda lease: named(lease, f"{lease.market.lpn} (Short)")))
    largest: dict[str, int] = {}
    for address, figures in facts.now_open().items():
        asset = facts.truth.leases[address].asset
        largest[asset] = max(largest.get(asset, 0), figures[6])
    stats = {row["asset"]: row["max_value"] for row in client.json("/api/lease-value-stats")}
    assert stats == {asset: plain(usd) for asset, usd in largest.items()}


def test_openings_by_month(client: Client, history: History) -> None:
    """Down payments and loans of the month."""
    total = sum(lease.down_usd + lease.loan_usd for lease in history.scenario.truth.leases.values())
    assert client.json("/api/leases-monthly") == [{"amount": plain(total), "date": "2025-01-01T00:00:00Z"}]
