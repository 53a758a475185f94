"""Every figure that leases, pools and accounts are told with, worked out again from the raw blocks.

The formulas are those of the fact sheet; nothing of the indexer or of its SQL is used.
"""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.unit.data_api.facts import HOUR, Facts, instant
from tests.unit.data_api.raw_history import Lease, RawHistory, tokens
from tests.unit.data_api.served_history import Client, History

# Sums are of amounts cut to 10^-18; prices are too.
CLOSE = Fraction(1, 10**9)


def same(told: str | float | None, expected: Fraction | int, within: Fraction = CLOSE) -> bool:
    """Whether a figure is what it should be, but for the digits that were cut."""
    assert told is not None
    found = Fraction(told)
    return abs(found - expected) <= within * max(abs(Fraction(expected)), 1)


def named(lease: Lease) -> str:
    """What lists of assets call a lease."""
    return f"{lease.market.lpn} (Short)" if lease.short else lease.asset


def test_interest_paid(client: Client, raw: RawHistory) -> None:
    """Interest and margin of each payment in USD, for shorts too."""
    rows = client.json("/api/interest-repayments?period=all")
    payments = raw.payments("repay", "market-close", "liquidation")
    assert len(rows) == len(payments) > 50
    for row, payment in zip(rows, payments, strict=True):
        lease, height = raw.leases[payment.lease], payment.place[0]
        lpn = lease.market.lpn
        assert row["position_type"] == ("Short" if lease.short else "Long")
        assert (row["contract_id"], row["position_owner"]) == (lease.address, lease.owner)
        assert row["timestamp"] == instant(raw.times[height])
        assert same(row["loan_interest_repaid"], raw.usd(lease.market, lpn, payment.interest, height))
        assert same(row["margin_interest_repaid"], raw.usd(lease.market, lpn, payment.margin, height))


def test_liquidations(client: Client, raw: RawHistory) -> None:
    """What the loan got, at which price of the asset, and why."""
    rows = client.json("/api/liquidations?period=all")
    payments = raw.payments("liquidation")
    assert len(rows) == len(payments) > 5
    for row, payment in zip(rows, payments, strict=True):
        lease = raw.leases[payment.lease]
        assert row["ticker"] == lease.asset
        assert row["transaction_type"] == payment.cause
        assert row["closed_loan"] == payment.closes
        assert same(row["liquidation_amount"], raw.worth(payment))
        assert same(row["liquidation_price"], raw.prices[payment.place[0], lease.market.name, lease.asset])
        assert same(row["loan"], tokens(lease.market, lease.market.lpn, lease.loan))


def _opening(raw: RawHistory, lease: Lease) -> dict[str, Fraction]:
    market, height = lease.market, lease.place[0]
    price, lent = raw.prices[height, market.name, lease.asset], raw.prices[height, market.name, market.lpn]
    return {
        "down": raw.usd(market, lease.down_ticker, lease.down, height),
        "loan": raw.usd(market, market.lpn, lease.loan, height),
        "price": price,
        "lent": lent,
        "size": tokens(market, lease.asset, lease.bought) * price / lent,
        "liquidation": raw.liquidation_price(lease, lease.loan, lease.bought, height),
    }


def test_openings(client: Client, raw: RawHistory) -> None:
    """Prices, sizes and the price of liquidation at the opening; an account's openings are the same rows."""
    rows = client.json("/api/historically-opened?period=all")
    assert {row["contract_id"] for row in rows} == set(raw.leases)
    for row in rows:
        lease = raw.leases[row["contract_id"]]
        figures = _opening(raw, lease)
        assert row["opening_date"] == instant(raw.times[lease.place[0]])
        assert (row["user"], row["down_payment_asset"]) == (lease.owner, lease.down_ticker)
        assert same(row["down_payment_amount"], figures["down"])
        assert same(row["loan"], figures["loan"])
        assert same(row["price"], figures["price"])
        assert same(row["liquidation_price"], figures["liquidation"])
        scale = Fraction(1, 10 ** lease.market.decimals(lease.asset))
        assert abs(Fraction(row["total_position_amount_lpn"]) - figures["size"]) <= 2 * scale
    for account in {lease.owner for lease in raw.leases.values()}:
        mine = [row for row in rows if row["user"] == account]
        assert client.json(f"/api/position-opens?address={account}&limit=100") == mine[:100]


