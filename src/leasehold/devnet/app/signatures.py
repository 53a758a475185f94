"""Whether a signature is one of the account's key over the transaction, for every key type and sign mode."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import coincurve
from Crypto.Hash import keccak
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.chain.transactions import (
    DIRECT_AUX,
    EIP_191,
    LEGACY_AMINO_JSON,
    Transaction,
    UnsupportedSignMode,
    sign_bytes,
)
from leasehold.core.addresses import ed25519_address, secp256k1_address

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_SECP256K1 = "cosmos.crypto.secp256k1.PubKey"
_ED25519 = "cosmos.crypto.ed25519.PubKey"
_MULTISIG = "cosmos.crypto.multisig.LegacyAminoPubKey"
_SIGN_MODE = "cosmos.tx.signing.v1beta1.SignMode"


class UnsupportedKey(Exception):
    """A key type the chain does not verify."""


def key_address(registry: Registry, key: Any) -> bytes:
    """Account address of a public key message."""
    name = key.DESCRIPTOR.full_name
    if name == _SECP256K1:
        return secp256k1_address(key.key)
    if name == _ED25519:
        return ed25519_address(key.key)
    if name == _MULTISIG:
        return sha256(amino_multisig(registry, key)).digest()[:20]
    raise UnsupportedKey(name)


def amino_multisig(registry: Registry, key: Any) -> bytes:
    """Amino bytes of a threshold key, from which its address is made."""
    result = bytes.fromhex("22c1f7e2") + b"\x08" + _varint(key.threshold)
    for packed in key.public_keys:
        inner = registry.unpack(packed)
        if inner.DESCRIPTOR.full_name == _SECP256K1:
            encoded = bytes.fromhex("eb5ae98721") + inner.key
        elif inner.DESCRIPTOR.full_name == _ED25519:
            encoded = bytes.fromhex("1624de6420") + inner.key
        else:
            encoded = amino_multisig(registry, inner)
        result += b"\x12" + _varint(len(encoded)) + encoded
    return result


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@dataclass(frozen=True, slots=True)
class Signer:
    """Whose signature it is, as sign bytes name it, and who pays the fee."""

    chain_id: str
    account_number: int
    sequence: int
    address: str = ""
    payer: str = ""


@dataclass(frozen=True, slots=True)
class Verifier:
    """Checks the signatures of one transaction."""

    registry: Registry
    tx: Transaction

    def verify(self, key: Any, mode_info: Any, signature: bytes, signer: Signer) -> bool:
        """Whether `signature` is valid for a key under the modes in `mode_info`."""
        return self.refusal(key, mode_info, signature, signer) is None

    def refusal(self, key: Any, mode_info: Any, signature: bytes, signer: Signer) -> str | None:
        """Why a signature is not valid for a key under the modes in `mode_info`; None when it is."""
        if mode_info.WhichOneof("sum") == "multi":
            return self._refused_multi(key, mode_info.multi, signature, signer)
        mode = mode_info.single.mode
        try:
            message = self._auxiliary(key, signer) if mode == DIRECT_AUX else self.sign_bytes(mode, signer)
        except UnsupportedSignMode:
            return self._unsupported(mode, signer)
        except MalformedMessage as error:
            return error.message
        if mode == EIP_191 and key.DESCRIPTOR.full_name != _SECP256K1:
            return "eip191 sign mode requires pubkey to be of type cosmos.crypto.secp256k1.PubKey"
        if verify_bytes(key, mode, signature, message):
            return None
        kind = "eip191 signature" if mode == EIP_191 else "signature"
        return f"unable to verify single signer {kind} {signature.hex()} for signBytes {message.hex()}"

    def _auxiliary(self, key: Any, signer: Signer) -> bytes:
        """What somebody signs who leaves the fee to another signer; nobody signs his own fee that way."""
        if signer.address == signer.payer:
            raise UnsupportedSignMode(DIRECT_AUX)
        document = self.registry.new(
            "cosmos.tx.v1beta1.SignDocDirectAux",
            body_bytes=self.tx.body_bytes,
            public_key=self.registry.pack(key),
            chain_id=signer.chain_id,
            account_number=signer.account_number,
            sequence=signer.sequence,
        )
        return bytes(document.SerializeToString())

    def _unsupported(self, mode: int, signer: Signer) -> str:
        named = self.registry.pool.FindEnumTypeByName(_SIGN_MODE).values_by_number.get(mode)
        shown = named.name if named is not None else str(mode)
        if mode == DIRECT_AUX:
            return f"fee payer {signer.address} cannot sign with {shown}"
        return f"unsupported sign mode {shown}"

    def sign_bytes(self, mode: int, signer: Signer) -> bytes:
        """What a signer signs under a mode."""
        return sign_bytes(
            self.registry,
            self.tx,
            mode,
            chain_id=signer.chain_id,
            account_number=signer.account_number,
            sequence=signer.sequence,
        )

    def _refused_multi(self, key: Any, multi: Any, signature: bytes, signer: Signer) -> str | None:
        if key.DESCRIPTOR.full_name != _MULTISIG:
            return f"expected <nil>, got *{key.DESCRIPTOR.full_name.removeprefix('cosmos.crypto.')}"
        try:
            parts = list(self.registry.parse("cosmos.crypto.multisig.v1beta1.MultiSignature", signature).signatures)
        except MalformedMessage as error:
            return error.message
        bits = _bits(multi.bitarray)
        if len(bits) != len(key.public_keys):
            return f"bit array size is incorrect, expecting: {len(key.public_keys)}"
        if not key.threshold <= len(parts) <= len(bits):
            return f"signature size is incorrect {len(parts)}"
        signed = [index for index, bit in enumerate(bits) if bit]
        if len(signed) < key.threshold:
            return f"not enough signatures set, have {len(signed)}, expected {key.threshold}"
        if len(signed) != len(parts) or len(multi.mode_infos) != len(parts):
            return f"improper signature data type for index {min(len(parts), len(multi.mode_infos))}"
        for index, mode, part in zip(signed, multi.mode_infos, parts, strict=True):
            refusal = self.refusal(self.registry.unpack(key.public_keys[index]), mode, part, signer)
            if refusal is not None:
                nested = mode.WhichOneof("sum") == "multi"
                return refusal if nested else f"unable to verify signature at index {index}"
        return None


def only_amino(mode_info: Any) -> bool:
    """Whether every signature under these modes is one over amino JSON."""
    if mode_info.WhichOneof("sum") == "multi":
        return all(only_amino(inner) for inner in mode_info.multi.mode_infos)
    return bool(mode_info.single.mode == LEGACY_AMINO_JSON)


def _bits(array: Any) -> list[bool]:
    if array.extra_bits_stored > 8 or (array.extra_bits_stored and not array.elems):
        return []
    size = (
        len(array.elems) * 8 if array.extra_bits_stored == 0 else (len(array.elems) - 1) * 8 + array.extra_bits_stored
    )
    return [bool(array.elems[i >> 3] & (1 << (7 - i % 8))) for i in range(max(0, size))]


def verify_bytes(key: Any, mode: int, signature: bytes, message: bytes) -> bool:
    """Whether a single key signed a message; secp256k1 signatures must have the low S."""
    name = key.DESCRIPTOR.full_name
    if name == _ED25519:
        try:
            Ed25519PublicKey.from_public_bytes(key.key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True
    if name != _SECP256K1 or len(signature) != 64:
        return False
    if int.from_bytes(signature[32:], "big") > _ORDER // 2:
        return False
    if mode == EIP_191:
        digest = keccak.new(data=message, digest_bits=256).digest()
    else:
        digest = sha256(message).digest()
    try:
        return coincurve.PublicKey(key.key).verify(_der(signature), digest, hasher=None)
    except ValueError:
        return False


def _der(signature: bytes) -> bytes:
    def integer(part: bytes) -> bytes:
        body = part.lstrip(b"\x00") or b"\x00"
        if body[0] & 0x80:
            body = b"\x00" + body
        return b"\x02" + bytes([len(body)]) + body

    body = integer(signature[:32]) + integer(signature[32:])
    return b"\x30" + bytes([len(body)]) + body
