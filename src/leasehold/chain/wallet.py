"""A signing account: key derivation from a mnemonic, and transactions signed in every mode the chain checks."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import pbkdf2_hmac, sha256, sha512
from typing import Any, cast
from unicodedata import normalize

from coincurve import PrivateKey
from Crypto.Hash import keccak
from google.protobuf.message import Message

from leasehold.chain.registry import Registry, registry
from leasehold.chain.transactions import (
    DIRECT,
    EIP_191,
    LEGACY_AMINO_JSON,
    decode_transaction,
    direct_sign_bytes,
    encode_transaction,
    sign_bytes,
)
from leasehold.core.addresses import encode, secp256k1_address

COSMOS_PATH = "44'/118'/0'/0/0"
_HARDENED = 1 << 31
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def mnemonic_seed(mnemonic: str, passphrase: str = "") -> bytes:
    """The 64-byte BIP-39 seed of a mnemonic; its words and checksum are not judged."""
    words = normalize("NFKD", " ".join(mnemonic.split())).encode()
    return pbkdf2_hmac("sha512", words, normalize("NFKD", "mnemonic" + passphrase).encode(), 2048)


def derived_key(seed: bytes, path: str = COSMOS_PATH) -> bytes:
    """The 32-byte BIP-32 private key at a path such as 44'/118'/0'/0/0."""
    key, chain = _split(b"Bitcoin seed", seed)
    for step in path.split("/"):
        index = int(step.rstrip("'")) + (_HARDENED if step.endswith("'") else 0)
        own = b"\x00" + key if index >= _HARDENED else PrivateKey(key).public_key.format()
        tweak, chain = _split(chain, own + index.to_bytes(4, "big"))
        key = ((int.from_bytes(tweak, "big") + int.from_bytes(key, "big")) % _ORDER).to_bytes(32, "big")
    return key


def _split(key: bytes, data: bytes) -> tuple[bytes, bytes]:
    digest = hmac.new(key, data, sha512).digest()
    return digest[:32], digest[32:]


class Wallet:
    """One secp256k1 key under a bech32 prefix; signing is deterministic."""

    def __init__(self, private_key: bytes, *, prefix: str, types: Registry | None = None) -> None:
        self._key = PrivateKey(private_key)
        self.prefix = prefix
        self.types = types or registry()
        self.public_key: bytes = self._key.public_key.format()

    @classmethod
    def from_mnemonic(
        cls, mnemonic: str, *, prefix: str, types: Registry | None = None, path: str = COSMOS_PATH
    ) -> Wallet:
        """The wallet other software derives from the same words."""
        return cls(derived_key(mnemonic_seed(mnemonic), path), prefix=prefix, types=types)

    @classmethod
    def from_name(cls, name: str, *, prefix: str, types: Registry | None = None) -> Wallet:
        """A wallet anyone can rebuild from a word: for development chains and tests only."""
        return cls(sha256(b"leasehold wallet " + name.encode()).digest(), prefix=prefix, types=types)

    def __repr__(self) -> str:
        return f"Wallet({self.address})"

    @cached_property
    def address_bytes(self) -> bytes:
        return secp256k1_address(self.public_key)

    @cached_property
    def address(self) -> str:
        return encode(self.prefix, self.address_bytes)

    @cached_property
    def packed_public_key(self) -> Any:
        """The public key as it stands in a signer info."""
        return self.types.pack(self.types.new("cosmos.crypto.secp256k1.PubKey", key=self.public_key))

    def sign(self, message: bytes) -> bytes:
        """64 bytes r‖s (low s) over the SHA-256 of a message."""
        return self._key.sign_recoverable(message)[:64]

    def sign_keccak(self, message: bytes) -> bytes:
        """64 bytes r‖s (low s) over the Keccak-256 of a message."""
        digest = keccak.new(digest_bits=256, data=message).digest()
        return self._key.sign_recoverable(digest, hasher=None)[:64]

    def sign_direct(
        self,
        messages: Sequence[Message],
        *,
        fee: Mapping[str, int],
        gas: int,
        sequence: int,
        account_number: int,
        chain_id: str,
        memo: str = "",
        **options: Any,
    ) -> bytes:
        """Raw bytes of a transaction signed in DIRECT mode; see `unsigned` for the options."""
        body, auth = self.unsigned(messages, fee=fee, gas=gas, sequence=sequence, memo=memo, mode=DIRECT, **options)
        document = direct_sign_bytes(self.types, body, auth, chain_id=chain_id, account_number=account_number)
        return encode_transaction(self.types, body, auth, [self.sign(document)])

    def sign_json(
        self,
        messages: Sequence[Message],
        *,
        fee: Mapping[str, int],
        gas: int,
        sequence: int,
        account_number: int,
        chain_id: str,
        memo: str = "",
        mode: int = LEGACY_AMINO_JSON,
        **options: Any,
    ) -> bytes:
        """Raw bytes of a transaction signed over its amino JSON, or in EIP-191 mode over the indented form."""
        body, auth = self.unsigned(messages, fee=fee, gas=gas, sequence=sequence, memo=memo, mode=mode, **options)
        draft = decode_transaction(self.types, encode_transaction(self.types, body, auth, []))
        document = sign_bytes(
            self.types, draft, mode, chain_id=chain_id, account_number=account_number, sequence=sequence
        )
        signature = self.sign_keccak(document) if mode == EIP_191 else self.sign(document)
        return encode_transaction(self.types, body, auth, [signature])

    def unsigned(
        self,
        messages: Sequence[Message],
        *,
        fee: Mapping[str, int],
        gas: int,
        sequence: int,
        memo: str = "",
        mode: int = DIRECT,
        payer: str = "",
        granter: str = "",
        **body_fields: Any,
    ) -> tuple[bytes, bytes]:
        """Body and auth-info bytes; `body_fields` are further fields of TxBody, such as timeout_height or unordered."""
        body = self.types.new(
            "cosmos.tx.v1beta1.TxBody",
            messages=[self.types.pack(message) for message in messages],
            memo=memo,
            **body_fields,
        )
        signer = {
            "public_key": self.packed_public_key,
            "mode_info": {"single": {"mode": mode}},
            "sequence": sequence,
        }
        coins = [{"denom": denom, "amount": str(amount)} for denom, amount in sorted(fee.items())]
        auth = self.types.new(
            "cosmos.tx.v1beta1.AuthInfo",
            signer_infos=[signer],
            fee={"amount": coins, "gas_limit": gas, "payer": payer, "granter": granter},
        )
        return cast(bytes, body.SerializeToString()), cast(bytes, auth.SerializeToString())
