"""SVM addresses: base58 of 32 bytes, and addresses that programs derive."""

from __future__ import annotations

from hashlib import sha256

from leasehold.core.addresses import InvalidAddress

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}
LENGTH = 32
_MAX_SEED = 32
_MARKER = b"ProgramDerivedAddress"
# The curve's field and constant: an address a program derives must not be a point, so that no key can sign for it.
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


def encode(data: bytes) -> str:
    """Base58 text of bytes."""
    number = int.from_bytes(data, "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode(text: str) -> bytes:
    """Bytes of a base58 text; ValueError for another character."""
    number = 0
    for char in text:
        if char not in _VALUES:
            raise ValueError(f"not a base58 character: {char!r}")
        number = number * 58 + _VALUES[char]
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def address_bytes(text: str, *, field: str = "address") -> bytes:
    """The 32 bytes of an address; InvalidAddress names the field."""
    # The length is looked at first: decoding is quadratic.
    if 32 <= len(text) <= 44 and all(char in _VALUES for char in text):
        data = decode(text)
        if len(data) == LENGTH:
            return data
    raise InvalidAddress("not a base58 address of 32 bytes", field=field)


def is_on_curve(data: bytes) -> bool:
    """Whether 32 bytes are a point of ed25519, that is, whether a key may stand behind them."""
    y = int.from_bytes(data, "little") & (2**255 - 1)
    if y >= _P:
        y %= _P
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x_squared = u * pow(v, -1, _P) % _P
    return x_squared == 0 or pow(x_squared, (_P - 1) // 2, _P) == 1


def derived(program: bytes, *seeds: bytes) -> tuple[bytes, int]:
    """The address a program derives from seeds, and its bump."""
    if any(len(seed) > _MAX_SEED for seed in seeds):
        raise ValueError("a seed has at most 32 bytes")
    for bump in range(255, -1, -1):
        data = sha256(b"".join(seeds) + bytes((bump,)) + program + _MARKER).digest()
        if not is_on_curve(data):
            return data, bump
    raise ValueError("no address can be derived from these seeds")
