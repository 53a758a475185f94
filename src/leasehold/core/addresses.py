"""Bech32 addresses: accounts and contracts, validator operators, consensus keys; and how they are derived.

An address is bytes plus a prefix; the prefix comes from the identity profile, never from a constant here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from Crypto.Hash import RIPEMD160

from leasehold.core.errors import InvalidInput

_CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {char: value for value, char in enumerate(_CHARSET)}
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
# What the checksum of a valid text comes to.
_BECH32, _BECH32M = 1, 0x2BC830A3

ACCOUNT_LENGTH = 20
CONTRACT_LENGTH = 32


class InvalidAddress(InvalidInput):
    """Text that is not the address it should be."""


def _polymod(values: list[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for i in range(5):
            if top >> i & 1:
                checksum ^= _GENERATORS[i]
    return checksum


def _expand(prefix: str) -> list[int]:
    return [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix]


def _regroup(data: bytes | list[int], source: int, target: int, *, pad: bool) -> list[int] | None:
    accumulator = bits = 0
    result: list[int] = []
    limit = (1 << target) - 1
    for value in data:
        accumulator = accumulator << source | value
        bits += source
        while bits >= target:
            bits -= target
            result.append(accumulator >> bits & limit)
        accumulator &= (1 << bits) - 1
    if pad:
        if bits:
            result.append(accumulator << target - bits & limit)
    elif bits >= source or accumulator:
        return None
    return result


@lru_cache(maxsize=65_536)
def encode(prefix: str, data: bytes) -> str:
    """Bech32 text of `data` under `prefix`."""
    words = _regroup(data, 8, 5, pad=True)
    assert words is not None
    checksum = _polymod([*_expand(prefix), *words, 0, 0, 0, 0, 0, 0]) ^ 1
    words += [checksum >> 5 * (5 - i) & 31 for i in range(6)]
    return prefix + "1" + "".join(_CHARSET[word] for word in words)


def checksum_text(prefix: str, data: str) -> str:
    """The six characters that end a bech32 text with this prefix and these data characters."""
    words = [_VALUES[char] for char in data]
    checksum = _polymod([*_expand(prefix), *words, 0, 0, 0, 0, 0, 0]) ^ 1
    return "".join(_CHARSET[checksum >> 5 * (5 - i) & 31] for i in range(6))


@lru_cache(maxsize=65_536)
def decode(text: str) -> tuple[str, bytes]:
    """Prefix and bytes of a bech32 text; InvalidAddress says what is wrong with it."""
    prefix, words = _read(text)
    if _polymod(_expand(prefix) + words) != _BECH32:
        raise InvalidAddress("address checksum does not match", field="address")
    data = _regroup(words[:-6], 5, 8, pad=False)
    if data is None:
        raise InvalidAddress("address has wrong padding", field="address")
    return prefix, bytes(data)


def prefix_of(text: str) -> str:
    """Prefix of a text with the checksum of bech32 or of bech32m, which no chain of ours uses; InvalidAddress else."""
    prefix, words = _read(text)
    if _polymod(_expand(prefix) + words) not in (_BECH32, _BECH32M):
        raise InvalidAddress("address checksum does not match", field="address")
    return prefix


def _read(text: str) -> tuple[str, list[int]]:
    """Prefix and words of a text that has the form of an address."""
    if not text:
        raise InvalidAddress("empty address string is not allowed", field="address")
    if any(not 33 <= ord(char) <= 126 for char in text):
        raise InvalidAddress("address has a character outside printable ASCII", field="address")
    if text.lower() != text and text.upper() != text:
        raise InvalidAddress("address mixes upper and lower case", field="address")
    text = text.lower()
    split = text.rfind("1")
    if split < 1 or len(text) - split < 7 or len(text) > 1023:
        raise InvalidAddress(f"not a bech32 address: {text[:100]!r}", field="address")
    prefix, tail = text[:split], text[split + 1 :]
    words = [_VALUES.get(char, -1) for char in tail]
    if -1 in words:
        raise InvalidAddress("address has a character outside the bech32 alphabet", field="address")
    return prefix, words


@dataclass(frozen=True, slots=True)
class Bech32Prefixes:
    """The address prefixes of one chain, all derived from the account prefix."""

    account: str

    @property
    def operator(self) -> str:
        return self.account + "valoper"

    @property
    def consensus(self) -> str:
        return self.account + "valcons"

    def account_text(self, data: bytes) -> str:
        return encode(self.account, data)

    def operator_text(self, data: bytes) -> str:
        return encode(self.operator, data)

    def consensus_text(self, data: bytes) -> str:
        return encode(self.consensus, data)

    def account_bytes(self, text: str, *, field: str = "address") -> bytes:
        """Bytes of a lower-case account or contract address of this chain."""
        return self._checked(text, self.account, (ACCOUNT_LENGTH, CONTRACT_LENGTH), field)

    def wallet_bytes(self, text: str, *, field: str = "address") -> bytes:
        """Bytes of a lower-case 20-byte account address of this chain."""
        return self._checked(text, self.account, (ACCOUNT_LENGTH,), field)

    def contract_bytes(self, text: str, *, field: str = "contract") -> bytes:
        """Bytes of a lower-case 32-byte contract address of this chain."""
        return self._checked(text, self.account, (CONTRACT_LENGTH,), field)

    def operator_bytes(self, text: str, *, field: str = "validator") -> bytes:
        """Bytes of a lower-case validator operator address of this chain."""
        return self._checked(text, self.operator, (ACCOUNT_LENGTH,), field)

    def _checked(self, text: str, prefix: str, lengths: tuple[int, ...], field: str) -> bytes:
        try:
            found, data = decode(text)
        except InvalidAddress as error:
            raise InvalidAddress(error.message, field=field) from None
        if text != text.lower():
            raise InvalidAddress("address must be lower case", field=field)
        if found != prefix:
            raise InvalidAddress(f"address must start with {prefix}1, got {found}1", field=field)
        if len(data) not in lengths:
            raise InvalidAddress(f"address has {len(data)} bytes, expected {lengths[0]}", field=field)
        return data


def module_address(name: str) -> bytes:
    """Address of a module account."""
    return sha256(name.encode()).digest()[:ACCOUNT_LENGTH]


@lru_cache(maxsize=4096)
def secp256k1_address(public_key: bytes) -> bytes:
    """Address of a 33-byte compressed secp256k1 key."""
    return RIPEMD160.new(sha256(public_key).digest()).digest()


def ed25519_address(public_key: bytes) -> bytes:
    """Address of a 32-byte ed25519 key; for validators, the consensus address."""
    return sha256(public_key).digest()[:ACCOUNT_LENGTH]


def derived_address(kind: str, key: bytes) -> bytes:
    """ADR-28 address: the hash of a typed key."""
    return sha256(sha256(kind.encode()).digest() + key).digest()


def contract_address(code_id: int, instance: int) -> bytes:
    """Address of a contract instantiated with the chain-wide counter."""
    return derived_address("module", b"wasm\x00" + code_id.to_bytes(8, "big") + instance.to_bytes(8, "big"))


def predictable_contract_address(checksum: bytes, creator: bytes, salt: bytes, message: bytes = b"") -> bytes:
    """Address of a contract instantiated with a salt (instantiate2)."""
    parts = (checksum, creator, salt, message)
    return derived_address("module", b"wasm\x00" + b"".join(len(p).to_bytes(8, "big") + p for p in parts))


def escrow_address(port: str, channel: str) -> bytes:
    """Account that holds the native coins sent over an IBC channel."""
    return sha256(b"ics20-1\x00" + f"{port}/{channel}".encode()).digest()[:ACCOUNT_LENGTH]


def ibc_denom(path: str) -> str:
    """Voucher denom of a full trace path such as `transfer/channel-0/uosmo`."""
    return "ibc/" + sha256(path.encode()).hexdigest().upper()
