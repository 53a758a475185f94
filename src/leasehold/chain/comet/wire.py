"""A minimal protobuf encoder and reader.

Headers, votes and commits are encoded and hashed for every block sealed; written out by hand this costs a few
microseconds, a tenth of building message objects. Everything that is not hot uses the descriptor registry instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.core.errors import InvalidInput

NANOSECONDS = 1_000_000_000


def varint(value: int) -> bytes:
    """Base-128 encoding; a negative int64 takes ten bytes, as protobuf wants."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = tuple(bytes([value]) for value in range(0x80))

# Keys of the fields up to 15, which are all that occur here: they are one byte long.
_VARINT_KEYS = tuple(bytes([number << 3]) for number in range(16))
_FIXED_KEYS = tuple(bytes([number << 3 | 1]) for number in range(16))
_BLOB_KEYS = tuple(bytes([number << 3 | 2]) for number in range(16))


def integer(number: int, value: int) -> bytes:
    """A varint field; nothing when zero."""
    return _VARINT_KEYS[number] + varint(value) if value else b""


def fixed64(number: int, value: int) -> bytes:
    """An sfixed64 field; nothing when zero."""
    return _FIXED_KEYS[number] + value.to_bytes(8, "little", signed=True) if value else b""


def blob(number: int, value: bytes) -> bytes:
    """A bytes or string field; nothing when empty."""
    return message(number, value) if value else b""


def message(number: int, value: bytes) -> bytes:
    """A sub-message field, present even when empty (a non-nullable member)."""
    size = len(value)
    return _BLOB_KEYS[number] + (_SMALL[size] if size < 0x80 else varint(size)) + value


def delimited(value: bytes) -> bytes:
    """A message preceded by its length, the form in which votes are signed."""
    return varint(len(value)) + value


# The zero time.Time of Go: what an absent vote carries.
ZERO_TIME_NS = -62_135_596_800 * NANOSECONDS


def timestamp(nanoseconds: int) -> bytes:
    """The body of a google.protobuf.Timestamp."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return integer(1, seconds) + integer(2, rest)


Field = tuple[int, int | bytes]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Value and the position after it."""
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise InvalidInput("unexpected EOF")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def read_fields(data: bytes) -> Iterator[Field]:
    """Fields of a message in order: (number, integer) for scalars, (number, bytes) for everything with a length."""
    at = 0
    size = len(data)
    while at < size:
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 1:
            length = 8
        elif kind == 2:
            length, at = read_varint(data, at)
        elif kind == 5:
            length = 4
        else:
            raise InvalidInput(f"wire type {kind} is not supported")
        if at + length > size:
            raise InvalidInput("unexpected EOF")
        chunk = data[at : at + length]
        at += length
        yield tag >> 3, chunk if kind == 2 else int.from_bytes(chunk, "little", signed=True)


def signed(value: int | bytes) -> int:
    """An int64 read as a varint."""
    if isinstance(value, bytes):
        raise InvalidInput("a number was expected")
    return value - (1 << 64) if value >= 1 << 63 else value


def content(value: int | bytes) -> bytes:
    """The bytes of a length-delimited field."""
    if isinstance(value, int):
        raise InvalidInput("bytes were expected")
    return value


def read_timestamp(data: bytes) -> int:
    """Nanoseconds of a google.protobuf.Timestamp body."""
    seconds = rest = 0
    for number, value in read_fields(data):
        if number == 1:
            seconds = signed(value)
        elif number == 2:
            rest = signed(value)
    return seconds * NANOSECONDS + rest
