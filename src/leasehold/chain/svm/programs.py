"""Instructions: compute budget, token accounts, and sends of our own program.

The layout of a send is Leasehold's own (the public program's is not published); the program stands under a
configurable id. All integers are little-endian.

    "LSHD" · version u8 (1) · kind u8 (1 source, 2 sink) · channel u16 · amount u64
    · timeout revision u64 · timeout height u64 · timeout instant u64 (ns; 0: none)
    · recipient u16 length, UTF-8 · remote denom u16 length, UTF-8 · memo u16 length, UTF-8

Its accounts: sender (signer, writable), its token account (writable), mint (writable), the channel's commitments
(writable), the mint's vault (writable), token program. A source send moves tokens into the vault; a sink send burns.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256

from leasehold.chain.svm.addresses import decode, derived
from leasehold.chain.svm.transactions import AccountMeta, Instruction, InvalidTransaction, little

SYSTEM = bytes(32)
COMPUTE_BUDGET = decode("ComputeBudget111111111111111111111111111111")
TOKEN = decode("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
ASSOCIATED_TOKEN = decode("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
# Mints that every SVM chain with our currencies has, with their decimals: the wrapped native token, and USDC.
WELL_KNOWN_MINTS = {
    "So11111111111111111111111111111111111111112": 9,
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v": 6,
}

SOURCE, SINK = 1, 2
_MAGIC = b"LSHD\x01"
_HEAD = struct.Struct("<BHQQQQ")
_COMMITMENTS, _ACKNOWLEDGEMENTS = b"LSHC", b"LSHA"


@dataclass(frozen=True, slots=True)
class Send:
    """Tokens sent to the chain; a timeout needs a height (with its revision) or an instant, or both."""

    kind: int
    channel: int
    amount: int
    timeout_revision: int
    timeout_height: int
    timeout_ns: int
    recipient: str
    denom: str = ""
    memo: str = ""


def compute_budget(unit_limit: int, unit_price: int) -> tuple[Instruction, Instruction]:
    """Limit of compute units, and their price in micro-lamports."""
    return (
        Instruction(COMPUTE_BUDGET, (), b"\x02" + little("I", unit_limit)),
        Instruction(COMPUTE_BUDGET, (), b"\x03" + little("Q", unit_price)),
    )


def associated_account(owner: bytes, mint: bytes) -> bytes:
    """The token account an owner has for a mint by convention."""
    return derived(ASSOCIATED_TOKEN, owner, TOKEN, mint)[0]


def create_associated_account(owner: bytes, mint: bytes) -> Instruction:
    """Create an owner's token account, paid by the owner; nothing happens where it exists."""
    metas = (
        AccountMeta(owner, signer=True, writable=True),
        AccountMeta(associated_account(owner, mint), writable=True),
        AccountMeta(owner),
        AccountMeta(mint),
        AccountMeta(SYSTEM),
        AccountMeta(TOKEN),
    )
    return Instruction(ASSOCIATED_TOKEN, metas, b"\x01")


def commitments_account(program: bytes, channel: int) -> bytes:
    """Account that lists the packets of a channel without an outcome."""
    return derived(program, b"commitments", little("H", channel))[0]


def acknowledgements_account(program: bytes, channel: int) -> bytes:
    """Account that lists the outcomes of a channel's packets."""
    return derived(program, b"acknowledgements", little("H", channel))[0]


def vault_account(program: bytes, mint: bytes) -> bytes:
    """Token account in which a program keeps what was sent to the chain."""
    return derived(program, b"vault", mint)[0]


def voucher_mint(program: bytes, denom: str) -> bytes:
    """Mint of what a program issues for a denom of the chain."""
    return derived(program, b"voucher", sha256(denom.encode()).digest())[0]


def send(program: bytes, sender: bytes, mint: bytes, what: Send) -> Instruction:
    """Send tokens from the sender's associated account."""
    metas = (
        AccountMeta(sender, signer=True, writable=True),
        AccountMeta(associated_account(sender, mint), writable=True),
        AccountMeta(mint, writable=True),
        AccountMeta(commitments_account(program, what.channel), writable=True),
        AccountMeta(vault_account(program, mint), writable=True),
        AccountMeta(TOKEN),
    )
    data = _MAGIC + _HEAD.pack(
        what.kind, what.channel, what.amount, what.timeout_revision, what.timeout_height, what.timeout_ns
    )
    for text in (what.recipient, what.denom, what.memo):
        encoded = text.encode()
        data += little("H", len(encoded)) + encoded
    return Instruction(program, metas, data)


def parse_send(data: bytes) -> Send:
    """The send of an instruction's data; InvalidTransaction where it is something else."""
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + _HEAD.size:
        raise InvalidTransaction("not an instruction of this program")
    head = _HEAD.unpack_from(data, len(_MAGIC))
    position = len(_MAGIC) + _HEAD.size
    texts = []
    for _ in range(3):
        (length,) = struct.unpack_from("<H", data, position) if position + 2 <= len(data) else (0xFFFF,)
        part = data[position + 2 : position + 2 + length]
        if len(part) != length:
            raise InvalidTransaction("the instruction ends too early")
        try:
            texts.append(part.decode())
        except UnicodeDecodeError:
            raise InvalidTransaction("a text of the instruction is not UTF-8") from None
        position += 2 + length
    if position != len(data) or head[0] not in (SOURCE, SINK):
        raise InvalidTransaction("not a send")
    return Send(*head, *texts)


def commitments(channel: int, sequences: list[int]) -> bytes:
    """Data of a commitments account."""
    return _COMMITMENTS + little("HI", channel, len(sequences)) + b"".join(little("Q", s) for s in sequences)


def parse_commitments(data: bytes) -> list[int]:
    """Sequences of a channel's packets without an outcome."""
    count = _count(data, _COMMITMENTS, 8)
    return [struct.unpack_from("<Q", data, 10 + 8 * place)[0] for place in range(count)]


def acknowledgements(channel: int, outcomes: list[tuple[int, bool]]) -> bytes:
    """Data of an acknowledgements account: sequences, and whether each packet arrived or was refunded."""
    rows = b"".join(little("QB", sequence, arrived) for sequence, arrived in outcomes)
    return _ACKNOWLEDGEMENTS + little("HI", channel, len(outcomes)) + rows


def parse_acknowledgements(data: bytes) -> dict[int, bool]:
    """Whether each packet with an outcome arrived (else it was refunded), by sequence."""
    count = _count(data, _ACKNOWLEDGEMENTS, 9)
    rows = (struct.unpack_from("<QB", data, 10 + 9 * place) for place in range(count))
    return {sequence: bool(arrived) for sequence, arrived in rows}


def _count(data: bytes, magic: bytes, width: int) -> int:
    if data[:4] != magic or len(data) < 10:
        raise InvalidTransaction("not an account of this program")
    count: int = struct.unpack_from("<I", data, 6)[0]
    if len(data) != 10 + count * width:
        raise InvalidTransaction("the account's data has another length than it says")
    return count
