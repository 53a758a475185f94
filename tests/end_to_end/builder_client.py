"""A wallet in front of a stack: it fills in what the builders left blank, signs and broadcasts."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import msgspec
from tests.end_to_end.conftest import PATIENCE, Stack

from leasehold.chain.json_codec import json_codec
from leasehold.chain.wallet import Wallet
from leasehold.core.configuration import load
from leasehold.devnet.genesis.document import wallet

IDENTITY = load(profile="devnet").settings.identity
PROTOCOL = "OSMOSIS-OSMOSIS-USDC_NOBLE"
LIVE = (
    "devnet.market=true",
    "limits.writes_per_second=1000",
    "limits.writes_burst=1000",
    "limits.reads_per_second=1000",
    "limits.reads_burst=1000",
)
FEE, GAS = 200_000, 20_000_000


def ask(url: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as refusal:
        with refusal:
            return refusal.code, json.loads(refusal.read())


class Client:
    """A development account with our own wallet."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.stack = stack
        self.wallet: Wallet = wallet(name, IDENTITY.prefix, IDENTITY.namespace)
        self.address = self.wallet.address

    def get(self, path: str) -> Any:
        """A good answer of the application API."""
        status, found = ask(self.stack.url("app_api") + path)
        assert status == 200, (path, found)
        return found

    def build(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        status, found = ask(self.stack.url("app_api") + path, body)
        assert status == 200, (path, body, found)
        return found

    def lcd(self, path: str) -> Any:
        status, found = ask(self.stack.url("lcd") + path)
        assert status == 200, (path, found)
        return found

    def smart(self, contract: str, query: Any) -> Any:
        text = quote(b64encode(json.dumps(query).encode()).decode(), safe="")
        return self.lcd(f"/cosmwasm/wasm/v1/contract/{contract}/smart/{text}")["data"]

    def signed(self, built: dict[str, Any], denom: str = "") -> dict[str, Any]:
        """Fill in, sign, broadcast and wait; the result of the transaction."""
        messages = [self._filled(message, denom) for message in built["messages"]]
        account = self.lcd(f"/cosmos/auth/v1beta1/accounts/{self.address}")["account"]
        codec = json_codec(IDENTITY.namespace)
        body = codec.decode("cosmos.tx.v1beta1.TxBody", msgspec.json.encode({"messages": messages}))
        fee = built.get("fee")
        raw = self.wallet.sign_direct(
            [self.wallet.types.unpack(message) for message in body.messages],
            fee={one["denom"]: int(one["amount"]) for one in fee["amount"]} if fee else {IDENTITY.base_denom: FEE},
            gas=int(fee["gas_limit"]) if fee else GAS,
            sequence=int(account["sequence"]),
            account_number=int(account["account_number"]),
            chain_id=IDENTITY.chain_id,
            memo=built["memo"],
        )
        return self._broadcast(raw)

    def _filled(self, message: dict[str, Any], denom: str) -> dict[str, Any]:
        found = {name: value if value != "" or name == "metadata" else self.address for name, value in message.items()}
        if "funds" in found:
            found["funds"] = [{**coin, "denom": coin["denom"] or denom} for coin in found["funds"]]
        return found

    def _broadcast(self, raw: bytes) -> dict[str, Any]:
        sent = {"tx_bytes": b64encode(raw).decode(), "mode": "BROADCAST_MODE_SYNC"}
        _, answer = ask(f"{self.stack.url('lcd')}/cosmos/tx/v1beta1/txs", sent)
        checked = answer["tx_response"]
        assert checked["code"] == 0, checked
        return self.included(checked["txhash"])

    def included(self, digest: str) -> dict[str, Any]:
        """The result of a transaction once a block has it; it must have succeeded."""

        def look() -> Any:
            status, found = ask(f"{self.stack.url('lcd')}/cosmos/tx/v1beta1/txs/{digest}")
            return found["tx_response"] if status == 200 else None

        result: dict[str, Any] = until(look)
        assert result["code"] == 0, result["raw_log"]
        return result


def until(look: Callable[[], Any], seconds: float = PATIENCE, pause: float = 0.2) -> Any:
    """What a look finds as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError("it did not happen in time")


def ready(client: Client) -> None:
    """Wait until the stack builds: what it needs is known, and the feeders have said what everything costs."""
    app = client.stack.url("app_api")
    for path in ("/api/currencies", "/api/fees/gas-config", "/api/prices"):
        until(lambda path=path: ask(app + path)[0] == 200)
    until(lambda: f"ATOM@{PROTOCOL}" in client.get("/api/currencies")["currencies"])
    down = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
    for ticker in ("ATOM", "OSMO"):
        body = {**down, "lease_ticker": ticker}
        until(lambda body=body: ask(f"{app}/api/leases/quote", body)[0] == 200)


def sent(method: str, url: str, body: Any = None) -> tuple[int, str]:
    """Status and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(
            Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=PATIENCE
        ) as reply:
            return reply.status, reply.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def routed(client: Client, source: str, target: str, amount: str) -> dict[str, Any]:
    """The body that asks for the messages of a route on our own chain."""
    asked = {
        "source_asset_denom": source,
        "source_asset_chain_id": IDENTITY.chain_id,
        "dest_asset_denom": target,
        "dest_asset_chain_id": IDENTITY.chain_id,
    }
    route = client.build("/api/swap/route", {**asked, "amount_in": amount})
    members = {name: route[name] for name in (*asked, "amount_in", "amount_out", "operations")}
    addresses = [client.address] * len(route.get("required_chain_addresses", route["chain_ids"]))
    return {**members, "address_list": addresses}


def balance_of(client: Client, denom: str) -> int:
    found = client.lcd(f"/cosmos/bank/v1beta1/balances/{client.address}/by_denom?denom={quote(denom, safe='')}")
    return int(found["balance"]["amount"])


def message_of(given: dict[str, Any]) -> dict[str, Any]:
    value = json.loads(given["msg"])
    return {"@type": given["msg_type_url"], **value}
