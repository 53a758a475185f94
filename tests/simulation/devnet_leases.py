"""What leases of a development chain did, from their events and their own answers at the same height."""

from __future__ import annotations

from typing import Any

from devnet_reader import UNIT, ChainReader, Traded
from devnet_sums import Sums
from devnet_witness import Row, Witness, decimal, worth

DEBT = ("principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest")


class LeaseTruth(Witness):
    """Expected rows of positions, what went through them, their signals and notifications."""

    def __init__(self, chain: ChainReader) -> None:
        super().__init__(chain)
        self.leases: dict[str, Row] = {}
        self.outbox: dict[tuple[str, str, int], Row] = {}
        self.sums = Sums(self)

    def requested(self, lease: str, opener: str) -> None:
        stage, state = self.chain.lease(lease, self.at)
        assert stage == "opening", stage
        lpn = state["loan"]["ticker"]
        info = self.chain.devnet.app.modules.wasm.query_contract_info(
            self.chain.devnet.app.context(self.at),
            self.chain.devnet.registry.new("cosmwasm.wasm.v1.QueryContractInfoRequest", address=lease),
        )
        protocol = self.chain.by_contract("leaser", info.contract_info.creator)
        assert protocol is not None
        assert protocol.lpn == lpn
        margin, due_period, max_ltv = terms(self.chain, protocol, self.at)
        self.leases[lease] = {
            **dict.fromkeys(_POSITION_NULLS),
            **dict.fromkeys(_POSITION_ZEROS, 0),
            "lease": lease,
            "protocol": protocol.name,
            "pool": protocol.contracts["lpp"],
            "owner": opener,
            "position_type": "Long" if protocol.is_long else "Short",
            "asset": "",
            "lpn": lpn,
            "status": "opening",
            "requested_at": self.time,
            "requested_ns": self.now,
            "requested_height": self.at,
            "requested_tx": self.key["tx_hash"],
            "loan": int(state["loan"]["amount"]),
            "loan_rate": state["loan_interest_rate"],
            "margin_rate": margin,
            "due_period_ns": due_period,
            "max_ltv": max_ltv,
            "principal": int(state["loan"]["amount"]),
            "amount_is_exact": True,
        }
        self._touched(self.leases[lease])

    def _touched(self, position: Row) -> None:
        position["updated_at"], position["updated_height"] = self.time, self.at
        self.pools[position["pool"]]["updated_at"] = self.time

    def opened(self, found: dict[str, str]) -> None:
        position = self.leases[found["id"]]
        protocol = self.chain.protocols[position["protocol"]]
        stage, state = self.chain.lease(found["id"], self.at)
        assert stage == "opened"
        assert int(found["air"]) == state["loan_interest_rate"] + state["margin_interest_rate"]
        amount, asset = int(state["amount"]["amount"]), found["currency"]
        down, down_ticker = int(found["downpayment-amount"]), found["downpayment-symbol"]
        asset_price, lpn_price = self.price(protocol, asset), self.price(protocol, protocol.lpn)
        down_usd, loan_usd = self.usd(protocol, down_ticker, down), self.usd(protocol, protocol.lpn, position["loan"])
        assert down_usd is not None
        assert loan_usd is not None
        assert asset_price
        assert lpn_price
        scale = 10 ** protocol.decimals(asset)
        bought_usd = self.usd(protocol, asset, amount) or 0
        position |= {
            "owner": found["customer"],
            "asset": asset,
            "status": "open",
            "opened_at": self.time,
            "opened_height": self.at,
            "opened_tx": self.key["tx_hash"],
            "downpayment": down,
            "downpayment_ticker": down_ticker,
            "downpayment_usd": down_usd,
            "downpayment_price": self.price(protocol, down_ticker),
            "loan_usd": loan_usd,
            "annual_rate": int(found["air"]),
            "amount": amount,
            "opened_amount": amount,
            "opened_asset_price": asset_price,
            "opened_lpn_price": lpn_price,
            "opened_lpn_amount": amount * asset_price // lpn_price,
            "opened_liquidation_price": self._liquidation_price(protocol, position, asset, amount, position["loan"]),
            "fee": _rounded((down_usd + loan_usd) * scale) - _rounded(bought_usd * scale),
        }
        self._touched(position)
        self.pools[position["pool"]]["newest_rate"] = int(found["air"])
        self._money(position, "open", payment=down, payment_ticker=down_ticker, payment_usd=down_usd)
        self.sums.opened(position)

    def settled(self, kind: str, found: dict[str, str]) -> None:
        position = self.leases[found["to"]]
        protocol = self.chain.protocols[position["protocol"]]
        paid, ticker = int(found["payment-amount"]), found["payment-symbol"]
        parts = {
            "overdue_margin": int(found["overdue-margin-interest"]),
            "overdue_interest": int(found["overdue-loan-interest"]),
            "due_margin": int(found["due-margin-interest"]),
            "due_interest": int(found["due-loan-interest"]),
            "principal": int(found["principal"]),
            "change": int(found["change"]),
        }
        closes = found["loan-close"] == "true"
        position["principal"] = 0 if closes else position["principal"] - parts["principal"]
        values: Row = {"payment": paid, "payment_ticker": ticker, "payment_usd": self.usd(protocol, ticker, paid)}
        if kind != "repay":
            sold, sold_ticker = int(found["amount-amount"]), found["amount-symbol"]
            position["amount"] -= sold
            values |= {"sold": sold, "sold_ticker": sold_ticker, "sold_usd": self.usd(protocol, sold_ticker, sold)}
        values |= {
            **parts,
            "interest_usd": self.usd(protocol, protocol.lpn, parts["overdue_interest"] + parts["due_interest"]),
            "margin_usd": self.usd(protocol, protocol.lpn, parts["overdue_margin"] + parts["due_margin"]),
            "principal_usd": self.usd(protocol, protocol.lpn, parts["principal"]),
            "loan_close": closes,
            "cause": found.get("cause") if kind == "liquidation" else None,
        }
        if kind == "liquidation" and "ltv" in found:
            values |= {"ltv": int(found["ltv"]), "ltv_healthy": int(found["ltv-healthy"])}
        if closes:
            self._closed(protocol, position, kind, parts["change"])
        self._touched(position)
        self._money(position, kind, **values)
        self.sums.settled(position, kind, values)
        if closes:
            self.sums.closed(position)
        self._tell(position, kind, closes)

    def _closed(self, protocol: Traded, position: Row, kind: str, change: int) -> None:
        whole = position["amount"] == 0
        position["status"] = ("liquidated" if kind == "liquidation" else "closed") if whole else "closing"
        position |= {"close_kind": kind, "close_tx": self.key["tx_hash"]}
        position |= {"closed_at": self.time, "closed_height": self.at, "change": change}
        returned = [] if kind == "liquidation" and whole else [(position["lpn"], change)]
        if not whole:
            returned.append((position["asset"], position["amount"]))
        position["collected"], total = [], 0
        for ticker, amount in returned:
            if amount:
                usd = self.usd(protocol, ticker, amount) or 0
                position["collected"].append({"ticker": ticker, "amount": str(amount), "usd": decimal(usd)})
                total += usd
        position["collected_usd"] = total

    def finished(self, lease: str) -> None:
        position = self.leases[lease]
        assert position["status"] == "closing", position
        position |= {"status": "closed", "finished_at": self.time, "amount": 0}
        pool = self.pools[position["pool"]]
        untouched = pool["updated_at"]
        self._touched(position)
        pool["updated_at"] = untouched
        self._money(position, "finish")

    def _tell(self, position: Row, kind: str, closes: bool) -> None:
        if kind == "liquidation":
            name = "FullyLiquidated" if closes else "PartiallyLiquidated"
        elif closes:
            name = "Closed"
        else:
            return
        self._notify(position["lease"], name, position["owner"], {"position": position["lease"]})

    def _notify(self, lease: str, kind: str, owner: str, data: Row) -> None:
        row = {"lease": lease, "kind": kind, "height": self.at, "owner": owner, "time": self.time}
        self.outbox.setdefault((lease, kind, self.at), {**row, "payload": {"type": kind, "data": data}})

    def _liquidation_price(self, protocol: Traded, position: Row, asset: str, amount: int, debt: int) -> int | None:
        if amount == 0 or debt == 0:
            return 0
        asset_unit, lpn_unit = 10 ** protocol.decimals(asset), 10 ** protocol.decimals(protocol.lpn)
        asset_price, lpn_price = self.price(protocol, asset), self.price(protocol, protocol.lpn)
        if protocol.is_long:
            return (
                debt * lpn_price * 1000 * asset_unit // (position["max_ltv"] * amount * lpn_unit) if lpn_price else None
            )
        return (
            amount * asset_price * position["max_ltv"] * lpn_unit // (1000 * debt * asset_unit) if asset_price else None
        )

    def _money(self, position: Row, kind: str, **values: Any) -> None:
        protocol = self.chain.protocols[position["protocol"]]
        asset_price, lpn_price = self.price(protocol, position["asset"]), self.price(protocol, protocol.lpn)
        liquidation: int | None = 0
        if position["principal"]:
            stage, state = self.chain.lease(position["lease"], self.at)
            assert stage == "opened", f"{position['lease']} owes and is {stage}"
            assert int(state["principal_due"]["amount"]) == position["principal"], position["lease"]
            assert int(state["amount"]["amount"]) == position["amount"], position["lease"]
            debt = sum(int(state[name]["amount"]) for name in DEBT)
            liquidation = self._liquidation_price(protocol, position, position["asset"], position["amount"], debt)
        self.tables["position_events"].append(
            {
                **dict.fromkeys(_MONEY_NULLS),
                **dict.fromkeys(_MONEY_ZEROS, 0),
                "loan_close": False,
                **self.key,
                "lease": position["lease"],
                "owner": position["owner"],
                "protocol": position["protocol"],
                "kind": kind,
                "asset_price": asset_price,
                "lpn_price": lpn_price,
                "principal_after": position["principal"],
                "amount_after": position["amount"],
                "debt_after_usd": worth(position["principal"], lpn_price, protocol.decimals(protocol.lpn)),
                "liquidation_price_after": liquidation,
                **values,
            }
        )
        summary = {"kind": kind, "owner": position["owner"], "status": position["status"]}
        summary |= {"amount": str(position["amount"]), "principal": str(position["principal"])}
        self.log("position", position["lease"], summary)

    def signal(self, lease: str, owner: str, kind: str, asset: str | None, ltv: int, **more: Any) -> None:
        row = {
            "lease": lease,
            "owner": owner,
            "kind": kind,
            "asset": asset,
            "ltv": ltv,
            "level": None,
            "strategy": None,
        }
        self.tables["lease_signals"].append({**self.key, **row, **more})

    def warned(self, found: dict[str, str]) -> None:
        level, ltv = int(found["level"]), int(found["ltv"])
        self.signal(found["lease"], found["customer"], "warning", found["lease-asset"], ltv, level=level)
        name = ("Funding", "FundingRecommended", "FundNow")[level - 1]
        self._notify(found["lease"], name, found["customer"], {"level": level, "ltv": ltv, "position": found["lease"]})

    def auto_closed(self, found: dict[str, str]) -> None:
        position = self.leases[found["to"]]
        strategy = "stop-loss" if "stop-loss-ltv" in found else "take-profit"
        ltv = int(found[f"{strategy}-ltv"])
        self.signal(found["to"], position["owner"], "auto-close", None, ltv, strategy=strategy)
        position |= {"close_strategy": strategy, "close_strategy_ltv": ltv}
        position["updated_at"], position["updated_height"] = self.time, self.at

    def covered(self, found: dict[str, str]) -> None:
        protocol = self.chain.by_contract("reserve", found["_contract_address"])
        assert protocol is not None
        amount, ticker = int(found["payment-amount"]), found["payment-symbol"]
        row = {"lease": found["to"], "protocol": protocol.name, "amount": amount, "ticker": ticker}
        self.tables["reserve_covers"].append({**self.key, **row, "usd": self.usd(protocol, ticker, amount)})


