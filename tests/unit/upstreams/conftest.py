"""The upstreams on a database of the test's own, with a clock and a chain held in the hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import psycopg
import pytest

from leasehold.chain.client.wire import Attribute, Event, TxResult
from leasehold.chain.registry import registry
from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.clock import ManualClock
from leasehold.core.configuration import load
from leasehold.core.settings import Settings
from leasehold.serving.contracts import Contract
from leasehold.serving.service import serving
from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer
from leasehold.upstreams.chain_access import Account, ChainAccess, FoundTx, tx_hash
from leasehold.upstreams.dialects import UpstreamApplication
from leasehold.upstreams.service import Upstreams

_numbers = count(1)
NOW_NS = 1_800_000_000 * 10**9
LEASER = "leaser"


def wallet(name: str) -> str:
    """Address of a wallet that anyone can rebuild."""
    return Wallet.from_name(name, prefix="chain").address


def lease(number: int) -> str:
    """Address of a lease contract."""
    return Bech32Prefixes("chain").account_text(number.to_bytes(32, "big"))


class FakeChain(ChainAccess):
    """A chain that remembers what is sent to it and includes what it is told to."""

    def __init__(self) -> None:
        super().__init__(registry("leasehold"), Bech32Prefixes("chain"))
        self.height = 100
        self.sequence = 7
        self.sent: list[bytes] = []
        self.txs: dict[str, FoundTx] = {}

    async def head(self) -> int:
        return self.height

    async def account(self, address: str) -> Account | None:
        return Account(3, self.sequence)

    async def tx(self, digest: str) -> FoundTx | None:
        return self.txs.get(digest)

    async def broadcast(self, raw: bytes) -> tuple[int, str]:
        self.sent.append(raw)
        return 0, ""

    def include(self, digest: str, *, code: int = 0, transfers: tuple[tuple[str, str], ...] = ()) -> None:
        """Put a transaction into a block, with the transfers it made."""
        self.height += 1
        self.sequence += 1
        events = [
            Event("transfer", [Attribute("recipient", to), Attribute("amount", amount)]) for to, amount in transfers
        ]
        self.txs[digest] = FoundTx(digest, str(self.height), TxResult(code=code, log="", events=events))

    def include_sent(self, *, code: int = 0) -> None:
        self.include(tx_hash(self.sent[-1]), code=code)


@dataclass
class IndexRows:
    """Writes the indexer's tables as the indexer would."""

    url: str
    height: int = 0
    time: datetime = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
    _connection: Any = field(default=None)

    async def open(self) -> None:
        self._connection = await asyncpg.connect(self.url)
        await self._insert(
            "cursor", chain_id="leasehold-1", first_height=1, height=0, hash=b"", time=self.time, time_ns=0, blocks=0,
            txs=0, events=0, quarantined=0,
        )  # fmt: skip
        await self._insert(
            "protocols", name="OSMOSIS", network="Osmosis", dex="Osmosis", position_type="Long", lpn="USDC",
            stable="USDC", label="x", leaser=LEASER, is_active=True, first_seen_at=self.time, config="{}",
        )  # fmt: skip
        for ticker, group, denom, decimals, price in (
            ("USDC", "lpn", "ibc/USDC", 6, "1"),
            ("ATOM", "lease", "ibc/ATOM", 6, "1.5"),
            ("LSH", "native", "ulsh", 6, "0.002"),
        ):
            await self._insert(
                "currency_protocols", ticker=ticker, protocol="OSMOSIS", group=group, bank_symbol=denom,
                dex_symbol=f"there/{ticker}", decimals=decimals,
            )  # fmt: skip
            await self._execute(
                "INSERT INTO indexer.prices_current VALUES ('OSMOSIS', $1, $2::text::numeric, 1, $3)",
                ticker, price, self.time,
            )  # fmt: skip

    async def close(self) -> None:
        await self._connection.close()

    async def opened(self, address: str, owner: str, *, loan: int = 100_000_000, amount: int = 100_000_000) -> None:
        """A lease of ATOM for a loan in USDC, in a block of its own."""
        await self._insert(
            "positions", lease=address, protocol="OSMOSIS", pool="pool", owner=owner, position_type="Long",
            asset="ATOM", lpn="USDC", status="open", requested_at=self.time, requested_ns=0, requested_height=1,
            requested_tx=b"", opened_at=self.time, loan=loan, loan_usd=loan // 10**6, loan_rate=60, margin_rate=40,
            due_period_ns=1, max_ltv=900, amount=amount, principal=loan, interest_paid_ns=0, margin_paid_ns=0,
            updated_at=self.time, updated_height=1,
        )  # fmt: skip
        await self._event(address, owner, "open")

    async def repaid(self, address: str, owner: str, payment: int, interest: int) -> None:
        """A repayment, in a block of its own."""
        await self._event(
            address, owner, "repay", payment=payment, payment_ticker="USDC", due_interest=interest,
            interest_usd=interest // 10**6,
        )  # fmt: skip

    async def _event(self, address: str, owner: str, kind: str, **columns: Any) -> None:
        self.height += 1
        await self._insert(
            "position_events", height=self.height, tx=0, event=0, lease=address, owner=owner, protocol="OSMOSIS",
            kind=kind, time=self.time, tx_hash=b"", principal_after=0, amount_after=0, **columns,
        )  # fmt: skip
        await self._execute("UPDATE indexer.cursor SET height = $1", self.height)

    async def _insert(self, table: str, **columns: Any) -> None:
        names = ", ".join(f'"{name}"' for name in columns)
        places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
        await self._execute(f"INSERT INTO indexer.{table} ({names}) VALUES ({places})", *columns.values())

    async def _execute(self, statement: str, *arguments: Any) -> None:
        await self._connection.execute(statement, *arguments)


