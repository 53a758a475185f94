"""The world the contract transcripts were recorded in: deployment, bank, interchain driver and helper contracts.

A recording names accounts `@name` and coins by ticker; here both are turned into what contracts see, and what comes
out is turned back, so that a step can be compared with its recording as text.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tests.golden.contract_programs import CODES, Build, build_for, programs

from leasehold.core.addresses import Bech32Prefixes, contract_address
from leasehold.devnet.app.abci import Event
from leasehold.devnet.state.store import OrderedMap, Overlay, Reader, Store
from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import (
    BankCoin,
    BankSend,
    Contract,
    ContractError,
    ContractTrap,
    Deps,
    Env,
    Info,
    Interchain,
    Reply,
    Response,
    SubMessage,
    WasmExecute,
    WasmInstantiate,
    WasmMigrate,
)
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Block, Call
from leasehold.devnet.wasm.runtime import Runtime

CHAIN_ID = "recorded-1"
START_HEIGHT, START_TIME = 1000, 1735689600_000000000
STEP = 5_000_000_000
INSTANCES = ("timealarms", "treasury", "admin", "lpp", "oracle", "profit", "reserve", "leaser")
BANK = b"bank/"
UNKNOWN = "uunknown"

_ADDRESS = re.compile(r"chain1[02-9ac-hj-np-z]{38,58}")

LONG_TREE = {
    "value": [0, "USDC_NOBLE"],
    "children": [
        {
            "value": [1, "OSMO"],
            "children": [
                {"value": [3, "ATOM"], "children": [{"value": [6, "ST_ATOM"]}]},
                {"value": [4, "AKT"]},
                {"value": [5, "NLS"]},
            ],
        },
        {
            "value": [2, "ALL_BTC"],
            "children": [{"value": [7, "ALL_ETH"], "children": [{"value": [9, "WETH"]}]}, {"value": [8, "WBTC"]}],
        },
    ],
}
SHORT_TREE = {
    "value": [0, "ALL_BTC"],
    "children": [
        {"value": [2, "USDC_NOBLE"], "children": [{"value": [5, "NLS"]}, {"value": [6, "ATOM"]}]},
    ],
}
LONG_FEED = (
    ("ALL_BTC", 1, "USDC_NOBLE", 630),
    ("OSMO", 1000, "USDC_NOBLE", 33),
    ("ATOM", 11, "OSMO", 500),
    ("AKT", 3, "OSMO", 50),
    ("NLS", 1000, "OSMO", 36),
    ("ST_ATOM", 10, "ATOM", 13),
    ("ALL_ETH", 10**18, "ALL_BTC", 2936507),
    ("WBTC", 10000, "ALL_BTC", 9998),
    ("WETH", 1000, "ALL_ETH", 999),
)
SHORT_FEED = (("USDC_NOBLE", 630, "ALL_BTC", 1), ("NLS", 250000, "USDC_NOBLE", 297), ("ATOM", 2, "USDC_NOBLE", 3))
DEX = {
    "connection_id": "connection-0",
    "transfer_channel": {"local_endpoint": "channel-0", "remote_endpoint": "channel-783"},
}
_NO_PACKET = dict.fromkeys(
    (
        "sequence",
        "source_port",
        "source_channel",
        "destination_port",
        "destination_channel",
        "data",
        "timeout_height",
        "timeout_timestamp",
    )
)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Ledger:
    """Coins of accounts, with the one event the recorded bank emitted."""

    def send(self, store: Store, sender: str, recipient: str, coins: Sequence[BankCoin]) -> list[Event]:
        if not coins or any(coin.amount <= 0 for coin in coins):
            raise ModuleFailure("sdk", 10, "invalid coins")
        for coin in coins:
            held = self.balance(store, sender, coin.denom)
            if held < coin.amount:
                raise ModuleFailure("sdk", 5, "insufficient funds")
            store.set(_coin_key(sender, coin.denom), str(held - coin.amount).encode())
            self.mint(store, recipient, coin)
        text = ",".join(f"{coin.amount}{coin.denom}" for coin in coins)
        return [Event("transfer", [("recipient", recipient), ("sender", sender), ("amount", text)])]

    def mint(self, store: Store, address: str, coin: BankCoin) -> None:
        held = self.balance(store, address, coin.denom)
        store.set(_coin_key(address, coin.denom), str(held + coin.amount).encode())

    def burn(self, store: Store, owner: str, coins: Sequence[BankCoin]) -> list[Event]:
        raise ModuleFailure("sdk", 18, "nothing is burnt here")

    def balance(self, store: Reader, address: str, denom: str) -> int:
        return int(store.get(_coin_key(address, denom)) or b"0")

    def balances(self, store: Reader, address: str) -> tuple[BankCoin, ...]:
        start = BANK + address.encode() + b"/"
        found = store.iterate(start, start[:-1] + b"0")
        return tuple(BankCoin(key[len(start) :].decode(), int(value)) for key, value in found if value != b"0")


def _coin_key(address: str, denom: str) -> bytes:
    return BANK + address.encode() + b"/" + denom.encode()


class Outbox:
    """Interchain messages of the transaction in progress."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Interchain]] = []

    def dispatch(self, call: Call, contract: str, message: Interchain) -> bytes | None:
        self.sent.append((contract, message))
        return b""


