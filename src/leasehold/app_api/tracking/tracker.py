"""Following transfers: what both chains say about a packet, noted until it has an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote
from uuid import UUID

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.tracking.phases import Leg, Observation, TimeoutHeight, advanced, ended
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

    def age(self, app: App) -> float:
        """Seconds since it is followed."""
        return app.clock.now_ns() / NANOSECONDS - self.created_at.timestamp()


class Look:
    """One look at both chains: what several transfers ask for is asked once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._seen: dict[Any, Any] = {}

    async def height(self) -> TimeoutHeight:
        """Where the SVM chain stands."""
        if "height" not in self._seen:
            epoch = await self._app.upstreams.svm.epoch()
            self._seen["height"] = TimeoutHeight(epoch.epoch, epoch.absoluteSlot)
        found: TimeoutHeight = self._seen["height"]
        return found

    async def committed(self, channel: str, *, from_svm: bool) -> list[int]:
        """Sequences of a channel's packets that have no outcome yet."""
        key = ("committed", channel, from_svm)
        if key not in self._seen:
            self._seen[key] = await (self._committed_there(channel) if from_svm else self._committed_here(channel))
        found: list[int] = self._seen[key]
        return found

    async def outcome(self, transfer: Transfer) -> Outcome | None:
        """What became of a packet, None while or where nobody knows."""
        if transfer.sequence is None:
            return None
        if transfer.from_svm:
            arrived = await self._outcomes_there(transfer.channel)
            if transfer.sequence not in arrived:
                return None
            return "arrived" if arrived[transfer.sequence] else "refunded"
        if await self._events(transfer, "timeout_packet"):
            return "refunded"
        events = await self._events(transfer, "acknowledge_packet")
        if not events:
            return None
        refused = any(
            event.type == "fungible_token_packet" and any(one.key == "error" for one in event.attributes)
            for event in events
        )
        return "failed" if refused else "arrived"

    async def observe(self, transfer: Transfer) -> Observation:
        """What both chains say about a transfer."""
        now = await self.height()
        waiting = await self.committed(transfer.channel, from_svm=transfer.from_svm) if transfer.sequence else []
        is_waiting = transfer.sequence in waiting
        found = None if is_waiting else await self.outcome(transfer)
        return Observation(now, is_waiting, found, transfer.age(self._app))

    async def _committed_here(self, channel: str) -> list[int]:
        target = f"/ibc/core/channel/v1/channels/{quote(channel, safe='')}/ports/transfer/packet_commitments"
        found = await self._app.upstreams.lcd.read(target, _Commitments, context="packet commitments")
        return sorted(int(one.sequence) for one in found.commitments if one.sequence.isdecimal())

    async def _committed_there(self, channel: str) -> list[int]:
        data = await self._account(programs.commitments_account, channel)
        return [] if data is None else self._parsed(programs.parse_commitments, data)

    async def _outcomes_there(self, channel: str) -> dict[int, bool]:
        key = ("outcomes", channel)
        if key not in self._seen:
            data = await self._account(programs.acknowledgements_account, channel)
            self._seen[key] = {} if data is None else self._parsed(programs.parse_acknowledgements, data)
        found: dict[int, bool] = self._seen[key]
        return found

    async def _events(self, transfer: Transfer, kind: str) -> list[_Event]:
        """Events of the transaction that reported an outcome of our own chain's packet."""
        query = (
            f"{kind}.packet_src_channel='{transfer.channel}' AND {kind}.packet_sequence='{transfer.sequence}'"
            f" AND {kind}.packet_src_port='transfer'"
        )
        found = await self._app.upstreams.lcd.read(
            f"/cosmos/tx/v1beta1/txs?query={quote(query, safe='')}&limit=1", _Txs, context="packet outcome"
        )
        return [event for tx in found.tx_responses for event in tx.events]

    async def _account(self, derive: Callable[[bytes, int], bytes], channel: str) -> bytes | None:
        address = encode(derive(program_of(self._app).id, int(channel.removeprefix("channel-"))))
        return await svm_node.account_data(self._app.upstreams.svm.transport, address)

    def _parsed(self, parse: Callable[[bytes], Any], data: bytes) -> Any:
        try:
            return parse(data)
        except InvalidInput as error:
            raise self._app.upstreams.svm.transport.unreadable("packets", error) from error


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
    look = Look(app)
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
        moved += await _step(app, look, transfer)
    now = to_datetime(app.clock.now_ns())
    await app.storage.writing(lambda session: session.execute(_statements.forget, now - KEPT))
    return moved


async def _step(app: App, look: Look, transfer: Transfer) -> bool:
    try:
        seen = await look.observe(transfer)
    except LeaseholdError as error:
        # A failed look changes nothing; age alone still ends a transfer.
        _log.debug("a transfer can't be looked at", transfer=str(transfer.id), error=error.message)
        seen = Observation(TimeoutHeight(0, 0), True, None, transfer.age(app))
        if not ended([advanced(leg, seen) for leg in transfer.legs]):
            return False
    return await _note(app, transfer, [advanced(leg, seen) for leg in transfer.legs])


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
        except Exception as error:  # noqa: BLE001 - a bug must not leave every transfer unfollowed for good
            _log.error("following transfers broke", exc_info=error)
