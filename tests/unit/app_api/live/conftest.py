"""A running application API in front of a world that moves, and a client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.unit.app_api.conftest import OWNER
from tests.unit.app_api.live.stage import MovingWorld, Served, live_service

from leasehold.app_api import service
from leasehold.serving import sockets


@pytest.fixture
def world() -> MovingWorld:
    return MovingWorld()


@pytest.fixture
async def served(world: MovingWorld, database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)
    monkeypatch.setattr(sockets, "PING_SECONDS", 0.3)
    monkeypatch.setattr(sockets, "PONG_SECONDS", 0.3)
    world.pay(OWNER, 5)
    world.seal()
    async with live_service(world, database, websocket_per_client=3) as (one,):
        yield one


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as client:
        yield client
