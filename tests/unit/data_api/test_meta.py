"""Blocks, version, health and readiness of the data API, on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import psycopg
import pytest

from leasehold.core.clock import ManualClock
from leasehold.core.settings import Database, Settings
from leasehold.data_api.service import application
from leasehold.serving.service import serving
from leasehold.storage import migrations

NOW_NS = 1_800_000_000_000_000_000


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock(NOW_NS)


@pytest.fixture
async def api(database: str, clock: ManualClock) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    settings = Settings(database=Database(url=database, pool_size=2))
    async with serving(application(settings, clock)) as running, aiohttp.ClientSession() as session:
        yield session, running.url


async def _indexed(database: str, first: int = 1) -> None:
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("CREATE TABLE indexer.blocks_all PARTITION OF indexer.blocks DEFAULT")
        await connection.execute(
            "INSERT INTO indexer.blocks SELECT h, sha256(h::text::bytea), to_timestamp(%s + h), '', 2, 14"
            " FROM generate_series(%s, 20) h",
            (NOW_NS // 10**9 - 60, first),
        )
        await connection.execute(
            "INSERT INTO indexer.cursor SELECT true, 'x-1', %s, 20, '', to_timestamp(%s), %s, %s, 40, 280, 0",
            (first, NOW_NS // 10**9 - 40, NOW_NS - 40 * 10**9, 21 - first),
        )


async def _get(api: tuple[aiohttp.ClientSession, str], path: str) -> tuple[int, object, str | None]:
    session, url = api
    async with session.get(url + path) as response:
        return response.status, await response.json(), response.headers.get("x-block-height")


async def test_without_an_index_only_liveness_and_version_answer(api: tuple[aiohttp.ClientSession, str]) -> None:
    """Before anything is indexed the process is alive, knows its version, and says that it is not ready."""
    assert (await _get(api, "/health"))[:2] == (200, {"status": "ok", "version": "0.1.0"})
    assert (await _get(api, "/api/version"))[:2] == (200, {"version": "0.1.0"})
    status, body, _ = await _get(api, "/ready")
    assert status == 503
    assert body["status"] == "not_ready"  # type: ignore[index]
    status, body, _ = await _get(api, "/api/blocks")
    assert (status, body["error"]) == (503, "Service Unavailable")  # type: ignore[index]


async def test_blocks_are_a_bare_count_with_the_height_they_speak_for(
    database: str, api: tuple[aiohttp.ClientSession, str]
) -> None:
    """The number of indexed blocks is a JSON integer; the height it speaks for is in a header."""
    await _indexed(database, first=5)
    assert await _get(api, "/api/blocks") == (200, 16, "20")
    assert await _get(api, "/api/blocks/gaps") == (200, [{"start": 1, "end": 4}], "20")


async def test_single_blocks_are_found_or_missing(database: str, api: tuple[aiohttp.ClientSession, str]) -> None:
    """The newest block, one by height, and an envelope for one that is not indexed or no height at all."""
    await _indexed(database)
    status, latest, _ = await _get(api, "/api/blocks/latest")
    assert status == 200
    assert (await _get(api, "/api/blocks/20"))[1] == latest
    assert latest["tx_count"] == 2  # type: ignore[index]
    status, body, _ = await _get(api, "/api/blocks/21")
    assert (status, body["status"]) == (404, 404)  # type: ignore[index]
    assert (await _get(api, "/api/blocks/-1"))[0] == 400
    assert (await _get(api, "/api/blocks/abc"))[0] == 400


async def test_readiness_ends_when_the_index_grows_old(
    database: str, api: tuple[aiohttp.ClientSession, str], clock: ManualClock
) -> None:
    """Ready while the newest block is young; 503 once it is older than ten minutes."""
    await _indexed(database)
    assert (await _get(api, "/ready"))[0] == 200
    clock.advance(seconds=600)
    status, body, _ = await _get(api, "/ready")
    assert (status, body["checks"]["lag_seconds"]) == (503, 640)  # type: ignore[index]
