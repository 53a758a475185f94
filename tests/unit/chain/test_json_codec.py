from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.json_codec import JsonCodec, json_codec
from leasehold.chain.json_decoding import InvalidJson, scaled_decimal
from leasehold.chain.json_encoding import decimal_text
from leasehold.chain.registry import MalformedMessage, UnknownType
from leasehold.core.errors import InvalidInput

CODEC = json_codec()
TYPES = CODEC.types


@pytest.fixture
def codec() -> JsonCodec:
    return CODEC


def test_every_field_is_present_in_declaration_order(codec: JsonCodec) -> None:
    """Defaults are written, unset bytes are null, 64-bit integers are strings."""
    page = TYPES.new("cosmos.bank.v1beta1.QueryAllBalancesResponse", pagination={"total": 5})
    assert codec.text(page) == '{"balances":[],"pagination":{"next_key":null,"total":"5"}}'


def test_nullable_messages_are_null_and_others_default(codec: JsonCodec) -> None:
    """An unset pagination is null; an unset non-nullable coin is an object."""
    assert codec.text(TYPES.new("cosmos.bank.v1beta1.QueryAllBalancesResponse")) == '{"balances":[],"pagination":null}'
    assert codec.text(TYPES.new("cosmos.bank.v1beta1.QuerySupplyOfResponse")) == (
        '{"amount":{"denom":"","amount":"0"}}'
    )


def test_decimals_have_eighteen_places(codec: JsonCodec) -> None:
    """A scaled integer on the wire, a decimal in JSON, also when the field is bytes."""
    rates = TYPES.new("cosmos.staking.v1beta1.CommissionRates", rate="50000000000000000", max_rate="-1")
    assert codec.text(rates) == (
        '{"rate":"0.050000000000000000","max_rate":"-0.000000000000000001","max_change_rate":"0.000000000000000000"}'
    )
    state = TYPES.new("leasehold.mint.v1beta1.QueryMintStateResponse", norm_time_passed=b"17250000000000000000")
    assert codec.text(state) == '{"norm_time_passed":"17.250000000000000000","total_minted":"0"}'


def test_absent_custom_pointers_are_null(codec: JsonCodec) -> None:
    """A nullable decimal that is not set is null, not zero."""
    edit = json.loads(codec.text(TYPES.new("cosmos.staking.v1beta1.MsgEditValidator")))
    assert edit["commission_rate"] is None
    assert edit["min_self_delegation"] is None


def test_contract_messages_are_inlined(codec: JsonCodec) -> None:
    """Contract JSON is a value, compacted, with its numbers and key order kept."""
    message = TYPES.new("cosmwasm.wasm.v1.MsgExecuteContract", msg=b'{ "b": 1.50e3, "a": [ 12345678901234567890 ] }')
    assert '"msg":{"b":1.50e3,"a":[12345678901234567890]},' in codec.text(message)


def test_malformed_contract_json_is_refused(codec: JsonCodec) -> None:
    """A contract message that isn't JSON can't be rendered."""
    with pytest.raises(MalformedMessage):
        codec.text(TYPES.new("cosmwasm.wasm.v1.MsgExecuteContract", msg=b"{bad"))


def test_strings_escape_what_go_escapes(codec: JsonCodec) -> None:
    """`<`, `>`, `&` and line separators are escapes; other characters are raw."""
    coin = TYPES.new("cosmos.base.v1beta1.Coin", denom='<a> & "é"\u2028\x01', amount="1")
    assert codec.text(coin) == '{"denom":"\\u003ca\\u003e \\u0026 \\"é\\"\\u2028\\u0001","amount":"1"}'


@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1, 500_000_000, "1970-01-01T00:00:01.500Z"),
        (1, 789_958_420, "1970-01-01T00:00:01.789958420Z"),
        (1, 1_000, "1970-01-01T00:00:01.000001Z"),
        (-62135596800, 0, "0001-01-01T00:00:00Z"),
    ],
)
def test_timestamps_have_groups_of_three_digits(codec: JsonCodec, seconds: int, nanos: int, text: str) -> None:
    """0, 3, 6 or 9 fractional digits; and the text parses back."""
    coin = TYPES.new("cosmos.gov.v1.Proposal", submit_time={"seconds": seconds, "nanos": nanos})
    rendered = codec.text(coin)
    assert json.loads(rendered)["submit_time"] == text
    assert codec.decode("cosmos.gov.v1.Proposal", rendered.encode()) == coin


def test_any_is_spread_with_its_type_first(codec: JsonCodec) -> None:
    """A packed message is an object that starts with its type URL."""
    key = TYPES.new("cosmos.crypto.secp256k1.PubKey", key=b"\x02\x03")
    account = TYPES.new("cosmos.auth.v1beta1.QueryAccountResponse", account=TYPES.pack(key))
    assert codec.text(account) == '{"account":{"@type":"/cosmos.crypto.secp256k1.PubKey","key":"AgM="}}'


def test_unset_oneofs_are_left_out(codec: JsonCodec) -> None:
    """Only the member that is set appears."""
    info = TYPES.new("cosmos.tx.v1beta1.ModeInfo", single={"mode": 1})
    assert codec.text(info) == '{"single":{"mode":"SIGN_MODE_DIRECT"}}'
    assert codec.text(TYPES.new("cosmos.tx.v1beta1.ModeInfo")) == "{}"


