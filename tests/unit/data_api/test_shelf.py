"""The shelf: fresh on time, on the hour for hourly figures, stale but there when PostgreSQL is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import aiohttp
import psycopg
import pytest
from tests.unit.data_api.served_history import History, own_database

from leasehold.core.addresses import encode
from leasehold.core.clock import ManualClock
from leasehold.core.errors import InvalidInput, NotReady
from leasehold.core.settings import Database, Limits, Settings
from leasehold.data_api.index import Index, Stated
from leasehold.data_api.packing import Packed
from leasehold.data_api.service import application
from leasehold.data_api.shelf import FIVE_MINUTES, HOURLY, ROOM, ROOM_BYTES, Content, Shelf
from leasehold.serving.service import serving
from leasehold.serving.snapshots import SnapshotTable
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

ACCOUNT = encode("chain", b"\1" * 20)


class FakeIndex(Index):
    """An index whose newest hour and health a test decides."""

    def __init__(self) -> None:
        super().__init__()
        self.hour = datetime(2026, 1, 1, tzinfo=UTC)
        self.away = False
        self.time_ns = 10**18

    async def value(self, query: str, *arguments: object) -> datetime | int:
        if self.away:
            raise NotReady("the database does not answer")
        return self.time_ns if "time_ns" in query else self.hour


class Maker:
    """Makes numbered answers, and counts or fails."""

    def __init__(self) -> None:
        self.made = 0
        self.error: Exception | None = None

    async def __call__(self) -> Content:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.made += 1
        return Content(Stated(b"%d" % self.made, self.made, 0))


@pytest.fixture
def parts() -> tuple[Shelf, FakeIndex, SnapshotTable, ManualClock]:
    index, table, clock = FakeIndex(), SnapshotTable(), ManualClock(10**18)
    return Shelf(index, table, clock, lag_seconds=1000), index, table, clock


Parts = tuple[Shelf, FakeIndex, SnapshotTable, ManualClock]


async def test_renewed_after_five_minutes(parts: Parts) -> None:
    """An answer is made once in five minutes, under all its names."""
    shelf, _, table, clock = parts
    make = Maker()
    shelf.keep(("/a", "/a?period=3m"), make, FIVE_MINUTES)
    assert not shelf.warm
    await shelf.refresh()
    assert shelf.warm
    clock.advance(seconds=299)
    await shelf.refresh()
    assert make.made == 1
    clock.advance(seconds=1)
    assert await shelf.refresh() == 1
    for target in ("/a", "/a?period=3m"):
        snapshot = table.get(target)
        assert snapshot is not None
        assert (snapshot.body, snapshot.height) == (b"2", 2)


async def test_hourly_figures_change_on_the_hour(parts: Parts) -> None:
    """When the row of a new hour is there, hourly answers are renewed at once, others are not."""
    shelf, index, _, clock = parts
    hourly, other = Maker(), Maker()
    shelf.keep(("/h",), hourly, HOURLY)
    shelf.keep(("/o",), other, FIVE_MINUTES)
    await shelf.refresh()
    clock.advance(seconds=5)
    index.hour = datetime(2026, 1, 1, 1, tzinfo=UTC)
    await shelf.refresh()
    await shelf.refresh()
    assert (hourly.made, other.made) == (2, 1)


async def test_what_was_made_before_the_index_had_caught_up_is_made_again(parts: Parts) -> None:
    """Figures of an index that was empty or behind are not kept for their time: they are made anew when it knows the
    present, those that are always there and those somebody asked for, and no cache keeps them until then."""
    shelf, index, table, clock = parts
    five, hourly, rare = Maker(), Maker(), Maker()
    shelf.keep(("/five",), five, FIVE_MINUTES)
    shelf.keep(("/hourly",), hourly, HOURLY)
    index.time_ns = 0
    await shelf.refresh()
    assert await _asked(shelf, rare) == b"1"
    assert [make.made for make in (five, hourly, rare)] == [1, 1, 1]
    assert table.get("/five").cache_control == "no-cache"  # type: ignore[union-attr]
    index.time_ns = clock.now_ns() - 2000 * 10**9
    await shelf.refresh()
    assert [make.made for make in (five, hourly)] == [1, 1]
    index.time_ns = clock.now_ns()
    await shelf.refresh()
    assert [make.made for make in (five, hourly)] == [2, 2]
    assert "max-age=300" in table.get("/five").cache_control  # type: ignore[union-attr]
    assert await _asked(shelf, rare) == b"2"
    await shelf.refresh()
    assert [make.made for make in (five, hourly, rare)] == [2, 2, 2]


async def _asked(shelf: Shelf, make: Maker) -> bytes:
    return (await shelf.ask(("/rare",), make, FIVE_MINUTES, {})).body or b""


async def test_asked_for_once_by_many(parts: Parts) -> None:
    """Those who ask at the same time share one making; after its time the answer leaves the shelf."""
    shelf, _, table, clock = parts
    make = Maker()
    replies = await asyncio.gather(*(shelf.ask(("/x",), make, FIVE_MINUTES, {}) for _ in range(20)))
    assert make.made == 1
    assert {reply.body for reply in replies} == {b"1"}
    assert table.get("/x") is not None
    clock.advance(seconds=300)
    await shelf.refresh()
    assert table.get("/x") is None


async def test_an_answer_in_the_making_is_not_dropped(parts: Parts) -> None:
    """A round of renewals while somebody waits leaves the answer its owner, so that it ends when its time is over."""
    shelf, _, table, clock = parts
    release = asyncio.Event()

    async def slow() -> Content:
        await release.wait()
        return Content(Stated(b"1", 1, 0))

    asking = asyncio.create_task(shelf.ask(("/x",), slow, FIVE_MINUTES, {}))
    await asyncio.sleep(0)
    await shelf.refresh()
    release.set()
    assert (await asking).body == b"1"
    clock.advance(seconds=300)
    await shelf.refresh()
    assert table.get("/x") is None


async def test_failures_are_not_kept(parts: Parts) -> None:
    """A refusal reaches who asked and nobody after."""
    shelf, _, table, _ = parts
    make = Maker()
    make.error = InvalidInput("no")
    with pytest.raises(InvalidInput):
        await shelf.ask(("/x",), make, FIVE_MINUTES, {})
    assert table.get("/x") is None
    make.error = None
    assert (await shelf.ask(("/x",), make, FIVE_MINUTES, {})).body == b"1"


async def test_rare_answers_make_room(parts: Parts) -> None:
    """However many different answers are asked for, only so many are kept."""
    shelf, _, table, _ = parts
    for number in range(ROOM + 50):
        await shelf.ask((f"/x?n={number}",), Maker(), FIVE_MINUTES, {})
    assert len(table) == ROOM
    assert table.get("/x?n=0") is None


async def test_last_good_answers_stay_and_say_so(parts: Parts) -> None:
    """While PostgreSQL is away the last answers are served, marked stale; afterwards they are fresh again."""
    shelf, index, table, clock = parts
    shelf.keep(("/a",), Maker(), FIVE_MINUTES)
    await shelf.refresh()
    index.away = True
    clock.advance(seconds=300)
    with pytest.raises(NotReady):
        await shelf.refresh()
    stale = table.get("/a")
    assert stale is not None
    assert stale.body == b"1"
    assert "110" in dict(stale.response_headers)["warning"]
    assert dict(stale.response_headers)["cache-control"] == "no-cache"
    index.away = False
    await shelf.refresh()
    fresh = table.get("/a")
    assert fresh is not None
    assert "warning" not in dict(fresh.response_headers)


async def test_answers_say_when_the_chain_stands_still(parts: Parts) -> None:
    """While the newest block is too old everything says so, kept and long answers alike; a new block ends it."""
    shelf, index, table, clock = parts
    shelf.keep(("/a",), Maker(), HOURLY)
    shelf.keep(("/long",), _long(b"x" * 10), HOURLY)
    await shelf.refresh()
    clock.advance(seconds=1001)
    await shelf.refresh()
    still = table.get("/a")
    assert still is not None
    assert "does not follow the chain" in dict(still.response_headers)["warning"]
    reply = await shelf.ask(("/long",), Maker(), HOURLY, {})
    assert "does not follow the chain" in reply.headers["warning"]
    assert reply.headers["cache-control"] == "no-cache"
    index.time_ns = clock.now_ns()
    await shelf.refresh()
    moving = table.get("/a")
    assert moving is not None
    assert "warning" not in dict(moving.response_headers)
    assert "max-age=3600" in dict(moving.response_headers)["cache-control"]
    assert "warning" not in (await shelf.ask(("/long",), Maker(), HOURLY, {})).headers


def _long(zstd: bytes) -> Callable[[], Awaitable[Content]]:
    async def make() -> Content:
        return Content(Stated(b"", 7, 0), packed=Packed(zstd, b"", 10**7, "digest"))

    return make


async def test_a_long_answer_takes_the_place_of_a_short_one(parts: Parts) -> None:
    """What grew too long is no snapshot any more, and becomes one again when it is short."""
    shelf, _, table, clock = parts
    short, long = Maker(), _long(b"x")
    makes = [short, long, short]

    async def make() -> Content:
        return await makes.pop(0)()

    shelf.keep(("/a", "/a?period=3m"), make, FIVE_MINUTES)
    for kept in (2, 0, 2):
        await shelf.refresh()
        clock.advance(seconds=300)
        assert len(table) == kept
        reply = await shelf.ask(("/a", "/a?period=3m"), short, FIVE_MINUTES, {"accept-encoding": "zstd"})
        assert reply.headers.get("content-encoding") == (None if kept else "zstd")


async def test_rare_answers_have_a_bounded_size(parts: Parts) -> None:
    """However large the answers that are asked for, only so many bytes of them are kept."""
    shelf, _, _, _ = parts
    quarter = _long(b"x" * (ROOM_BYTES // 4))
    for number in range(9):
        await shelf.ask((f"/x?n={number}",), quarter, FIVE_MINUTES, {})
    assert shelf.weight <= ROOM_BYTES
    assert shelf.weight >= ROOM_BYTES // 2


async def test_one_failure_does_not_hold_up_others(parts: Parts) -> None:
    """An answer that can't be made is marked alone and tried again a minute later."""
    shelf, _, table, clock = parts
    bad, good = Maker(), Maker()
    shelf.keep(("/bad",), bad, FIVE_MINUTES)
    shelf.keep(("/good",), good, FIVE_MINUTES)
    await shelf.refresh()
    bad.error = InvalidInput("broken")
    clock.advance(seconds=300)
    assert await shelf.refresh() == 1
    marked = table.get("/bad")
    assert marked is not None
    assert "warning" in dict(marked.response_headers)
    bad.error = None
    assert await shelf.refresh() == 0
    clock.advance(seconds=60)
    assert await shelf.refresh() == 1


