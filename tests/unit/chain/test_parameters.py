from __future__ import annotations

import re

import pytest

from leasehold.chain.json_codec import json_codec
from leasehold.chain.parameters import parse_boolean, parse_integer
from leasehold.core.errors import InvalidInput

CODEC = json_codec()
BALANCES = "cosmos.bank.v1beta1.QueryAllBalancesRequest"
SYNTAX = 'strconv.Parse{}: parsing "{}": invalid syntax'


def test_dotted_names_reach_nested_fields_in_both_spellings() -> None:
    """`pagination.countTotal` and `pagination.limit` set the page request; strangers are ignored."""
    request = CODEC.types.new("cosmos.bank.v1beta1.QueryAllBalancesRequest", address="a")
    pairs = [("pagination.countTotal", "true"), ("pagination.limit", "7"), ("pagination.key", "AA_-"), ("nope.x", "1")]
    CODEC.set_query(request, [*pairs, ("address", "b")], taken=("address",))
    assert request.address == "a"
    page = request.pagination
    assert (page.count_total, page.limit, page.key) == (True, 7, b"\x00\x0f\xfe")


def test_repeated_fields_take_every_value() -> None:
    """A repeated parameter is a list; a single one takes the first."""
    request = CODEC.types.new("cosmos.tx.v1beta1.GetTxsEventRequest")
    CODEC.set_query(
        request, [("events", "a"), ("events", "b"), ("page", "1"), ("page", "2"), ("order_by", "ORDER_BY_DESC")]
    )
    assert (list(request.events), request.page, request.order_by) == (["a", "b"], 1, 2)


@pytest.mark.parametrize(
    ("kind", "name", "text", "error"),
    [
        (BALANCES, "pagination.limit", "-1", SYNTAX.format("Uint", "-1")),
        (BALANCES, "pagination.count_total", "maybe", SYNTAX.format("Bool", "maybe")),
        (BALANCES, "pagination.key", "!!", "illegal base64 data at input byte 0"),
        ("cosmos.gov.v1.QueryProposalsRequest", "proposal_status", "FOO", "FOO is not a valid v1.ProposalStatus"),
        ("cosmos.gov.v1beta1.QueryProposalsRequest", "proposal_status", "FOO", SYNTAX.format("Int", "FOO")),
    ],
)
def test_errors_are_worded_as_a_gateway_words_them(kind: str, name: str, text: str, error: str) -> None:
    """Wallets probe with bad parameters and read the text."""
    with pytest.raises(InvalidInput, match=f"^{re.escape(error)}$"):
        CODEC.set_query(CODEC.types.new(kind), [(name, text)])


def test_a_path_segment_error_names_its_parameter() -> None:
    """A bad number in the path says which parameter it was."""
    request = CODEC.types.new("cosmos.gov.v1.QueryProposalRequest")
    text = 'type mismatch, parameter: proposal_id, error: strconv.ParseUint: parsing "abc": invalid syntax'
    with pytest.raises(InvalidInput, match=f"^{re.escape(text)}$"):
        CODEC.set_path(request, "proposal_id", "abc")


def test_contract_queries_may_lack_padding() -> None:
    """Base64 of a smart query is taken in both alphabets and without padding; elsewhere padding is required."""
    request = CODEC.types.new("cosmwasm.wasm.v1.QuerySmartContractStateRequest")
    CODEC.set_path(request, "query_data", "e30")
    assert request.query_data == b"{}"
    other = CODEC.types.new("cosmos.auth.v1beta1.AddressBytesToStringRequest")
    with pytest.raises(InvalidInput, match="illegal base64 data at input byte 0"):
        CODEC.set_path(other, "address_bytes", "xyz")


@pytest.mark.parametrize(
    ("text", "value"), [("0x10", 16), ("010", 8), ("0b11", 3), ("0o17", 15), ("1_000", 1000), ("-5", -5), ("0", 0)]
)
def test_integers_follow_base_zero_notation(text: str, value: int) -> None:
    """Prefixes and underscores mean what they mean to Go."""
    assert parse_integer(text, bits=64, signed=True) == value


@pytest.mark.parametrize("text", ["", "1__0", "0x", "08", "1e3", " 1"])
def test_other_texts_are_not_integers(text: str) -> None:
    """Anything else is invalid syntax."""
    with pytest.raises(InvalidInput, match="invalid syntax"):
        parse_integer(text, bits=64, signed=True)


def test_integers_have_a_range() -> None:
    """Too many bits are out of range."""
    with pytest.raises(InvalidInput, match="value out of range"):
        parse_integer("18446744073709551616", bits=64, signed=False)
    assert parse_boolean("T")
