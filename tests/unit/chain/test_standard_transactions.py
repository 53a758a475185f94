from __future__ import annotations

import json
import re
from typing import Any

import pytest

from leasehold.chain.amino_binary import amino_binary, prefix_bytes
from leasehold.chain.registry import registry
from leasehold.chain.standard_transactions import StandardTransactions
from leasehold.core.errors import InvalidInput

TYPES = registry()
CODEC = StandardTransactions(TYPES)
KEY = {"type": "tendermint/PubKeySecp256k1", "value": "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"}


def document(*messages: dict[str, Any], **members: Any) -> str:
    value = {"msg": list(messages), "fee": {"amount": [{"denom": "u", "amount": "1"}], "gas": "200000"}, **members}
    return json.dumps({"type": "cosmos-sdk/StdTx", "value": value})


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("cosmos-sdk/StdTx", "282816a9"),
        ("cosmos-sdk/MsgSend", "a8a3619a"),
        ("tendermint/PubKeySecp256k1", "eb5ae987"),
        ("tendermint/PubKeyMultisigThreshold", "22c1f7e2"),
    ],
)
def test_prefix_bytes_come_from_the_name(name: str, prefix: str) -> None:
    """The known prefixes are derived, not listed."""
    assert prefix_bytes(name).hex() == prefix


def test_a_transaction_survives_both_forms() -> None:
    """JSON to binary to JSON keeps messages, fee, signatures, memo and height."""
    send = {"type": "cosmos-sdk/MsgSend", "value": {"from_address": "a", "to_address": "b", "amount": []}}
    create = {
        "type": "cosmos-sdk/MsgCreateValidator",
        "value": {
            "description": {"moniker": "m"},
            "commission": {"rate": "0.100000000000000000", "max_rate": "0", "max_change_rate": "0"},
            "pubkey": {"type": "tendermint/PubKeyEd25519", "value": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="},
            "value": {"denom": "u", "amount": "3"},
        },
    }
    signature = {"pub_key": KEY, "signature": "AQI="}
    text = document(send, create, signatures=[signature], memo="hi", timeout_height="7")
    result = json.loads(CODEC.text(CODEC.binary(text)))["value"]
    assert result["msg"][0] == send
    assert result["msg"][1]["value"]["pubkey"] == create["value"]["pubkey"]
    assert result["msg"][1]["value"]["commission"]["rate"] == "0.100000000000000000"
    assert result["fee"] == {"amount": [{"denom": "u", "amount": "1"}], "gas": "200000"}
    assert (result["signatures"], result["memo"], result["timeout_height"]) == ([signature], "hi", "7")


def test_a_multisig_key_survives() -> None:
    """Nested keys are prefix bytes and bare bytes inside a threshold key."""
    inner = TYPES.new("cosmos.crypto.secp256k1.PubKey", key=b"\x02" * 33)
    key = TYPES.new("cosmos.crypto.multisig.LegacyAminoPubKey", threshold=1, public_keys=[TYPES.pack(inner)])
    data = amino_binary(TYPES).registered(key)
    assert data.hex().startswith("22c1f7e208011226eb5ae98721")
    assert amino_binary(TYPES).parse_registered(data) == key


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{bad", "cannot parse disfix JSON wrapper: invalid character 'b' looking for beginning of object key string"),
        (
            "[]",
            "cannot parse disfix JSON wrapper: json: cannot unmarshal array into Go value of type amino.disfixWrapper",
        ),
        ("{}", "JSON encoding of interfaces require non-empty type field."),
        ('{"type":"x"}', "interface JSON wrapper should have non-empty value field"),
        ('{"type":"x","value":{}}', "UnmarshalJSON wants to decode a cosmos-sdk/StdTx but found a x"),
        (
            '{"type":"cosmos-sdk/StdTx","value":{"memo":5}}',
            "json: cannot unmarshal number into Go value of type string",
        ),
        (
            '{"type":"cosmos-sdk/StdTx","value":{"timeout_height":5}}',
            "invalid character -- Amino:JSON int/int64/uint/uint64 expects quoted values "
            "for javascript numeric support, got: 5.",
        ),
        ('{"type":"cosmos-sdk/StdTx","value":{"msg":[{"type":"x","value":{}}]}}', "unrecognized concrete type name x"),
    ],
)
def test_bad_json_is_refused(text: str, error: str) -> None:
    """What is no StdTx is refused with a reason."""
    with pytest.raises(InvalidInput, match=f"^{re.escape(error)}$"):
        CODEC.binary(text)


def test_bad_binary_is_refused() -> None:
    """The prefix bytes are checked and shown."""
    text = "expected to read prefix bytes 282816A9 (since it is registered concrete) but got DEADBEEF..."
    with pytest.raises(InvalidInput, match=f"^UnmarshalBinaryBare {re.escape(text)}$"):
        CODEC.text(bytes.fromhex("deadbeef"))