@pytest.fixture
async def lonely(postgres: EmbeddedServer, history: History) -> AsyncIterator[str]:
    """A database of its own, without an index."""
    with own_database(postgres, "data_api_lonely") as url:
        yield url


async def test_without_an_index_the_service_says_so(lonely: str) -> None:
    """Before anything is indexed: alive, not ready, 503 with the envelope; with the tables there, zeros."""
    settings = Settings(database=Database(url=lonely, pool_size=3), limits=Limits(exempt=("127.0.0.0/8",)))
    app = application(settings, ManualClock(1_800_000_000 * 10**9), poll=0.05)
    async with serving(app) as running, aiohttp.ClientSession(running.url) as session:
        async with session.get("/health") as answer:
            assert answer.status == 200
        async with session.get("/ready") as answer:
            assert (answer.status, (await answer.json())["error"]) == (503, "Service Unavailable")
        async with session.get("/api/revenue") as answer:
            assert (answer.status, (await answer.json())["status"]) == (503, 503)
            assert "service-desc" in answer.headers["link"]
        await migrations.apply(lonely, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
        for _ in range(200):
            async with session.get("/api/revenue") as answer:
                if answer.status == 200:
                    assert await answer.json() == {"revenue": "0"}
                    break
            await asyncio.sleep(0.02)
        else:
            pytest.fail("no answer after the tables were made")
        async with session.get("/ready") as answer:
            assert answer.status == 503


async def test_snapshots_outlive_the_database(postgres: EmbeddedServer) -> None:
    """With the database gone aggregates are still served and say that they are stale; accounts are 503."""
    with own_database(postgres, "data_api_doomed") as url:
        await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
        settings = Settings(database=Database(url=url, pool_size=3), limits=Limits(exempt=("127.0.0.0/8",)))
        app = application(settings, ManualClock(1_800_000_000 * 10**9), poll=0.05)
        async with serving(app) as running, aiohttp.ClientSession(running.url) as session:
            async with asyncio.timeout(60):
                while app.snapshots.get("/api/prices") is None:  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.02)
            with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as owner:
                owner.execute("ALTER DATABASE data_api_doomed CONNECTION LIMIT 0")
                owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'data_api_doomed'"
                )
            for _ in range(300):
                async with session.get("/api/revenue") as answer:
                    assert answer.status == 200
                    if "warning" in answer.headers:
                        break
                await asyncio.sleep(0.02)
            else:
                pytest.fail("never marked stale")
            async with session.get(f"/api/realized-pnl?address={ACCOUNT}") as answer:
                assert answer.status == 503
            async with session.get("/ready") as answer:
                assert answer.status == 503
