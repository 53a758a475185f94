"""One connection to one upstream."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web

from leasehold.app_api.upstreams.breaker import Breaker
from leasehold.app_api.upstreams.failures import ChainFailure, ServiceFailure
from leasehold.app_api.upstreams.transport import Manners, Transport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Upstream:
    """A server whose answer a test decides."""

    def __init__(self) -> None:
        self.handler: Handler | None = None
        self.calls = 0
        self.at_once = 0
        self.most_at_once = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            assert self.handler is not None
            return await self.handler(request)
        finally:
            self.at_once -= 1


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
async def transport(upstream: Upstream) -> AsyncIterator[Transport]:
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", upstream.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()

    async def no_pause(seconds: float) -> None:
        await asyncio.sleep(0)

    async with aiohttp.ClientSession() as session:
        yield Transport(
            "Swap", site.name, session, Manners(seconds=30, at_once=4), pause=no_pause, chance=random.Random(1)
        )
    await runner.cleanup()


def answering(status: int, text: str = "{}", **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, text=text, headers=headers)

    return handler


async def test_a_busy_upstream_is_asked_again_only_if_that_is_harmless(
    upstream: Upstream, transport: Transport
) -> None:
    """GET is repeated while the upstream says it is busy, a POST never."""
    upstream.handler = answering(503)
    assert (await transport.ask("GET", "/")).status == 503
    assert upstream.calls == transport.manners.tries
    upstream.calls = 0
    assert (await transport.ask("POST", "/", body={})).status == 503
    assert upstream.calls == 1


async def test_an_error_is_not_repeated(upstream: Upstream, transport: Transport) -> None:
    """An upstream that fails is not asked again: that would only add to its trouble."""
    upstream.handler = answering(500, "secret text")
    with pytest.raises(ServiceFailure) as failure:
        await transport.get("/v2/x", context="chains")
    assert failure.value.message == "Swap: chains: HTTP 500 Internal Server Error"
    assert (failure.value.reply_status, upstream.calls) == (500, 1)


async def test_what_is_no_json_is_a_failure(upstream: Upstream, transport: Transport) -> None:
    """HTML with 200 is an upstream's failure, and its text stays inside."""
    upstream.handler = answering(200, "<html>secret")
    with pytest.raises(ServiceFailure, match="Swap: Failed to parse status: error decoding response body") as failure:
        await transport.read("/", dict, context="status")
    assert "secret" not in failure.value.message


async def test_a_hanging_upstream_is_given_up(upstream: Upstream, transport: Transport) -> None:
    """No answer within the time allowed is a failure."""

    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    upstream.handler = hang
    transport.manners = Manners(seconds=0.2)
    with pytest.raises(ServiceFailure, match="Swap: Request failed: error sending request: timed out"):
        await transport.ask("GET", "/")


async def test_a_body_shorter_than_announced_is_a_failure(upstream: Upstream, transport: Transport) -> None:
    """An upstream that lies about its length is not believed."""

    async def lie(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"{}")
        assert request.transport is not None
        request.transport.close()
        return response

    upstream.handler = lie
    with pytest.raises(ServiceFailure, match="Request failed"):
        await transport.ask("GET", "/")


async def test_calls_at_once_are_bounded(upstream: Upstream, transport: Transport) -> None:
    """However many ask, an upstream sees no more calls at once than it should."""

    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return web.Response(text="{}")

    upstream.handler = slow
    await asyncio.gather(*(transport.ask("GET", "/") for _ in range(20)))
    assert (upstream.calls, upstream.most_at_once) == (20, transport.manners.at_once)


async def test_an_unreachable_upstream_does_not_show_its_address() -> None:
    """A refused connection is a failure without host or port in its message."""
    async with aiohttp.ClientSession() as session:
        transport = Transport("chain", "http://127.0.0.1:9", session, failure=ChainFailure)
        with pytest.raises(ChainFailure) as failure:
            await transport.get("/status", context="status")
    said = "chain: Request failed: error sending request"
    assert (failure.value.message, failure.value.code) == (said, "CHAIN_ERROR")


async def test_a_probe_reaches_an_upstream_that_others_are_kept_from(upstream: Upstream, transport: Transport) -> None:
    """Whether an upstream is back can be asked while its circuit breaker is open; that alone does not close it."""
    transport.breaker = Breaker(lambda: 0.0, failures=1)
    transport.breaker.failed()
    upstream.handler = answering(200, "{}")
    with pytest.raises(ServiceFailure, match="error sending request: left alone for a moment"):
        await transport.ask("GET", "/")
    assert (await transport.ask("GET", "/", guarded=False)).good
    assert (upstream.calls, transport.breaker.open) == (1, True)


async def test_an_upstream_that_is_not_configured_says_so() -> None:
    """Without an address nothing is tried."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(ServiceFailure, match="Referral: not configured"):
            await Transport("Referral", "", session).ask("GET", "/")
