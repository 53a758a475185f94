"""Control over HTTP, on loopback alone.

Any web page may post to a port of this machine, so a request must be JSON, must name a loopback host and must not come
from a page at all: no origin is allowed, and none is told anything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from starlette.requests import Request as RawRequest

from leasehold import __version__
from leasehold.core.clock import parse_rfc3339, rfc3339
from leasehold.core.errors import InvalidInput, Unauthorized
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Limits
from leasehold.devnet.control.control import Control, Snapshot
from leasehold.devnet.control.measures import ChainMeasures
from leasehold.devnet.genesis.document import address, named_accounts
from leasehold.serving.application import Application
from leasehold.serving.envelopes import ApplicationDialect
from leasehold.serving.routes import H, NoParams, PlainRequest, Registry, Reply, Request
from leasehold.serving.service import Running, serving

HOST = "127.0.0.1"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_LIMITS = Limits(request_seconds=3600.0, exempt=("127.0.0.0/8", "::1/128"))

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Account(msgspec.Struct):
    """A development account; everybody knows its words."""

    name: str
    address: str
    about: str
    mnemonic: str


class Point(msgspec.Struct):
    """A moment that can be gone back to."""

    id: str
    height: int
    time: str


class FaultsNow(msgspec.Struct):
    """What is wrong on purpose."""

    slow_seconds: float
    pruned_below: int
    stale_at: int | None


class Status(msgspec.Struct):
    """Where the chain stands."""

    chain_id: str
    height: int
    time: str
    clock: str
    paused: bool
    waiting: int
    snapshots: list[Point]
    dumps: list[str]
    faults: FaultsNow
    prices: dict[str, float]


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """A body that says nothing, and has to be there all the same."""


class Mine(msgspec.Struct, forbid_unknown_fields=True):
    blocks: Positive = 1
    interval_seconds: Positive | None = None


class Travel(msgspec.Struct, forbid_unknown_fields=True):
    """Either of both."""

    seconds: Positive | None = None
    time: str | None = None


class SetPrice(msgspec.Struct, forbid_unknown_fields=True):
    ticker: str
    usd: Annotated[float, msgspec.Meta(gt=0)]
    settle: bool = False


class Fund(msgspec.Struct, forbid_unknown_fields=True):
    address: str
    coins: list[str]


class Delivered(msgspec.Struct):
    hash: str
    height: int
    gas_used: int


class Execute(msgspec.Struct, forbid_unknown_fields=True):
    """`account` is the name of a development account, `contract` an address or a name."""

    account: str
    contract: str
    message: Any
    coins: list[str] = []


class Query(msgspec.Struct, forbid_unknown_fields=True):
    contract: str
    message: Any


class SetBalance(msgspec.Struct, forbid_unknown_fields=True):
    address: str
    coin: str


class Id(msgspec.Struct, forbid_unknown_fields=True):
    id: str


class Name(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class Dumped(msgspec.Struct):
    name: str
    bytes: int


class SetFaults(msgspec.Struct, forbid_unknown_fields=True):
    """Only what is given changes; `packet` is a kind and an outcome, as `transfer timeout`."""

    slow_seconds: float | None = None
    pruned_below: int | None = None
    stale: bool | None = None
    drop_subscribers: bool = False
    packet: str | None = None


async def _only_from_here(raw: RawRequest) -> None:
    host = raw.headers.get("host", "")
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if name not in _LOOPBACK:
        raise Unauthorized("control answers to loopback names only")
    if "origin" in raw.headers:
        raise Unauthorized("control is not for web pages")


def control_api(control: Control) -> Registry:
    """The routes."""
    api = Registry("Devnet control", version=__version__, dialect=ApplicationDialect())

    def get(path: str, summary: str) -> Callable[[H], H]:
        return api.get(path, summary=summary, rate="none", guard=_only_from_here, errors=(401,))

    def post(path: str, summary: str) -> Callable[[H], H]:
        return api.post(path, summary=summary, rate="none", guard=_only_from_here, errors=(401, 404, 409))

    @get("/control/status", "Where the chain stands")
    async def status(request: PlainRequest) -> Status:
        return status_of(control)

    @get("/control/accounts", "The development accounts")
    async def accounts(request: PlainRequest) -> list[Account]:
        identity = control.devnet.settings.identity
        return [
            Account(known.name, address(identity, known.name), known.about, known.mnemonic)
            for known in named_accounts().values()
        ]

    @get("/control/tickers", "Denoms by ticker")
    async def tickers(request: PlainRequest) -> dict[str, str]:
        return control.assets.tickers()

    @post("/control/mine", "Seal blocks")
    async def mine(request: Request[NoParams, Mine]) -> Status:
        await control.mine_politely(request.body.blocks, request.body.interval_seconds)
        return status_of(control)

    @post("/control/time", "Travel forward in time")
    async def travel(request: Request[NoParams, Travel]) -> Status:
        wish = request.body
        if (wish.seconds is None) == (wish.time is None):
            raise InvalidInput("say either seconds or a time", field="seconds")
        if wish.seconds is not None:
            control.advance(wish.seconds)
        else:
            control.set_time(_instant(wish.time or ""))
        return status_of(control)

    @post("/control/price", "Set a price")
    async def price(request: Request[NoParams, SetPrice]) -> Status:
        control.set_price(request.body.ticker, request.body.usd, settle=request.body.settle)
        return status_of(control)

    @post("/control/fund", "Send coins from the faucet")
    async def fund(request: Request[NoParams, Fund]) -> Delivered:
        done = control.fund(request.body.address, request.body.coins)
        return Delivered(done.hash, done.height, done.gas_used)

    @get("/control/contracts", "Contracts by name")
    async def contracts(request: PlainRequest) -> dict[str, str]:
        return control.contracts()

    @post("/control/execute", "Call a contract as a development account")
    async def execute(request: Request[NoParams, Execute]) -> Delivered:
        wish = request.body
        done = control.execute(wish.account, wish.contract, wish.message, wish.coins)
        return Delivered(done.hash, done.height, done.gas_used)

    @post("/control/query", "Ask a contract")
    async def query(request: Request[NoParams, Query]) -> Reply:
        return Reply(content=control.query(request.body.contract, request.body.message))

    @post("/control/balance", "Set a balance")
    async def balance(request: Request[NoParams, SetBalance]) -> Status:
        control.set_balance(request.body.address, request.body.coin)
        return status_of(control)

    @post("/control/snapshot", "Remember this moment")
    async def snapshot(request: Request[NoParams, Nothing]) -> Point:
        return _point(control.snapshot())

    @post("/control/revert", "Go back to a snapshot")
    async def revert(request: Request[NoParams, Id]) -> Status:
        control.revert(request.body.id)
        return status_of(control)

    @post("/control/forget", "Forget a snapshot")
    async def forget(request: Request[NoParams, Id]) -> Status:
        control.forget(request.body.id)
        return status_of(control)

    @post("/control/dump", "Put the chain aside under a name")
    async def dump(request: Request[NoParams, Name]) -> Dumped:
        return Dumped(request.body.name, control.dump(request.body.name))

    @post("/control/load", "Take up a chain that was put aside")
    async def load(request: Request[NoParams, Name]) -> Status:
        control.load(request.body.name)
        return status_of(control)

    @post("/control/pause", "Seal nothing until resumed")
    async def pause(request: Request[NoParams, Nothing]) -> Status:
        control.pause()
        return status_of(control)

    @post("/control/resume", "Seal again")
    async def resume(request: Request[NoParams, Nothing]) -> Status:
        control.resume()
        return status_of(control)

    @post("/control/faults", "Have faults, or be well again")
    async def faults(request: Request[NoParams, SetFaults]) -> Status:
        _apply(control, request.body)
        return status_of(control)

    return api


def _apply(control: Control, wish: SetFaults) -> None:
    if wish.slow_seconds is not None:
        control.faults.slow(wish.slow_seconds)
    if wish.pruned_below is not None:
        control.faults.prune(wish.pruned_below)
    if wish.stale is not None:
        control.faults.stale(wish.stale)
    if wish.drop_subscribers:
        control.faults.drop_subscribers()
    if wish.packet is not None:
        kind, _, outcome = wish.packet.partition(" ")
        control.fail_next_packet(kind, outcome)


def _instant(text: str) -> int:
    try:
        return parse_rfc3339(text)
    except ValueError as error:
        raise InvalidInput(str(error), field="time", hint="as 2030-01-31T12:00:00Z") from None


def _point(snapshot: Snapshot) -> Point:
    return Point(snapshot.id, snapshot.height, rfc3339(snapshot.clock_ns, digits="seconds"))


def status_of(control: Control) -> Status:
    """Where the chain stands."""
    node = control.devnet.node
    faults = control.faults
    prices: dict[str, Any] = control.live.market.model.prices() if control.live is not None else {}
    return Status(
        chain_id=node.chain_id,
        height=node.height,
        time=rfc3339(node.time_ns, digits="seconds"),
        clock=rfc3339(control.clock.now_ns(), digits="seconds"),
        paused=control.sealer.is_paused,
        waiting=len(node.mempool),
        snapshots=[_point(snapshot) for snapshot in control.snapshots],
        dumps=control.dumps.names(),
        faults=FaultsNow(faults.slow_seconds, faults.pruned_below, faults.stale_at),
        prices=prices,
    )


@asynccontextmanager
async def serving_control(control: Control, port: int) -> AsyncIterator[Running]:
    """Serve control on loopback, whatever the other services listen on."""
    metrics = Metrics()
    measures = ChainMeasures(metrics, control.devnet.node, control.faults.surfaces)
    application = Application(control_api(control), limits=_LIMITS, cors_origins=(), metrics=metrics)
    try:
        async with serving(application, host=HOST, port=port) as running:
            yield running
    finally:
        measures.close()
