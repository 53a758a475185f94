"""A whole sub-protocol over the runtime: pool, leaser, leases, oracle and the rest, with a DEX played by the test."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

from tests.unit.devnet.wasm.machine import PREFIXES, SentInterchain, SimpleBank

from leasehold.core.addresses import contract_address
from leasehold.devnet.contracts.admin import Admin
from leasehold.devnet.contracts.build import PlatformBuild, ProtocolBuild
from leasehold.devnet.contracts.lease import Lease
from leasehold.devnet.contracts.leaser import Leaser
from leasehold.devnet.contracts.lpp import Lpp
from leasehold.devnet.contracts.oracle import Oracle
from leasehold.devnet.contracts.profit import Profit
from leasehold.devnet.contracts.reserve import Reserve
from leasehold.devnet.contracts.timealarms import TimeAlarms
from leasehold.devnet.contracts.treasury import Treasury
from leasehold.devnet.contracts.void import Void
from leasehold.devnet.state.store import OrderedMap, Overlay
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import BankCoin
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Block, Call
from leasehold.devnet.wasm.runtime import Runtime
from leasehold.protocol.currencies import LEASE, LPN, NATIVE, Currency, CurrencySet

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
START = 1_700_000_000 * SECOND
NATIVE_COIN = Currency("NLS", "unls", "ibc/nls", 6, NATIVE)
CURRENCIES = CurrencySet(
    [
        Currency("USDC", "ibc/usdc", "usdc", 6, LPN),
        NATIVE_COIN,
        Currency("BTC", "ibc/btc", "btc", 8, LEASE),
        Currency("OSMO", "ibc/osmo", "uosmo", 6, LEASE),
    ],
    [("BTC", "USDC"), ("OSMO", "USDC"), ("NLS", "USDC")],
    "USDC",
)
DEX = {
    "connection_id": "connection-0",
    "transfer_channel": {"local_endpoint": "channel-0", "remote_endpoint": "channel-7"},
}
LIABILITY = {
    "initial": 600,
    "healthy": 830,
    "first_liq_warn": 850,
    "second_liq_warn": 865,
    "third_liq_warn": 880,
    "max": 900,
    "recalc_time": 3600 * SECOND,
}
SPEC = {
    "liability": LIABILITY,
    "min_asset": {"amount": "15000000", "ticker": "USDC"},
    "min_transaction": {"amount": "1000000", "ticker": "USDC"},
}


def account(name: str) -> str:
    return PREFIXES.account_text(sha256(name.encode()).digest()[:20])


OWNER, ADMIN, USER, LENDER, FEEDER, KEEPER = (
    account(name) for name in ("owner", "lease admin", "user", "lender", "feeder", "keeper")
)


class Refusal(Exception):
    """A transaction that failed; the text is the innermost contract's."""


