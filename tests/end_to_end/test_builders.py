"""What the builders build works: filled in, signed with a wallet and broadcast, it changes the chain as promised."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import msgspec
import pytest
from tests.end_to_end.conftest import Stack

from leasehold.chain.json_codec import json_codec
from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import decode, encode
from leasehold.core.configuration import load
from leasehold.devnet.genesis.document import address, wallet

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
        with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as refusal:
        with refusal:
            return refusal.code, json.loads(refusal.read())


class Client:
    """A wallet in front of a stack: it fills in what the builders left blank, signs and broadcasts."""

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

        def included() -> Any:
            status, found = ask(f"{self.stack.url('lcd')}/cosmos/tx/v1beta1/txs/{checked['txhash']}")
            return found["tx_response"] if status == 200 else None

        result: dict[str, Any] = until(included)
        assert result["code"] == 0, result["raw_log"]
        return result


def until(look: Callable[[], Any], seconds: float = 60) -> Any:
    """What a look finds as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("it did not happen in time")


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose keepers feed prices and relay packets."""
    running = Stack(tmp_path_factory.mktemp("market"), *LIVE)
    try:
        running.wait_for("all ready")
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def alice(market: Stack) -> Client:
    found = Client(market, "alice")
    until(lambda: ask(market.url("app_api") + "/api/currencies")[0] == 200)
    until(lambda: f"ATOM@{PROTOCOL}" in found.get("/api/currencies")["currencies"])
    until(lambda: ask(market.url("app_api") + "/api/fees/gas-config")[0] == 200)
    asked = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
    # The leaser quotes as soon as the feeders have said what everything costs.
    for ticker in ("ATOM", "OSMO"):
        body = {**asked, "lease_ticker": ticker}
        until(lambda body=body: ask(market.url("app_api") + "/api/leases/quote", body)[0] == 200)
    return found


def _pool(client: Client) -> tuple[str, str]:
    """Address of the pool, and the bank denom of its currency."""
    contracts = client.get("/api/protocols")["protocols"][PROTOCOL]["contracts"]
    return contracts["lpp"], client.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]


def _validators() -> list[str]:
    return [encode(IDENTITY.prefix + "valoper", decode(address(IDENTITY, f"validator-{n}"))[1]) for n in (1, 2)]


def _received(result: dict[str, Any], receiver: str, denom: str) -> int:
    """How much of a denom a transaction paid to an account."""
    found = 0
    for event in result["events"]:
        attributes = {one["key"]: one["value"] for one in event["attributes"]}
        if event["type"] == "coin_received" and attributes["receiver"] == receiver:
            coins = [coin for coin in attributes["amount"].split(",") if coin.endswith(denom)]
            found += sum(int(coin.removesuffix(denom)) for coin in coins)
    return found


def test_a_lease_opens_is_repaid_and_closes(alice: Client) -> None:
    """Quote, open, policy, repayment, a partial close and a full close, each built here and seen on the chain."""
    down = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
    quote_ = alice.build("/api/leases/quote", {**down, "lease_ticker": "ATOM"})
    assert int(quote_["borrow_amount"]) > 500_000_000
    assert 0 < quote_["annual_interest_rate"] < 100
    _, denom = _pool(alice)
    alice.signed(alice.build("/api/leases/open", {**down, "lease_ticker": "ATOM"}), denom)
    leaser = alice.get("/api/protocols")["protocols"][PROTOCOL]["contracts"]["leaser"]
    lease = until(lambda: alice.smart(leaser, {"leases": {"owner": alice.address}}))[-1]

    def opened() -> Any:
        state = alice.smart(lease, {"state": {}}).get("opened")
        return state if state and state["status"] == "idle" else None

    first = until(opened)
    assert first["amount"]["ticker"] == "ATOM"
    assert int(first["principal_due"]["amount"]) == int(quote_["borrow_amount"])

    alice.signed(
        alice.build("/api/leases/close-policy", {"lease_address": lease, "stop_loss": 850, "sender": alice.address})
    )
    assert opened()["close_policy"]["stop_loss"] == 850
    alice.signed(alice.build("/api/leases/close-policy", {"lease_address": lease, "stop_loss": None}))
    assert opened()["close_policy"].get("stop_loss") is None

    repay = alice.build("/api/leases/repay", {"lease_address": lease, "amount": "100000000", "sender": alice.address})
    assert repay["messages"][0]["funds"] == [{"amount": "100000000", "denom": denom}]
    alice.signed(repay)
    second = until(
        lambda: (
            (state := opened())
            and int(state["principal_due"]["amount"]) < int(first["principal_due"]["amount"])
            and state
        )
    )

    part = str(int(second["amount"]["amount"]) // 4)
    alice.signed(alice.build("/api/leases/partial-close", {"lease_address": lease, "amount": part}))
    third = until(
        lambda: (state := opened()) and int(state["amount"]["amount"]) < int(second["amount"]["amount"]) and state
    )
    assert int(third["principal_due"]["amount"]) < int(second["principal_due"]["amount"])

    alice.signed(alice.build("/api/leases/market-close", {"lease_address": lease, "sender": alice.address}))
    until(lambda: "closed" in alice.smart(lease, {"state": {}}))


def test_a_deposit_earns_and_comes_back(alice: Client) -> None:
    """A deposit gives receipts whose worth grows, its rewards can be claimed, and a withdrawal pays it back."""
    pool, denom = _pool(alice)
    amount = 40_000_000_000
    alice.signed(alice.build("/api/earn/deposit", {"protocol": PROTOCOL, "amount": str(amount)}), denom)
    receipts = int(alice.smart(pool, {"balance": {"address": alice.address}})["amount"])
    assert receipts > 0
    down = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "5000000000"}
    alice.signed(alice.build("/api/leases/open", {**down, "lease_ticker": "OSMO", "sender": alice.address}))

    def worth() -> int:
        price = alice.smart(pool, {"price": []})
        return receipts * int(price["amount_quote"]["amount"]) // int(price["amount"]["amount"])

    before = worth()
    until(lambda: worth() > before)
    gift = {"contract": pool, "msg": {"distribute_rewards": []}, "sender": alice.address}
    gift["funds"] = [{"amount": "1000000", "denom": IDENTITY.base_denom}]
    alice.signed({"messages": [{"@type": "/cosmwasm.wasm.v1.MsgExecuteContract", **gift}], "memo": ""})
    claimed = alice.signed(alice.build("/api/earn/claim-rewards", {"protocol": PROTOCOL, "sender": alice.address}))
    assert _received(claimed, alice.address, IDENTITY.base_denom) > 0
    built = alice.build("/api/earn/withdraw", {"protocol": PROTOCOL, "amount": str(receipts), "sender": alice.address})
    result = alice.signed(built)
    assert int(built["gas"]["used"]) <= int(result["gas_wanted"])
    assert _received(result, alice.address, denom) >= amount
    assert alice.smart(pool, {"balance": {"address": alice.address}})["amount"] == "0"


def test_a_stake_accrues_moves_and_is_withdrawn(alice: Client) -> None:
    """Delegation, rewards, redelegation and undelegation, each built here and seen on the chain."""
    first, second = _validators()
    stake = {"validator_address": first, "amount": "1000000000"}
    alice.signed(alice.build("/api/staking/delegate", stake))
    alice.signed(alice.build("/api/staking/stake", {**stake, "denom": IDENTITY.base_denom, "sender": alice.address}))

    def position() -> Any:
        return alice.get(f"/api/staking/positions?address={alice.address}")

    assert int(until(lambda: int(position()["total_staked"]) >= 2_000_000_000 and position())["total_staked"])
    until(lambda: int(position()["total_rewards"]) > 0)
    result = alice.signed(alice.build("/api/staking/claim-rewards", {"validator_addresses": [first]}))
    assert any(event["type"] == "withdraw_rewards" for event in result["events"])
    alice.signed(
        alice.build(
            "/api/staking/redelegate",
            {"src_validator_address": first, "dst_validator_address": second, "amount": "500000000"},
        )
    )
    until(lambda: second in [one["validator_address"] for one in position()["delegations"]])
    alice.signed(alice.build("/api/staking/undelegate", {**stake, "sender": alice.address}))
    until(lambda: position()["unbonding"])


def test_a_transaction_that_would_fail_is_refused_when_built(alice: Client) -> None:
    """With a sender, what the chain would refuse is 400 with the chain's reason; without one it is still built."""
    huge = {"protocol": PROTOCOL, "amount": str(10**30)}
    status, answer = ask(alice.stack.url("app_api") + "/api/earn/deposit", {**huge, "sender": alice.address})
    assert status == 400, answer
    assert answer["error"]["field"] == "sender"
    assert "insufficient funds" in answer["error"]["message"]
    assert alice.build("/api/earn/deposit", huge)["messages"]
    stranger = encode(IDENTITY.prefix, b"nobody ever saw this"[:20])
    status, answer = ask(
        alice.stack.url("app_api") + "/api/earn/deposit", {"protocol": PROTOCOL, "amount": "1", "sender": stranger}
    )
    assert (status, answer["error"]["field"]) == (400, "sender")


def test_a_vote_is_cast(alice: Client) -> None:
    """A vote built here counts as the voter's on the chain."""
    params = alice.lcd("/cosmos/gov/v1/params/deposit")["params"]
    proposal = {
        "@type": "/cosmos.gov.v1.MsgSubmitProposal",
        "messages": [],
        "initial_deposit": params["min_deposit"],
        "proposer": alice.address,
        "metadata": "nothing",
        "title": "A proposal of this test",
        "summary": "nothing happens",
        "expedited": False,
    }
    alice.signed({"messages": [proposal], "memo": ""})
    newest = alice.lcd("/cosmos/gov/v1/proposals?pagination.reverse=true&pagination.limit=1")["proposals"][0]
    assert newest["status"] == "PROPOSAL_STATUS_VOTING_PERIOD"
    built = alice.build(
        "/api/governance/vote", {"proposal_id": newest["id"], "option": "abstain", "sender": alice.address}
    )
    alice.signed(built)
    vote = alice.lcd(f"/cosmos/gov/v1/proposals/{newest['id']}/votes/{alice.address}")["vote"]
    assert [one["option"] for one in vote["options"]] == ["VOTE_OPTION_ABSTAIN"]
