"""The hand-written protobuf encoder."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.comet import wire
from leasehold.core.errors import InvalidInput

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.integers(-62_135_596_800, 253_402_300_799), st.integers(0, 999_999_999))
def test_timestamps_are_those_of_the_protobuf_library(seconds: int, nanos: int) -> None:
    """Encoding and reading a time agree with google.protobuf, before the epoch too."""
    encoded = wire.timestamp(seconds * 10**9 + nanos)
    assert encoded == Timestamp(seconds=seconds, nanos=nanos).SerializeToString()
    assert wire.read_timestamp(encoded) == seconds * 10**9 + nanos


@given(INT64, st.binary(max_size=200))
def test_fields_are_read_back(number: int, data: bytes) -> None:
    """What was written is read, in order; zero and empty are left out unless they are sub-messages."""
    encoded = wire.integer(1, number) + wire.fixed64(2, number) + wire.blob(3, data) + wire.message(4, data)
    fields = list(wire.read_fields(encoded))
    expected = ([(1, number), (2, number)] if number else []) + ([(3, data)] if data else []) + [(4, data)]
    assert [(at, wire.signed(v) if at == 1 else v) for at, v in fields] == expected


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Reading random bytes ends in fields or in InvalidInput, never in another error."""
    try:
        list(wire.read_fields(data))
    except InvalidInput:
        return


def test_kinds_are_not_mixed_up() -> None:
    """A number where bytes belong, and the reverse, is refused."""
    with pytest.raises(InvalidInput):
        wire.content(5)
    with pytest.raises(InvalidInput):
        wire.signed(b"x")
