"""Bytes that are no message, and how the original says so."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.registry import registry
from leasehold.chain.wire_faults import wire_fault

BALANCE = registry().type("cosmos.bank.v1beta1.QueryBalanceRequest")
LIST = registry().type("cosmos.bank.v1beta1.QueryAllBalancesRequest")
PAGE = registry().type("cosmos.base.query.v1beta1.PageRequest")
PARAMS = registry().type("cosmos.bank.v1beta1.QueryParamsRequest")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", None),
        (b"\n\x01a\x12\x01b", None),
        (b"\x98\x06\x01", None),
        (b"\x9b\x06\x08\x01\x9c\x06", None),
        (b"\xff\xff\xff", "unexpected EOF"),
        (b"\n\x05a", "unexpected EOF"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field Address"),
        (b"\x10\x01", "proto: wrong wireType = 0 for field Denom"),
        (b"\x02\x00", "proto: QueryBalanceRequest: illegal tag 0 (wire type 2)"),
        (b"\x0c", "proto: QueryBalanceRequest: wiretype end group for non-group"),
        (b"\x9f\x06", "proto: illegal wireType 7"),
        (b"\x9b\x06\x08\x01", "unexpected EOF"),
        (b"\xff" * 10 + b"\x01", "proto: integer overflow"),
        (b"\n" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
        (b"\x99\x06\x00", "unexpected EOF"),
    ],
)
def test_faults_are_told_as_the_original_tells_them(data: bytes, text: str | None) -> None:
    """Truncated values, wrong kinds of values, tags that can't be and groups without an end."""
    assert wire_fault(BALANCE.DESCRIPTOR, data) == text


def test_faults_inside_are_found() -> None:
    """A message in a message is read as strictly."""
    inner = b"\x12\x01x"
    assert wire_fault(LIST.DESCRIPTOR, b"\x12" + bytes([len(inner)]) + inner) == (
        "proto: wrong wireType = 2 for field Offset"
    )


@given(st.binary(max_size=40))
def test_what_has_no_fault_can_be_read(data: bytes) -> None:
    """Bytes without a fault are a message, unless groups in them end as others began: the original counts them only."""
    begins_group = any(byte & 7 == 3 for byte in data)
    for kind in (PAGE, PARAMS):
        if wire_fault(kind.DESCRIPTOR, data) is None:
            try:
                kind.FromString(data)
            except DecodeError:
                assert begins_group, f"{data!r} has no fault, yet can't be read"
