"""Signed transactions: strict decoding, hash, and the bytes each sign mode signs.

The raw bytes are what counts: the hash and DIRECT sign bytes are of the bytes received, never of a re-encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from leasehold.chain.amino import AminoEncoder, indented_json, sign_document, sorted_json
from leasehold.chain.interfaces import interfaces
from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.chain.unknown_fields import WireError, field_end, reject_unknown_fields, tag, varint
from leasehold.core.errors import InvalidInput

DIRECT = 1
TEXTUAL = 2
DIRECT_AUX = 3
LEGACY_AMINO_JSON = 127
EIP_191 = 191

_BYTES = 2
_ETHEREUM = b"\x19Ethereum Signed Message:\n"


class UndecodableTransaction(InvalidInput):
    """Bytes that are not an acceptable transaction; the message is the cause without the `tx parse error` suffix."""


class UnsupportedSignMode(InvalidInput):
    """A sign mode nobody here can check; `mode` is its number."""

    def __init__(self, mode: int) -> None:
        super().__init__(f"unsupported sign mode {mode}", field="mode")
        self.mode = mode


@dataclass(frozen=True, slots=True)
class Transaction:
    """A decoded transaction with the bytes it came from; `messages` are unpacked, in order."""

    raw: bytes
    body_bytes: bytes
    auth_info_bytes: bytes
    signatures: tuple[bytes, ...]
    body: Any
    auth_info: Any
    messages: tuple[Any, ...]
    has_non_critical_fields: bool

    @property
    def hash(self) -> str:
        """Upper-case hex of the SHA-256 of the raw bytes."""
        return transaction_hash(self.raw)

    @property
    def fee(self) -> Any:
        return self.auth_info.fee


def transaction_hash(raw: bytes) -> str:
    """Upper-case hex name of a transaction."""
    return sha256(raw).hexdigest().upper()


def decode_transaction(types: Registry, raw: bytes) -> Transaction:
    """The transaction in the bytes; refuses unknown fields, unknown types and non-canonical outer encoding."""
    try:
        return _decode(types, raw)
    except InvalidInput as error:
        raise UndecodableTransaction(error.message, field="tx") from None
    except RecursionError:
        raise UndecodableTransaction("recursion depth exceeded", field="tx") from None


def _decode(types: Registry, raw: bytes) -> Transaction:
    outer = _outer(types, raw)
    body, non_critical = _strict(types, "cosmos.tx.v1beta1.TxBody", outer.body_bytes, allow_non_critical=True)
    auth_info, _ = _strict(types, "cosmos.tx.v1beta1.AuthInfo", outer.auth_info_bytes, allow_non_critical=False)
    known = interfaces(types)
    known.check(body)
    known.check(auth_info)
    return Transaction(
        raw=raw,
        body_bytes=outer.body_bytes,
        auth_info_bytes=outer.auth_info_bytes,
        signatures=tuple(outer.signatures),
        body=body,
        auth_info=auth_info,
        messages=tuple(types.unpack(packed) for packed in body.messages),
        has_non_critical_fields=non_critical,
    )


def _outer(types: Registry, raw: bytes) -> Any:
    kind = types.type("cosmos.tx.v1beta1.TxRaw")
    outer = _parsed(kind, raw)
    if outer is None or not _is_plain(outer, raw):
        _check_outer(raw)
        reject_unknown_fields(types, cast(Descriptor, kind.DESCRIPTOR), raw, allow_non_critical=False)
        outer = types.parse(kind, raw)
    return outer


def _strict(types: Registry, name: str, data: bytes, *, allow_non_critical: bool) -> tuple[Any, bool]:
    kind = types.type(name)
    message = _parsed(kind, data)
    if message is not None and _is_plain(message, data) and _anys_are_plain(types, message):
        return message, False
    descriptor = cast(Descriptor, kind.DESCRIPTOR)
    met = reject_unknown_fields(types, descriptor, data, allow_non_critical=allow_non_critical)
    return types.parse(kind, data), met


def _parsed(kind: type[Message], data: bytes) -> Any:
    try:
        return kind.FromString(data)
    except DecodeError:
        return None


def _is_plain(message: Message, data: bytes) -> bool:
    # Without unknown fields and equal to what we would write ourselves: nothing for the slow walk to find.
    # Discarding spoils only messages that are about to be parsed again.
    message.DiscardUnknownFields()
    return message.SerializeToString(deterministic=True) == data


def _anys_are_plain(types: Registry, message: Message) -> bool:
    return all(_any_is_plain(types, packed) for _, packed in interfaces(types).packed(message))


def _any_is_plain(types: Registry, packed: Any) -> bool:
    if packed.type_url not in interfaces(types).registered:
        return False
    inner = _parsed(types.resolve(packed.type_url), packed.value)
    return inner is not None and _is_plain(inner, packed.value) and _anys_are_plain(types, inner)


def _check_outer(raw: bytes) -> None:
    at = previous = 0
    while at < len(raw):
        start = at
        try:
            number, wire, at = tag(raw, at)
            if wire != _BYTES:
                raise MalformedMessage(f"expected {_BYTES} wire type, got {wire}", field="tx")
            if number < previous:
                text = f"txRaw must follow ADR-027, got tagNum {number} after tagNum {previous}"
                raise MalformedMessage(text, field="tx")
            previous = number
            length, after = varint(raw, at)
            _check_length(number, length, after - at)
            at = field_end(raw, at, number, wire)
        except WireError as error:
            raise MalformedMessage(f"invalid length; {error.message}", field="tx") from None
        assert at > start


def _check_length(number: int, length: int, taken: int) -> None:
    needed = max(1, (length.bit_length() + 6) // 7)
    if taken != needed:
        text = f"length prefix varint for tagNum {number} is not as short as possible, read {taken}, only need {needed}"
        raise MalformedMessage(text, field="tx")


@lru_cache(maxsize=8)
def _amino(types: Registry) -> AminoEncoder:
    return AminoEncoder(types)


def sign_bytes(
    types: Registry, transaction: Transaction, mode: int, *, chain_id: str, account_number: int, sequence: int
) -> bytes:
    """What a signer of that mode signs; UnsupportedSignMode for modes that are not checked here."""
    if mode == DIRECT:
        return direct_sign_bytes(
            types, transaction.body_bytes, transaction.auth_info_bytes, chain_id=chain_id, account_number=account_number
        )
    if mode not in (LEGACY_AMINO_JSON, EIP_191):
        raise UnsupportedSignMode(mode)
    document = sign_document(
        _amino(types),
        messages=transaction.messages,
        body=transaction.body,
        fee=transaction.fee,
        chain_id=chain_id,
        account_number=account_number,
        sequence=sequence,
    )
    return sorted_json(document).encode() if mode == LEGACY_AMINO_JSON else _ethereum(document)


def direct_sign_bytes(
    types: Registry, body_bytes: bytes, auth_info_bytes: bytes, *, chain_id: str, account_number: int
) -> bytes:
    """The SignDoc over the exact bytes of body and auth info."""
    document = types.new(
        "cosmos.tx.v1beta1.SignDoc",
        body_bytes=body_bytes,
        auth_info_bytes=auth_info_bytes,
        chain_id=chain_id,
        account_number=account_number,
    )
    return cast(bytes, document.SerializeToString())


def _ethereum(document: dict[str, Any]) -> bytes:
    text = indented_json(document).encode()
    return _ETHEREUM + str(len(text)).encode() + text


def encode_transaction(
    types: Registry, body_bytes: bytes, auth_info_bytes: bytes, signatures: Sequence[bytes]
) -> bytes:
    """Raw bytes of a transaction."""
    outer = types.new(
        "cosmos.tx.v1beta1.TxRaw", body_bytes=body_bytes, auth_info_bytes=auth_info_bytes, signatures=signatures
    )
    return cast(bytes, outer.SerializeToString())
