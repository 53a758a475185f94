"""Short reads share a few connections, one after the other, and nothing of one gets into another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from leasehold.core.settings import Database as DatabaseSettings
from leasehold.storage import pool
from leasehold.storage.lane import Lane

SESSION = "SELECT pg_backend_pid()"


@pytest.fixture
async def made() -> list[asyncpg.Connection]:
    """The connections that the lane under test made."""
    return []


@pytest.fixture
async def lane(database: str, made: list[asyncpg.Connection]) -> AsyncIterator[Lane]:
    """A lane of two connections."""

    async def connect() -> asyncpg.Connection:
        made.append(await pool.connect(database, service="t"))
        return made[-1]

    opened = Lane(connect, 2)
    yield opened
    await opened.close()


async def test_many_statements_share_few_connections(lane: Lane, made: list[asyncpg.Connection]) -> None:
    """Twenty at once get their own answers from two sessions."""
    answers = await asyncio.gather(*(lane.fetch("SELECT $1::int, pg_sleep(0.001)", number) for number in range(20)))
    assert [rows[0][0] for rows in answers] == list(range(20))
    assert len(made) == 2


async def test_a_refused_statement_costs_no_connection(lane: Lane, made: list[asyncpg.Connection]) -> None:
    """After an error of the statement the session goes on."""
    with pytest.raises(asyncpg.DivisionByZeroError):
        await lane.fetch("SELECT 1/0")
    assert (await lane.fetch("SELECT 7"))[0][0] == 7
    assert len(made) == 1


async def test_a_statement_given_up_takes_its_connection_along(database: str) -> None:
    """Who stops waiting leaves no answer behind for the next, and no place occupied."""
    begun = asyncio.Event()

    async def connect() -> asyncpg.Connection:
        connection = await pool.connect(database, service="t")
        asyncio.get_running_loop().call_soon(begun.set)
        return connection

    lane = Lane(connect, 2)
    for _ in range(3):
        slow = asyncio.create_task(lane.fetch("SELECT 1, pg_sleep(60)"))
        await begun.wait()
        begun.clear()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
    both = await asyncio.gather(lane.fetch("SELECT 2"), lane.fetch("SELECT 3"))
    assert [rows[0][0] for rows in both] == [2, 3]
    await lane.close()


async def test_who_leaves_the_line_is_passed_over(lane: Lane) -> None:
    """Waiting for a turn can be given up at any time without losing a connection."""
    running = [asyncio.create_task(lane.fetch("SELECT pg_sleep(0.05)")) for _ in range(2)]
    waiting = [asyncio.create_task(lane.fetch("SELECT $1::int", number)) for number in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.gather(*running)
    # The second may have been given its turn just now.
    waiting[1].cancel()
    assert [(await task)[0][0] for task in waiting[2:]] == [2, 3]
    assert len(await asyncio.gather(*(lane.fetch(SESSION) for _ in range(2)))) == 2


async def test_a_server_that_can_not_be_reached_blocks_nobody(database: str) -> None:
    """A connection that could not be made leaves its place to the next."""
    left = [2]

    async def connect() -> asyncpg.Connection:
        left[0] -= 1
        if left[0] >= 0:
            await asyncio.sleep(0)
            raise OSError("nobody there")
        return await pool.connect(database, service="t")

    lane = Lane(connect, 1)
    asked = await asyncio.gather(*(lane.fetch("SELECT 7") for _ in range(4)), return_exceptions=True)
    assert [type(answer) for answer in asked] == [OSError, OSError, list, list]
    await lane.close()


async def test_a_closed_lane_says_so(lane: Lane) -> None:
    """After closing nothing is read, and those in line are told."""
    running = [asyncio.create_task(lane.fetch("SELECT pg_sleep(0.05)")) for _ in range(2)]
    waiting = asyncio.create_task(lane.fetch("SELECT 1"))
    await asyncio.sleep(0)
    await lane.close()
    with pytest.raises(asyncpg.InterfaceError, match="lane is closed"):
        await waiting
    await asyncio.gather(*running)
    with pytest.raises(asyncpg.InterfaceError, match="lane is closed"):
        await lane.fetch("SELECT 1")


async def test_a_brief_read_outlives_its_session(database: str) -> None:
    """A session that the server ended costs a repetition, not an error; without a lane the pool is asked."""
    async with pool.opened(DatabaseSettings(url=database), service="t", brief=1) as opened:
        ((session,),) = await opened.brief(SESSION)
        await opened.fetch("SELECT pg_terminate_backend($1, 60000)", session)
        assert (await opened.brief("SELECT 7"))[0][0] == 7
        assert (await opened.brief(SESSION))[0][0] != session
        with pytest.raises(asyncpg.UndefinedTableError):
            await opened.brief("SELECT * FROM nothing")
    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        assert (await opened.brief("SELECT 7"))[0][0] == 7


async def test_brief_reads_do_not_wait_behind_long_ones(database: str) -> None:
    """With every connection of the pool busy a short read is answered."""
    async with (
        pool.opened(DatabaseSettings(url=database, pool_size=1), service="t", brief=1) as opened,
        opened.snapshot() as long,
    ):
        await long.fetchval("SELECT 1")
        assert (await asyncio.wait_for(opened.brief("SELECT 7"), 60))[0][0] == 7