@dataclass
class Service:
    """The running service: how to call it, what is behind it."""

    client: aiohttp.ClientSession
    url: str
    upstreams: Upstreams
    clock: ManualClock
    contract: Contract

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON (None where empty) of an answer."""
        async with self.client.request(method, path, json=body, headers=headers) as response:
            data = await response.read()
            # Whatever is asked, the answer is one the service describes.
            self.contract.validate(method, path, response.status, response.headers.get("content-type"), data)
            return response.status, await response.json() if data else None

    async def get(self, path: str) -> Any:
        status, answer = await self.ask("GET", path)
        assert status == 200, answer
        return answer

    async def step(self, name: str) -> None:
        """Let one of the background tasks do all it can."""
        while await self.upstreams.steps[name]():
            pass


@asynccontextmanager
async def running(url: str, clock: ManualClock, access: ChainAccess | None, **changes: Any) -> AsyncIterator[Service]:
    """The service on a database; its background tasks run only when a test says so."""
    loaded = load().settings
    settings: Settings = replace(loaded, database=replace(loaded.database, url=url), **changes)
    upstreams = Upstreams.assembled(settings, clock, chain=access)
    steps, upstreams.steps = upstreams.steps, {}
    application = UpstreamApplication(
        upstreams.registry, limits=settings.limits, clock=clock, lifespan=lambda: upstreams.running(clock)
    )
    async with serving(application) as server, aiohttp.ClientSession(server.url) as session:
        upstreams.steps = steps
        yield Service(session, server.url, upstreams, clock, Contract(upstreams.registry))


@pytest.fixture(scope="session")
def template(postgres: EmbeddedServer) -> str:
    """A database with the tables of the upstreams and of the indexer, to make others from: migrating takes longer."""
    name = "upstreams_template"
    with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
    for package in ("upstreams", "indexer"):
        found = migrations.of_package(f"leasehold.{package}")
        asyncio.run(migrations.apply(postgres.url(database=name), schema=package, migrations=found))
    return name


@pytest.fixture
def database(postgres: EmbeddedServer, template: str) -> Iterator[str]:
    """URL of a migrated database that is this test's alone."""
    name = f"upstreams_{next(_numbers)}"
    with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield postgres.url(database=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_NS)


@pytest.fixture
def chain() -> FakeChain:
    return FakeChain()


@pytest.fixture
async def service(database: str, clock: ManualClock, chain: FakeChain) -> AsyncIterator[Service]:
    async with running(database, clock, chain) as found:
        yield found


@pytest.fixture
async def index(database: str) -> AsyncIterator[IndexRows]:
    rows = IndexRows(database)
    await rows.open()
    try:
        yield rows
    finally:
        await rows.close()


@pytest.fixture(scope="session")
def recorded(golden: Path) -> dict[str, Any]:
    """Every recorded upstream answer, by call."""
    found: dict[str, Any] = json.loads((golden / "app" / "upstream.json").read_text())
    return found


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


def differences(ours: Any, theirs: Any, place: str = "$") -> list[str]:
    """Where our answer lacks a recorded member or has it of another kind; null fits anything."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        found = [f"{place}.{name} is missing" for name in theirs if name not in ours]
        for name in theirs.keys() & ours.keys():
            found += differences(ours[name], theirs[name], f"{place}.{name}")
        return found
    if isinstance(theirs, list) and isinstance(ours, list):
        if theirs and not ours:
            return []
        return [text for one in ours for text in (differences(one, theirs[0], f"{place}[]") if theirs else [])]
    if ours is None or theirs is None or _kind(ours) == _kind(theirs):
        return []
    return [f"{place} is {_kind(ours)}, recorded {_kind(theirs)}"]
