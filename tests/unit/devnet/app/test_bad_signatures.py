"""Transactions whose signatures, keys or signed text are nonsense: a code each time, never an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.devnet.open_chain import OpenChain, shared_chain

from leasehold.chain.transactions import decode_transaction, encode_transaction
from leasehold.devnet.app.signatures import Signer, Verifier

AMINO, EIP_191 = 127, 191


def checked(chain: OpenChain, message: Any, mode: int, signature: bytes) -> tuple[int, str]:
    """Code and log of a transaction with a given signature, checked without leaving a trace in the mempool."""
    _, sequence = chain.sequence()
    body, auth = chain.sender.unsigned([message], fee={chain.denom: 900_000}, gas=900_000, sequence=sequence, mode=mode)
    answer = chain.devnet.app.check_tx(encode_transaction(chain.devnet.registry, body, auth, [signature]))
    return answer.code, answer.log


@pytest.mark.parametrize("payload", [b"{bad", b"\xff", b'{"a":1e999}', b'{"a":NaN}', b"[" * 5_000])
@pytest.mark.parametrize("mode", [AMINO, EIP_191])
def test_embedded_json_that_cannot_be_signed_is_unauthorized(payload: bytes, mode: int) -> None:
    """A packed contract message whose JSON is broken has no amino form; its signature can't be right."""
    chain = shared_chain()
    types, sender = chain.devnet.registry, chain.sender.address
    call = types.new("cosmwasm.wasm.v1.MsgExecuteContract", sender=sender, contract=sender, msg=payload)
    packed = types.new("cosmos.authz.v1beta1.MsgExec", grantee=sender, msgs=[types.pack(call)])
    code, log = checked(chain, packed, mode, b"\1" * 64)
    assert (code, log.partition(";")[0]) == (4, "signature verification failed")


@given(st.binary(max_size=80), st.sampled_from([1, AMINO, EIP_191]))
def test_random_signatures_are_unauthorized(signature: bytes, mode: int) -> None:
    """Whatever stands in place of a signature, the code says unauthorized."""
    chain = shared_chain()
    sender = chain.sender.address
    send = chain.devnet.registry.new(
        "cosmos.bank.v1beta1.MsgSend",
        from_address=sender,
        to_address=sender,
        amount=[{"denom": chain.denom, "amount": "1"}],
    )
    assert checked(chain, send, mode, signature)[0] == 4


@given(
    signature=st.binary(max_size=60),
    elements=st.binary(max_size=3),
    extra=st.sampled_from([0, 1, 3, 8, 9, 1_000, 2**32 - 1]),
    infos=st.integers(0, 3),
)
def test_random_bit_arrays_of_multisignatures_verify_nothing(
    signature: bytes, elements: bytes, extra: int, infos: int
) -> None:
    """Bits beyond the array, missing elements and broken bytes are no signature."""
    chain = shared_chain()
    types = chain.devnet.registry
    key = types.new(
        "cosmos.crypto.multisig.LegacyAminoPubKey", threshold=1, public_keys=[chain.sender.packed_public_key] * 2
    )
    multi = {
        "bitarray": {"extra_bits_stored": extra, "elems": elements},
        "mode_infos": [{"single": {"mode": AMINO}}] * infos,
    }
    info = types.new("cosmos.tx.v1beta1.ModeInfo", multi=multi)
    verifier = Verifier(types, decode_transaction(types, chain.send(1)))
    signer = Signer(chain_id="c", account_number=0, sequence=0)
    assert not verifier.verify(key, info, signature, signer)
