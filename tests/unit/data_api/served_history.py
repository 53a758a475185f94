"""A simulated chain with its ground truth, indexed, and the data API served over it."""

from __future__ import annotations

import asyncio
import http.client
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import psycopg

sys.path.insert(0, str(Path(__file__).parents[2] / "simulation"))

import simulated_chain  # noqa: F401 - where it lies is known here; others take it from here
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import ManualClock, SystemClock
from leasehold.core.settings import ChainNodes, DataApi, Database, Limits, Settings
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.service import application
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.serving.application import Application
from leasehold.serving.contracts import Contract
from leasehold.serving.service import serving
from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

BLOCKS = 600
SEED = 11
ADMIN_KEY = "sesame"
# SHA-256 of the key.
ADMIN_HASH = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272"


@dataclass
class Answer:
    """What came back over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def lines(self) -> list[str]:
        return self.body.decode().splitlines()


@dataclass
class Client:
    """Requests to a served API; every answer is held against the API's own description."""

    host: str
    port: int
    contract: Contract
    application: Application = field(repr=False)
    connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    @property
    def full(self) -> bool:
        """Whether every answer that is always kept is there; the last to be made is the last declared."""
        return self.application.snapshots.get("/api/unrealized-pnl") is not None

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def json(self, path: str) -> Any:
        """The JSON of a success."""
        answer = self.get(path)
        assert answer.status == 200, (path, answer.status, answer.body[:500])
        return answer.json

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        try:
            response = self._send(method, path, body, headers or {})
        except (http.client.HTTPException, ConnectionError):
            # The server may have closed an idle connection; a fresh one must work.
            self.connection = None
            response = self._send(method, path, body, headers or {})
        answer = Answer(
            response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        )
        media = answer.headers.get("content-type")
        self.contract.validate(method, path, answer.status, media, answer.body)
        assert "service-desc" in answer.headers.get("link", ""), f"{path}: no Link header"
        return answer

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()


@dataclass
class History:
    """An indexed chain: where it is, what is true about it, and when it ends."""

    url: str
    scenario: Any

    @property
    def now_ns(self) -> int:
        return self.scenario.now + 5 * 10**9

    @property
    def settings(self) -> Settings:
        return Settings(
            database=Database(url=self.url, pool_size=6),
            limits=Limits(exempt=("127.0.0.0/8",)),
            data_api=DataApi(admin_keys=(ADMIN_HASH,)),
        )

    def rows(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Rows of the index, for what a test wants to look up."""
        statement: Any = query
        with psycopg.connect(self.url, options="-c search_path=indexer -c timezone=UTC") as connection:
            return connection.execute(statement, arguments or None).fetchall()


async def index(scenario: Scenario, url: str) -> None:
    """Index a simulated chain as a whole."""
    await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    feed = StaticFeed(scenario.blocks)
    feed.queries = scenario.query
    settings = Settings(database=Database(url=url), chain=ChainNodes(admin_contract=scenario.admin))
    async with feed.serving(), aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(feed.url, session)], SystemClock())
        ingest = Ingest(settings, nodes, SystemClock(), pace=Pace(batch_blocks=100, poll_seconds=0.02))
        await asyncio.wait_for(ingest.run(until=len(scenario.blocks)), 120)
    await asyncio.sleep(0.02)


@contextmanager
def own_database(postgres: EmbeddedServer, name: str) -> Iterator[str]:
    """A database for as long as the context lasts."""
    with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE} STRATEGY FILE_COPY")
        try:
            yield postgres.url(database=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def served(settings: Settings, clock: ManualClock, *, ready: bool = True) -> Iterator[Client]:
    """The data API in a thread of its own, waited for until it is ready, or until its shelf is full."""
    started, stop = threading.Event(), threading.Event()
    found: list[Client] = []
    failed: list[BaseException] = []

    async def run() -> None:
        app = application(settings, clock, guard=Guard(inside=True), poll=0.05)
        async with serving(app) as running:
            found.append(Client(running.host, running.port, Contract(app.registry), app))
            started.set()
            await asyncio.to_thread(stop.wait)

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits
            failed.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait(60)
    try:
        if failed:
            raise failed[0]
        for _ in range(600):
            answer = found[0].get("/ready")
            if answer.status == 200 or (not ready and b"seconds old" in answer.body and found[0].full):
                break
            time.sleep(0.05)
        yield found[0]
    finally:
        if found and found[0].connection is not None:
            found[0].connection.close()
        stop.set()
        thread.join(30)
