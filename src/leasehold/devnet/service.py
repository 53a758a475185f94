"""The development chain as a service: sealing, RPC with WebSocket, LCD and gRPC in one process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS, Clock, SystemClock
from leasehold.core.errors import ConfigurationError
from leasehold.core.progress import ProgressBar
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet, forget
from leasehold.devnet.consensus.sealing import Sealer, SealMode
from leasehold.devnet.grpc.server import GrpcServer
from leasehold.devnet.lcd.listener import listening
from leasehold.devnet.lcd.server import Headers, LcdApplication
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.prices import DAY_SECONDS
from leasehold.devnet.rpc.server import RpcServer

# Some clients look for these RPC routes on the LCD's port.
_RPC_ON_LCD = frozenset({"status", "abci_info", "health", "net_info"})
_HISTORY = "history"
_log = logging.get("devnet")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a serving devnet can be reached."""

    devnet: Devnet
    sealer: Sealer
    rpc: str
    lcd: str
    grpc: str


@asynccontextmanager
async def serving(devnet: Devnet, settings: Settings, clock: Clock | None = None) -> AsyncIterator[Endpoints]:
    """Serve an open chain and seal its blocks for as long as the context lasts."""
    host = settings.listen.host
    sealer = _sealer(devnet, settings)
    rpc = RpcServer(devnet.node, host, settings.port("rpc"))

    async def rpc_on_lcd(path: str, query: str) -> tuple[int, Headers, bytes] | None:
        name = path.strip("/")
        if name not in _RPC_ON_LCD:
            return None
        answer = await rpc.get(name, query)
        return answer.status, [(b"content-type", answer.content_type.encode())], answer.body

    lcd = LcdApplication(devnet.registry, devnet.app.queries, clock or SystemClock(), rpc_on_lcd)
    grpc_server = GrpcServer(
        devnet.registry,
        devnet.app.queries,
        host=host,
        port=settings.port("grpc"),
        certificate=settings.devnet.grpc_certificate,
        key=settings.devnet.grpc_key,
    )
    await rpc.start()
    try:
        async with listening(lcd, host, settings.port("lcd")) as lcd_port:
            await grpc_server.start()
            sealing = asyncio.create_task(sealer.run(), name="sealing")
            try:
                yield Endpoints(
                    devnet,
                    sealer,
                    rpc=f"http://{host}:{rpc.port}",
                    lcd=f"http://{host}:{lcd_port}",
                    grpc=f"{host}:{grpc_server.port}",
                )
            finally:
                sealing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sealing
                await grpc_server.stop()
    finally:
        await rpc.stop()


def _sealer(devnet: Devnet, settings: Settings) -> Sealer:
    try:
        mode = SealMode(settings.devnet.seal)
    except ValueError:
        known = ", ".join(SealMode)
        raise ConfigurationError(f"setting devnet.seal must be one of {known}, got {settings.devnet.seal!r}") from None
    interval = settings.devnet.block_interval_ms
    if interval == 0:
        mode = SealMode.DEMAND
    return Sealer(devnet.node, mode=mode, interval_seconds=max(interval, 1) / 1000)


def open_with_history(settings: Settings, folder: Path | None, clock: Clock) -> Devnet:
    """Open the chain; a fresh one is given the configured days of market before it goes live.

    A start that was cut short while it simulated begins anew: nobody has seen that chain yet.
    """
    days = settings.devnet.history_days if settings.devnet.market else 0
    begin = clock.now_ns() - days * DAY_SECONDS * NANOSECONDS
    devnet = Devnet.open(settings, folder, clock=clock, genesis_time_ns=begin)
    if days and devnet.node.height and devnet.node.store.meta(_HISTORY) is None:
        devnet.close()
        _log.warning("the history was cut short; simulating it anew", height=devnet.node.height)
        forget(folder)
        devnet = Devnet.open(settings, folder, clock=clock, genesis_time_ns=begin)
    if not settings.devnet.market:
        return devnet
    market: Market | None = None
    if devnet.node.height == 0:
        market = Market(devnet, start=devnet.node.time_ns // NANOSECONDS)
        with ProgressBar(f"simulating {days} days of market") as bar:
            simulate(devnet, market, clock.now_ns() // NANOSECONDS, bar.show)
        with devnet.node.store.transaction():
            devnet.node.store.put_meta(_HISTORY, b"told")
    LiveMarket.resume(devnet, clock, market).attach()
    return devnet


def run(context: ServiceContext) -> None:
    """Serve until SIGINT or SIGTERM."""
    uvloop.run(_serve(context))


async def _serve(context: ServiceContext) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    clock = SystemClock()
    devnet = open_with_history(context.settings, context.home / "devnet", clock)
    try:
        async with serving(devnet, context.settings) as endpoints:
            context.ready(f"rpc {endpoints.rpc}, lcd {endpoints.lcd}, grpc {endpoints.grpc}")
            _log.info("serving", height=devnet.node.height, rpc=endpoints.rpc, lcd=endpoints.lcd, grpc=endpoints.grpc)
            await stop.wait()
    finally:
        devnet.close()
        _log.info("stopped", height=devnet.node.height)
