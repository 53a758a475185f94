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
from leasehold.chain.transactions import EIP_191, Transaction, UnsupportedSignMode, sign_bytes
from leasehold.core.addresses import ed25519_address, secp256k1_address

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_SECP256K1 = "cosmos.crypto.secp256k1.PubKey"
_ED25519 = "cosmos.crypto.ed25519.PubKey"
_MULTISIG = "cosmos.crypto.multisig.LegacyAminoPubKey"


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
    """Whose signature it is, as sign bytes name it."""

    chain_id: str
    account_number: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Verifier:
    """Checks the signatures of one transaction."""

    registry: Registry
    tx: Transaction

    def verify(self, key: Any, mode_info: Any, signature: bytes, signer: Signer) -> bool:
        """Whether `signature` is valid for a key under the modes in `mode_info`."""
        mode = mode_info.single.mode
        try:
            if mode_info.WhichOneof("sum") == "multi":
                return self._verify_multi(key, mode_info.multi, signature, signer)
            message = self.sign_bytes(mode, signer)
        except (UnsupportedSignMode, MalformedMessage):
            return False
        return verify_bytes(key, mode, signature, message)

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

    def _verify_multi(self, key: Any, multi: Any, signature: bytes, signer: Signer) -> bool:
        if key.DESCRIPTOR.full_name != _MULTISIG:
            return False
        signatures = list(self.registry.parse("cosmos.crypto.multisig.v1beta1.MultiSignature", signature).signatures)
        bits = _bits(multi.bitarray)
        signed = [index for index, bit in enumerate(bits) if bit]
        if len(bits) != len(key.public_keys) or len(signatures) < key.threshold:
            return False
        if len(signed) != len(signatures) or len(multi.mode_infos) != len(signatures):
            return False
        keys = [self.registry.unpack(key.public_keys[index]) for index in signed]
        return all(
            self.verify(inner, mode, part, signer)
            for inner, mode, part in zip(keys, multi.mode_infos, signatures, strict=True)
        )


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