def test_stories_of_leases(client: Client, raw: RawHistory) -> None:
    """The old row of a lease, its fee, its repayments, and every payment with what it left."""
    for lease in raw.leases.values():
        story = client.json(f"/api/ls-opening?lease={lease.address}")
        row, figures, market = story["lease"], _opening(raw, lease), lease.market
        assert (row["Tx_Hash"], row["LS_interest"]) == (lease.tx, lease.rate)
        assert row["LS_timestamp"] == instant(raw.times[lease.place[0]])
        assert (row["LS_loan_amnt"], row["LS_loan_amnt_asset"]) == (str(lease.bought), str(lease.loan))
        assert row["LS_loan_pool_id"] == market.address("lpp")
        assert same(row["LS_opening_price"], figures["price"])
        assert same(row["LS_liquidation_price_at_open"], figures["liquidation"])
        scale = 10 ** market.decimals(lease.asset)
        assert abs(int(row["LS_lpn_loan_amnt"]) - figures["size"] * scale) <= 2
        assert same(story["downpayment_price"], figures["price"])
        assert same(story["lpn_price"], figures["lent"])
        fee = (figures["down"] + figures["loan"]) - raw.usd(market, lease.asset, lease.bought, lease.place[0])
        assert abs(int(story["fee"]) - fee * scale) <= 2
        repaid = sum((raw.worth(payment) for payment in lease.payments if payment.kind == "repay"), Fraction(0))
        assert same(story["repayment_value"], repaid)
        _check_payments(raw, lease, story["history"])


def _check_payments(raw: RawHistory, lease: Lease, told: list[dict[str, Any]]) -> None:
    market = lease.market
    for entry, (payment, principal, amount) in zip(told, raw.after(lease), strict=True):
        assert (entry["symbol"], entry["amount"]) == (market.lpn, str(payment.payment))
        assert (entry["type"], entry["additional"], entry["tx_hash"]) == (payment.kind, payment.cause, payment.tx)
        sold = payment.kind != "repay"
        assert entry["ls_amnt"] == (str(payment.sold) if sold else None)
        assert entry["ls_amnt_symbol"] == (lease.asset if sold else None)
        assert same(entry["collateral_asset"], tokens(market, lease.asset, amount))
        if lease.short:
            assert (entry["debt_stable"], entry["liquidation_price"]) == (None, None)
            continue
        assert same(entry["debt_stable"], tokens(market, market.lpn, principal))
        if principal and amount:
            least = raw.liquidation_price(lease, principal, amount, payment.place[0])
            # Interest that a small payment did not cover is owed too.
            covered = payment.principal > 0
            assert same(entry["liquidation_price"], least) if covered else Fraction(entry["liquidation_price"]) >= least


def test_repaid_and_liquidated(client: Client, raw: RawHistory) -> None:
    """All USD that went into a position after its opening: repayments, and what was sold on the market."""
    for row in client.json("/api/historically-repaid?period=all"):
        lease = raw.leases[row["contract_id"]]
        total = sum(raw.worth(p) for p in lease.payments if p.kind == "repay")
        total += sum(raw.sold_worth(p) for p in lease.payments if p.kind == "market-close")
        assert same(row["total_repaid"], total)
        assert row["symbol"] == lease.asset
        assert same(row["loan"], tokens(lease.market, lease.market.lpn, lease.loan))
        closing = lease.closing
        assert row["close_timestamp"] == (None if closing is None else instant(raw.times[closing.place[0]]))
    for row in client.json("/api/historically-liquidated?period=all"):
        lease = raw.leases[row["contract_id"]]
        assert same(row["total_liquidated"], sum(raw.worth(p) for p in lease.payments if p.kind == "liquidation"))
        assert (row["asset"], Fraction(row["loan"])) == (
            lease.asset, tokens(lease.market, lease.market.lpn, lease.loan),
        )  # fmt: skip


