"""Sums and hourly states that an index of a development chain must hold."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from devnet_reader import UNIT

if TYPE_CHECKING:
    from devnet_leases import LeaseTruth
    from devnet_witness import Row

HOUR = 3600 * 10**9
LONGEST_GAP = 48
DAY = [
    "openings",
    "opened_usd",
    "opened_loans_usd",
    "closed_loans_usd",
    "repaid_usd",
    "market_closed_usd",
    "liquidations",
    "liquidated_usd",
    "deposited_usd",
    "withdrawn_usd",
    "profit",
    "profit_usd",
    "rewards",
    "rewards_usd",
]
ACCOUNT = [
    "openings",
    "closings",
    "wins",
    "volume_usd",
    "realized_pnl_usd",
    "band_0",
    "band_1",
    "band_2",
    "band_3",
    "band_4",
]
ASSET = ["openings", "loan", "loan_usd", "downpayment_usd"]
DUES = ("overdue_margin", "overdue_interest", "due_margin", "due_interest")


class Sums:
    """Everything that adds up, and the rows on the hour."""

    def __init__(self, truth: LeaseTruth) -> None:
        self.truth = truth
        self.chain = truth.chain
        self._rows: dict[str, dict[tuple[Any, ...], Row]] = defaultdict(dict)
        self.wallets: dict[tuple[Any, str], datetime] = {}

    def _add(self, table: str, names: list[str], key: dict[str, Any], **amounts: int) -> None:
        row = self._rows[table].setdefault(tuple(key.values()), {**key, **dict.fromkeys(names, 0)})
        for name, amount in amounts.items():
            row[name] += amount
        row["updated_at"] = self.truth.time

    def _today(self, **amounts: int) -> None:
        self._add("days", DAY, {"day": self.truth.time.date()}, **amounts)

    def _total(self, name: str, amount: int = 0, usd: int = 0) -> None:
        self._add("totals", ["amount", "usd"], {"name": name}, amount=amount, usd=usd)

    def _account(self, address: str, **amounts: int) -> None:
        self._add("accounts", ACCOUNT, {"address": address}, **amounts)

    def _active(self, address: str) -> None:
        self.wallets.setdefault((self.truth.time.date().replace(day=1), address), self.truth.time)

    def opened(self, position: Row) -> None:
        volume = position["downpayment_usd"] + position["loan_usd"]
        self._today(openings=1, opened_usd=volume, opened_loans_usd=position["loan_usd"])
        self._total("tx_value", usd=volume)
        self._total("opened_loans", usd=position["loan_usd"])
        key = {"protocol": position["protocol"], "asset": position["asset"]}
        lent = {"loan": position["loan"], "loan_usd": position["loan_usd"]}
        self._add("asset_totals", ASSET, key, openings=1, downpayment_usd=position["downpayment_usd"], **lent)
        self._account(position["owner"], openings=1, volume_usd=volume)
        self._active(position["owner"])

    def settled(self, position: Row, kind: str, values: Row) -> None:
        paid, principal = values["payment_usd"] or 0, values["principal_usd"] or 0
        if kind == "liquidation":
            position["liquidations"] += 1
            position["liquidated_usd"] += paid
            position["last_liquidated_at"] = self.truth.time
            self._today(liquidations=1, liquidated_usd=paid, closed_loans_usd=principal)
            return
        position["last_repaid_at"] = self.truth.time
        self._total("tx_value", usd=paid)
        self._active(position["owner"])
        if kind == "repay":
            position["repayments"] += 1
            position["repaid_usd"] += paid
            self._today(repaid_usd=paid, closed_loans_usd=principal)
            self._account(position["owner"], volume_usd=paid)
        else:
            position["market_closes"] += 1
            position["closed_usd"] += values["sold_usd"] or 0
            self._today(market_closed_usd=paid, closed_loans_usd=principal)
            self._account(position["owner"], volume_usd=values["sold_usd"] or 0)

    def closed(self, position: Row) -> None:
        spent = position["downpayment_usd"] + position["repaid_usd"]
        profit = position["realized_pnl_usd"] = position["collected_usd"] - spent
        if profit < 0:
            band = 0
        else:
            share = profit * 100 * UNIT // spent
            limits = (50, 100, 300)
            band = 1 + sum(share >= limit * UNIT for limit in limits[:2]) + (share > limits[2] * UNIT)
        figures = {f"band_{band}": 1}
        self._account(position["owner"], closings=1, wins=int(profit > 0), realized_pnl_usd=profit, **figures)
        self._total("realized_pnl", usd=profit)

    def flowed(self, name: str, lender: str, usd: int) -> None:
        self._today(**{f"{name}_usd": usd})
        self._total("tx_value", usd=usd)
        self._active(lender)

    def treasury(self, kind: str, amount: int, usd: int) -> None:
        self._today(**{kind: amount, f"{kind}_usd": usd})
        self._total(kind, amount, usd)

    # On the hour.

    def hours(self, height: int, before: int, after: int) -> None:
        """Rows of the hours that ended after the block of a height and before the next one."""
        first, last = -(-before // HOUR), -(-after // HOUR) - 1
        for number in range(max(first, last - LONGEST_GAP + 1), last + 1):
            self._hour(datetime.fromtimestamp(number * 3600, UTC), height)

    def _hour(self, hour: datetime, height: int) -> None:
        truth, chain = self.truth, self.chain
        sums = defaultdict(int)
        owners: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for position in truth.leases.values():
            if position["status"] != "open":
                continue
            row = self._position(position, hour, height)
            truth.tables["position_hours"].append(row)
            sums["open_positions"] += 1
            for name, figure in (("position_usd", "value_usd"), ("open_interest_usd", "debt_usd")):
                sums[name] += row[figure] or 0
            sums["unrealized_pnl_usd"] += row["pnl_usd"] or 0
            owners[position["owner"]][0] += row["value_usd"] or 0
            owners[position["owner"]][1] += row["debt_usd"] or 0
        for owner, (value, debt) in owners.items():
            row = {"owner": owner, "hour": hour, "position_usd": value, "debt_usd": debt}
            truth.tables["account_hours"].append(row)
        for protocol in chain.protocols.values():
            row = self._pool(protocol, hour, height)
            truth.tables["pool_hours"].append(row)
            sums["supplied_usd"] += row["supplied_usd"] or 0
            sums["borrowed_usd"] += row["borrowed_usd"] or 0
        native = chain.balances(chain.devnet.deployment.platform["treasury"], height).get(chain.native_denom, 0)
        price = truth.native_price(height=height)
        names = [
            "open_positions",
            "position_usd",
            "open_interest_usd",
            "unrealized_pnl_usd",
            "supplied_usd",
            "borrowed_usd",
        ]
        truth.tables["hours"].append(
            {
                "hour": hour,
                "height": height,
                **{name: sums[name] for name in names},
                "tvl_usd": sums["position_usd"] + sums["supplied_usd"] - sums["borrowed_usd"],
                "treasury": native,
                "treasury_usd": None if price is None else native * price // 10**chain.devnet.app.identity.exponent,
            }
        )

    def _position(self, position: Row, hour: datetime, height: int) -> Row:
        truth, chain = self.truth, self.chain
        protocol = chain.protocols[position["protocol"]]
        stage, state = chain.lease(position["lease"], height)
        assert stage == "opened", stage
        amount, principal = int(state["amount"]["amount"]), int(state["principal_due"]["amount"])
        dues = {name: int(state[name]["amount"]) for name in DUES}
        debt = principal + sum(dues.values())
        asset, lpn = position["asset"], protocol.lpn
        asset_unit, lpn_unit = 10 ** protocol.decimals(asset), 10 ** protocol.decimals(lpn)
        asset_price, lpn_price = truth.price(protocol, asset, height), truth.price(protocol, lpn, height)
        assert asset_price
        assert lpn_price
        value, debt_usd = amount * asset_price // asset_unit, debt * lpn_price // lpn_unit
        if protocol.is_long:
            liquidation = debt * lpn_price * 1000 * asset_unit // (position["max_ltv"] * amount * lpn_unit)
        else:
            liquidation = amount * asset_price * position["max_ltv"] * lpn_unit // (1000 * debt * asset_unit)
        return {
            "lease": position["lease"],
            "hour": hour,
            "owner": position["owner"],
            "protocol": protocol.name,
            "asset": asset,
            "lpn": lpn,
            "amount": amount,
            "principal": principal,
            **dues,
            "asset_price": asset_price,
            "lpn_price": lpn_price,
            "value_usd": value,
            "debt_usd": debt_usd,
            "principal_usd": principal * lpn_price // lpn_unit,
            "pnl_usd": value - debt_usd - position["downpayment_usd"] - position["repaid_usd"],
            "liquidation_price": liquidation,
        }

    def _pool(self, protocol: Any, hour: datetime, height: int) -> Row:
        truth, chain = self.truth, self.chain
        pool = protocol.contracts["lpp"]
        answer = chain.ask(pool, {"lpp_balance": []}, height)
        names = ("balance", "total_principal_due", "total_interest_due", "balance_nlpn")
        balance, principal, interest, receipts = (int(answer[name]["amount"]) for name in names)
        _, _, annual, rate_of, _, _ = chain.totals(pool, height)
        value, unit = balance + principal + interest, 10 ** protocol.decimals(protocol.lpn)
        price = truth.price(protocol, protocol.lpn, height)
        config = chain.ask(pool, {"config": []}, height)
        return {
            "pool": pool,
            "hour": hour,
            "protocol": protocol.name,
            "is_active": True,
            "balance": balance,
            "principal": principal,
            "interest": interest,
            "receipts": receipts,
            "lpn_price": price,
            "supplied_usd": None if price is None else value * price // unit,
            "borrowed_usd": None if price is None else principal * price // unit,
            "utilization": principal * 100 * UNIT // value if value else 0,
            "borrow_rate": truth.pools[pool]["newest_rate"],
            "lending_rate": principal * annual // rate_of * 100 * UNIT // value if value else 0,
            "min_utilization": config["min_utilization"],
            "optimal_utilization": config["borrow_rate"]["utilization_optimal"],
        }

    def complete(self, tables: dict[str, list[Row]]) -> None:
        """The sums as rows."""
        for table in ("days", "totals", "accounts", "asset_totals"):
            tables[table] = list(self._rows[table].values())
        tables["active_wallets"] = [{"month": month, "address": address} for month, address in self.wallets]
        months: dict[Any, list[datetime]] = defaultdict(list)
        for (month, _), time in self.wallets.items():
            months[month].append(time)
        tables["months"] = [{"month": m, "wallets": len(t), "updated_at": max(t)} for m, t in months.items()]