def test_access_types_have_short_names(codec: JsonCodec) -> None:
    """Code permissions are written short and read in either form."""
    config = TYPES.new("cosmwasm.wasm.v1.AccessConfig", permission=4, addresses=["a"])
    assert codec.text(config) == '{"permission":"AnyOfAddresses","addresses":["a"]}'
    for name in ("AnyOfAddresses", "ACCESS_TYPE_ANY_OF_ADDRESSES"):
        body = json.dumps({"permission": name, "addresses": ["a"]}).encode()
        assert codec.decode("cosmwasm.wasm.v1.AccessConfig", body) == config


def test_both_spellings_are_read_and_strangers_ignored(codec: JsonCodec) -> None:
    """snake_case and camelCase name the same field; unknown members don't matter."""
    for body in (b'{"tx_bytes":"AAE=","mode":2}', b'{"txBytes":"AAE=","mode":"BROADCAST_MODE_SYNC","x":[{}]}'):
        message = codec.decode("cosmos.tx.v1beta1.BroadcastTxRequest", body)
        assert (message.tx_bytes, message.mode) == (b"\x00\x01", 2)


def test_inlined_messages_keep_their_text(codec: JsonCodec) -> None:
    """A contract message inside an Any keeps the bytes it was written with."""
    body = b'{"messages":[{"@type":"/cosmwasm.wasm.v1.MsgExecuteContract","msg":{"a": 1.0}}]}'
    packed = codec.decode("cosmos.tx.v1beta1.TxBody", body).messages[0]
    assert TYPES.unpack(packed).msg == b'{"a": 1.0}'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{bad", "invalid character 'b' looking for beginning of object key string"),
        (b'{"mode":"FOO"}', 'unknown value "FOO" for enum cosmos.tx.v1beta1.BroadcastMode'),
        (b'{"tx_bytes":"@@"}', "illegal base64 data at input byte 0"),
        (b'{"mode":1', "unexpected EOF"),
        (b'{"tx_bytes":"-_8="}', "illegal base64 data at input byte 0"),
        (b'{"tx_bytes":5}', "json: cannot unmarshal number into Go value of type []uint8"),
        (b'{"mode":true}', "json: cannot unmarshal bool into Go value of type tx.BroadcastMode"),
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]json.RawMessage"),
        (b'"x"', "json: cannot unmarshal string into Go value of type map[string]json.RawMessage"),
    ],
)
def test_errors_are_worded_as_a_node_words_them(codec: JsonCodec, body: bytes, text: str) -> None:
    """Clients that match on texts find them."""
    with pytest.raises(InvalidInput, match=f"^{re.escape(text)}$"):
        codec.decode("cosmos.tx.v1beta1.BroadcastTxRequest", body)


def test_an_unknown_any_is_named(codec: JsonCodec) -> None:
    """A body with a type nobody defined is refused by its URL."""
    with pytest.raises(UnknownType, match=r"unable to resolve type URL /a\.B"):
        codec.decode("cosmos.tx.v1beta1.TxBody", b'{"messages":[{"@type":"/a.B"}]}')


@pytest.mark.parametrize("depth", [100, 20_000])
def test_deep_nesting_is_an_error(codec: JsonCodec, depth: int) -> None:
    """Hostile depth is refused, not a crash, in both directions."""
    body = b'{"multi":{"mode_infos":[' * depth + b"]}}" * depth
    with pytest.raises(InvalidJson):
        codec.decode("cosmos.tx.v1beta1.ModeInfo", body)
    packed = TYPES.new("cosmos.bank.v1beta1.MsgSend")
    for _ in range(min(depth, 400)):
        packed = TYPES.new("cosmos.authz.v1beta1.MsgExec", msgs=[TYPES.pack(packed)])
    if depth > 100:
        with pytest.raises(MalformedMessage):
            codec.text(packed)


@given(st.integers(min_value=-(10**60), max_value=10**60))
def test_decimals_round_trip(value: int) -> None:
    """Scaling a rendered decimal gives the integer back."""
    assert scaled_decimal(decimal_text(str(value))) == str(value)


_coins = st.lists(
    st.fixed_dictionaries({"denom": st.text(max_size=20), "amount": st.integers(0, 10**30).map(str)}), max_size=4
)
_accounts = st.fixed_dictionaries(
    {
        "base_vesting_account": st.fixed_dictionaries(
            {
                "original_vesting": _coins,
                "end_time": st.integers(-(2**63), 2**63 - 1),
                "base_account": st.fixed_dictionaries(
                    {"address": st.text(max_size=9), "sequence": st.integers(0, 2**64 - 1)}
                ),
            }
        ),
        "start_time": st.integers(-(2**63), 2**63 - 1),
    }
)


@given(_accounts)
def test_accounts_round_trip_inside_any(fields: dict[str, Any]) -> None:
    """Whatever is rendered reads back as the same message."""
    account = TYPES.new("cosmos.vesting.v1beta1.ContinuousVestingAccount", **fields)
    answer = TYPES.new("cosmos.auth.v1beta1.QueryAccountResponse", account=TYPES.pack(account))
    rendered = CODEC.encode(answer)
    decoded = CODEC.decode("cosmos.auth.v1beta1.QueryAccountResponse", rendered)
    assert TYPES.unpack(decoded.account) == account