def _rounded(scaled: int) -> int:
    return (scaled + UNIT // 2) // UNIT


def terms(chain: ChainReader, protocol: Traded, height: int) -> tuple[int, int, int]:
    """Margin, due period and highest liability of new leases."""
    config = chain.ask(protocol.contracts["leaser"], {"config": {}}, height)["config"]
    liability = config["lease_position_spec"]["liability"]
    return config["lease_interest_rate_margin"], config["lease_due_period"], liability["max"]


_POSITION_NULLS = [
    "opened_at",
    "opened_height",
    "opened_tx",
    "downpayment",
    "downpayment_ticker",
    "downpayment_usd",
    "downpayment_price",
    "loan_usd",
    "opened_amount",
    "opened_asset_price",
    "opened_lpn_price",
    "opened_lpn_amount",
    "opened_liquidation_price",
    "fee",
    "annual_rate",
    "last_repaid_at",
    "last_liquidated_at",
    "close_kind",
    "close_strategy",
    "close_strategy_ltv",
    "close_tx",
    "closed_at",
    "closed_height",
    "finished_at",
    "collected",
    "collected_usd",
    "realized_pnl_usd",
]
_POSITION_ZEROS = [
    "amount",
    "change",
    "repayments",
    "repaid_usd",
    "market_closes",
    "closed_usd",
    "liquidations",
    "liquidated_usd",
]
_MONEY_NULLS = [
    "payment",
    "payment_ticker",
    "payment_usd",
    "sold",
    "sold_ticker",
    "sold_usd",
    "interest_usd",
    "margin_usd",
    "principal_usd",
    "cause",
    "ltv",
    "ltv_healthy",
]
_MONEY_ZEROS = ["overdue_margin", "overdue_interest", "due_margin", "due_interest", "principal", "change"]
