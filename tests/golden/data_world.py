"""An index filled with what the recorded requests ask for, so that every answer has something to show.

Nothing is copied from the recorded answers but names: protocols, currencies, accounts, contracts and hashes. All
figures are made here; the shapes of the answers are what is compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import psycopg

from leasehold.core.addresses import Bech32Prefixes, InvalidAddress

NOW = datetime(2026, 11, 15, 3, 50, tzinfo=UTC)
HOUR = datetime(2026, 11, 15, 3, tzinfo=UTC)
HEIGHT = 1234
PREFIXES = Bech32Prefixes("nolus")
PAGES = {
    "/api/leases-search": "leases",
    "/api/ls-loan-closing": "closed",
    "/api/realized-pnl-data": "closed",
    "/api/txs": "messages",
}
KINDS = ("repay", "liquidation", "market-close")
DECIMALS = {"WETH": 18, "ALL_BTC": 8, "ALL_SOL": 9}


def _shows(body: Any) -> bool:
    """Whether an answer has anything in it that an index must hold."""
    if isinstance(body, dict):
        return any(map(_shows, body.values()))
    if isinstance(body, list):
        return any(not isinstance(item, dict) or "bucket" not in item for item in body)
    return body not in (None, "0", 0.0, False)


def _contract(name: str) -> str:
    return PREFIXES.account_text(sha256(name.encode()).digest())


def _account(name: str) -> str:
    return PREFIXES.account_text(sha256(name.encode()).digest()[:20])


def _is(text: str, length: int) -> bool:
    try:
        return len(PREFIXES.account_bytes(text)) == length
    except InvalidAddress:
        return False


@dataclass
class Vocabulary:
    """The names that recordings use."""

    protocols: dict[str, dict[str, Any]] = field(default_factory=dict)
    currencies: dict[str, dict[str, Any]] = field(default_factory=dict)
    accounts: set[str] = field(default_factory=set)
    leases: dict[str, str] = field(default_factory=dict)
    withdrawals: set[str] = field(default_factory=set)
    charts: set[tuple[str, str]] = field(default_factory=set)
    # How many leases, closed leases and messages an account has, by the pages that show them.
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, cases: list[dict[str, Any]]) -> Vocabulary:
        """Everything named by requests that were answered with something, and by those answers."""
        found = cls()
        for case in cases:
            answer = case["response"]
            body = answer.get("body")
            found._learn(body)
            route = urlsplit(case["request"]["path"]).path
            if answer["status"] != 200 or "push" in route or "subscri" in route:
                continue
            filled = "body_lines" in answer or _shows(body)
            found._own(route, dict(parse_qsl(urlsplit(case["request"]["path"]).query)), answer)
            for name, value in parse_qsl(urlsplit(case["request"]["path"]).query):
                if filled and name == "address" and _is(value, 20):
                    found.accounts.add(value)
                elif filled and name in ("address", "lease", "leases", "to"):
                    for part in value.split(","):
                        if _is(part, 32):
                            found.leases.setdefault(part, "")
                elif filled and name == "tx":
                    found.withdrawals.add(value)
                elif filled and name == "protocol":
                    found.protocols.setdefault(value.upper(), {})
            query = dict(parse_qsl(urlsplit(case["request"]["path"]).query))
            if filled and "key" in query and "protocol" in query:
                found.charts.add((query["protocol"].upper(), query["key"]))
        found._complete()
        return found

    def _complete(self) -> None:
        """Something of everything, also where a set of recordings names little."""
        self.protocols.setdefault("OSMOSIS-OSMOSIS-USDC_NOBLE", {})
        self.protocols.setdefault("OSMOSIS-OSMOSIS-OSMO", {})
        self.charts.add(("OSMOSIS-OSMOSIS-USDC_NOBLE", "OSMO"))
        self.withdrawals.add("AB" * 32)
        for number in range(8):
            self.leases.setdefault(_contract(f"lease {number}"), _account("main"))
        self.accounts.add(_account("main"))

    def example(self, route: str) -> str:
        """A request for a route that has something to show."""
        lease = next(lease for lease, owner in sorted(self.leases.items()) if owner == _account("main"))
        account = f"address={_account('main')}"
        filled = {"name": "OSMOSIS-OSMOSIS-USDC_NOBLE", "ticker": "OSMO"}
        query = {
            "/api/prices": "interval=1&protocol=OSMOSIS-OSMOSIS-USDC_NOBLE&key=OSMO",
            "/api/pnl-over-time": f"address={lease}&interval=7",
            "/api/ls-opening": f"lease={lease}",
            "/api/lp-withdraw": f"tx={'AB' * 32}",
            "/api/subscribe": f"{account}&auth={'a' * 22}&active=true",
        }
        return f"{route.format(**filled)}?{query.get(route, account)}"

    def _own(self, route: str, query: dict[str, str], answer: dict[str, Any]) -> None:
        """What a page of an account's rows says about whose they are and how many there are."""
        account, body = query.get("address", ""), answer.get("body")
        if not isinstance(body, list) or not body or not _is(account, 20):
            return
        for row in body:
            lease = row if isinstance(row, str) else row.get("LS_contract_id") or row.get("Position ID") or ""
            if _is(lease, 32) and not self.leases.get(lease):
                self.leases[lease] = account
        shown = answer.get("array_lengths", {}).get("$", len(body))
        kind = PAGES.get(route)
        if kind is not None and not set(query) & {"search", "filter", "to"}:
            known = self.counts.get((kind, account), 0)
            self.counts[kind, account] = max(known, int(query.get("skip", "0")) + shown)
        for contract in query.get("to", "").split(","):
            if _is(contract, 32):
                self.called.add(contract)

    def _learn(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        if not isinstance(value, dict):
            return
        if "lpn_symbol" in value:
            self.protocols[value["name"]] = value
        if "decimal_digits" in value and "ticker" in value:
            self.currencies[value["ticker"]] = value
        for name in ("contract_id", "LS_contract_id", "Position ID"):
            if _is(value.get(name, ""), 32):
                owner = value.get("user") or value.get("LS_address_id") or ""
                if owner or value[name] not in self.leases:
                    self.leases[value[name]] = owner
        for item in value.values():
            self._learn(item)


class World:
    """Rows for a vocabulary; without `history` only protocols and currencies are there."""

    def __init__(self, connection: psycopg.Connection, words: Vocabulary, *, history: bool = True) -> None:
        self._connection = connection
        self.words = words
        ours = _account("main")
        owners = [owner for owner in words.leases.values() if owner and owner != ours]
        self.main = max(sorted(set(owners)), key=owners.count) if owners else ours
        self._partitions()
        self._registry()
        self._cursor(HEIGHT if history else 0)
        if history:
            self._blocks()
            self._positions()
            self._pools()
            self._treasury()
            self._messages()
            self._prices()
            self._totals()

    def _insert(self, table: str, **values: Any) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join(["%s"] * len(values))
        statement: Any = f"INSERT INTO indexer.{table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        self._connection.execute(statement, list(values.values()))

    def _partitions(self) -> None:
        tables = "blocks txs messages account_messages price_candles position_hours account_hours"
        for table in tables.split():
            statement: Any = f"CREATE TABLE indexer.{table}_all PARTITION OF indexer.{table} DEFAULT"
            self._connection.execute(statement)

    def _registry(self) -> None:
        for name, told in self.words.protocols.items():
            lpn = told.get("lpn_symbol") or name.rsplit("-", 1)[-1]
            short = told.get("position_type", "Long" if lpn.startswith("USDC") else "Short") == "Short"
            contracts = told.get("contracts", {})
            parts = {role: contracts.get(role) or _contract(name + role) for role in ("leaser", "lpp", "oracle")}
            parts |= {role: contracts.get(role) or _contract(name + role) for role in ("profit", "reserve")}
            gone = told.get("deprecated_at")
            self._insert(
                "protocols", name=name, network=told.get("network", "OSMOSIS"), dex=told.get("dex", "Osmosis"),
                position_type="Short" if short else "Long", lpn=lpn, stable="USDC_NOBLE" if short else lpn,
                label=f"{lpn} (Short)" if short else lpn, **parts, is_active=told.get("is_active", True),
                first_seen_at=NOW, deprecated_at=gone, config="{}",
            )  # fmt: skip
            self.words.currencies.setdefault(lpn, {})
        for ticker in ("USDC_NOBLE", "OSMO", "ATOM", "WETH", "ALL_BTC", "NLS", *(key for _, key in self.words.charts)):
            self.words.currencies.setdefault(ticker, {})
        for ticker, told in self.words.currencies.items():
            decimals = told.get("decimal_digits", DECIMALS.get(ticker, 6))
            self._insert(
                "currencies", ticker=ticker, decimals=decimals, is_active=told.get("is_active", True),
                first_seen_at=NOW, deprecated_at=told.get("deprecated_at"),
            )  # fmt: skip
            for link in told.get("protocols", []):
                self._link(ticker, link, decimals)
        for protocol, ticker in self.words.charts:
            self._link(ticker, {"protocol": protocol}, DECIMALS.get(ticker, 6))

    def _link(self, ticker: str, link: dict[str, Any], decimals: int) -> None:
        self._insert(
            "currency_protocols", ticker=ticker, protocol=link["protocol"], group=link.get("group", "lease"),
            bank_symbol=link.get("bank_symbol", "ibc/" + "AB" * 32), dex_symbol=link.get("dex_symbol", "u"),
            decimals=decimals,
        )  # fmt: skip

    def _cursor(self, height: int) -> None:
        if height:
            self._insert(
                "cursor", chain_id="pirin-1", first_height=1, height=height, hash=b"\1" * 32, time=NOW,
                time_ns=int(NOW.timestamp()) * 10**9, blocks=height, txs=height, events=height, quarantined=0,
            )  # fmt: skip
        self._insert("platform", admin=_contract("admin"), treasury=_contract("treasury"), timealarms=_contract("t"))

    def _blocks(self) -> None:
        statement = (
            "INSERT INTO indexer.blocks (height, hash, time, proposer, tx_count, event_count)"
            " SELECT h, sha256(h::text::bytea), %s - (%s - h) * interval '1 hour', '', 1, 1"
            " FROM generate_series(1, %s) h"
        )
        self._connection.execute(statement, [NOW, HEIGHT, HEIGHT])

    @property
    def _live(self) -> list[tuple[str, str, str, bool, str]]:
        """Name, pool, LPN, whether it is short, and label of active protocols."""
        rows = self._connection.execute(
            "SELECT name, lpp, lpn, position_type = 'Short', label FROM indexer.protocols WHERE is_active ORDER BY name"
        )
        return rows.fetchall()

    def _owned(self) -> list[tuple[str, str, str | None]]:
        """Lease, owner and how it was closed: those that are named, and as many more as pages show."""
        found = [
            (lease, owner or self.main, (None, *KINDS)[number % 4])
            for number, (lease, owner) in enumerate(sorted(self.words.leases.items()))
        ]
        for (what, account), count in sorted(self.words.counts.items()):
            kinds = [kind for _, owner, kind in found if owner == account]
            have = sum(kind is not None for kind in kinds) if what == "closed" else len(kinds)
            if what == "messages":
                continue
            for number in range(have, count):
                kind = KINDS[number % 3] if what == "closed" else None
                found.append((_contract(f"{account} {what} {number}"), account, kind))
        return found

    def _positions(self) -> None:
        assets = ["OSMO", "WETH", "ATOM", "USDC_NOBLE"]
        live = self._live
        for number, (lease, owner, kind) in enumerate(self._owned()):
            protocol, pool, lpn, short, _ = live[number % len(live)]
            asset = "USDC_NOBLE" if short else assets[number % len(assets)]
            opened = NOW - timedelta(days=1 + 7 * number % 400, microseconds=876_544)
            tiny = number % 5 == 1
            price = None if number % 6 == 2 else Decimal("0.0000000712") if tiny else Decimal("2600")
            tx = sha256(lease.encode()).digest()
            collected = [{"ticker": lpn, "amount": "12000000", "usd": "12"}] if kind == "market-close" else []
            common = {"lease": lease, "owner": owner, "protocol": protocol}
            self._insert(
                "positions", **common, pool=pool, position_type="Short" if short else "Long", asset=asset, lpn=lpn,
                status="open" if kind is None else "liquidated" if kind == "liquidation" else "closed",
                requested_at=opened, requested_ns=0, requested_height=1, requested_tx=tx, opened_at=opened,
                opened_height=1, opened_tx=tx, downpayment=100, downpayment_ticker="USDC_NOBLE",
                downpayment_usd=Decimal("0") if number % 7 == 3 else Decimal("116.044"), downpayment_price=1,
                loan=5 if tiny else 174_066_000, loan_usd=Decimal("174.066"), opened_amount=10**17,
                opened_asset_price=price, opened_lpn_price=Decimal("1.0006"), opened_lpn_amount=29_011 * 10**16,
                opened_liquidation_price=price, fee=-12, annual_rate=101, loan_rate=61, margin_rate=40,
                due_period_ns=1, max_ltv=900, amount=10**17, principal=5, interest_paid_ns=0, margin_paid_ns=0,
                repayments=1, repaid_usd=Decimal("6.2"), market_closes=int(kind == "market-close"),
                closed_usd=Decimal("12.5"), liquidations=int(kind == "liquidation"), liquidated_usd=Decimal("1.25"),
                last_repaid_at=NOW, last_liquidated_at=NOW if kind == "liquidation" else None, close_kind=kind,
                close_tx=tx, closed_at=None if kind is None else NOW - timedelta(hours=number, microseconds=1),
                collected=json.dumps(collected), collected_usd=12 if collected else 0,
                realized_pnl_usd=None if kind is None else Decimal("-43.283984"), updated_at=NOW, updated_height=2,
            )  # fmt: skip
            self._events(number, common, lpn, asset, kind, price, tx)
            for hour in range(40):
                self._insert(
                    "position_hours", **common, hour=HOUR - timedelta(hours=hour), asset=asset, lpn=lpn, amount=10**17,
                    principal=5, overdue_margin=0, overdue_interest=0, due_margin=1, due_interest=1,
                    asset_price=Decimal("2600"), lpn_price=1, value_usd=Decimal("290.11"), debt_usd=Decimal("156.66"),
                    principal_usd=Decimal("156.6594"), pnl_usd=Decimal("-87.5969"), liquidation_price=1560,
                )  # fmt: skip

    def _events(
        self, number: int, common: dict[str, Any], lpn: str, asset: str, kind: str | None, price: Any, tx: bytes
    ) -> None:
        kinds = ["repay", *([kind] if kind in ("liquidation", "market-close") else [])]
        for place, name in enumerate(kinds):
            sold = name != "repay"
            self._insert(
                "position_events", height=10 + number, tx=place, event=0, **common, kind=name, tx_hash=tx,
                time=NOW - timedelta(days=number, microseconds=876_544), payment=6_200_000, payment_ticker=lpn,
                payment_usd=Decimal("6.2"), sold=100 if sold else None, sold_ticker=asset if sold else None,
                sold_usd=Decimal("6.2") if sold else None, interest_usd=Decimal("0.000006"),
                margin_usd=Decimal("0.000004"), principal_usd=6, loan_close=sold,
                cause=("high liability", "overdue interest")[number % 2] if name == "liquidation" else None,
                asset_price=price, lpn_price=1, principal_after=5, amount_after=10**17, debt_after_usd=1,
                liquidation_price_after=1560,
            )  # fmt: skip

    def _pools(self) -> None:
        lenders = sorted(self.words.accounts) or [self.main]
        for number, (protocol, pool, lpn, _, _) in enumerate(self._live):
            for hour in range(48):
                self._insert(
                    "pool_hours", pool=pool, hour=HOUR - timedelta(hours=hour), protocol=protocol, is_active=True,
                    balance=10**12, principal=6 * 10**11, interest=13, receipts=15 * 10**11, lpn_price=1,
                    supplied_usd=Decimal("1000000.000007"), borrowed_usd=Decimal("600000.000013"),
                    utilization=60, borrow_rate=101, lending_rate=Decimal("3.2"), min_utilization=650,
                    optimal_utilization=700,
                )  # fmt: skip
            lender = lenders[number % len(lenders)]
            for place, kind in enumerate(("deposit", "withdraw")):
                flow = {"height": 600 + number, "tx": place, "event": 1, "kind": kind}
                at = NOW - timedelta(days=number, microseconds=876_544)
                self._flow(flow, (protocol, pool, lpn), lender, at, b"\2" * 32)
            for who in {lender, self.main, _account("main")}:
                self._insert(
                    "lenders", lender=who, pool=pool, receipts=10**8, deposited=9 * 10**7, withdrawn=0,
                    deposited_usd=90, withdrawn_usd=0, rewards=5, joined_at=NOW - timedelta(microseconds=1),
                    updated_at=NOW,
                )  # fmt: skip

        for number, tx in enumerate(sorted(self.words.withdrawals)):
            flow = {"height": 800 + number, "tx": 0, "event": 1, "kind": "withdraw"}
            place = self._live[number % len(self._live)][:3]
            self._flow(flow, place, lenders[number % len(lenders)], NOW - timedelta(days=200), bytes.fromhex(tx))

    def _flow(
        self, flow: dict[str, Any], place: tuple[str, str, str], lender: str, at: datetime, tx_hash: bytes
    ) -> None:
        protocol, pool, lpn = place
        self._insert(
            "pool_flows", **flow, pool=pool, protocol=protocol, lender=lender, amount=10**8, ticker=lpn,
            receipts=10**8, price=1, usd=100, closes=False, time=at, tx_hash=tx_hash,
        )  # fmt: skip

    def _treasury(self) -> None:
        for number in range(40):
            for place, kind in enumerate(("profit", "rewards")):
                self._insert(
                    "treasury_flows", height=20 + number, tx=place, event=0, kind=kind, amount=1_000_019, price=1,
                    usd=Decimal("0.01236"), time=NOW - timedelta(days=6 * (40 - number), microseconds=876_544),
                    tx_hash=b"\3" * 32,
                )  # fmt: skip
        self._insert("balances", address=_contract("treasury"), denom="unls", amount=100_000_000)

    def _messages(self) -> None:
        lease = sorted(self.words.leases)[0] if self.words.leases else _contract("lease")
        pool = self._live[0][1]
        validator = PREFIXES.operator_text(b"\7" * 20)
        wasm, staking = "/cosmwasm.wasm.v1.MsgExecuteContract", "/cosmos.staking.v1beta1.MsgDelegate"
        called = sorted({*self.words.called, *sorted({*self.words.leases, lease})[:9]})
        kinds = [
            (1, "/cosmos.bank.v1beta1.MsgSend", _account("friend")),
            (1, "/ibc.applications.transfer.v1.MsgTransfer", "osmo1ynrdwjtl3qqxr0epym2qakxtzuh25twtyu035w"),
            (2, staking, validator),
            (3, "/cosmos.gov.v1beta1.MsgVote", "16"),
            (4, wasm, pool),
            *((5, wasm, contract) for contract in called),
        ]
        height = 100
        for account in sorted({*self.words.accounts, self.main}):
            more = max(self.words.counts.get(("messages", account), 0) - len(kinds), 0)
            for kind, url, receiver in [*kinds, *kinds[:1] * more]:
                height += 1
                place = {"height": height, "tx": 0, "message": kind % 2, "inner_message": 0}
                at = NOW - timedelta(hours=HEIGHT - height, microseconds=876_544 * (height % 2))
                self._insert("messages", **place, type=url, sender=account, receiver=receiver, value=b"\n,x" * 40)
                self._insert(
                    "txs", height=height, tx=0, hash=sha256(str(height).encode()).digest(), code=0, gas_wanted=1,
                    gas_used=1, fee_amount=2500, fee_denom=("unls", None)[height % 2], memo="", time=at,
                )  # fmt: skip
                for address in (account, receiver):
                    self._insert("account_messages", address=address, kind=kind, **place)

    def _prices(self) -> None:
        pairs = {*self.words.charts, *((name, lpn) for name, _, lpn, _, _ in self._live)}
        for protocol, ticker in sorted(pairs):
            price = Decimal("0.0000000712") if ticker == "BABY" else Decimal("0.40250207319386944")
            self._insert("prices_current", protocol=protocol, ticker=ticker, price=price, height=1, time=NOW)
            for minutes, count in ((1, 30), (5, 30), (60, 30)):
                for number in range(count):
                    start = HOUR - timedelta(minutes=minutes * number)
                    self._insert(
                        "price_candles", protocol=protocol, ticker=ticker, minutes=minutes, start=start, open=price,
                        high=price, low=price, close=price, points=1,
                    )  # fmt: skip

    def _totals(self) -> None:
        for hour in range(48):
            self._insert(
                "hours", hour=HOUR - timedelta(hours=hour), height=1, open_positions=9,
                position_usd=Decimal("3439.929869"), open_interest_usd=Decimal("1857.5"),
                unrealized_pnl_usd=Decimal("91.866279"), supplied_usd=Decimal("1871000.000007"),
                borrowed_usd=Decimal("640000.000013"), tvl_usd=Decimal("1234439.9"), treasury=1, treasury_usd=1,
            )  # fmt: skip
        for account in sorted({*self.words.accounts, self.main}):
            for hour in range(40):
                at = HOUR - timedelta(hours=hour)
                self._insert("account_hours", owner=account, hour=at, position_usd=Decimal("1254.02"), debt_usd=677)
            self._insert(
                "accounts", address=account, openings=9, closings=5, wins=0, volume_usd=Decimal("3429.269531"),
                realized_pnl_usd=Decimal("-383.071984"), band_0=5, updated_at=NOW,
            )  # fmt: skip
        for number in range(0, 400, 3):
            at = NOW - timedelta(days=number)
            self._insert(
                "days", day=at.date(), openings=1, opened_usd=Decimal("700.553449"), updated_at=at,
                opened_loans_usd=Decimal("302.417999"), closed_loans_usd=Decimal("6.996989"), profit=1_000_019,
                profit_usd=Decimal("0.01236"),
            )  # fmt: skip
            month = at.date().replace(day=1)
            self._insert("months", month=month, wallets=3, updated_at=at)
        for name in ("tx_value", "profit", "rewards", "realized_pnl", "opened_loans"):
            self._insert("totals", name=name, amount=40_000_780, usd=Decimal("20.00002"), updated_at=NOW)
        for protocol, _, _, _, _ in self._live:
            self._insert(
                "asset_totals", protocol=protocol, asset="OSMO", openings=1, loan=1, loan_usd=Decimal("182.088"),
                updated_at=NOW,
            )  # fmt: skip
