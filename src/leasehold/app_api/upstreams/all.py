"""Every upstream of the application API, opened together and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp

from leasehold.app_api.upstreams.breaker import Breaker
from leasehold.app_api.upstreams.bulk import BATCH, Bulk
from leasehold.app_api.upstreams.data import DataApi
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ChainReads, Lcd
from leasehold.app_api.upstreams.node import Node
from leasehold.app_api.upstreams.openings import Openings
from leasehold.app_api.upstreams.payments import PaymentsManager
from leasehold.app_api.upstreams.referral import ReferralService
from leasehold.app_api.upstreams.svm import SvmNode, unconfigured
from leasehold.app_api.upstreams.swap import SwapProvider
from leasehold.app_api.upstreams.transport import Manners, Transport
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import Clock
from leasehold.core.settings import Settings

CHAIN = Manners(seconds=10.0, at_once=256)
SERVICE = Manners(seconds=15.0, at_once=64)
BATCHES_AT_ONCE = 8
OFF = "off"


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The clients of a running service."""

    node: Node
    lcd: Lcd
    reads: ChainReads
    data: DataApi
    openings: Openings
    swap: SwapProvider
    referral: ReferralService
    payments: PaymentsManager
    svm: SvmNode
    session: aiohttp.ClientSession


def url_of(settings: Settings, given: str, path: str = "") -> str:
    """Base URL of an optional service: as given, none where it is switched off, else the one of this stack."""
    if given == OFF:
        return ""
    return given or f"{settings.url('upstreams')}{path}"


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncIterator[Upstreams]:
    """The upstreams of the settings, each with connections of its own."""
    async with AsyncExitStack() as stack:

        async def session(at_once: int) -> aiohttp.ClientSession:
            connector = aiohttp.TCPConnector(limit=at_once, keepalive_timeout=30.0)
            return await stack.enter_async_context(aiohttp.ClientSession(connector=connector))

        async def chain(url: str, name: str = settings.identity.prefix) -> Transport:
            return Transport(name, url, await session(CHAIN.at_once), CHAIN, ChainFailure)

        async def service(name: str, url: str, headers: dict[str, str]) -> Transport:
            breaker = Breaker(clock.monotonic)
            return Transport(name, url, await session(SERVICE.at_once), SERVICE, headers=headers, breaker=breaker)

        app = settings.app_api
        urls = settings.chain.rpc_urls or (settings.url("rpc"),)
        rpc = [await chain(url) for url in urls]
        many = await session(BATCHES_AT_ONCE)
        lcd = Lcd(await chain(settings.chain.lcd_url or settings.url("lcd")))
        svm = await chain(url_of(settings, app.svm_url, "/svm"), "solana")
        svm.unconfigured = unconfigured
        svm.breaker = Breaker(clock.monotonic)
        referral = await service(
            "Referral", url_of(settings, app.referral_url, "/referral"), _bearer(app.referral_token)
        )
        referral.unconfigured = lambda: referral.fail("Referral service not configured")
        data = DataApi(await service("ETL", app.data_api_url or settings.url("data_api"), {}))
        swap_key = {"authorization": app.swap_api_key} if app.swap_api_key else {}
        upstreams = Upstreams(
            node=Node(rpc, clock),
            lcd=lcd,
            reads=ChainReads(lcd, Bulk(Nodes([RpcNode(url, many, batch_limit=BATCH) for url in urls], clock))),
            data=data,
            openings=Openings(data, clock.monotonic),
            swap=SwapProvider(await service("Skip", url_of(settings, app.swap_url, "/swap"), swap_key)),
            referral=ReferralService(referral),
            payments=PaymentsManager(
                await service(
                    "ZeroInterest", url_of(settings, app.payments_url, "/payments"), _bearer(app.payments_token)
                )
            ),
            svm=SvmNode(svm),
            session=await session(8),
        )
        try:
            yield upstreams
        finally:
            upstreams.reads.close()
            upstreams.openings.close()
            upstreams.node.close()


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}
