"""What an index of a development chain must hold, row by row, from the chain's blocks and its contracts' own answers.

Nothing of the indexer is imported. Prices, amounts and debts are asked of the contracts as of the end of each height;
rows follow the tables' columns. `Truth.follow` may be called again as the chain grows.
"""

from __future__ import annotations

from typing import Any

from devnet_accounts import AccountTruth
from devnet_leases import LeaseTruth
from devnet_reader import ChainReader, Traded, attributes, coins, instant
from devnet_registry import registered
from devnet_witness import Row, worth
from table_comparison import ANYTHING, OPTIONAL, PartOf

SETTLEMENTS = {"wasm-ls-repay": "repay", "wasm-ls-close-position": "market-close", "wasm-ls-liquidation": "liquidation"}
STAGES = {"opening": "opening", "open": "opened", "closing": "closing", "closed": "closed", "liquidated": "liquidated"}


class Truth(LeaseTruth):
    """The expected rows of every table."""

    def __init__(self, chain: ChainReader) -> None:
        super().__init__(chain)
        self.lenders: dict[tuple[str, str], Row] = {}
        self.events = self.txs = 0
        self.accounts = AccountTruth(self)

    # Walking the chain.

    def follow(self, height: int) -> None:
        """Take in all blocks up to a height."""
        for number in range(self.height + 1, height + 1):
            if number > 1:
                self.sums.hours(number - 1, self.chain.time_ns(number - 1), self.chain.time_ns(number))
            self._block(number)
            self.height = number

    def _block(self, height: int) -> None:
        stored, results = self.chain.block(height), self.chain.results(height)
        header = stored.block.header
        self.at, self.now, self.time = height, header.time_ns, instant(header.time_ns)
        self.changes = 0
        if height == 1:
            for name, protocol in self.chain.protocols.items():
                pool = protocol.contracts["lpp"]
                self.pools[pool] = {"pool": pool, "protocol": name, "newest_rate": 0, "updated_at": self.time}
        fed: set[str] = set()
        for index, (raw, result) in enumerate(zip(stored.block.txs, results.tx_results, strict=True)):
            opener = self.accounts.tx(index, raw, result, fed)
            if result.code == 0:
                self._events(index, self.accounts.hash, result.events, opener)
        self._events(-1, b"", results.events, "")
        for name in sorted(fed):
            self.sample(self.chain.protocols[name])
        count = len(results.events) + sum(len(result.events) for result in results.tx_results)
        self.events += count
        self.txs += len(stored.block.txs)
        self.tables["blocks"].append(
            {
                "height": height,
                "hash": stored.id.hash,
                "time": self.time,
                "proposer": header.proposer_address,
                "tx_count": len(stored.block.txs),
                "event_count": count,
            }
        )

    def _events(self, tx: int, tx_hash: bytes, events: list[Any], opener: str) -> None:
        for index, event in enumerate(events):
            if not event.type.startswith("wasm"):
                continue
            found = attributes(event)
            self.key = {"height": self.at, "tx": tx, "event": index}
            self.tables["events"].append(
                {
                    **self.key,
                    "type": event.type,
                    "contract": found.get("_contract_address", ""),
                    "attributes": [list(pair) for pair in event.attributes],
                }
            )
            self.key |= {"time": self.time, "tx_hash": tx_hash}
            self._contract(event.type, found, opener, events)

    def _contract(self, kind: str, found: dict[str, str], opener: str, siblings: list[Any]) -> None:
        if kind == "wasm-ls-request-loan":
            self.requested(found["id"], opener)
        elif kind == "wasm-ls-open":
            self.opened(found)
        elif kind in SETTLEMENTS and "height" in found:
            self.settled(SETTLEMENTS[kind], found)
        elif kind == "wasm-ls-close":
            self.finished(found["id"])
        elif kind == "wasm-ls-liquidation-warning":
            self.warned(found)
        elif kind == "wasm-ls-slippage-anomaly":
            self.signal(found["lease"], found["customer"], "slippage", found["lease-asset"], int(found["max_slippage"]))
        elif kind == "wasm-ls-auto-close-position":
            self.auto_closed(found)
        elif kind == "wasm-reserve-cover-loss":
            self.covered(found)
        elif kind in ("wasm-lp-deposit", "wasm-lp-withdraw"):
            self._flow(kind == "wasm-lp-deposit", found)
        elif kind == "wasm-tr-rewards":
            protocol = self.chain.by_contract("lpp", found["to"])
            self._treasury("rewards", protocol, found["to"], int(found["rewards-amount"]))
        elif kind == "wasm-tr-profit":
            protocol = self.chain.by_contract("profit", found["_contract_address"])
            self._treasury("profit", protocol, None, self._swept(found["_contract_address"], siblings))

    def _swept(self, profit: str, siblings: list[Any]) -> int:
        """What the profit contract really sent to the treasury in that transaction."""
        treasury = self.chain.devnet.deployment.platform["treasury"]
        moved = [attributes(event) for event in siblings if event.type == "transfer"]
        sent = [one["amount"] for one in moved if (one["sender"], one["recipient"]) == (profit, treasury)]
        return sum(amount for text in sent for amount, denom in coins(text) if denom == self.chain.native_denom)

    # Pools and treasury.

    def _flow(self, deposit: bool, found: dict[str, str]) -> None:
        kind = "deposit" if deposit else "withdraw"
        pool, lender = (found["to"], found["from"]) if deposit else (found["from"], found["to"])
        protocol = self.chain.by_contract("lpp", pool)
        assert protocol is not None
        amount, ticker = int(found[f"{kind}-amount"]), found[f"{kind}-symbol"]
        price = self.price(protocol, ticker)
        row = {
            "kind": kind,
            "pool": pool,
            "protocol": protocol.name,
            "lender": lender,
            "amount": amount,
            "ticker": ticker,
            "receipts": int(found["receipts"]),
            "price": price,
            "usd": worth(amount, price, protocol.decimals(ticker)),
            "closes": found.get("close") == "true",
        }
        self.tables["pool_flows"].append({**self.key, **row})
        zeros = dict.fromkeys(("deposited", "withdrawn", "deposited_usd", "withdrawn_usd", "rewards"), 0)
        known = self.lenders.setdefault(
            (lender, pool), {"lender": lender, "pool": pool, "joined_at": self.time, **zeros}
        )
        name = "deposited" if deposit else "withdrawn"
        known[name] += amount
        known[f"{name}_usd"] += row["usd"] or 0
        known["updated_at"] = self.pools[pool]["updated_at"] = self.time
        self.sums.flowed(name, lender, row["usd"] or 0)
        logged = {"kind": kind, "lender": lender, "amount": str(amount), "receipts": found["receipts"]}
        self.log("pool", pool, logged)

    def _treasury(self, kind: str, protocol: Traded | None, pool: str | None, amount: int) -> None:
        price = self.native_price(protocol)
        row = {"kind": kind, "protocol": protocol and protocol.name, "pool": pool, "amount": amount, "price": price}
        usd = worth(amount, price, self.chain.devnet.app.identity.exponent)
        self.tables["treasury_flows"].append({**self.key, **row, "usd": usd})
        self.sums.treasury(kind, amount, usd or 0)

    # The end.

    def complete(self) -> dict[str, list[Row]]:
        """All tables as of the last block followed."""
        tables = dict(self.tables)
        height, now = self.height, self.chain.time_ns(self.height)
        for name in ("quarantine", "reserve_covers", "reward_claims", "treasury_flows", "lease_signals"):
            tables.setdefault(name, [])
        tables["positions"] = [self._position(row, height) for row in self.leases.values()]
        tables["pools"] = [self._pool(row, height) for row in self.pools.values()]
        tables["lenders"] = [
            {**row, "receipts": int(self.chain.ask(pool, {"balance": {"address": lender}}, height)["amount"])}
            for (lender, pool), row in self.lenders.items()
        ]
        tables["prices_current"] = list(self.current.values())
        tables["price_candles"] = list(self.candles.values())
        tables["outbox"] = list(self.outbox.values())
        stored = self.chain.block(height)
        tables["cursor"] = [
            {
                "one": True,
                "chain_id": self.chain.devnet.node.chain_id,
                "first_height": 1,
                "height": height,
                "hash": stored.id.hash,
                "time": instant(now),
                "time_ns": now,
                "blocks": height,
                "txs": self.txs,
                "events": self.events,
                "quarantined": 0,
            }
        ]
        tables["lookups"] = [
            {"height": 1, "kind": kind, "content": ANYTHING} for kind in ("discovery", "seeds")
        ] + self._amounts()
        tables["raw_blocks"] = [
            {"height": row["height"], "content": self._raw(row["height"])} for row in tables["blocks"]
        ]
        registered(tables, self.chain, height)
        self.accounts.complete(tables, height)
        self.sums.complete(tables)
        return tables

    def _position(self, row: Row, height: int) -> Row:
        """A position with what the contracts keep about its loan; what they forgot can be anything."""
        lease = row["lease"]
        stage, _ = self.chain.lease(lease, height)
        assert stage == STAGES[row["status"]] or row["status"] == "closed", (row["status"], stage)
        owes = row["status"] in ("opening", "open")
        return {
            **row,
            "interest_paid_ns": self.chain.interest_paid(row["pool"], lease, height) if owes else ANYTHING,
            "margin_paid_ns": self.chain.margin_paid(lease, height) if row["status"] == "open" else ANYTHING,
        }

    def _amounts(self) -> list[Row]:
        """What leases bought may have been asked, where a retry opened them; then the chain told this."""
        bought: dict[int, dict[str, str]] = {}
        for row in self.leases.values():
            if row["opened_height"] is not None:
                bought.setdefault(row["opened_height"], {})[row["lease"]] = str(row["opened_amount"])
        return [
            {"height": height, "kind": "amounts", "content": PartOf(found), OPTIONAL: True}
            for height, found in bought.items()
        ]

    def _raw(self, height: int) -> tuple[Any, ...]:
        """What a raw block must still tell: time, identity, transactions and how many events there were."""
        stored, results = self.chain.block(height), self.chain.results(height)
        header = stored.block.header
        counts = [len(results.events), *(len(result.events) for result in results.tx_results)]
        return header.time_ns, stored.id.hash, header.chain_id, header.proposer_address, list(stored.block.txs), counts

    def _pool(self, row: Row, height: int) -> Row:
        """A pool with the totals that its contract keeps."""
        raw = self.chain.totals(row["pool"], height)
        names = ("principal", "interest", "annual", "rate_of", "updated_ns", "receipts")
        found = dict(zip(names, raw, strict=True))
        if found["updated_ns"] == 0:
            # A pool that never lent: the contract has not written the instant yet, and nothing depends on it.
            found["updated_ns"] = ANYTHING
        return {**row, **found}