def test_rows_changed_since(client: Client, raw: RawHistory) -> None:
    """`from` is on a row's last change and excludes it: what was opened before and paid after is told again."""
    heights = sorted({payment.place[0] for payment in raw.payments("repay")})
    height = heights[len(heights) // 2]
    since = f"from={instant(raw.times[height])}"
    later = {lease.address for lease in raw.leases.values() if raw.changed(lease) > height}
    told_again = {address for address in later if raw.leases[address].place[0] <= height}
    assert told_again
    for path in ("historically-opened", "historically-repaid", "realized-pnl-wallet", "historically-liquidated"):
        whole = client.json(f"/api/{path}?period=all")
        expected = [row for row in whole if row["contract_id"] in later]
        assert client.json(f"/api/{path}?{since}") == expected
        assert client.json(f"/api/{path}?{since}&period=all") == expected
    events = [payment for payment in raw.payments("repay", "market-close", "liquidation") if payment.place[0] > height]
    assert len(client.json(f"/api/interest-repayments?{since}")) == len(events)


def _returned(raw: RawHistory, lease: Lease) -> Fraction:
    """USD that came back when the loan closed: what was left of the position, and the change of the last payment."""
    closing = lease.closing
    assert closing is not None
    _, left = raw.owed(lease, closing.place[0])
    back = Fraction(0)
    if not (closing.kind == "liquidation" and left == 0):
        back += raw.usd(lease.market, lease.market.lpn, closing.change, closing.place[0])
    return back + raw.usd(lease.market, lease.asset, left, closing.place[0])


def test_realized_profit(client: Client, raw: RawHistory) -> None:
    """By position, by account, as trades and in total."""
    closed = {lease.address: lease for lease in raw.leases.values() if lease.closing is not None}
    rows = client.json("/api/realized-pnl-wallet?period=all")
    assert {row["contract_id"] for row in rows} == set(closed)
    profits: dict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        lease = closed[row["contract_id"]]
        spent, back = raw.paid_in(lease), _returned(raw, lease)
        profits[lease.owner] += back - spent
        assert same(row["total_outflow_stable"], spent)
        assert same(row["returned_amount_stable"], back)
        assert same(row["realized_pnl_stable"], back - spent)
        liquidated = [payment for payment in lease.payments if payment.kind == "liquidation"]
        assert row["liquidation_events"] == len(liquidated)
        assert same(row["liquidations_stable"], sum((raw.worth(p) for p in liquidated), Fraction(0)))
        assert (row["leased_asset"], row["down_payment_asset"]) == (lease.asset, lease.down_ticker)
        assert row["opening_date"] == instant(raw.times[lease.place[0]])
        assert row["close_timestamp"] == instant(raw.times[lease.closing.place[0]])  # type: ignore[union-attr]
        assert (row["returned_lpn"] is None) == (back == 0)
    for account, profit in profits.items():
        assert same(client.json(f"/api/realized-pnl?address={account}")["realized_pnl"], profit)
        trades = client.json(f"/api/realized-pnl-data?address={account}")
        for trade in trades:
            lease = closed[trade["Position ID"]]
            opening = trade["Description"].endswith("opening")
            assert trade["TxHash"] == (lease.tx if opening else lease.closing.tx)  # type: ignore[union-attr]
        assert sum(Fraction(t["Received Amount"]) for t in trades if t["Received Currency"] == "USDC") >= 0
    total = sum(profits.values(), Fraction(0))
    assert abs(Fraction(client.json("/api/realized-pnl-stats")["amount"]) - total) <= Fraction(1, 100)


def test_accounts_of_leases(client: Client, raw: RawHistory) -> None:
    """Volume is what was opened, repaid and sold; closings tell what went in and came out."""
    for account in {lease.owner for lease in raw.leases.values()}:
        mine = [lease for lease in raw.leases.values() if lease.owner == account]
        volume = Fraction(0)
        for lease in mine:
            figures = _opening(raw, lease)
            volume += figures["down"] + figures["loan"]
            volume += sum(raw.worth(p) for p in lease.payments if p.kind == "repay")
            volume += sum(raw.sold_worth(p) for p in lease.payments if p.kind == "market-close")
        stats = client.json(f"/api/history-stats?address={account}")
        assert same(stats["tx_volume"], volume)
        closed = [lease for lease in mine if lease.closing is not None]
        profits = [_returned(raw, lease) - raw.paid_in(lease) for lease in closed]
        assert same(stats["pnl"], sum(profits, Fraction(0)))
        for row in client.json(f"/api/ls-loan-closing?address={account}"):
            lease = raw.leases[row["LS_contract_id"]]
            assert same(row["Ls_sent"], raw.paid_in(lease))
            assert same(row["Ls_receive"], _returned(raw, lease))
            assert same(row["LS_pnl"], _returned(raw, lease) - raw.paid_in(lease))
            assert (row["LS_asset_symbol"], row["LS_loan_pool_id"]) == (lease.asset, lease.market.address("lpp"))


def _held(client: Client, raw: RawHistory, height: int) -> list[tuple[Lease, dict[str, Any], Fraction, Fraction]]:
    """Open positions as they are told, with their principal and worth in USD at a height."""
    found = []
    for row in client.json("/api/positions"):
        lease = raw.leases[row["contract_id"]]
        principal, amount = raw.owed(lease, height)
        lent = raw.usd(lease.market, lease.market.lpn, principal, height)
        found.append((lease, row, lent, raw.usd(lease.market, lease.asset, amount, height)))
    return found


def test_open_positions(client: Client, history: History, raw: RawHistory) -> None:
    """Principal, worth, price and price of liquidation on the hour; sums by token and by size of the same."""
    facts = Facts(history.scenario)
    height = raw.height_at(facts.last_hour)
    held = _held(client, raw, height)
    assert len(held) > 5
    loans: dict[str, Fraction] = defaultdict(Fraction)
    values: dict[str, list[Fraction]] = defaultdict(list)
    for lease, row, lent, value in held:
        assert same(row["loan"], lent)
        assert same(row["lease_value"], value)
        assert same(row["current_price"], raw.prices[height, lease.market.name, lease.traded])
        debt = facts.truth.position_hours[lease.address, facts.last_hour]
        expected = raw.liquidation_price(lease, sum(debt[1:6]), debt[0], height)
        assert abs(Fraction(row["liquidation_price"]) - expected) <= Fraction(1, 10_000)
        loans[named(lease)] += lent
        values[lease.asset].append(value)
    told = client.json("/api/loans-by-token")
    assert [row["symbol"] for row in told] == sorted(loans, key=lambda token: loans[token])
    assert all(same(row["value"], loans[row["symbol"]]) for row in told)
    stats = client.json("/api/lease-value-stats")
    assert [row["asset"] for row in stats] == sorted(values)
    for row in stats:
        assert same(row["avg_value"], sum(values[row["asset"]]) / len(values[row["asset"]]))
        assert same(row["max_value"], max(values[row["asset"]]))
    total = sum((value for _, _, _, value in held), Fraction(0))
    assert same(client.json("/api/open-position-value")["open_position_value"], total)
    limits = [0, 1000, 2000, 5000, 10_000, 15_000, 10**18]
    sizes = [[lent for _, _, lent, _ in held if a <= lent < b] for a, b in pairwise(limits)]
    buckets = client.json("/api/position-buckets")
    assert [bucket["loan_count"] for bucket in buckets] == [len(size) for size in sizes if size]
    assert all(same(b["loan_size"], sum(s)) for b, s in zip(buckets, [s for s in sizes if s], strict=True))


def test_markets(client: Client, history: History, raw: RawHistory) -> None:
    """Leverage is worth by what is the owner's, the mean of the positions; the change is over 24 hours."""
    facts = Facts(history.scenario)
    last = max(raw.times)
    leverages: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for address, row in facts.now_open().items():
        lease = raw.leases[address]
        value, debt = Fraction(row[6], 10**18), Fraction(row[7], 10**18)
        if value > debt:
            leverages[lease.market.name, lease.traded].append(value / (value - debt))
    for market in client.json("/api/lease-markets"):
        traded = market["lpn"] if market["position_type"] == "Short" else market["asset"]
        key = market["protocol"], traded
        price = raw.prices[(last, *key)]
        assert same(market["price"], price)
        start = (raw.times[last] - 24 * HOUR) // HOUR
        earlier = Fraction(facts.truth.candles[(*key, start)][3], 10**18)
        assert abs(Fraction(market["price_change_24h"]) - (price / earlier - 1) * 100) <= Fraction(1, 10_000)
        mean = leverages.get(key)
        if mean:
            assert abs(Fraction(market["mean_leverage"]) - sum(mean) / len(mean)) <= Fraction(1, 10_000)
        else:
            assert market["mean_leverage"] is None


def test_pools_hour_by_hour(client: Client, history: History, raw: RawHistory) -> None:
    """Borrowed and supplied in USD, rates in percent, of every hour; totals are the sums of the pools."""
    facts = Facts(history.scenario)
    hours = sorted({hour for _, hour in facts.truth.pool_hours}, reverse=True)
    sums: dict[int, tuple[Fraction, Fraction]] = {hour: (Fraction(0), Fraction(0)) for hour in hours}
    for market in raw.markets:
        pool = market.address("lpp")
        points = client.json(f"/api/supplied-borrowed-history?period=all&protocol={market.name}")
        rates = client.json(f"/api/pool-rates?period=all&protocol={market.name}")
        for point, rate, hour in zip(points, rates, hours, strict=True):
            height = raw.height_at(hour)
            balance, principal, interest, _, _ = facts.truth.pool_hours[pool, hour]
            supplied = raw.usd(market, market.lpn, balance + principal + interest, height)
            borrowed = raw.usd(market, market.lpn, principal, height)
            assert point["lp_pool_timestamp"] == rate["timestamp"] == instant(hour * HOUR)
            assert same(point["supplied"], supplied)
            assert same(point["borrowed"], borrowed)
            sums[hour] = sums[hour][0] + supplied, sums[hour][1] + borrowed
            newest = _newest_rate(raw, market.name, height)
            assert Fraction(rate["borrow_apr"]) * 10 == newest
        shown = next(p for p in client.json("/api/pools")["protocols"] if p["protocol"] == market.name)
        assert same(shown["borrowed"], raw.usd(market, market.lpn, principal_now(facts, pool), raw.height_at(hours[0])))
        assert (shown["borrow_apr"], shown["earn_apr"]) == (rates[0]["borrow_apr"], rates[0]["earn_apr"])
        assert shown["deposit_suspension"] == "0"
    totals = client.json("/api/supplied-borrowed-history?period=all")
    series = client.json("/api/total-value-locked-series?period=all")
    for point, locked, hour in zip(totals, series, hours, strict=True):
        supplied, borrowed = sums[hour]
        assert same(point["supplied"], supplied)
        assert same(point["borrowed"], borrowed)
        held = Fraction(sum(row[6] for (_, at), row in facts.truth.position_hours.items() if at == hour), 10**18)
        assert same(locked["positions"], held)
        assert same(locked["available"], supplied - borrowed)
        assert same(locked["total_value_locked"], held + supplied - borrowed)
    assert same(client.json("/api/borrowed")["borrowed"], sums[hours[0]][1])


def principal_now(facts: Facts, pool: str) -> int:
    """Principal that a pool has lent on the newest hour."""
    return facts.truth.pool_hours[pool, facts.last_hour][1]


def _newest_rate(raw: RawHistory, protocol: str, height: int) -> int:
    """Annual rate in permille of the lease of a protocol that was opened last."""
    opened = [ls for ls in raw.leases.values() if ls.market.name == protocol and ls.place[0] <= height]
    return max(opened, key=lambda lease: lease.place).rate if opened else 0


def test_earn_rates(client: Client, history: History, raw: RawHistory) -> None:
    """Rates of the loans weighted by their principal, times utilization, compounded daily."""
    facts = Facts(history.scenario)
    height = raw.height_at(facts.last_hour)
    requested = facts.truth.leases
    for pool in client.json("/api/pools")["protocols"]:
        market = next(m for m in raw.markets if m.name == pool["protocol"])
        yearly = Fraction(0)
        for address, asked in requested.items():
            if asked.market.name != market.name or asked.start > raw.times[height]:
                continue
            # A loan bears interest from its request on, before the position is open.
            principal = raw.owed(raw.leases[address], height)[0] if address in raw.leases else asked.loan
            yearly += Fraction(principal * asked.rate, 1000)
        balance, principal, interest, _, _ = facts.truth.pool_hours[market.address("lpp"), facts.last_hour]
        apr = yearly * 100 / (balance + principal + interest)
        expected = ((1 + apr / 36_500) ** 365 - 1) * 100
        assert abs(Fraction(pool["earn_apr"]) - expected) <= Fraction(1, 10**5)


def test_lenders(client: Client, history: History, raw: RawHistory) -> None:
    """A share of the pool is worth its part of the pool's value, to a base unit."""
    facts = Facts(history.scenario)
    height = raw.height_at(facts.last_hour)
    told = {(row["lender"], row["pool"]): row for row in client.json("/api/current-lenders")}
    gains: dict[str, Fraction] = defaultdict(Fraction)
    slack: dict[str, Fraction] = defaultdict(Fraction)
    for (lender, pool), (receipts, deposited, withdrawn) in facts.truth.lenders.items():
        market = next(m for m in raw.markets if m.address("lpp") == pool)
        balance, principal, interest, issued, _ = facts.truth.pool_hours[pool, facts.last_hour]
        units = Fraction(receipts * (balance + principal + interest), issued)
        base = Fraction(1, 10 ** market.decimals(market.lpn))
        price, now = raw.prices[height, market.name, market.lpn], raw.prices[max(raw.times), market.name, market.lpn]
        if receipts:
            row = told[lender, facts.label(market)]
            assert abs(Fraction(row["lent_stables"]) - units * base * price) <= 2 * base * price
        gains[lender] += max((units + withdrawn - deposited) * base * now, Fraction(0))
        slack[lender] += 2 * base * now
    for lender, gain in gains.items():
        found = client.json(f"/api/earnings?address={lender}")
        assert abs(Fraction(found["earnings"]) - gain) <= slack[lender]


def test_stake_in_usd(client: Client, history: History, raw: RawHistory) -> None:
    """Each action in USD of its time, and the sum of the rewards."""
    facts = Facts(history.scenario)
    for account in history.scenario.users:
        mine = sorted((row for row in facts.truth.staking if row[2] == account), reverse=True)
        rows = client.json(f"/api/staking-activity?address={account}&limit=100")
        for row, (height, tx, _, kind, amount) in zip(rows, mine, strict=True):
            assert same(row["amount_usd"], raw.native_usd(amount, height))
            assert (row["tx_hash"], row["type"], row["denom"]) == (raw.hashes[height, tx], kind, "ulsh")
            assert (row["validator"], row["source_validator"]) == (history.scenario.validator, None)
            assert row["timestamp"] == instant(raw.times[height])
        rewards = sum((raw.native_usd(row[4], row[0]) for row in mine if row[3] == "withdraw"), Fraction(0))
        assert same(client.json(f"/api/staking-earnings?address={account}")["earnings_usd"], rewards)


def _signal(raw: RawHistory, place: tuple[int, int, int], kind: str, said: dict[str, str]) -> dict[str, Any]:
    lease = raw.leases[said["_contract_address"]]
    stop = "stop-loss-ltv" in said
    ltv = said.get("ltv") or said.get("max_slippage") or said.get("stop-loss-ltv") or said["take-profit-ltv"]
    return {
        "timestamp": instant(raw.times[place[0]]), "contract_id": lease.address, "type": kind,
        "asset": said.get("lease-asset"), "level": int(said["level"]) if kind == "warning" else None, "ltv": int(ltv),
        "strategy": ("stop-loss" if stop else "take-profit") if kind == "auto-close" else None,
        "block": place[0], "tx_hash": raw.hashes[place[:2]],
    }  # fmt: skip


def test_signals(client: Client, raw: RawHistory) -> None:
    """Each warning, refused swap and automatic close of an account's leases, newest first."""
    assert {kind for _, kind, _ in raw.signals} == {"warning", "slippage", "auto-close"}
    for account in {lease.owner for lease in raw.leases.values()}:
        mine = [found for found in raw.signals if raw.leases[found[2]["_contract_address"]].owner == account]
        expected = [_signal(raw, *found) for found in sorted(mine, key=lambda found: found[0], reverse=True)]
        assert client.json(f"/api/lease-signals?address={account}&limit=100") == expected
        for row in client.json(f"/api/ls-loan-closing?address={account}"):
            fired = [
                found for found in sorted(mine) if found[1] == "auto-close" and found[2]["to"] == row["LS_contract_id"]
            ]
            last = _signal(raw, *fired[-1]) if fired else {"strategy": None, "ltv": None}
            assert (row["LS_Close_Strategy"], row["LS_Close_Strategy_Ltv"]) == (last["strategy"], last["ltv"])


def test_covered_losses(client: Client, raw: RawHistory) -> None:
    """What reserves paid, in tokens and USD, newest first."""
    rows = client.json("/api/reserve-covers?period=all")
    covers = sorted(raw.covers, key=lambda found: found[0], reverse=True)
    assert len(rows) == len(covers) > 5
    for row, (place, market, said) in zip(rows, covers, strict=True):
        amount = int(said["payment-amount"])
        assert (row["protocol"], row["contract_id"], row["symbol"]) == (market.name, said["to"], market.lpn)
        assert same(row["amount"], tokens(market, market.lpn, amount))
        assert same(row["amount_usd"], raw.usd(market, market.lpn, amount, place[0]))
        assert (row["timestamp"], row["tx_hash"]) == (instant(raw.times[place[0]]), raw.hashes[place[:2]])


def test_claimed_rewards(client: Client, history: History) -> None:
    """Native tokens that lenders claimed, beside what lending earned."""
    sums: dict[str, int] = defaultdict(int)
    for lender, _, amount in history.scenario.claims:
        sums[lender] += amount
    assert sums
    for lender in history.scenario.lenders:
        found = client.json(f"/api/earnings?address={lender}")
        assert Fraction(found["rewards"]) == Fraction(sums[lender], 10**6)


def test_messages(client: Client, history: History, raw: RawHistory) -> None:
    """A message's bytes, fee, memo and hash are those of its transaction."""
    account, seen = history.scenario.users[3], 0
    for row in client.json(f"/api/txs?address={account}&limit=100"):
        tx = next(number for (h, number), text in raw.hashes.items() if h == row["block"] and text == row["tx_hash"])
        assert (row["fee_amount"], row["fee_denom"]) == ("500", "ulsh")
        assert row["memo"] == f"{row['block']}/{tx}"
        if row["code"] == 0:
            packed = raw.txs[row["block"], tx].messages[row["index"]]
            assert b64decode(row["value"]) in packed.value
            seen += 1
    assert seen > 20


def test_short_charts(client: Client, raw: RawHistory) -> None:
    """Points of one and five minutes are the highest price that was fed in them."""
    market = raw.markets[0]
    for days, minutes in ((7, 1), (29, 5)):
        buckets: dict[int, list[Fraction]] = defaultdict(list)
        for height, name in raw.fed:
            if name == market.name:
                start = raw.times[height] // (minutes * 60 * 10**9) * minutes * 60_000
                buckets[start].append(raw.prices[height, name, "ETH"])
        points = client.json(f"/api/prices?interval={days}&protocol={market.name}&key=ETH")
        since = (max(raw.times.values()) + 5 * 10**9) // 10**6 - days * 86_400_000
        expected = sorted((start for start in buckets if start >= since), reverse=True)
        assert [point[0] for point in points] == expected
        # Of feeds that follow each other within seconds one may be left out.
        assert all(any(same(point[1], price) for price in buckets[point[0]]) for point in points)
        alone = [point for point in points if len(buckets[point[0]]) == 1]
        assert all(same(point[1], buckets[point[0]][0]) for point in alone)
        assert len(alone) > 10
