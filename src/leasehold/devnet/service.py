"""The development chain as a service: sealing, RPC with WebSocket, LCD, gRPC and control in one process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import ConfigurationError
from leasehold.core.garbage import rare_collections
from leasehold.core.progress import ProgressBar
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet, forget
from leasehold.devnet.consensus.sealing import Sealer, SealMode
from leasehold.devnet.control.clock import DevnetClock
from leasehold.devnet.control.control import Control
from leasehold.devnet.control.faults import Surfaces
from leasehold.devnet.control.server import serving_control
from leasehold.devnet.grpc.server import GrpcServer
from leasehold.devnet.lcd.answers import Headers
from leasehold.devnet.lcd.listener import listening
from leasehold.devnet.lcd.server import LcdApplication
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
    control: str


@asynccontextmanager
async def serving(
    devnet: Devnet,
    settings: Settings,
    clock: Clock | None = None,
    *,
    live: LiveMarket | None = None,
    folder: Path | None = None,
) -> AsyncIterator[Endpoints]:
    """Serve an open chain and seal its blocks for as long as the context lasts.

    `clock` is the chain's from now on, `live` its market, `folder` where it is kept.
    """
    if not isinstance(clock, DevnetClock):
        clock = DevnetClock(clock or devnet.node.clock)
    devnet.node.clock = clock
    host = settings.listen.host
    sealer = _sealer(devnet, settings)
    rpc = RpcServer(devnet.node, host, settings.port("rpc"))

    async def rpc_on_lcd(path: str, query: str) -> tuple[int, Headers, bytes] | None:
        name = path.strip("/")
        if name not in _RPC_ON_LCD:
            return None
        answer = await rpc.get(name, query)
        return answer.status, [(b"content-type", answer.content_type.encode())], answer.body

    lcd = LcdApplication(devnet.registry, devnet.app.queries, clock, rpc_on_lcd)
    grpc_server = GrpcServer(
        devnet.registry,
        devnet.app.queries,
        host=host,
        port=settings.port("grpc"),
        certificate=settings.devnet.grpc_certificate,
        key=settings.devnet.grpc_key,
    )
    control = Control(devnet, sealer, clock, live, folder, Surfaces(rpc, lcd, grpc_server))
    await rpc.start()
    try:
        async with (
            listening(lcd, host, settings.port("lcd")) as lcd_port,
            serving_control(control, settings.port("control")) as controlled,
        ):
            await grpc_server.start()
            sealing = asyncio.create_task(sealer.run(), name="sealing")
            try:
                yield Endpoints(
                    devnet,
                    sealer,
                    rpc=f"http://{host}:{rpc.port}",
                    lcd=f"http://{host}:{lcd_port}",
                    grpc=f"{host}:{grpc_server.port}",
                    control=controlled.url,
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


def open_with_history(
    settings: Settings,
    folder: Path | None,
    clock: DevnetClock,
    progress: Callable[[str], ProgressBar] = ProgressBar,
) -> tuple[Devnet, LiveMarket | None]:
    """Open the chain, with its market if it has one; a fresh chain is given the configured days before it goes live.

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
    clock.not_before(devnet.node.time_ns)
    if not settings.devnet.market:
        if devnet.node.height == 0:
            # Before its first block a chain answers and takes nothing: nobody should have to ask for that one.
            devnet.node.seal()
        return devnet, None
    market: Market | None = None
    if devnet.node.height == 0:
        market = Market(devnet, start=devnet.node.time_ns // NANOSECONDS)
        now = clock.now_ns() // NANOSECONDS
        if days:
            with progress(f"simulating {days} days of market") as bar:
                bar.show(0.0)
                simulate(devnet, market, now, bar.show)
        else:
            simulate(devnet, market, now)
        with devnet.node.store.transaction():
            devnet.node.store.put_meta(_HISTORY, b"told")
    live = LiveMarket.resume(devnet, clock, market)
    live.attach()
    return devnet, live


def run(context: ServiceContext) -> None:
    """Serve until SIGINT or SIGTERM."""
    uvloop.run(_serve(context))


async def _serve(context: ServiceContext) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    clock = DevnetClock()
    folder = context.home / "devnet"
    devnet, live = open_with_history(context.settings, folder, clock, context.progress)
    try:
        # The chain's state is many objects that stay: looking through them for garbage holds up blocks and answers.
        with rare_collections():
            async with serving(devnet, context.settings, clock, live=live, folder=folder) as at:
                context.ready(f"control {at.control}, rpc {at.rpc}, lcd {at.lcd}, grpc {at.grpc}")
                height = devnet.node.height
                _log.info("serving", height=height, rpc=at.rpc, lcd=at.lcd, grpc=at.grpc, control=at.control)
                await stop.wait()
    finally:
        devnet.close()
        _log.info("stopped", height=devnet.node.height)
