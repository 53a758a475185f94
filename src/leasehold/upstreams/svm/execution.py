"""Executing a transaction on the stand-in's ledger: all its instructions or none, and the fee either way."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from leasehold.chain.svm import programs
from leasehold.chain.svm.addresses import encode
from leasehold.chain.svm.transactions import Instruction, InvalidTransaction, Message
from leasehold.storage import queries
from leasehold.storage.pool import Session

QUERIES = queries.load("leasehold.upstreams.svm", "queries.sql")
SIGNATURE_FEE = 5000
TOKEN_ACCOUNT_RENT = 2_039_280
_DEFAULT_UNITS = 200_000
_INSUFFICIENT = {"Custom": 1}


class InstructionFailed(Exception):
    """An instruction that can't be done; `reason` as the wire spells it."""

    def __init__(self, reason: Any) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(slots=True)
class Execution:
    """One transaction being carried out at a slot."""

    session: Session
    program: bytes
    slot: int
    epoch: int
    now_ns: int
    logs: list[str] = field(default_factory=list)

    async def run(self, message: Message) -> Any:
        """Carry out a message; returns the error as the wire spells it, None where all went well."""
        payer = encode(message.payer)
        if await self.session.fetchval(QUERIES.lamports, payer) is None:
            return "AccountNotFound"
        if await self.session.fetchval(QUERIES.debit, payer, fee_of(message)) is None:
            return "InsufficientFundsForFee"
        savepoint = self.session.transaction()
        await savepoint.start()
        for place, instruction in enumerate(message.instructions):
            name = encode(instruction.program)
            self.logs.append(f"Program {name} invoke [1]")
            try:
                await self._step(instruction)
            except InstructionFailed as failed:
                self.logs.append(f"Program {name} failed: {failed.reason}")
                await savepoint.rollback()
                return {"InstructionError": [place, failed.reason]}
            self.logs.append(f"Program {name} success")
        await savepoint.commit()
        return None

    async def _step(self, instruction: Instruction) -> None:
        if instruction.program == programs.COMPUTE_BUDGET:
            return
        steps = {
            programs.SYSTEM: self._system,
            programs.ASSOCIATED_TOKEN: self._create_account,
            programs.TOKEN: self._token,
            self.program: self._send,
        }
        step = steps.get(instruction.program)
        if step is None:
            raise InstructionFailed("UnsupportedProgramId")
        await step(instruction)

    async def _system(self, instruction: Instruction) -> None:
        if len(instruction.data) != 12 or instruction.data[:4] != b"\x02\0\0\0" or len(instruction.accounts) < 2:
            raise InstructionFailed("InvalidInstructionData")
        source, target = instruction.accounts[:2]
        if not source.signer:
            raise InstructionFailed("MissingRequiredSignature")
        (lamports,) = struct.unpack("<Q", instruction.data[4:])
        if await self.session.fetchval(QUERIES.debit, encode(source.address), lamports) is None:
            raise InstructionFailed(_INSUFFICIENT)
        await self.session.execute(QUERIES.credit, encode(target.address), lamports)

    async def _create_account(self, instruction: Instruction) -> None:
        if instruction.data not in (b"", b"\0", b"\1") or len(instruction.accounts) < 6:
            raise InstructionFailed("InvalidInstructionData")
        payer, account, owner, mint = instruction.accounts[:4]
        if not payer.signer:
            raise InstructionFailed("MissingRequiredSignature")
        if account.address != programs.associated_account(owner.address, mint.address):
            raise InstructionFailed("InvalidSeeds")
        if await self.session.fetchrow(QUERIES.mint, encode(mint.address)) is None:
            raise InstructionFailed("IncorrectProgramId")
        names = (encode(account.address), encode(owner.address), encode(mint.address))
        if await self.session.fetchval(QUERIES.add_token_account, *names) is None:
            if instruction.data == b"\1":
                return
            raise InstructionFailed("IllegalOwner")
        if await self.session.fetchval(QUERIES.debit, encode(payer.address), TOKEN_ACCOUNT_RENT) is None:
            raise InstructionFailed(_INSUFFICIENT)

    async def _token(self, instruction: Instruction) -> None:
        data, accounts = instruction.data, instruction.accounts
        if len(data) == 9 and data[0] == 3 and len(accounts) >= 3:
            source, target, owner = accounts[:3]
        elif len(data) == 10 and data[0] == 12 and len(accounts) >= 4:
            source, _, target, owner = accounts[:4]
        else:
            raise InstructionFailed("InvalidInstructionData")
        (amount,) = struct.unpack("<Q", data[1:9])
        held = await self._owned(source.address, owner.address, signs=owner.signer)
        into = await self.session.fetchrow(QUERIES.token_account, encode(target.address))
        if into is None or into["mint"] != held["mint"]:
            raise InstructionFailed("InvalidAccountData")
        if data[0] == 12 and (data[9] != held["decimals"] or encode(accounts[1].address) != held["mint"]):
            raise InstructionFailed("InvalidAccountData")
        await self._take(held["address"], amount)
        await self.session.execute(QUERIES.change_tokens, into["address"], amount)

    async def _send(self, instruction: Instruction) -> None:
        try:
            what = programs.parse_send(instruction.data)
        except InvalidTransaction:
            raise InstructionFailed("InvalidInstructionData") from None
        if len(instruction.accounts) < 6:
            raise InstructionFailed("NotEnoughAccountKeys")
        sender, source, mint, commitments, vault, _ = instruction.accounts[:6]
        held = await self._owned(source.address, sender.address, signs=sender.signer)
        derived = (
            programs.commitments_account(self.program, what.channel),
            programs.vault_account(self.program, mint.address),
        )
        if (commitments.address, vault.address) != derived:
            raise InstructionFailed("InvalidSeeds")
        if held["mint"] != encode(mint.address):
            raise InstructionFailed("InvalidAccountData")
        if what.amount == 0 or not what.recipient or not self._in_time(what):
            raise InstructionFailed("InvalidArgument")
        await self._take(held["address"], what.amount)
        if what.kind == programs.SOURCE:
            names = (encode(vault.address), encode(self.program), held["mint"])
            await self.session.execute(QUERIES.add_token_account, *names)
            await self.session.execute(QUERIES.change_tokens, names[0], what.amount)
        else:
            await self.session.execute(QUERIES.change_supply, held["mint"], -what.amount)
        sequence = await self.session.fetchval(QUERIES.next_sequence, what.channel)
        await self.session.execute(
            QUERIES.add_packet,
            what.channel,
            sequence,
            "source" if what.kind == programs.SOURCE else "sink",
            encode(sender.address),
            held["address"],
            held["mint"],
            what.amount,
            what.recipient,
            what.memo,
            what.timeout_revision,
            what.timeout_height,
            what.timeout_ns,
            self.slot,
        )
        self.logs.append(f"Program log: packet channel-{what.channel} {sequence}")

    def _in_time(self, what: programs.Send) -> bool:
        if not what.timeout_height and not what.timeout_ns:
            return False
        limit = 2**63 - 1
        if max(what.timeout_revision, what.timeout_height, what.timeout_ns) > limit:
            return False
        return not is_late(
            what.timeout_revision, what.timeout_height, what.timeout_ns, self.epoch, self.slot, self.now_ns
        )

    async def _owned(self, account: bytes, owner: bytes, *, signs: bool) -> Any:
        held = await self.session.fetchrow(QUERIES.token_account, encode(account))
        if held is None:
            raise InstructionFailed("InvalidAccountData")
        if held["owner"] != encode(owner):
            raise InstructionFailed({"Custom": 4})
        if not signs:
            raise InstructionFailed("MissingRequiredSignature")
        return held

    async def _take(self, account: str, amount: int) -> None:
        if await self.session.fetchval(QUERIES.change_tokens, account, -amount) is None:
            raise InstructionFailed(_INSUFFICIENT)


def is_late(revision: int, height: int, instant_ns: int, epoch: int, slot: int, now_ns: int) -> bool:
    """Whether a packet's timeout has passed: by height with its revision, or by time."""
    return bool((height and (epoch, slot) >= (revision, height)) or (instant_ns and now_ns >= instant_ns))


def fee_of(message: Message) -> int:
    """Lamports a message costs: per signature, and the price asked for per unit of computation."""
    units, price = _DEFAULT_UNITS * max(1, len(message.instructions)), 0
    for instruction in message.instructions:
        if instruction.program != programs.COMPUTE_BUDGET:
            continue
        if instruction.data[:1] == b"\2" and len(instruction.data) == 5:
            (units,) = struct.unpack("<I", instruction.data[1:])
        elif instruction.data[:1] == b"\3" and len(instruction.data) == 9:
            (price,) = struct.unpack("<Q", instruction.data[1:])
    return message.signers * SIGNATURE_FEE - (-units * price // 1_000_000)
