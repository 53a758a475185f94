"""Streams about single transactions: where one between chains stands, and whether one of ours is in a block."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.live import messages
from leasehold.app_api.live.sequence import place
from leasehold.app_api.live.topics import SKIP_TX, TRANSFER, TX_STATUS, Key
from leasehold.app_api.live.views import item_of, utc
from leasehold.app_api.resources.transfer import Leg, TransferLeg, TransferStatusResponse, status_of
from leasehold.core import logging
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.serving.frames import Item
from leasehold.serving.hub import Hub

POLL_SECONDS = 5.0
_DONE = frozenset(("TRANSFER_SUCCESS", "STATE_COMPLETED"))
_SUCCESS = "STATE_COMPLETED_SUCCESS"
_FAILURES = frozenset(("STATE_COMPLETED_ERROR", "STATE_PENDING_ERROR", "STATE_ABANDONED"))
_log = logging.get("live")


class _Hop(msgspec.Struct):
    state: str = ""
    src_chain_id: str = ""
    dst_chain_id: str = ""


class _Failure(msgspec.Struct):
    message: str = ""


class _Provider(msgspec.Struct):
    """The swap provider's word on a transaction."""

    state: str
    transfer_sequence: list[dict[str, msgspec.Raw]] | None = None
    error: _Failure | None = None


class _TxResponse(msgspec.Struct):
    height: str
    code: int = 0
    raw_log: str = ""


class _Tx(msgspec.Struct):
    tx_response: _TxResponse


def progress_of(state: str) -> messages.Progress:
    return "success" if state == _SUCCESS else "failed" if state in _FAILURES else "pending"


def hops_of(found: _Provider) -> list[_Hop]:
    """The hops of a route; those of an unknown kind count, as ones that are not done."""
    hops = []
    for entry in found.transfer_sequence or ():
        raw = next(iter(entry.values()), None)
        try:
            hops.append(msgspec.json.decode(raw, type=_Hop) if raw is not None else _Hop())
        except msgspec.MsgspecError:
            hops.append(_Hop())
    return hops


