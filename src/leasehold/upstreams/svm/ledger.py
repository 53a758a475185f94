"""The stand-in's ledger in PostgreSQL: accounts, tokens, transactions, and packets on their way to the chain."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from leasehold.chain.svm import programs
from leasehold.chain.svm.addresses import address_bytes, encode
from leasehold.chain.svm.transactions import Transaction
from leasehold.core.clock import Clock, from_datetime, to_datetime
from leasehold.core.errors import NotReady
from leasehold.storage.pool import Database, Session
from leasehold.upstreams.svm.cluster import Cluster
from leasehold.upstreams.svm.execution import QUERIES, Execution, is_late

# Slots until a packet is relayed.
RELAY_SLOTS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a transaction."""

    error: Any
    logs: list[str]
    slot: int


class _Discarded(Exception):
    """Ends a simulation's transaction without keeping anything."""


@dataclass(slots=True)
class SvmLedger:
    """The chain's state and what changes it."""

    database: Database
    clock: Clock
    program: bytes
    _cluster: Cluster | None = None
    _channel_accounts: dict[int, tuple[str, str]] = field(default_factory=dict)

    async def start(self) -> None:
        """Begin the chain, or take it up where it was."""
        now = to_datetime(self.clock.now_ns())
        await self.database.writing(lambda session: session.execute(QUERIES.begin, secrets.token_bytes(32), now))
        row: Any = await self.database.fetchrow(QUERIES.genesis)
        self._cluster = Cluster(row["seed"], from_datetime(row["started_at"]))

    async def issue(self, mints: Mapping[str, int]) -> None:
        """Have these mints, by their decimals; those that exist stay as they are."""

        async def work(session: Session) -> None:
            for mint, decimals in mints.items():
                await session.execute(QUERIES.add_mint, mint, decimals)

        await self.database.writing(work)

    @property
    def cluster(self) -> Cluster:
        if self._cluster is None:
            raise NotReady("the svm stand-in is starting")
        return self._cluster

    @property
    def slot(self) -> int:
        return self.cluster.slot(self.clock.now_ns())

    async def lamports(self, address: str) -> int:
        return int(await self.database.fetchval(QUERIES.lamports, address) or 0)

    async def token_accounts(self, owner: str, mint: str | None) -> list[asyncpg.Record]:
        return await self.database.fetch(QUERIES.token_accounts, owner, mint)

    async def token_account(self, address: str) -> asyncpg.Record | None:
        return await self.database.fetchrow(QUERIES.token_account, address)

    async def transaction(self, signature: str) -> asyncpg.Record | None:
        return await self.database.fetchrow(QUERIES.transaction, signature)

    async def transactions(self) -> int:
        return int(await self.database.fetchval(QUERIES.count_transactions))

    async def packet_account(self, address: str) -> bytes | None:
        """Data of an account in which our program lists packets, None for any other."""
        for row in await self.database.fetch(QUERIES.channels):
            channel = row["channel"]
            if channel not in self._channel_accounts:
                self._channel_accounts[channel] = (
                    encode(programs.commitments_account(self.program, channel)),
                    encode(programs.acknowledgements_account(self.program, channel)),
                )
            committed, ended = self._channel_accounts[channel]
            if address == committed:
                rows = await self.database.fetch(QUERIES.packets, channel, True)
                return programs.commitments(channel, [one["sequence"] for one in rows])
            if address == ended:
                rows = await self.database.fetch(QUERIES.packets, channel, False)
                return programs.acknowledgements(
                    channel, [(one["sequence"], one["state"] == "acknowledged") for one in rows]
                )
        return None

    async def simulate(self, transaction: Transaction) -> Outcome:
        """What a transaction would come to now; nothing is kept."""
        outcome: Outcome | None = None

        async def attempt(session: Session) -> None:
            nonlocal outcome
            outcome = await self._execute(session, transaction)
            raise _Discarded

        with contextlib.suppress(_Discarded):
            await self.database.writing(attempt)
        assert outcome is not None, "a simulation that raised nothing has an outcome"
        return outcome

    async def send(self, transaction: Transaction, raw: bytes) -> Outcome:
        """Carry out a signed transaction once; sending it again changes nothing."""
        signature = encode(transaction.signatures[0])

        async def change(session: Session) -> Outcome:
            await session.execute(QUERIES.lock)
            known = await session.fetchrow(QUERIES.transaction, signature)
            if known is not None:
                return Outcome(known["error"], known["logs"], known["slot"])
            outcome = await self._execute(session, transaction)
            await session.execute(QUERIES.add_transaction, signature, outcome.slot, outcome.error, outcome.logs, raw)
            return outcome

        return await self.database.writing(change)

    async def _execute(self, session: Session, transaction: Transaction) -> Outcome:
        slot = self.slot
        run = Execution(session, self.program, slot, self.cluster.epoch(slot), self.clock.now_ns())
        if not self.cluster.is_recent(transaction.message.blockhash, slot):
            return Outcome("BlockhashNotFound", [], slot)
        return Outcome(await run.run(transaction.message), run.logs, slot)

    async def airdrop(self, address: str, lamports: int) -> str:
        """Lamports from nowhere; returns the signature of the transaction that stands for them."""
        signature = encode(hashlib.sha512(secrets.token_bytes(64)).digest())

        async def change(session: Session) -> None:
            if await session.fetchval(QUERIES.add_transaction, signature, self.slot, None, [], b"") is not None:
                await session.execute(QUERIES.credit, address, lamports)

        await self.database.writing(change)
        return signature

    async def mint_to(self, owner: str, mint: str, amount: int, decimals: int) -> str:
        """Tokens from nowhere on the owner's associated account; returns that account."""
        account = encode(programs.associated_account(address_bytes(owner), address_bytes(mint)))
        receipt = encode(hashlib.sha512(secrets.token_bytes(64)).digest())

        async def change(session: Session) -> None:
            if await session.fetchval(QUERIES.add_transaction, receipt, self.slot, None, [], b"") is None:
                return
            await session.execute(QUERIES.add_mint, mint, decimals)
            await session.execute(QUERIES.add_token_account, account, owner, mint)
            await session.execute(QUERIES.change_supply, mint, amount)
            await session.execute(QUERIES.change_tokens, account, amount)

        await self.database.writing(change)
        return account

    async def step(self) -> bool:
        """Relay the packets that are due: they arrive, or are refunded where their timeout passed first."""
        due = await self.database.writing(self._relay)
        return due == 100

    async def _relay(self, session: Session) -> int:
        rows = await session.fetch(QUERIES.due_packets, self.slot - RELAY_SLOTS)
        if rows:
            await session.execute(QUERIES.lock)
        for row in rows:
            slot = row["slot"] + RELAY_SLOTS
            late = is_late(
                row["timeout_revision"],
                row["timeout_height"],
                row["timeout_ns"],
                self.cluster.epoch(slot),
                slot,
                self.clock.now_ns(),
            )
            state = "refunded" if late else "acknowledged"
            ended = await session.fetchval(QUERIES.end_packet, row["channel"], row["sequence"], state)
            if late and ended is not None:
                await self._refund(session, row)
        return len(rows)

    async def _refund(self, session: Session, row: Any) -> None:
        if row["kind"] == "source":
            vault = encode(programs.vault_account(self.program, address_bytes(row["mint"])))
            await session.execute(QUERIES.change_tokens, vault, -row["amount"])
        else:
            await session.execute(QUERIES.change_supply, row["mint"], row["amount"])
        await session.execute(QUERIES.change_tokens, row["token_account"], row["amount"])


def is_signed(transaction: Transaction) -> bool:
    """Whether every signer signed the message."""
    message = transaction.message
    for key, signature in zip(message.accounts[: message.signers], transaction.signatures, strict=True):
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message.raw)
        except (InvalidSignature, ValueError):
            return False
    return True
