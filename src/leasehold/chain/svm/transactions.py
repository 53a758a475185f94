"""SVM transactions: signatures and a version 0 message without look-up tables, compiled and parsed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from leasehold.core.errors import InvalidInput

SIGNATURE_LENGTH = 64
MAX_BYTES = 1232
_VERSION_0 = 0x80


@dataclass(frozen=True, slots=True)
class AccountMeta:
    """An account an instruction names, and what it may do with it."""

    address: bytes
    signer: bool = False
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """A call of a program."""

    program: bytes
    accounts: tuple[AccountMeta, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """What is signed; `signers` of the accounts sign, the first of them pays."""

    accounts: tuple[bytes, ...]
    signers: int
    readonly_signers: int
    readonly_others: int
    blockhash: bytes
    instructions: tuple[Instruction, ...]
    raw: bytes

    @property
    def payer(self) -> bytes:
        return self.accounts[0]


@dataclass(frozen=True, slots=True)
class Transaction:
    """A message with a signature for each of its signers; all zeros where one is still to sign."""

    signatures: tuple[bytes, ...]
    message: Message


class InvalidTransaction(InvalidInput):
    """Bytes that are not a transaction we understand."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="transaction")


def compiled(payer: bytes, blockhash: bytes, instructions: Sequence[Instruction]) -> bytes:
    """Bytes of a version 0 message; the payer first, the other accounts by what they may do, then by their bytes."""
    rights: dict[bytes, tuple[bool, bool]] = {}
    for instruction in instructions:
        rights.setdefault(instruction.program, (False, False))
        for meta in instruction.accounts:
            signer, writable = rights.get(meta.address, (False, False))
            rights[meta.address] = signer or meta.signer, writable or meta.writable
    rights.pop(payer, None)
    order = sorted(rights, key=lambda address: (not rights[address][0], not rights[address][1], address))
    keys = [payer, *order]
    signers = 1 + sum(rights[address][0] for address in order)
    readonly_signers = sum(rights[address] == (True, False) for address in order)
    readonly_others = sum(rights[address] == (False, False) for address in order)
    places = {address: place for place, address in enumerate(keys)}
    out = bytes((_VERSION_0, signers, readonly_signers, readonly_others))
    out += _compact(len(keys)) + b"".join(keys) + blockhash + _compact(len(instructions))
    for instruction in instructions:
        out += bytes((places[instruction.program],)) + _compact(len(instruction.accounts))
        out += bytes(places[meta.address] for meta in instruction.accounts)
        out += _compact(len(instruction.data)) + instruction.data
    return out + _compact(0)


def unsigned(message: bytes) -> bytes:
    """A transaction whose signatures are still zeros."""
    count = message[1]
    return _compact(count) + bytes(SIGNATURE_LENGTH * count) + message


def parse(data: bytes) -> Transaction:
    """The transaction of bytes; InvalidTransaction says what is wrong with them."""
    if len(data) > MAX_BYTES:
        raise InvalidTransaction(f"a transaction has at most {MAX_BYTES} bytes")
    reader = _Reader(data)
    signatures = tuple(reader.take(SIGNATURE_LENGTH) for _ in range(reader.compact()))
    start = reader.position
    if reader.byte() != _VERSION_0:
        raise InvalidTransaction("only version 0 messages are understood")
    signers, readonly_signers, readonly_others = reader.byte(), reader.byte(), reader.byte()
    keys = tuple(reader.take(32) for _ in range(reader.compact()))
    if not 0 < signers <= len(keys) or readonly_signers >= signers or signers + readonly_others > len(keys):
        raise InvalidTransaction("the message's header does not fit its accounts")
    if len(signatures) != signers:
        raise InvalidTransaction(f"{len(signatures)} signatures for {signers} signers")
    if len(set(keys)) != len(keys):
        raise InvalidTransaction("an account is listed twice")
    blockhash = reader.take(32)

    def meta(place: int) -> AccountMeta:
        if place >= len(keys):
            raise InvalidTransaction("an instruction names an account that is not there")
        writable = place < signers - readonly_signers or signers <= place < len(keys) - readonly_others
        return AccountMeta(keys[place], place < signers, writable)

    instructions = []
    for _ in range(reader.compact()):
        program = meta(reader.byte()).address
        accounts = tuple(meta(reader.byte()) for _ in range(reader.compact()))
        instructions.append(Instruction(program, accounts, reader.take(reader.compact())))
    if reader.compact() or reader.position != len(data):
        raise InvalidTransaction("look-up tables and trailing bytes are not understood")
    message = Message(keys, signers, readonly_signers, readonly_others, blockhash, tuple(instructions), data[start:])
    return Transaction(signatures, message)


def _compact(value: int) -> bytes:
    """A length in the wire's form: seven bits a byte, at most 16 bits."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class _Reader:
    """Reads parts of a transaction; InvalidTransaction where it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        part = self._data[self.position : self.position + count]
        if len(part) != count:
            raise InvalidTransaction("the transaction ends too early")
        self.position += count
        return part

    def byte(self) -> int:
        return self.take(1)[0]

    def compact(self) -> int:
        value = 0
        for shift in (0, 7, 14):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise InvalidTransaction("a length is too long")


def little(form: str, *values: int) -> bytes:
    """Integers in little-endian order, spelled as in `struct`."""
    return struct.pack("<" + form, *values)
