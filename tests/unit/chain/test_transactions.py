from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.amino_binary import delimited, uvarint
from leasehold.chain.registry import registry
from leasehold.chain.transactions import (
    DIRECT,
    EIP_191,
    LEGACY_AMINO_JSON,
    TEXTUAL,
    UndecodableTransaction,
    UnsupportedSignMode,
    decode_transaction,
    encode_transaction,
    sign_bytes,
    transaction_hash,
)
from leasehold.chain.wallet import Wallet

TYPES = registry()
ALICE = Wallet.from_name("alice", prefix="chain")
FEE = {"fee": {"ulsh": 750}, "gas": 300_000}
SEND = TYPES.new("cosmos.bank.v1beta1.MsgSend", from_address=ALICE.address, amount=[{"denom": "ulsh", "amount": "5"}])


def signed(message: Any = SEND) -> bytes:
    return ALICE.sign_direct([message], **FEE, sequence=3, account_number=7, chain_id="c-1", memo="m")


def rebuilt(*, body: bytes = b"", auth: bytes = b"", outer: bytes = b"") -> bytes:
    transaction = decode_transaction(TYPES, signed())
    raw = encode_transaction(
        TYPES, transaction.body_bytes + body, transaction.auth_info_bytes + auth, transaction.signatures
    )
    return raw + outer


def refused(raw: bytes) -> str:
    with pytest.raises(UndecodableTransaction) as caught:
        decode_transaction(TYPES, raw)
    return caught.value.message


def packed(name: str, value: bytes) -> bytes:
    return delimited(1, delimited(1, b"/" + name.encode()) + delimited(2, value))


def test_a_signed_transaction_decodes_to_its_parts() -> None:
    """Messages are unpacked, bytes are kept as received, the hash is of the raw bytes."""
    raw = signed()
    transaction = decode_transaction(TYPES, raw)
    assert transaction.messages == (SEND,)
    assert (transaction.body.memo, transaction.fee.gas_limit, len(transaction.signatures)) == ("m", 300_000, 1)
    assert transaction.hash == transaction_hash(raw)
    assert not transaction.has_non_critical_fields


def test_an_empty_transaction_decodes_without_messages() -> None:
    """No bytes at all are a transaction with nothing in it; refusing it is the ante's business."""
    assert decode_transaction(TYPES, b"").messages == ()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xde\xad\xbe\xef", "invalid length; unexpected EOF"),
        (b"abc", "expected 2 wire type, got 1"),
        (b"\x12\x00\x0a\x00", "txRaw must follow ADR-027, got tagNum 1 after tagNum 2"),
        (b"\x0a\x80\x00", "length prefix varint for tagNum 1 is not as short as possible, read 2, only need 1"),
        (b"\x0a\x05a", "invalid length; unexpected EOF"),
        (b"\x22\x00", 'errUnknownField "*tx.TxRaw": {TagNum: 4, WireType:"bytes"}'),
    ],
)
def test_the_outer_encoding_is_canonical(raw: bytes, text: str) -> None:
    """Anything but ascending, shortest-length byte fields is refused with the node's words."""
    assert refused(raw) == text


def test_unknown_fields_are_refused_wherever_they_hide() -> None:
    """Body, auth info, messages and nested messages are walked; the text names type, number and wire type."""
    unknown = delimited(50, b"a")
    assert refused(rebuilt(body=unknown)) == 'errUnknownField "*tx.TxBody": {TagNum: 50, WireType:"bytes"}'
    assert refused(rebuilt(auth=unknown)) == 'errUnknownField "*tx.AuthInfo": {TagNum: 50, WireType:"bytes"}'
    message = packed("cosmos.bank.v1beta1.MsgSend", unknown)
    assert refused(rebuilt(body=message)) == 'errUnknownField "*types.MsgSend": {TagNum: 50, WireType:"bytes"}'
    nested = packed("cosmos.bank.v1beta1.MsgSend", delimited(3, uvarint(50 << 3) + b"\x01"))
    assert refused(rebuilt(body=nested)) == 'errUnknownField "*types.Coin": {TagNum: 50, WireType:"varint"}'
    inner = delimited(2, delimited(1, b"/cosmos.bank.v1beta1.MsgSend") + delimited(2, unknown))
    authorized = packed("cosmos.authz.v1beta1.MsgExec", inner)
    assert refused(rebuilt(body=authorized)) == 'errUnknownField "*types.MsgSend": {TagNum: 50, WireType:"bytes"}'


