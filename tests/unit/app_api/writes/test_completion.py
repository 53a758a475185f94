"""With a sender the answer is ready to sign: signer, denom, gas and fee."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from tests.unit.app_api.write_stage import LEASE, LONG, VALIDATOR, WALLET, Stage, contracts

from leasehold.chain.registry import registry
from leasehold.chain.transactions import decode_transaction

ACCOUNT = f"GET /cosmos/auth/v1beta1/accounts/{WALLET}"
SIMULATE = "POST /cosmos/tx/v1beta1/simulate"
BASE = {"@type": "/cosmos.auth.v1beta1.BaseAccount", "address": WALLET, "account_number": "7", "sequence": "3"}


def _simulated(stage: Stage, account: dict[str, Any] | None = None) -> None:
    stage.world.answers[ACCOUNT] = (200, {"account": account or BASE})
    stage.world.answers[SIMULATE] = (200, {"gas_info": {"gas_wanted": "0", "gas_used": "100001"}})


async def test_a_deposit_comes_complete(stage: Stage) -> None:
    """Sender and denom are filled in, gas is what the chain used times the multiplier, the fee what that costs."""
    _simulated(stage)
    status, answer = await stage.send("/api/earn/deposit", {"protocol": LONG, "amount": "7", "sender": WALLET})
    assert status == 200, answer
    (message,) = answer["messages"]
    assert message["sender"] == WALLET
    assert message["funds"] == [{"amount": "7", "denom": "ibc/USDC"}]
    assert answer["gas"] == {"used": "100001", "limit": "150002"}
    assert answer["fee"] == {"amount": [{"amount": "376", "denom": "ulsh"}], "gas_limit": "150002"}
    assert answer["signer"] == {"account_number": "7", "sequence": "3", "chain_id": "leasehold-1"}


async def test_the_chain_simulates_exactly_what_is_answered(stage: Stage) -> None:
    """What is simulated is the built transaction with the signer's sequence and no signature; nothing is broadcast."""
    _simulated(stage)
    body = {"validator_address": VALIDATOR, "amount": "5", "sender": WALLET}
    await stage.send("/api/staking/delegate", body)
    (sent,) = [body for call, body in stage.world.calls if call == SIMULATE]
    types = registry()
    transaction = decode_transaction(types, b64decode(sent["tx_bytes"]))
    message = types.unpack(transaction.body.messages[0])
    assert (message.delegator_address, message.amount.amount) == (WALLET, "5")
    assert transaction.auth_info.signer_infos[0].sequence == 3
    assert all("broadcast" not in call and not call.endswith("/txs") for call, _ in stage.world.calls)


async def test_vesting_accounts_sign_too(stage: Stage) -> None:
    """The sequence of a vesting account is that of the account inside it."""
    vesting = {"base_vesting_account": {"base_account": BASE, "original_vesting": []}}
    _simulated(stage, {"@type": "/cosmos.vesting.v1beta1.DelayedVestingAccount", **vesting})
    _, answer = await stage.send("/api/leases/close", {"lease_address": LEASE, "sender": WALLET})
    assert answer["signer"]["sequence"] == "3"


async def test_a_refusal_of_the_chain_is_the_callers(stage: Stage) -> None:
    """A transaction that would fail is 400 with the chain's reason; a node that fails is 502."""
    _simulated(stage)
    stage.world.answers[SIMULATE] = (400, {"code": 3, "message": "insufficient funds: x"})
    body = {"lease_address": LEASE, "sender": WALLET}
    status, answer = await stage.send("/api/leases/close", body)
    assert (status, answer["error"]["field"]) == (400, "sender")
    assert "insufficient funds" in answer["error"]["message"]
    stage.world.answers[SIMULATE] = (500, "node on fire")
    status, answer = await stage.send("/api/leases/close", body)
    assert (status, answer["error"]["code"]) == (502, "CHAIN_ERROR")
    assert "fire" not in answer["error"]["message"]


async def test_an_unknown_sender_is_said(stage: Stage) -> None:
    """An account that the chain has never seen can't sign."""
    stage.world.answers[ACCOUNT] = (404, {"code": 5, "message": "account not found"})
    status, answer = await stage.send("/api/leases/close", {"lease_address": LEASE, "sender": WALLET})
    assert (status, answer["error"]["field"]) == (400, "sender")


async def test_a_repayment_finds_its_currency(stage: Stage) -> None:
    """The denom of a repayment is that of the debt, of the ticker asked for, or the one given."""
    _simulated(stage)
    info = {"contract_info": {"creator": contracts(LONG).leaser, "admin": ""}}
    stage.world.answers[f"GET /cosmwasm/wasm/v1/contract/{LEASE}"] = (200, info)
    for more, denom in (({}, "ibc/USDC"), ({"ticker": "ATOM"}, "ibc/ATOM"), ({"denom": "x"}, "x")):
        body = {"lease_address": LEASE, "amount": "5", "sender": WALLET, **more}
        status, answer = await stage.send("/api/leases/repay", body)
        assert status == 200, answer
        assert answer["messages"][0]["funds"] == [{"amount": "5", "denom": denom}]
    stage.world.answers[f"GET /cosmwasm/wasm/v1/contract/{LEASE}"] = (404, {"message": "no such contract"})
    assert (await stage.send("/api/leases/repay", {"lease_address": LEASE, "amount": "5", "sender": WALLET}))[0] == 404


async def test_nothing_to_claim_is_nothing_to_simulate(stage: Stage) -> None:
    """An empty list of claims is answered without asking for gas."""
    _simulated(stage)
    _, answer = await stage.send("/api/staking/claim-rewards", {"validator_addresses": [], "sender": WALLET})
    assert answer["messages"] == []
    assert "gas" not in answer
