"""Where a transaction and the transfers it started stand, told from what the chain has in its blocks.

STATE_SUBMITTED ──in a block──▶ STATE_PENDING ──all arrived──▶ STATE_COMPLETED_SUCCESS
       └──never seen──▶ STATE_ABANDONED ◀──never ends──┘  └──failed or refunded──▶ STATE_COMPLETED_ERROR
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leasehold.core.clock import Clock, to_datetime
from leasehold.core.errors import InvalidInput, NotFound, RateLimited
from leasehold.storage import queries
from leasehold.storage.pool import Database
from leasehold.upstreams.chain_access import ChainAccess, FoundTx
from leasehold.upstreams.swap import wire
from leasehold.upstreams.swap.markets import Markets

SUBMITTED, PENDING = "STATE_SUBMITTED", "STATE_PENDING"
SUCCESS, ERROR, ABANDONED = "STATE_COMPLETED_SUCCESS", "STATE_COMPLETED_ERROR", "STATE_ABANDONED"
# How long a transaction may stay unseen, and its transfers without an end.
UNSEEN = timedelta(minutes=3)
UNENDED = timedelta(hours=6)
# Transactions looked at in one step, and followed at all.
AT_ONCE = 100
MOST_OPEN = 10_000
# How long an end is remembered; later the chain is asked again.
KEPT = timedelta(days=7)

_QUERIES = queries.load("leasehold.upstreams.swap", "queries.sql")
_HASH = re.compile(r"[0-9A-F]{64}")


@dataclass(slots=True)
class Tracker:
    """Follows transactions to their end and remembers it."""

    database: Database
    clock: Clock
    chain: ChainAccess
    markets: Markets
    chain_id: str

    async def track(self, asked: wire.TrackRequest) -> wire.Track:
        """Follow a transaction; asking again changes nothing."""
        digest = self._checked(asked.chain_id, asked.tx_hash)
        if await self.database.fetchval(_QUERIES.count_open) >= MOST_OPEN:
            raise RateLimited("too many transactions are being followed", retry_after=60)
        first = _status([], SUBMITTED)
        await self.database.writing(
            lambda session: session.execute(
                _QUERIES.track, asked.chain_id, digest, SUBMITTED, msgspec.to_builtins(first), self._now()
            )
        )
        return wire.Track(digest, None)

    async def status(self, chain_id: str, tx_hash: str) -> wire.Status:
        """Where a transaction stands; NotFound for one neither followed nor in a block."""
        digest = self._checked(chain_id, tx_hash)
        row = await self.database.fetchrow(_QUERIES.tracked, chain_id, digest)
        if row is not None and row["finished_at"] is not None:
            return msgspec.convert(row["status"], wire.Status)
        found = await self._look(digest, row["created_at"] if row is not None else None)
        if row is not None:
            await self._note(chain_id, digest, found)
        return found

    async def step(self) -> bool:
        """Look at everything that has not ended; never asks to be called again at once."""
        for row in await self.database.fetch(_QUERIES.open, AT_ONCE):
            await self._note(row["chain_id"], row["tx_hash"], await self._look(row["tx_hash"], row["created_at"]))
        await self.database.writing(lambda session: session.execute(_QUERIES.forget, self._now() - KEPT))
        return False

    async def _note(self, chain_id: str, digest: str, found: wire.Status) -> None:
        ended = self._now() if found.state in (SUCCESS, ERROR, ABANDONED) else None
        content = msgspec.to_builtins(found)
        await self.database.writing(
            lambda session: session.execute(_QUERIES.note, chain_id, digest, found.state, content, ended)
        )

    async def _look(self, digest: str, since: datetime | None) -> wire.Status:
        found = await self.chain.tx(digest)
        if found is None:
            if since is None:
                raise NotFound("tx not found")
            return _status([], ABANDONED if self._now() - since > UNSEEN else SUBMITTED)
        if found.tx_result.code:
            fault = wire.Fault(
                "STATUS_ERROR_TRANSACTION_EXECUTION",
                found.tx_result.log or "execution failed",
                {"code": found.tx_result.code, "codespace": found.tx_result.codespace},
            )
            return _status([], ERROR, error=fault)
        status = await self._followed(found)
        if status.state == PENDING and since is not None and self._now() - since > UNENDED:
            return _status(status.transfer_sequence, ABANDONED)
        return status

    async def _followed(self, found: FoundTx) -> wire.Status:
        """State of the transfers a transaction sent, and of those that bring swapped coins home."""
        chains = {venue.channel: venue.chain_id for venue in await self.markets.venues()}
        steps: list[wire.Step] = []
        release: wire.Release | None = None
        for packet in found.attributes("send_packet"):
            if packet.get("packet_src_port") != "transfer":
                continue
            there = chains.get(packet["packet_src_channel"], packet["packet_src_channel"])
            outward, settled, sent = await self._outward(found, packet, there)
            steps.append(wire.Step(outward))
            if outward.state == "TRANSFER_FAILURE":
                release = wire.Release(self.chain_id, sent.get("denom", ""), True)
            elif outward.state == "TRANSFER_SUCCESS" and settled is None:
                release = wire.Release(there, sent.get("denom", ""), True)
            elif settled is not None and not settled["return_sequence"]:
                release = wire.Release(there, settled["denom"], True)
            elif settled is not None:
                homeward = await self._homeward(packet["packet_src_channel"], settled["return_sequence"], there)
                steps.append(wire.Step(homeward))
                if homeward.state == "TRANSFER_SUCCESS":
                    release = wire.Release(self.chain_id, settled["denom"], True)
        states = [step.ibc_transfer.state for step in steps]
        if "TRANSFER_FAILURE" in states:
            place = states.index("TRANSFER_FAILURE")
            text = (steps[place].ibc_transfer.packet_txs.error or {}).get("message", "transfer failed")
            return _status(steps, ERROR, release, wire.Fault("STATUS_ERROR_TRANSFER", text, {}))
        return _status(steps, PENDING if "TRANSFER_PENDING" in states else SUCCESS, release)

    async def _outward(
        self, found: FoundTx, packet: dict[str, str], there: str
    ) -> tuple[wire.IbcTransfer, dict[str, str] | None, dict[str, str]]:
        """A transfer out, the swap it ended in, and the coins it carries."""
        sequence, channel = packet["packet_sequence"], packet["packet_src_channel"]
        txs = wire.PacketTxs(send_tx=wire.PacketTx(self.chain_id, found.hash, ""))
        sent = _data(packet)
        ended, state, settled = await self._packet_tx("acknowledge_packet", sequence, channel), "TRANSFER_PENDING", None
        if ended is not None:
            txs.acknowledge_tx = wire.PacketTx(self.chain_id, ended.hash, "")
            refusal = _refusal(_event(ended, "acknowledge_packet", sequence))
            state = "TRANSFER_FAILURE" if refusal else "TRANSFER_SUCCESS"
            if refusal:
                txs.error = {"type": "PACKET_ERROR_ACKNOWLEDGEMENT", "message": refusal}
            settled = _event(ended, "swap_settled", sequence) or None
        else:
            late = await self._packet_tx("timeout_packet", sequence, channel)
            if late is not None:
                txs.timeout_tx = wire.PacketTx(self.chain_id, late.hash, "")
                txs.error = {"type": "PACKET_ERROR_TIMEOUT", "message": "the transfer timed out and was refunded"}
                state = "TRANSFER_FAILURE"
        return wire.IbcTransfer(self.chain_id, there, self.chain_id, there, state, txs), settled, sent

    async def _homeward(self, channel: str, sequence: str, there: str) -> wire.IbcTransfer:
        found = await self.chain.search(
            f"recv_packet.packet_sequence='{sequence}' AND recv_packet.packet_dst_channel='{channel}'"
        )
        arrived = next((one for one in found if _event(one, "recv_packet", sequence)), None)
        txs = wire.PacketTxs()
        if arrived is not None:
            txs.receive_tx = wire.PacketTx(self.chain_id, arrived.hash, "")
        state = "TRANSFER_SUCCESS" if arrived is not None else "TRANSFER_PENDING"
        return wire.IbcTransfer(there, self.chain_id, there, self.chain_id, state, txs)

    async def _packet_tx(self, kind: str, sequence: str, channel: str) -> FoundTx | None:
        found = await self.chain.search(
            f"{kind}.packet_sequence='{sequence}' AND {kind}.packet_src_channel='{channel}'"
        )
        return next((one for one in found if one.tx_result.code == 0 and _event(one, kind, sequence)), None)

    def _checked(self, chain_id: str, tx_hash: str) -> str:
        if chain_id != self.chain_id:
            raise InvalidInput(f"only transactions of {self.chain_id} are followed", field="chain_id")
        digest = tx_hash.upper()
        if not _HASH.fullmatch(digest):
            raise InvalidInput("a transaction hash is 64 hexadecimal digits", field="tx_hash")
        return digest

    def _now(self) -> datetime:
        return to_datetime(self.clock.now_ns())


def _status(
    steps: list[wire.Step], state: str, release: wire.Release | None = None, error: wire.Fault | None = None
) -> wire.Status:
    waiting = [place for place, step in enumerate(steps) if step.ibc_transfer.state == "TRANSFER_PENDING"]
    return wire.Status(
        transfers=[],
        transfer_sequence=steps,
        next_blocking_transfer=wire.Blocking(waiting[0]) if waiting else None,
        transfer_asset_release=release,
        state=state,
        status=state,
        error=error if error is not None else msgspec.UNSET,
    )


def _event(found: FoundTx, kind: str, sequence: str) -> dict[str, str]:
    return next((one for one in found.attributes(kind) if one.get("packet_sequence") == sequence), {})


def _data(packet: dict[str, str]) -> dict[str, str]:
    try:
        content = msgspec.json.decode(bytes.fromhex(packet.get("packet_data_hex", "")))
    except (ValueError, msgspec.DecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _refusal(event: dict[str, str]) -> str:
    """The error in an acknowledgement, nothing where it is a success."""
    try:
        content = msgspec.json.decode(bytes.fromhex(event.get("packet_ack_hex", "")))
    except (ValueError, msgspec.DecodeError):
        return "unreadable acknowledgement"
    return str(content.get("error", "")) if isinstance(content, dict) else ""
