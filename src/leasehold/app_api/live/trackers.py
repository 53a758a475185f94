"""Streams about single transactions: where one between chains stands, and whether one of ours is in a block."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.live.moments import item_of, utc
from leasehold.app_api.live.progress import Provider, Reading, included, of_provider, of_record
from leasehold.app_api.live.topics import SKIP_TX, TRANSFER, TX_STATUS, Key
from leasehold.app_api.resources.transfer import Leg, status_of
from leasehold.core import logging
from leasehold.core.clock import parse_rfc3339
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.serving.frames import Item
from leasehold.serving.hub import Hub

POLL_SECONDS = 5.0
_log = logging.get("live")


class _TxResponse(msgspec.Struct):
    height: str
    code: int = 0
    raw_log: str = ""
    timestamp: str = ""


class _Tx(msgspec.Struct):
    tx_response: _TxResponse


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
            found = await self._read(key)
        except LeaseholdError as error:
            _log.debug("not followed", topic=key.topic, error=str(error))
            return known[1] if known else None
        return self._note(key, found) if found is not None else None

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
        if key not in self._ended:
            await self._hub.publish(key, self._note(key, included(_hash(key), height, error), time_ns))

    def _note(self, key: Key, found: Reading, time_ns: int | None = None) -> Item:
        """The item of a reading; the one known where nothing has moved."""
        if found.ended:
            self._ended.add(key)
        message = found.message
        content = msgspec.to_builtins(message)
        known = self._known.get(key)
        if known is not None and known[0] == content:
            return known[1]
        head = self._app.upstreams.node.newest
        # Of two states that are equally far the later comes after the earlier all the same.
        message.seq = max(found.seq, known[1].seq + 1 if known else 0)
        message.height = message.height or (head.height if head else 0)
        now_ns = head.time_ns if head else self._app.clock.now_ns()
        message.time = message.time or utc(time_ns if time_ns is not None else now_ns)
        item = item_of(message)
        self._known[key] = (content, item)
        return item

    async def _read(self, key: Key) -> Reading | None:
        if key.topic == TRANSFER and "@" not in key.name:
            legs = await self._legs(key.name)
            return None if legs is None else of_record(key.name, status_of(legs))
        chain_id = key.name.rpartition("@")[2]
        if key.topic == TX_STATUS:
            return await self._transaction(_hash(key), chain_id)
        body = await self._app.upstreams.swap.status(_hash(key), chain_id)
        return of_provider(key.topic, _hash(key), self._app.upstreams.swap.transport.decode(body, Provider, "status"))

    async def _legs(self, name: str) -> list[Leg] | None:
        try:
            found = await self._app.store.transfer(UUID(name))
        except ValueError:
            return None
        return None if found is None else msgspec.convert(found, list[Leg])

    async def _transaction(self, name: str, chain_id: str) -> Reading | None:
        if chain_id != self._app.settings.identity.chain_id:
            return None
        found = await self._app.upstreams.lcd.read(f"/cosmos/tx/v1beta1/txs/{quote(name, safe='')}", _Tx)
        response = found.tx_response
        reading = included(name, int(response.height), None if response.code == 0 else response.raw_log)
        if response.timestamp:
            reading.message.time = utc(parse_rfc3339(response.timestamp))
        return reading


def _hash(key: Key) -> str:
    return key.name.rpartition("@")[0]
