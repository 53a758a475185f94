"""What a user does with the builders, from beginning to end, whichever wallet signs: each step is seen on the chain."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.end_to_end.builder_client import IDENTITY, PROTOCOL, Client, until

from leasehold.core.addresses import decode, encode
from leasehold.devnet.genesis.document import address

DOWN = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
DEPOSIT = 40_000_000_000


def pool_of(client: Client) -> tuple[str, str]:
    """Address of the pool, and the bank denom of its currency."""
    contracts = client.get("/api/protocols")["protocols"][PROTOCOL]["contracts"]
    return contracts["lpp"], client.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]


def leases_of(client: Client) -> list[str]:
    leaser = client.get("/api/protocols")["protocols"][PROTOCOL]["contracts"]["leaser"]
    found: list[str] = client.smart(leaser, {"leases": {"owner": client.address}})
    return found


def validators() -> list[str]:
    return [encode(IDENTITY.prefix + "valoper", decode(address(IDENTITY, f"validator-{n}"))[1]) for n in (1, 2)]


def received(result: dict[str, Any], receiver: str, denom: str) -> int:
    """How much of a denom a transaction paid to an account."""
    found = 0
    for event in result["events"]:
        attributes = {one["key"]: one["value"] for one in event["attributes"]}
        if event["type"] == "coin_received" and attributes["receiver"] == receiver:
            coins = [coin for coin in attributes["amount"].split(",") if coin.endswith(denom)]
            found += sum(int(coin.removesuffix(denom)) for coin in coins)
    return found


def opened(client: Client, lease: str) -> Any:
    """State of a lease that is open and has nothing under way, else None."""
    state = client.smart(lease, {"state": {}}).get("opened")
    return state if state and state["status"] == "idle" else None


def open_one(client: Client, ticker: str, sender: str | None, denom: str) -> tuple[str, Any]:
    """Open a lease and wait until it is open; its address and its state."""
    before = set(leases_of(client))
    client.signed(client.build("/api/leases/open", {**DOWN, "lease_ticker": ticker, "sender": sender}), denom)
    (lease,) = until(lambda: set(leases_of(client)) - before)
    return lease, until(lambda: opened(client, lease))


def lease_life(client: Client) -> None:
    """Quote, open, policy, repayment, a partial close and a close at the market."""
    me = client.address
    quoted = client.build("/api/leases/quote", {**DOWN, "lease_ticker": "ATOM"})
    assert int(quoted["borrow_amount"]) > 500_000_000
    assert 0 < quoted["annual_interest_rate"] < 100
    _, denom = pool_of(client)
    lease, first = open_one(client, "ATOM", None, denom)
    assert first["amount"]["ticker"] == "ATOM"
    assert int(first["principal_due"]["amount"]) == int(quoted["borrow_amount"])
    # The application API may be a block behind the node that told of the lease.
    shown = until(lambda: client.get(f"/api/leases/{lease}?protocol={PROTOCOL}")["liquidation_price"])
    estimate, actual = Decimal(quoted["estimated_liquidation_price"]), Decimal(shown)
    assert abs(estimate - actual) < actual * Decimal("0.05"), (estimate, actual)

    client.signed(client.build("/api/leases/close-policy", {"lease_address": lease, "stop_loss": 850, "sender": me}))
    assert opened(client, lease)["close_policy"]["stop_loss"] == 850
    client.signed(client.build("/api/leases/close-policy", {"lease_address": lease, "stop_loss": None}))
    assert opened(client, lease)["close_policy"].get("stop_loss") is None

    repay = client.build("/api/leases/repay", {"lease_address": lease, "amount": "100000000", "sender": me})
    assert repay["messages"][0]["funds"] == [{"amount": "100000000", "denom": denom}]
    client.signed(repay)
    second = until(lambda: _less(opened(client, lease), first, "principal_due"))

    part = str(int(second["amount"]["amount"]) // 4)
    client.signed(client.build("/api/leases/partial-close", {"lease_address": lease, "amount": part}))
    third = until(lambda: _less(opened(client, lease), second, "amount"))
    assert int(third["principal_due"]["amount"]) < int(second["principal_due"]["amount"])

    client.signed(client.build("/api/leases/market-close", {"lease_address": lease, "sender": me}))
    until(lambda: "closed" in client.smart(lease, {"state": {}}))


def _less(state: Any, before: Any, member: str) -> Any:
    return state if state and int(state[member]["amount"]) < int(before[member]["amount"]) else None


def deposit_life(client: Client) -> None:
    """A deposit whose receipts gain worth while somebody borrows, its rewards, and its withdrawal."""
    me = client.address
    pool, denom = pool_of(client)
    client.signed(client.build("/api/earn/deposit", {"protocol": PROTOCOL, "amount": str(DEPOSIT)}), denom)
    receipts = int(client.smart(pool, {"balance": {"address": me}})["amount"])
    assert receipts > 0
    lease, _ = open_one(client, "OSMO", me, denom)

    def worth() -> int:
        price = client.smart(pool, {"price": []})
        return receipts * int(price["amount_quote"]["amount"]) // int(price["amount"]["amount"])

    before = worth()
    until(lambda: worth() > before)
    client.signed(client.build("/api/leases/close", {"lease_address": lease}))
    gift = {"contract": pool, "msg": {"distribute_rewards": []}, "sender": me}
    gift["funds"] = [{"amount": "1000000", "denom": IDENTITY.base_denom}]
    client.signed({"messages": [{"@type": "/cosmwasm.wasm.v1.MsgExecuteContract", **gift}], "memo": ""})
    claimed = client.signed(client.build("/api/earn/claim-rewards", {"protocol": PROTOCOL, "sender": me}))
    assert received(claimed, me, IDENTITY.base_denom) > 0
    until(lambda: "closed" in client.smart(lease, {"state": {}}))
    built = client.build("/api/earn/withdraw", {"protocol": PROTOCOL, "amount": str(receipts), "sender": me})
    result = client.signed(built)
    assert int(built["gas"]["used"]) <= int(result["gas_wanted"])
    assert received(result, me, denom) >= DEPOSIT
    assert client.smart(pool, {"balance": {"address": me}})["amount"] == "0"


def stake_life(client: Client) -> None:
    """Delegation under both names, rewards, redelegation and undelegation."""
    first, second = validators()
    stake = {"validator_address": first, "amount": "1000000000"}
    denom = {"denom": IDENTITY.base_denom}
    client.signed(client.build("/api/staking/delegate", {**stake, **denom}))
    client.signed(client.build("/api/staking/stake", {**stake, "sender": client.address}))

    def position() -> Any:
        return client.get(f"/api/staking/positions?address={client.address}")

    assert int(until(lambda: int(position()["total_staked"]) >= 2_000_000_000 and position())["total_staked"])
    until(lambda: int(position()["total_rewards"]) > 0)
    result = client.signed(client.build("/api/staking/claim-rewards", {"validator_addresses": [first]}))
    assert any(event["type"] == "withdraw_rewards" for event in result["events"])
    move = {"src_validator_address": first, "dst_validator_address": second, "amount": "500000000"}
    client.signed(client.build("/api/staking/redelegate", {**move, **denom}))
    until(lambda: second in [one["validator_address"] for one in position()["delegations"]])
    client.signed(client.build("/api/staking/undelegate", {**stake, "sender": client.address}))
    until(lambda: position()["unbonding"])


def proposed(client: Client) -> str:
    """Number of a new proposal in its voting period."""
    params = client.lcd("/cosmos/gov/v1/params/deposit")["params"]
    proposal = {
        "@type": "/cosmos.gov.v1.MsgSubmitProposal",
        "messages": [],
        "initial_deposit": params["min_deposit"],
        "proposer": client.address,
        "metadata": "nothing",
        "title": "A proposal of this test",
        "summary": "nothing happens",
        "expedited": False,
    }
    result = client.signed({"messages": [proposal], "memo": ""})
    # Others propose too, so the newest need not be ours.
    (number,) = {
        one["value"]
        for event in result["events"]
        for one in event["attributes"]
        if event["type"] == "submit_proposal" and one["key"] == "proposal_id"
    }
    assert client.lcd(f"/cosmos/gov/v1/proposals/{number}")["proposal"]["status"] == "PROPOSAL_STATUS_VOTING_PERIOD"
    return str(number)


def cast(client: Client, number: str) -> None:
    """A vote, once as it is built and once ready to sign; the last one counts."""
    client.signed(client.build("/api/governance/vote", {"proposal_id": number, "option": "no"}))
    body = {"proposal_id": number, "option": "abstain", "sender": client.address}
    client.signed(client.build("/api/governance/vote", body))
    vote = client.lcd(f"/cosmos/gov/v1/proposals/{number}/votes/{client.address}")["vote"]
    assert [one["option"] for one in vote["options"]] == ["VOTE_OPTION_ABSTAIN"]
