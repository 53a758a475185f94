"""Response data in replies: protobuf around the callee's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.wasm import replies
from leasehold.devnet.wasm.contract import ContractError, Reply


def _reply(data: bytes) -> Reply:
    return Reply(0, b"", data=data)


@given(st.binary(min_size=1, max_size=400))
def test_executions_round_trip(data: bytes) -> None:
    """The caller reads what the callee gave, however long."""
    assert replies.executed(_reply(replies.execute_response(data))) == data


@given(st.text(min_size=1, max_size=200), st.binary(min_size=1, max_size=200))
def test_instantiations_round_trip(address: str, data: bytes) -> None:
    """The creator reads the address and the data."""
    assert replies.instantiated(_reply(replies.instantiate_response(address, data))) == (address, data)


def test_nothing_given_is_nothing_read() -> None:
    """No data is an empty message."""
    assert replies.execute_response(None) == b""
    assert replies.executed(_reply(b"")) is None
    assert replies.instantiated(_reply(replies.instantiate_response("chain1x", None))) == ("chain1x", None)


@pytest.mark.parametrize("data", [b"", b"\x08\x01", b"\x0a", b"\x0a\x05ab", b"\x0a\xff"])
def test_malformed_instantiations_are_refused(data: bytes) -> None:
    """Without an address, or cut short, the reply is an error."""
    with pytest.raises(ContractError):
        replies.instantiated(_reply(data))