class Lending:
    """The sub-protocol with 1,000,000 USDC in its pool and BTC at 630 USDC units a satoshi."""

    def __init__(self) -> None:
        self.store = OrderedMap()
        self.bank = SimpleBank()
        self.wire = SentInterchain()
        self.runtime = Runtime(PREFIXES, self.bank, self.wire)
        self.height, self.time = 1, START
        self.events: list[tuple[str, dict[str, str]]] = []
        platform, protocol = PlatformBuild(NATIVE_COIN), ProtocolBuild("TEST", "OSMOSIS", CURRENCIES)
        programs: dict[str, Any] = {
            "timealarms": TimeAlarms(platform),
            "treasury": Treasury(platform),
            "admin": Admin(platform),
            "lease": Lease(protocol),
            "lpp": Lpp(protocol),
            "oracle": Oracle(protocol),
            "profit": Profit(protocol),
            "reserve": Reserve(protocol),
            "leaser": Leaser(protocol),
            "void": Void(protocol),
            "lease_next": Lease(protocol),
        }
        self.codes: dict[str, int] = {}
        self.at: dict[str, str] = {}
        for name, program in programs.items():
            checksum = sha256(name.encode()).digest()
            self.runtime.install(checksum, program)
            self.codes[name] = self.runtime.store_code(self._call(self.store), OWNER, checksum)
        self._deploy()

    def _deploy(self) -> None:
        code = str(self.codes["lease"])
        leaser = PREFIXES.account_text(contract_address(self.codes["leaser"], 8))
        self.create("timealarms", {})
        bars = {"bars": [{"tvl": 0, "apr": 100}]}
        self.create(
            "treasury",
            {
                "cadence_hours": 12,
                "protocols_registry": leaser,
                "timealarms": self.at["timealarms"],
                "tvl_to_apr": bars,
            },
        )
        platform = {"timealarms": self.at["timealarms"], "treasury": self.at["treasury"]}
        self.create("admin", {"dex_admin": OWNER, "contracts": {"platform": platform, "protocol": {}}})
        rate = {"base_interest_rate": 60, "utilization_optimal": 700, "addon_optimal_interest_rate": 20}
        self.create("lpp", {"protocol_admin": leaser, "lease_code": code, "borrow_rate": rate, "min_utilization": 0})
        tree = {
            "value": [0, "USDC"],
            "children": [{"value": [1, "BTC"]}, {"value": [2, "OSMO"]}, {"value": [3, "NLS"]}],
        }
        price = {"min_feeders": 500, "sample_period_secs": 50, "samples_number": 12, "discount_factor": 650}
        self.create("oracle", {"config": {"price_config": price}, "swap_tree": tree})
        self.create(
            "profit",
            {
                "cadence_hours": 12,
                "treasury": self.at["treasury"],
                "oracle": self.at["oracle"],
                "timealarms": self.at["timealarms"],
                "dex": DEX,
            },
        )
        self.create("reserve", {"protocol_admin": leaser, "lease_code": code})
        self.create(
            "leaser",
            {
                "lease_code": code,
                **{name: self.at[name] for name in ("lpp", "profit", "reserve")},
                "time_alarms": self.at["timealarms"],
                "market_price_oracle": self.at["oracle"],
                "protocols_registry": self.at["admin"],
                "lease_position_spec": SPEC,
                "lease_interest_rate_margin": 40,
                "lease_due_period": 30 * DAY,
                "lease_max_slippages": {"liquidation": 300},
                "lease_admin": ADMIN,
                "dex": DEX,
            },
        )
        assert self.at["leaser"] == leaser
        protocol = {
            "network": "Osmosis",
            "dex": "Osmosis",
            "contracts": {name: self.at[name] for name in ("leaser", "lpp", "oracle", "profit", "reserve")},
        }
        self.tell("admin", {"register_protocol": {"name": "TEST", "protocol": protocol}}, OWNER)
        self.govern("oracle", {"register_feeder": {"feeder_address": FEEDER}})
        self.give(LENDER, "USDC", 10**13)
        self.give(USER, "USDC", 10**12)
        self.give(USER, "OSMO", 10**12)
        self.give(USER, "BTC", 10**12)
        self.tell("lpp", {"deposit": []}, LENDER, ("USDC", 10**12))
        self.feed(BTC=630)
        self.wire.sent.clear()

    # -- transactions --------------------------------------------------------------------------------------------

    def _call(self, store: Any) -> Call:
        return Call(store, Block(self.height, self.time, "test-1"))

    def _transact(self, operation: Any) -> Any:
        overlay, before = Overlay(self.store), len(self.wire.sent)
        call = self._call(overlay)
        try:
            result = operation(call)
            for contract, message in self.wire.sent[before:]:
                if message.kind == "ibc_transfer":
                    token = message.fields["token"]
                    coin = BankCoin(token["denom"], int(token["amount"]))
                    self.bank.send(overlay, contract, account("escrow"), (coin,))
        except ModuleFailure as failure:
            del self.wire.sent[before:]
            raise Refusal(str(failure)) from failure
        overlay.write(self.store)
        self.events = [(event.type, dict(event.attributes)) for event in call.events]
        return result

    def create(self, name: str, msg: Any) -> None:
        admin = self.at.get("admin", OWNER)
        address, _ = self._transact(
            lambda call: self.runtime.instantiate(call, OWNER, self.codes[name], _json(msg), label=name, admin=admin)
        )
        self.at[name] = address

    def tell(self, contract: str, msg: Any, sender: str, *coins: tuple[str, int]) -> Any:
        funds = tuple(BankCoin(CURRENCIES.denom(ticker), amount) for ticker, amount in coins)
        return self._transact(
            lambda call: self.runtime.execute(call, sender, self.address(contract), _json(msg), funds)
        )

    def govern(self, contract: str, msg: Any) -> None:
        self._transact(lambda call: self.runtime.sudo(call, self.address(contract), _json(msg)))

    def ask(self, contract: str, msg: Any) -> Any:
        block = Block(self.height, self.time, "test-1")
        try:
            return json.loads(self.runtime.query(self.store, block, self.address(contract), _json(msg)))
        except ModuleFailure as failure:
            raise Refusal(str(failure)) from failure

    def address(self, name: str) -> str:
        return self.at.get(name, name)

    # -- the world -----------------------------------------------------------------------------------------------

    def advance(self, seconds: int) -> None:
        self.height += 1
        self.time += seconds * SECOND

    def give(self, to: str, ticker: str, amount: int) -> None:
        self.bank.give(self.store, to, BankCoin(CURRENCIES.denom(ticker), amount))

    def held(self, address: str, ticker: str) -> int:
        return self.bank.balance(self.store, self.address(address), CURRENCIES.denom(ticker))

    def feed(self, **quotes: int) -> None:
        """Feed prices of one smallest unit; OSMO and the native coin stay at 33/1000 and 1/1000."""
        prices = [_price("OSMO", 1000, 33), _price("NLS", 1000, 1)]
        prices += [_price(ticker, 1, quote) for ticker, quote in quotes.items()]
        self.tell("oracle", {"feed_prices": {"prices": prices}}, FEEDER)

    def reprice(self, btc: int) -> None:
        """Let the old observations of BTC expire and feed another price."""
        self.advance(601)
        self.feed(BTC=btc)

    def dispatch(self, contract: str = "oracle") -> int:
        self.tell(contract, {"dispatch_alarms": {"max_count": 32}}, KEEPER)
        return sum(kind in ("wasm-pricealarm-delivery", "wasm-time-alarm") for kind, _ in self.events)

    def seen(self, kind: str) -> list[dict[str, str]]:
        """Attributes of the last transaction's events of a type."""
        return [attributes for name, attributes in self.events if name == f"wasm-{kind}"]

    # -- the DEX -------------------------------------------------------------------------------------------------

    def outstanding(self, lease: str) -> Any:
        return next(message for contract, message in self.wire.sent if contract == lease)

    def _take(self, lease: str) -> Any:
        for position, (contract, message) in enumerate(self.wire.sent):
            if contract == lease:
                del self.wire.sent[position]
                return message
        raise AssertionError("nothing is outstanding")

    def relay(self, lease: str, *outputs: int, arrived: bool = True) -> None:
        """Acknowledge the lease's oldest interchain message a block later; `outputs` are those of its swaps."""
        self.advance(5)
        message = self._take(lease)
        if message.kind == "register_ica":
            self.govern(lease, {"open_ack": _opened(lease)})
            return
        for part in message.fields.get("msgs", ()) if arrived else ():
            if "transfer" in part:
                token = part["transfer"]["token"]
                self.give(lease, CURRENCIES.by_dex[token["denom"]].ticker, int(token["amount"]))
        data = interchain.swap_response(outputs) if outputs else b""
        self.govern(lease, {"response": {"request": {}, "data": b64encode(data).decode()}})

    def fail(self, lease: str, how: str) -> None:
        """Time the lease's oldest interchain message out, or fail it."""
        self.advance(5)
        message = self._take(lease)
        if message.kind == "ibc_transfer":
            token = message.fields["token"]
            coin = BankCoin(token["denom"], int(token["amount"]))
            self.bank.send(self.store, account("escrow"), lease, (coin,))
        body: dict[str, Any] = {"request": {}}
        if how == "error":
            body["details"] = "ABCI code: 5: refused"
        self.govern(lease, {how: body})

    def open(self, *, down: int = 100_000_000, asset: int = 396_825) -> str:
        """A lease of BTC through all of its opening."""
        self.tell("leaser", {"open_lease": {"currency": "BTC"}}, USER, ("USDC", down))
        lease = self.seen("ls-request-loan")[0]["id"]
        self.relay(lease)
        self.relay(lease)
        self.relay(lease)
        self.relay(lease, asset // 2, asset - asset // 2)
        return lease

    def state(self, lease: str, projection: int = 0) -> Any:
        return self.ask(lease, {"state": {"due_projection_secs": projection}})


def _opened(lease: str) -> dict[str, str]:
    return {
        "port_id": "icacontroller",
        "channel_id": "channel-77",
        "counterparty_channel_id": "channel-78",
        "counterparty_version": json.dumps({"address": f"osmo1{lease[-8:]}"}),
    }


def _price(ticker: str, amount: int, quote: int) -> dict[str, Any]:
    return {
        "amount": {"amount": str(amount), "ticker": ticker},
        "amount_quote": {"amount": str(quote), "ticker": "USDC"},
    }


def _json(msg: Any) -> bytes:
    return json.dumps(msg, separators=(",", ":")).encode()
