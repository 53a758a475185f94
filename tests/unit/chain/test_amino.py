from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.amino import AminoEncoder, declared_json, double_text, indented_json, inlined, sorted_json
from leasehold.chain.registry import MalformedMessage, registry

TYPES = registry()
AMINO = AminoEncoder(TYPES)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("12345678901234567890", "12345678901234567000"),
        ("1e21", "1e+21"),
        ("100000000000000000000", "100000000000000000000"),
        ("1.50", "1.5"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1.5e-10", "1.5e-10"),
        ("-0", "-0"),
        ("3.0", "3"),
    ],
)
def test_numbers_of_contract_messages_are_doubles(text: str, written: str) -> None:
    """Numbers are written with the shortest digits of their double, as JavaScript and the chain write them."""
    assert sorted_json(inlined(text.encode())) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_reads_back(value: float) -> None:
    """The text of a double is the same double."""
    assert struct.pack("d", float(double_text(value))) == struct.pack("d", value)


def test_documents_are_sorted_and_escaped() -> None:
    """Keys are sorted at every level; `<`, `>` and `&` are escapes."""
    assert (
        sorted_json({"b": [{"z": 1, "a": "<&>"}], "a": None}) == '{"a":null,"b":[{"a":"\\u003c\\u0026\\u003e","z":1}]}'
    )


def test_the_indented_form_keeps_empty_containers_short() -> None:
    """Four spaces a level, a space after the colon, {} and [] as they are."""
    text = indented_json({"b": [], "a": {"x": [1, {}]}})
    assert text == '{\n    "a": {\n        "x": [\n            1,\n            {}\n        ]\n    },\n    "b": []\n}'


def test_zero_values_are_left_out_unless_kept() -> None:
    """Empty fields disappear, except those whose options keep them; coins stay a list."""
    message = TYPES.new("cosmos.bank.v1beta1.MsgSend", to_address="b")
    assert AMINO.typed(message) == {"type": "cosmos-sdk/MsgSend", "value": {"to_address": "b", "amount": []}}
    transfer = TYPES.new("ibc.applications.transfer.v1.MsgTransfer", source_port="transfer")
    value = AMINO.value(transfer)
    assert value["timeout_height"] == {}
    assert "memo" not in value


def test_contract_messages_are_parsed_and_sorted() -> None:
    """The message of an execute is its JSON value, not base64."""
    message = TYPES.new("cosmwasm.wasm.v1.MsgExecuteContract", msg=b'{ "b": 1, "a": "x" }')
    assert declared_json(AMINO.value(message)["msg"]) == '{"b":1,"a":"x"}'
    assert sorted_json(AMINO.value(message)["msg"]) == '{"a":"x","b":1}'


def test_public_keys_collapse_and_nest() -> None:
    """A key is its base64; a multisig key has its threshold as text."""
    key = TYPES.new("cosmos.crypto.secp256k1.PubKey", key=b"\x02")
    multisig = TYPES.new("cosmos.crypto.multisig.LegacyAminoPubKey", threshold=2, public_keys=[TYPES.pack(key)])
    assert AMINO.typed(multisig) == {
        "type": "tendermint/PubKeyMultisigThreshold",
        "value": {"threshold": "2", "pubkeys": [{"type": "tendermint/PubKeySecp256k1", "value": "Ag=="}]},
    }


def test_decimals_durations_and_times() -> None:
    """Decimals have 18 places, durations are nanoseconds, times have no trailing zeros."""
    edit = TYPES.new("cosmos.staking.v1beta1.MsgEditValidator", commission_rate="50000000000000000")
    assert AMINO.value(edit)["commission_rate"] == "0.050000000000000000"
    params = TYPES.new("cosmos.staking.v1beta1.Params", unbonding_time={"seconds": 30})
    assert AMINO.value(params)["unbonding_time"] == "30000000000"
    grant = TYPES.new("cosmos.authz.v1beta1.Grant", expiration={"seconds": 1, "nanos": 120_000_000})
    assert AMINO.value(grant)["expiration"] == "1970-01-01T00:00:01.12Z"


def test_oneofs_are_wrapped_under_their_amino_name() -> None:
    """A staking authorization names which list it holds."""
    grant = TYPES.new("cosmos.staking.v1beta1.StakeAuthorization", allow_list={"address": ["v"]}, authorization_type=1)
    assert AMINO.value(grant)["Validators"] == {
        "type": "cosmos-sdk/StakeAuthorization/AllowList",
        "value": {"allow_list": {"address": ["v"]}},
    }


@pytest.mark.parametrize("text", [b"{bad", b"1e999", b"NaN", b"[" * 50_000])
def test_what_is_not_json_is_refused(text: bytes) -> None:
    """Malformed or overflowing contract JSON can't be signed."""
    with pytest.raises(MalformedMessage):
        inlined(text)


@given(st.text())
def test_any_text_survives(text: str) -> None:
    """Strings come out as JSON of themselves, lone surrogates replaced."""
    value = inlined(json.dumps(text).encode())
    assert json.loads(sorted_json(value)) == text


def test_lone_surrogates_are_replaced() -> None:
    """An escape that is no character becomes the replacement character."""
    assert inlined(b'"\\ud800x"') == "\ufffdx"