class QuietRuntime(Runtime):
    """The recorded chain did not show the transfer of attached coins."""

    def _attach(self, call: Call, sender: str, contract: str, funds: Sequence[BankCoin]) -> None:
        if funds:
            self._bank.send(call.store, sender, contract, funds)


class Subscriber:
    """The helper contract of the recordings: forwards messages, takes or refuses alarms."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        return Response()

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        ((name, body),) = json.loads(msg).items()
        if name == "forward":
            funds = tuple(BankCoin(coin["denom"], int(coin["amount"])) for coin in body["funds"])
            return Response([SubMessage(WasmExecute(body["contract"], compact(body["msg"]), funds))])
        if name == "fail":
            deps.storage.set(b"fail", b"1" if body["on"] else b"")
            return Response()
        if deps.storage.get(b"fail"):
            raise ContractError("subscriber refuses")
        response = Response()
        response.events.append(_custom("subscriber", [("alarm", "taken")]))
        return response

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        raise ContractError("no queries")

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        return Response()

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        raise ContractError("no sudo")

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return Response()


def _custom(kind: str, attributes: list[tuple[str, str]]) -> Any:
    from leasehold.devnet.wasm.contract import Event as CustomEvent

    return CustomEvent(kind, attributes)


class Recorder:
    """A contract whose every entry is written down as the recordings do."""

    def __init__(self, kind: str, inner: Contract, world: World) -> None:
        self._kind = kind
        self._inner = inner
        self._world = world

    def _note(self, env: Env, entry: str, **fields: Any) -> dict[str, Any]:
        note = {"contract": env.contract, "kind": self._kind, "entry": entry, **fields}
        self._world.calls.append(note)
        return note

    def _finish(self, note: dict[str, Any], entry: Any) -> Response:
        try:
            response: Response = entry()
        except ContractError as error:
            note["error"] = str(error)
            raise
        except ContractTrap as error:
            note["trap"] = str(error)
            raise
        if response.attributes:
            note["attributes"] = [list(pair) for pair in response.attributes]
        note["events"] = [
            {"type": event.type, "attributes": [list(pair) for pair in event.attributes]} for event in response.events
        ]
        note["messages"] = [self._world.shown_message(message) for message in response.messages]
        if response.data is not None:
            note["data"] = json.loads(response.data)
        return response

    def _sent(self, info: Info, msg: bytes) -> dict[str, Any]:
        shown = self._world.with_tickers(json.loads(msg))
        return {"sender": info.sender, "funds": self._world.shown_coins(info.funds), "msg": shown}

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        note = self._note(env, "instantiate", **self._sent(info, msg))
        return self._finish(note, lambda: self._inner.instantiate(deps, env, info, msg))

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        note = self._note(env, "execute", **self._sent(info, msg))
        return self._finish(note, lambda: self._inner.execute(deps, env, info, msg))

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        return self._inner.query(deps, env, msg)

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        note = self._note(env, "reply", id=reply.id, result="ok" if reply.ok else {"err": reply.error})
        return self._finish(note, lambda: self._inner.reply(deps, env, reply))

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        note = self._note(env, "sudo", msg=json.loads(msg))
        return self._finish(note, lambda: self._inner.sudo(deps, env, msg))

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        note = self._note(env, "migrate", msg=json.loads(msg))
        return self._finish(note, lambda: self._inner.migrate(deps, env, msg))


class World:
    """One recorded case's chain: contracts deployed as its parameters say, clock and interchain queue."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.params: dict[str, Any] = case["params"]
        self.addresses: dict[str, str] = _standard_addresses() | case["addresses"]
        self.names = {address: name for name, address in self.addresses.items()}
        self.build: Build = build_for(self.params["lpn"])
        self.tickers = {currency.bank_symbol: currency.ticker for currency in self.build.currencies}
        self.tickers[UNKNOWN] = "UNKNOWN"
        self.denoms = {ticker: denom for denom, ticker in self.tickers.items()}
        self.dex_tickers = {currency.dex_symbol: f"dex:{currency.ticker}" for currency in self.build.currencies}
        self.store = OrderedMap()
        self.bank = Ledger()
        self.outbox = Outbox()
        self.calls: list[dict[str, Any]] = []
        self.pending: list[tuple[str, Interchain]] = []
        self.height, self.time = START_HEIGHT, START_TIME
        self.runtime = QuietRuntime(Bech32Prefixes("chain"), self.bank, self.outbox)
        self._install()

    # -- words ---------------------------------------------------------------------------------------------------

    def address(self, name: str) -> str:
        known = self.addresses.get(name.removeprefix("@"))
        return known or Bech32Prefixes("chain").account_text(sha256(name.encode()).digest())

    def expand(self, value: Any) -> Any:
        """Recorded JSON with addresses, denoms and code ids in place of their names."""
        if isinstance(value, dict):
            return {key: self.expand(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item) for item in value]
        if isinstance(value, str):
            if re.fullmatch(r"@[a-z0-9_]+", value):
                return self.address(value)
            if value.startswith("#codestr:"):
                return str(CODES[value.removeprefix("#codestr:")])
            if value.startswith("#code:"):
                return CODES[value.removeprefix("#code:")]
        return value

    def message(self, msg: Any) -> bytes:
        """The bytes of a recorded message; coins attached to a forwarded one become denoms."""
        expanded = self.expand(msg)
        if isinstance(expanded, dict) and isinstance(expanded.get("forward"), dict):
            forwarded = dict(expanded["forward"])
            funds = self.coins(forwarded.get("funds", []))
            forwarded["funds"] = [{"denom": coin.denom, "amount": str(coin.amount)} for coin in funds]
            expanded = {"forward": forwarded}
        return compact(expanded)

    def shown(self, value: Any) -> Any:
        """Any JSON of ours with addresses replaced by names."""
        text = json.dumps(value, ensure_ascii=False)
        return json.loads(_ADDRESS.sub(lambda match: self.shown_text(match[0]), text))

    def shown_text(self, text: str) -> str:
        return _ADDRESS.sub(lambda match: "@" + self.names[match[0]] if match[0] in self.names else match[0], text)

    def coins(self, funds: Sequence[dict[str, str]]) -> tuple[BankCoin, ...]:
        return tuple(BankCoin(self.denoms[coin["ticker"]], int(coin["amount"])) for coin in funds)

    def shown_coins(self, coins: Sequence[BankCoin]) -> list[dict[str, str]]:
        return [{"amount": str(coin.amount), "ticker": self.tickers.get(coin.denom, coin.denom)} for coin in coins]

    def shown_message(self, sub: SubMessage) -> dict[str, Any]:
        message = sub.message
        body: dict[str, Any]
        if isinstance(message, WasmExecute):
            funds = self.shown_coins(message.funds)
            body = {"execute": {"contract": message.contract, "msg": json.loads(message.msg), "funds": funds}}
        elif isinstance(message, WasmInstantiate):
            content = {
                "code_id": message.code_id,
                "admin": message.admin,
                "label": message.label,
                "msg": json.loads(message.msg),
                "funds": self.shown_coins(message.funds),
            }
            if message.salt is None:
                body = {"instantiate": content}
            else:
                body = {"instantiate2": {**content, "salt": b64encode(message.salt).decode()}}
        elif isinstance(message, WasmMigrate):
            content = {"contract": message.contract, "new_code_id": message.new_code_id, "msg": json.loads(message.msg)}
            body = {"migrate": content}
        elif isinstance(message, BankSend):
            body = {"bank_send": {"to": message.to, "amount": self.shown_coins(message.coins)}}
        elif isinstance(message, Interchain):
            body = {"interchain": self.shown_interchain(message)}
        else:
            body = {type(message).__name__: {}}
        shown = {"msg": body, "reply_on": sub.reply_on.value}
        if sub.id:
            shown["reply_id"] = sub.id
        return shown

    def shown_interchain(self, message: Interchain) -> dict[str, Any]:
        return {message.kind: self.with_tickers(message.fields)}

    def with_tickers(self, value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"denom", "amount"}:
                return {"amount": value["amount"], "ticker": self._ticker(value["denom"])}
            return {key: self.with_tickers(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.with_tickers(item) for item in value]
        return self.dex_tickers.get(value, value) if isinstance(value, str) else value

    def _ticker(self, denom: str) -> str:
        return self.tickers.get(denom) or self.dex_tickers.get(denom, denom)

    # -- deployment ----------------------------------------------------------------------------------------------

    def _install(self) -> None:
        made = programs(self.build)
        made["proxy"] = Subscriber()
        call = Call(self.store, self.block)
        for kind, code_id in sorted(CODES.items(), key=lambda item: item[1]):
            checksum = sha256(kind.encode()).digest()
            self.runtime.install(checksum, Recorder(kind, made[kind], self))
            assert self.runtime.store_code(call, self.address("owner"), checksum) == code_id

    @property
    def block(self) -> Block:
        return Block(self.height, self.time, CHAIN_ID)

    def deploy(self, *, feed: bool) -> None:
        """Everything that happened silently before the first recorded step."""
        for name in INSTANCES:
            self.instantiate(name, self.instantiation(name))
        self.relay("@profit", "ok", None, None, None)
        name = self.build.name
        protocol = {
            "network": "Osmosis",
            "dex": "Osmosis",
            "contracts": {part: f"@{part}" for part in ("leaser", "lpp", "oracle", "profit", "reserve")},
        }
        self.execute("@admin", "@dexadmin", {"register_protocol": {"name": name, "protocol": protocol}}, [])
        self.sudo("@oracle", {"register_feeder": {"feeder_address": "@feeder1"}})
        self.fund("@treasury", [_shown("NLS", self.params.get("treasury_funds", 10**15))])
        if self.params["pool"]:
            self.fund("@lender", [_shown(self.params["lpn"], 10**14), _shown("NLS", 10**12)])
            deposit = [_shown(self.params["lpn"], self.params["pool"])]
            self.execute("@lpp", "@lender", {"deposit": []}, deposit)
        for currency in self.build.currencies:
            amount = 10**26 if currency.decimal_digits == 18 else 10**15
            self.fund("@user", [_shown(currency.ticker, amount)])
        self.fund("@user", [_shown("UNKNOWN", 10**12)])
        self.height, self.time = self.height + 1, self.time + STEP
        if feed:
            self.feed()
        for _ in [name for name in self.addresses if re.fullmatch(r"sub\d+", name)]:
            self.instantiate("proxy", {})

    def feed(self) -> None:
        """The default prices, by the first feeder."""
        fed = LONG_FEED if self.params["lpn"] == "USDC_NOBLE" else SHORT_FEED
        prices = [
            {"amount": _shown(base, amount), "amount_quote": _shown(quote_ticker, quote)}
            for base, amount, quote_ticker, quote in fed
        ]
        self.execute("@oracle", "@feeder1", {"feed_prices": {"prices": prices}}, [])

    def instantiation(self, name: str) -> dict[str, Any]:
        """The recorded instantiation message of a contract under this case's parameters."""
        p = self.params
        lease_code = str(CODES[p["lpp_lease_code"]])
        bars = [{"tvl": tvl, "apr": apr} for tvl, apr in p["bars"]]
        match name:
            case "timealarms":
                return {}
            case "treasury":
                return {
                    "cadence_hours": p["cadence"],
                    "protocols_registry": "@admin",
                    "timealarms": "@timealarms",
                    "tvl_to_apr": {"bars": bars},
                }
            case "admin":
                platform = {"timealarms": "@timealarms", "treasury": "@treasury"}
                return {"dex_admin": "@dexadmin", "contracts": {"platform": platform, "protocol": {}}}
            case "lpp":
                rate = {
                    "base_interest_rate": p["base"],
                    "utilization_optimal": p["opt"],
                    "addon_optimal_interest_rate": p["addon"],
                }
                return {
                    "protocol_admin": "@leaser",
                    "lease_code": lease_code,
                    "borrow_rate": rate,
                    "min_utilization": p["min_util"],
                }
            case "oracle":
                tree = LONG_TREE if p["lpn"] == "USDC_NOBLE" else SHORT_TREE
                return {"config": {"price_config": p["oracle"]}, "swap_tree": tree}
            case "profit":
                return {
                    "cadence_hours": p["profit_cadence"],
                    "treasury": "@treasury",
                    "oracle": "@oracle",
                    "timealarms": "@timealarms",
                    "dex": DEX,
                }
            case "reserve":
                return {"protocol_admin": "@leaser", "lease_code": lease_code}
            case _:
                return {
                    "lease_code": str(CODES["lease"]),
                    "lpp": "@lpp",
                    "profit": "@profit",
                    "reserve": "@reserve",
                    "time_alarms": "@timealarms",
                    "market_price_oracle": "@oracle",
                    "protocols_registry": "@admin",
                    "lease_position_spec": {
                        "liability": p["liab"],
                        "min_asset": _shown(p["lpn"], p["min_asset"]),
                        "min_transaction": _shown(p["lpn"], p["min_tx"]),
                    },
                    "lease_interest_rate_margin": p["margin"],
                    "lease_due_period": p["due"],
                    "lease_max_slippages": {"liquidation": p["slip"]},
                    "lease_admin": "@leaseadmin",
                    "dex": DEX,
                }

    # -- operations ----------------------------------------------------------------------------------------------

    def _transact(self, operation: Any) -> dict[str, Any]:
        overlay = Overlay(self.store)
        call = Call(overlay, self.block)
        self.calls = []
        self.outbox.sent = []
        try:
            result = operation(call)
        except ModuleFailure as failure:
            return {"ok": False, "failure": failure, "calls": self.calls}
        sent = list(self.outbox.sent)
        outcome: dict[str, Any] = {"ok": True, "result": result, "events": call.events, "calls": self.calls}
        outcome["interchain"] = [
            {"from": contract, "msg": self.shown_interchain(message)} for contract, message in sent
        ]
        for contract, message in sent:
            if message.kind == "ibc_transfer":
                token = message.fields["token"]
                coin = BankCoin(token["denom"], int(token["amount"]))
                try:
                    self.bank.send(overlay, contract, self.address("escrow"), (coin,))
                except ModuleFailure:
                    outcome["escrow_error"] = True
        outcome["balance_changes"] = self._changes(overlay)
        self.pending.extend(sent)
        overlay.write(self.store)
        return outcome

    def _changes(self, overlay: Overlay) -> list[dict[str, str]]:
        changes = []
        for key, value in overlay.writes.items():
            if key.startswith(BANK):
                address, denom = key[len(BANK) :].decode().split("/", 1)
                delta = int(value or b"0") - int(self.store.get(key) or b"0")
                if delta:
                    account = self.shown_text(address)
                    changes.append({"account": account, "ticker": self.tickers[denom], "delta": f"{delta:+}"})
        return changes

    def instantiate(self, code: str, msg: Any, *, sender: str = "@owner", label: str = "") -> dict[str, Any]:
        return self._transact(
            lambda call: self.runtime.instantiate(
                call,
                self.address(sender),
                CODES[code],
                self.message(msg),
                label=label or code,
                admin=self.address("admin"),
            )
        )

    def execute(self, contract: str, sender: str, msg: Any, funds: Sequence[dict[str, str]]) -> dict[str, Any]:
        return self._transact(
            lambda call: self.runtime.execute(
                call, self.address(sender), self.address(contract), self.message(msg), self.coins(funds)
            )
        )

    def sudo(self, contract: str, msg: Any) -> dict[str, Any]:
        return self._transact(lambda call: self.runtime.sudo(call, self.address(contract), self.message(msg)))

    def relay(
        self, contract: str, mode: str, of: Any, swap_out: list[str] | None, arrive: bool | None
    ) -> dict[str, Any]:
        """Deliver the outcome of one outstanding interchain message."""
        address = self.address(contract)
        message = self._outstanding(address, of)
        if message is None:
            return {"ok": False, "failure": ModuleFailure("harness", 1, "no such message is outstanding"), "calls": []}
        if message.kind == "ibc_transfer" and mode != "ok":
            token = message.fields["token"]
            coin = BankCoin(token["denom"], int(token["amount"]))
            self.bank.send(self.store, self.address("escrow"), address, (coin,))
        if arrive:
            for inner in message.fields["msgs"]:
                self._credit(address, inner["transfer"]["token"])
        return self._transact(
            lambda call: self.runtime.sudo(call, address, compact(self._sudo(contract, message, mode, swap_out)))
        )

    def _outstanding(self, address: str, of: Any) -> Interchain | None:
        for position, (sender, message) in enumerate(self.pending):
            if sender == address and (of is None or self.shown(self.shown_interchain(message)) == of):
                del self.pending[position]
                return message
        return None

    def _credit(self, address: str, token: dict[str, str]) -> None:
        ticker = self.dex_tickers[token["denom"]].removeprefix("dex:")
        self.bank.mint(self.store, address, BankCoin(self.denoms[ticker], int(token["amount"])))

    def _sudo(self, contract: str, message: Interchain, mode: str, swap_out: list[str] | None) -> dict[str, Any]:
        name = contract.removeprefix("@")
        if mode == "timeout":
            return {"timeout": {"request": _NO_PACKET}}
        if mode == "error":
            details = self.error_details or "ABCI code: 5: error handling packet"
            return {"error": {"request": _NO_PACKET, "details": details}}
        if message.kind == "register_ica":
            version = {
                "version": "ics27-1",
                "controller_connection_id": "connection-0",
                "host_connection_id": "connection-1",
                "address": f"osmo1ica{name}",
                "encoding": "proto3",
                "tx_type": "sdk_multi_msg",
            }
            return {
                "open_ack": {
                    "port_id": f"icacontroller-{name}",
                    "channel_id": "channel-77",
                    "counterparty_channel_id": "channel-78",
                    "counterparty_version": compact(version).decode(),
                }
            }
        data = interchain.swap_response([int(amount) for amount in swap_out]) if swap_out else b""
        return {"response": {"request": _NO_PACKET, "data": b64encode(data).decode()}}

    error_details: str | None = None

    def query(self, contract: str, msg: Any) -> bytes:
        return self.runtime.query(self.store, self.block, self.address(contract), self.message(msg))

    def fund(self, to: str, funds: Sequence[dict[str, str]]) -> None:
        for coin in self.coins(funds):
            self.bank.mint(self.store, self.address(to), coin)

    def send(self, sender: str, to: str, funds: Sequence[dict[str, str]]) -> bool:
        overlay = Overlay(self.store)
        try:
            self.bank.send(overlay, self.address(sender), self.address(to), self.coins(funds))
        except ModuleFailure:
            return False
        overlay.write(self.store)
        return True

    def balances(self, account: str) -> list[dict[str, str]]:
        found = self.shown_coins(self.bank.balances(self.store, self.address(account)))
        return sorted(found, key=lambda coin: coin["ticker"])

    def open_silently(self, customer: str, asset: str, amount: int, principal: int) -> bool:
        """A lease opened between recorded steps: four blocks, so that it holds `amount` and owes `principal`."""
        ticker, down, ltd = self._down_payment(customer, asset, amount, principal)
        msg: dict[str, Any] = {"currency": asset} if ltd is None else {"currency": asset, "max_ltd": ltd}
        opened = self.execute("@leaser", customer, {"open_lease": msg}, [_shown(ticker, down)])
        if not opened["ok"]:
            return False
        lease = next(contract for contract, message in reversed(self.pending) if message.kind == "register_ica")
        name = "@" + self.names.get(lease, lease)
        if ticker == asset:
            swapped = [str(amount - down)]
        else:
            swapped = [str(amount // 2), str(amount - amount // 2)]
        for outs in (None, None, None, swapped):
            self.height, self.time = self.height + 1, self.time + STEP
            if not self.relay(name, "ok", None, outs, None)["ok"]:
                return False
        return True

    def _down_payment(self, customer: str, asset: str, amount: int, principal: int) -> tuple[str, int, int | None]:
        """Ticker, amount and limit that borrow `principal`.

        A customer made for the case was given just its down-payment; `@user` has everything and pays what the position
        is worth above the loan, rounded as people round.
        """
        initial, lpn = self.params["liab"]["initial"], self.params["lpn"]
        held = self.balances(customer)
        if len(held) == 1:
            coin = held[0]
            down = int(coin["amount"])
            worth = self._worth(coin["ticker"], down)
            if worth * initial // (1000 - initial) == principal:
                return coin["ticker"], down, None
            return coin["ticker"], down, -(-principal * 1000 // worth)
        down = -(-principal * (1000 - initial) // initial)
        worth = self._worth(asset, amount)
        if down * initial // (1000 - initial) == principal and abs(worth - down - principal) * 50 < worth:
            return lpn, down, None
        rough = max(worth - principal, 1)
        for unit in (10**7, 10**6, 10**5, 10**4, 10**3, 10**2, 10, 1):
            down = max(round(rough / unit) * unit, 1)
            ltd = -(-principal * 1000 // down)
            if down * ltd // 1000 == principal and abs(down - rough) * 100 < rough:
                return lpn, down, ltd
        return lpn, rough, -(-principal * 1000 // rough)

    def _worth(self, asset: str, amount: int) -> int:
        fed = LONG_FEED if self.params["lpn"] == "USDC_NOBLE" else SHORT_FEED
        edges = {base: (base_amount, quote, quote_amount) for base, base_amount, quote, quote_amount in fed}
        worth = Fraction(amount)
        while asset != self.params["lpn"]:
            base_amount, asset, quote_amount = edges[asset]
            worth *= Fraction(quote_amount, base_amount)
        return int(worth)


def _standard_addresses() -> dict[str, str]:
    """Accounts of every case; a recording lists only those it shows."""
    chain = Bech32Prefixes("chain")
    users = ("owner", "dexadmin", "feeder1", "leaseadmin", "lender", "user", "escrow")
    found = {name: chain.account_text(sha256(name.encode()).digest()) for name in users}
    for number, name in enumerate(INSTANCES, 1):
        found[name] = chain.account_text(contract_address(CODES[name], number))
    return found


def _shown(ticker: str, amount: int) -> dict[str, str]:
    return {"amount": str(amount), "ticker": ticker}
