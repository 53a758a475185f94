"""Messages to other chains, and the answers to swaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.wasm import interchain
from leasehold.devnet.wasm.contract import BankCoin, ContractError


@given(st.lists(st.integers(min_value=0, max_value=2**128 - 1), max_size=5))
def test_answers_of_swaps_round_trip(amounts: list[int]) -> None:
    """What a transaction of swaps paid is read as it was written, in order."""
    assert interchain.swapped(interchain.swap_response(amounts)) == amounts


def test_answer_as_a_chain_encodes_it() -> None:
    """The bytes are a transaction's response: a list of typed messages with the amount as text."""
    kind = b"/osmosis.poolmanager.v1beta1.MsgSwapExactAmountInResponse"
    assert interchain.swap_response([63]) == b"\x12\x41\x0a\x39" + kind + b"\x12\x04\x0a\x0263"


@pytest.mark.parametrize("data", [b"\x12", b"\x12\x7f", b"\x08\x01", b"\x12\x03\x0a\x01x"])
def test_malformed_answers_are_refused(data: bytes) -> None:
    """Anything else is an error of the contract, not a crash."""
    with pytest.raises(ContractError):
        interchain.swapped(data)


def test_messages_name_coins_by_denom() -> None:
    """Coins are denoms and text amounts, instants nanoseconds as text."""
    sent = interchain.transfer_out("channel-0", BankCoin("ibc/A", 5), "chain1a", "osmo1b", 7, "memo")
    assert sent.kind == "ibc_transfer"
    assert sent.fields["token"] == {"denom": "ibc/A", "amount": "5"}
    assert sent.fields["timeout_timestamp"] == "7"
    swap = interchain.swap("osmo1b", [(3, "uosmo")], BankCoin("ibc/A", 5), 1)
    submitted = interchain.submit("connection-0", [swap])
    assert submitted.fields["msgs"][0]["swap"]["routes"] == [{"pool_id": 3, "token_out": "uosmo"}]
    assert interchain.register_account("connection-0").fields["interchain_account_id"] == "0"