class Trackers:
    """Follows what somebody listens to, until it has ended."""

    def __init__(self, app: App, hub: Hub) -> None:
        self._app = app
        self._hub = hub
        self._known: dict[Key, tuple[Any, Item]] = {}
        self._ended: set[Key] = set()

    async def check(self, key: Key) -> None:
        """InvalidInput for a transfer nobody registered."""
        if key.topic == TRANSFER and "@" not in key.name and await self._legs(key.name) is None:
            raise InvalidInput(f"Unknown transfer: {key.name}")

    async def look(self, key: Key) -> Item | None:
        """Where something stands; the same item until it has moved, None while nobody knows it."""
        known = self._known.get(key)
        if key in self._ended:
            return known[1] if known else None
        try:
            message, ended = await self._read(key)
        except LeaseholdError as error:
            _log.debug("not followed", topic=key.topic, error=str(error))
            return known[1] if known else None
        if message is None:
            return None
        if ended:
            self._ended.add(key)
        content = msgspec.to_builtins(message)
        if known is not None and known[0] == content:
            return known[1]
        head = self._app.upstreams.node.newest
        height, time_ns = (head.height, head.time_ns) if head else (0, self._app.clock.now_ns())
        message.seq = max(place(height), known[1].seq + 1 if known else 0)
        message.height, message.time = height, utc(time_ns)
        item = item_of(message)
        self._known[key] = (content, item)
        return item

    async def run(self) -> None:
        """Publish what has moved, for ever."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            followed = [key for key in self._hub.topics() if isinstance(key, Key) and key.topic in (SKIP_TX, TRANSFER)]
            await asyncio.gather(*(self._advance(key) for key in followed if key not in self._ended))
            self._forget()

    async def _advance(self, key: Key) -> None:
        last = self._known.get(key)
        item = await self.look(key)
        if item is not None and (last is None or item is not last[1]):
            await self._hub.publish(key, item)

    def _forget(self) -> None:
        for key in [key for key in self._known if not self._hub.listeners(key)]:
            del self._known[key]
            self._ended.discard(key)

    async def included(self, key: Key, height: int, time_ns: int, error: str | None) -> None:
        """A followed transaction is in a block."""
        name = key.name.rpartition("@")[0]
        message = _included(name, error)
        message.seq, message.height, message.time = place(height), height, utc(time_ns)
        item = item_of(message)
        self._known[key] = (None, item)
        self._ended.add(key)
        await self._hub.publish(key, item)

    async def _read(self, key: Key) -> tuple[messages.Push | None, bool]:
        """What to say, with no place yet, and whether that is the end."""
        if key.topic == TRANSFER and "@" not in key.name:
            legs = await self._legs(key.name)
            return (None, False) if legs is None else _of_record(key.name, status_of(legs))
        name, _, chain_id = key.name.rpartition("@")
        if key.topic == TX_STATUS:
            return await self._transaction(name, chain_id)
        body = await self._app.upstreams.swap.status(name, chain_id)
        found = self._app.upstreams.swap.transport.decode(body, _Provider, "status")
        return _of_provider(key.topic, name, found)

    async def _legs(self, name: str) -> list[Leg] | None:
        try:
            found = await self._app.store.transfer(UUID(name))
        except ValueError:
            return None
        return None if found is None else msgspec.convert(found, list[Leg])

    async def _transaction(self, name: str, chain_id: str) -> tuple[messages.Push | None, bool]:
        if chain_id != self._app.settings.identity.chain_id:
            return None, False
        found = await self._app.upstreams.lcd.read(f"/cosmos/tx/v1beta1/txs/{quote(name, safe='')}", _Tx)
        response = found.tx_response
        return _included(name, None if response.code == 0 else response.raw_log), True


def _included(name: str, error: str | None) -> messages.TxStatus:
    status: messages.Progress = "success" if error is None else "failed"
    return messages.TxStatus(
        tx_hash=name, status=status, error=msgspec.UNSET if error is None else error, seq=0, height=0, time=""
    )


def _of_record(name: str, found: TransferStatusResponse) -> tuple[messages.Push, bool]:
    status = progress_of(found.state)
    message = messages.TransferUpdate(
        id=name,
        status=status,
        state=found.state,
        steps_completed=sum(leg.state == _SUCCESS for leg in found.transfers),
        total_steps=len(found.transfers),
        transfers=found.transfers,
        next_blocking_transfer=found.next_blocking_transfer,
        transfer_asset_release=found.transfer_asset_release,
        error=msgspec.UNSET if found.error is None else found.error,
        seq=0,
        height=0,
        time="",
    )
    return message, status != "pending"


def _of_provider(topic: str, name: str, found: _Provider) -> tuple[messages.Push, bool]:
    status, hops = progress_of(found.state), hops_of(found)
    total = len(hops) or 1
    # A transaction that succeeded has no steps left, whatever the provider still says about single hops.
    done = total if status == "success" else sum(hop.state in _DONE for hop in hops)
    failure: Any = msgspec.UNSET
    if status == "failed":
        failure = (found.error.message if found.error else "") or f"The transaction ended in {found.state}"
    if topic == SKIP_TX:
        skip = messages.SkipTxUpdate(
            tx_hash=name,
            status=status,
            steps_completed=done,
            total_steps=total,
            error=failure,
            seq=0,
            height=0,
            time="",
        )
        return skip, status != "pending"
    transfer = messages.TransferUpdate(
        tx_hash=name,
        status=status,
        state=found.state,
        steps_completed=done,
        total_steps=total,
        transfers=[TransferLeg(hop.state, hop.src_chain_id, hop.dst_chain_id) for hop in hops],
        error=failure,
        seq=0,
        height=0,
        time="",
    )
    return transfer, status != "pending"
