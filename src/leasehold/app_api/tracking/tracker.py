"""Following transfers: what both chains say about a packet, noted until it has an outcome."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote
from uuid import UUID

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.tracking.phases import Leg, Observation, TimeoutHeight, advanced, ended
from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.writes import svm_node
from leasehold.app_api.writes.solana import program_of
from leasehold.chain.svm import programs
from leasehold.chain.svm.addresses import encode
from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS, to_datetime
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.storage import queries

SVM = "solana"
SWEEP_SECONDS = 3.0
KEPT = timedelta(hours=24)
_statements = queries.load("leasehold.app_api.tracking", "queries.sql")
_log = logging.get("transfers")
Outcome = Literal["arrived", "failed", "refunded"]


class _Commitment(msgspec.Struct):
    sequence: str


class _Commitments(msgspec.Struct):
    commitments: list[_Commitment]


class _Attribute(msgspec.Struct):
    key: str
    value: str = ""


class _Event(msgspec.Struct):
    type: str
    attributes: list[_Attribute]


class _Tx(msgspec.Struct):
    events: list[_Event]


class _Txs(msgspec.Struct):
    tx_responses: list[_Tx]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A followed transfer; `sequence` is None where nobody could tell which packet it is."""

    id: UUID
    direction: str
    channel: str
    sequence: int | None
    legs: list[Leg]
    created_at: datetime

    @property
    def from_svm(self) -> bool:
        return self.direction.startswith(f"{SVM}_to_")

    @property
    def ordinal(self) -> int:
        return int(self.channel.removeprefix("channel-"))


async def height(app: App) -> TimeoutHeight:
    """Where the SVM chain stands."""
    epoch = await app.upstreams.svm.epoch()
    return TimeoutHeight(epoch.epoch, epoch.absoluteSlot)


async def committed(app: App, channel: str, *, from_svm: bool) -> list[int]:
    """Sequences of a channel's packets that have no outcome yet."""
    if not from_svm:
        target = f"/ibc/core/channel/v1/channels/{quote(channel, safe='')}/ports/transfer/packet_commitments"
        found = await app.upstreams.lcd.read(target, _Commitments, context="packet commitments")
        return sorted(int(one.sequence) for one in found.commitments if one.sequence.isdecimal())
    data = await _account(app, programs.commitments_account, channel)
    return [] if data is None else _parsed(app, programs.parse_commitments, data)


async def outcome(app: App, transfer: Transfer) -> Outcome | None:
    """What became of a packet, None while or where nobody knows."""
    if transfer.sequence is None:
        return None
    if transfer.from_svm:
        data = await _account(app, programs.acknowledgements_account, transfer.channel)
        arrived = {} if data is None else _parsed(app, programs.parse_acknowledgements, data)
        if transfer.sequence not in arrived:
            return None
        return "arrived" if arrived[transfer.sequence] else "refunded"
    if await _events(app, transfer, "timeout_packet"):
        return "refunded"
    events = await _events(app, transfer, "acknowledge_packet")
    if not events:
        return None
    refused = any(
        event.type == "fungible_token_packet" and any(one.key == "error" for one in event.attributes)
        for event in events
    )
    return "failed" if refused else "arrived"


async def _events(app: App, transfer: Transfer, kind: str) -> list[_Event]:
    """Events of the transaction that reported an outcome of our own chain's packet."""
    query = (
        f"{kind}.packet_src_channel='{transfer.channel}' AND {kind}.packet_sequence='{transfer.sequence}'"
        f" AND {kind}.packet_src_port='transfer'"
    )
    found = await app.upstreams.lcd.read(
        f"/cosmos/tx/v1beta1/txs?query={quote(query, safe='')}&limit=1", _Txs, context="packet outcome"
    )
    return [event for tx in found.tx_responses for event in tx.events]


async def _account(app: App, derive: Any, channel: str) -> bytes | None:
    address = encode(derive(program_of(app).id, int(channel.removeprefix("channel-"))))
    return await svm_node.account_data(app.upstreams.svm.transport, address)


def _parsed(app: App, parse: Any, data: bytes) -> Any:
    try:
        return parse(data)
    except InvalidInput as error:
        raise app.upstreams.svm.transport.unreadable("packets", error) from error


async def observe(app: App, transfer: Transfer) -> Observation:
    """Ask both chains about a transfer."""
    now = await height(app)
    waiting = await committed(app, transfer.channel, from_svm=transfer.from_svm) if transfer.sequence else []
    age = app.clock.now_ns() / NANOSECONDS - transfer.created_at.timestamp()
    is_waiting = transfer.sequence in waiting
    return Observation(now, is_waiting, None if is_waiting else await outcome(app, transfer), age)


async def active(app: App) -> int:
    found: int = await app.storage.fetchval(_statements.active)
    return found


async def follow(app: App, transfer: Transfer) -> None:
    """Note a transfer for good before anybody is told its id."""
    arguments = (
        transfer.id,
        transfer.direction,
        transfer.channel,
        transfer.sequence,
        transfer.legs,
        transfer.created_at,
    )
    await app.storage.writing(lambda session: session.execute(_statements.follow, *arguments))


async def sweep(app: App) -> int:
    """Look at every transfer on its way once and note what moved; how many did."""
    rows = await app.storage.fetch(_statements.unfinished)
    moved = 0
    for row in rows:
        transfer = Transfer(
            row["id"],
            row["direction"],
            row["channel"],
            None if row["sequence"] is None else int(row["sequence"]),
            msgspec.convert(row["legs"], list[Leg]),
            row["created_at"],
        )
        try:
            moved += await _step(app, transfer)
        except ServiceFailure as error:
            # A failed look changes nothing; age alone still ends a transfer.
            moved += await _step_blind(app, transfer)
            _log.debug("a transfer can't be looked at", transfer=str(transfer.id), error=error.message)
    now = to_datetime(app.clock.now_ns())
    await app.storage.writing(lambda session: session.execute(_statements.forget, now - KEPT))
    return moved


async def _step(app: App, transfer: Transfer) -> bool:
    seen = await observe(app, transfer)
    return await _note(app, transfer, [advanced(leg, seen) for leg in transfer.legs])


async def _step_blind(app: App, transfer: Transfer) -> bool:
    age = app.clock.now_ns() / NANOSECONDS - transfer.created_at.timestamp()
    seen = Observation(TimeoutHeight(0, 0), True, None, age)
    moved = [advanced(leg, seen) for leg in transfer.legs]
    return await _note(app, transfer, moved) if ended(moved) else False


async def _note(app: App, transfer: Transfer, legs: list[Leg]) -> bool:
    if legs == transfer.legs:
        return False
    finished = to_datetime(app.clock.now_ns()) if ended(legs) else None
    await app.storage.writing(lambda session: session.execute(_statements.advance, transfer.id, legs, finished))
    return True


async def sweeping(app: App) -> None:
    """Follow every transfer for as long as the service runs."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            await sweep(app)
        except LeaseholdError as error:
            _log.warning("transfers not looked at", error=str(error))