def test_non_critical_fields_pass_in_the_body_only() -> None:
    """Numbers with bit 11 set are tolerated and reported in TxBody, refused in AuthInfo."""
    unknown = delimited(1050, b"a")
    assert decode_transaction(TYPES, rebuilt(body=unknown)).has_non_critical_fields
    assert refused(rebuilt(auth=unknown)) == 'errUnknownField "*tx.AuthInfo": {TagNum: 1050, WireType:"bytes"}'


def test_wire_types_must_match() -> None:
    """A known field in another wire type is refused."""
    text = 'Mismatched "*tx.TxBody": {TagNum: 2, GotWireType: "varint" != WantWireType: "bytes"}'
    assert refused(rebuilt(body=b"\x10\x01")) == text
    assert refused(rebuilt(body=b"\x1a\x01\x01")) == "proto: wrong wireType = 2 for field TimeoutHeight"


def test_text_must_be_utf8() -> None:
    """A string that is no text is refused by the name of its field."""
    text = "proto: field cosmos.tx.v1beta1.TxBody.memo contains invalid UTF-8"
    assert refused(rebuilt(body=b"\x12\x01\xff")) == text


def test_truncated_messages_are_refused() -> None:
    """Bytes that don't decode inside a message say so."""
    assert refused(rebuilt(body=packed("cosmos.bank.v1beta1.MsgSend", b"\xff\xff"))) == "invalid length"


def test_types_must_be_known_and_allowed() -> None:
    """An unknown type, one nobody packs, one that is no message, and extension options are refused."""
    assert refused(rebuilt(body=packed("no.such.Msg", b""))) == "unable to resolve type URL /no.such.Msg"
    coin = packed("cosmos.base.v1beta1.Coin", b"")
    assert refused(rebuilt(body=coin)) == "unable to resolve type URL /cosmos.base.v1beta1.Coin"
    key = packed("cosmos.crypto.secp256k1.PubKey", b"")
    expected = "no concrete type registered for type URL /cosmos.crypto.secp256k1.PubKey against interface *types.Msg"
    assert refused(rebuilt(body=key)) == expected
    option = delimited(1023, delimited(1, b"/cosmos.bank.v1beta1.MsgSend"))
    assert refused(rebuilt(body=option)) == "no registered implementations of type tx.TxExtensionOptionI"


def test_deep_nesting_is_refused() -> None:
    """Messages inside messages inside messages end somewhere."""
    message = SEND
    for _ in range(300):
        message = TYPES.new("cosmos.authz.v1beta1.MsgExec", msgs=[TYPES.pack(message)])
    refused(signed(message))


def test_sign_bytes_of_the_json_modes() -> None:
    """Amino JSON is the sorted document; EIP-191 wraps its indented form with its length."""
    transaction = decode_transaction(TYPES, signed())
    where: dict[str, Any] = {"chain_id": "c-1", "account_number": 7, "sequence": 3}
    document = sign_bytes(TYPES, transaction, LEGACY_AMINO_JSON, **where).decode()
    assert document.startswith(
        '{"account_number":"7","chain_id":"c-1","fee":{"amount":[{"amount":"750","denom":"ulsh"}],'
    )
    assert '"msgs":[{"type":"cosmos-sdk/MsgSend","value":{' in document
    ethereum = sign_bytes(TYPES, transaction, EIP_191, **where)
    found = re.fullmatch(rb"\x19Ethereum Signed Message:\n(\d+)(\{.*\})", ethereum, re.DOTALL)
    assert found is not None
    assert int(found[1]) == len(found[2])
    assert sign_bytes(TYPES, transaction, DIRECT, **where).startswith(b"\x0a")
    with pytest.raises(UnsupportedSignMode):
        sign_bytes(TYPES, transaction, TEXTUAL, **where)


@given(st.binary(max_size=60))
def test_random_bytes_never_crash(data: bytes) -> None:
    """Any bytes are a transaction or a typed error."""
    with suppress(UndecodableTransaction):
        decode_transaction(TYPES, data)


@given(st.data())
def test_damaged_transactions_never_crash(data: st.DataObject) -> None:
    """A transaction with one byte changed decodes or is refused, nothing else."""
    raw = bytearray(signed())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(UndecodableTransaction):
        decode_transaction(TYPES, bytes(raw))
