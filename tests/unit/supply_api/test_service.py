"""The supply API over HTTP, with a reader held in the hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from leasehold.core.clock import ManualClock
from leasehold.core.errors import UpstreamFailure
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.service import serving
from leasehold.supply_api.figures import Figures, VestingAccount
from leasehold.supply_api.service import CACHE_SECONDS, SupplyDesk, supply_api

FIGURES = Figures(42, 1_700_000_000 * 10**9, 850_000_000 * 10**6 + 5, (VestingAccount("a", "k", 9, 10**12),), 10**9, 6)


class Reader:
    """Gives figures until told to fail."""

    def __init__(self) -> None:
        self.fails = False

    async def read(self) -> Figures:
        if self.fails:
            raise UpstreamFailure("node is down", upstream="node")
        return FIGURES


@pytest.fixture
async def desk() -> SupplyDesk:
    return SupplyDesk(refresh_seconds=60)


@pytest.fixture
async def client(desk: SupplyDesk) -> AsyncIterator[aiohttp.ClientSession]:
    settings = Settings()
    application = Application(supply_api(settings, desk), limits=settings.limits, clock=ManualClock())
    async with serving(application) as running, aiohttp.ClientSession(running.url) as session:
        yield session


async def _get(client: aiohttp.ClientSession, path: str, **headers: str) -> tuple[int, str, str]:
    async with client.get(path, headers=headers) as response:
        return response.status, response.headers["content-type"], await response.text()


async def test_each_figure_is_plain_text(client: aiohttp.ClientSession, desk: SupplyDesk) -> None:
    """Every figure is a bare whole number with open CORS."""
    await desk.refresh(Reader())  # type: ignore[arg-type]
    answers = {kind: await _get(client, f"/?type={kind}") for kind in ("circulating", "total", "max", "burned")}
    assert {kind: text for kind, (_, _, text) in answers.items()} == {
        "circulating": "849000000",
        "total": "850000000",
        "max": "1000000000",
        "burned": "0",
    }
    assert {status for status, _, _ in answers.values()} == {200}
    assert {kind for _, kind, _ in answers.values()} == {"text/plain; charset=utf-8"}
    async with client.get("/?type=max", headers={"Origin": "http://example.org"}) as response:
        assert response.headers["access-control-allow-origin"] == "*"


async def test_cold_figures_are_503_and_constants_are_not(client: aiohttp.ClientSession) -> None:
    """Before the first read only the constants can be told."""
    assert (await _get(client, "/?type=total"))[0] == 503
    assert (await _get(client, "/?type=max"))[::2] == (200, "1000000000")
    assert (await _get(client, "/?type=burned"))[::2] == (200, "0")


async def test_last_good_figures_survive_a_failing_chain(client: aiohttp.ClientSession, desk: SupplyDesk) -> None:
    """A node that fails later takes nothing away."""
    reader = Reader()
    await desk.refresh(reader)  # type: ignore[arg-type]
    reader.fails = True
    with pytest.raises(UpstreamFailure):
        await desk.refresh(reader)  # type: ignore[arg-type]
    assert (await _get(client, "/?type=total"))[::2] == (200, "850000000")


async def test_unknown_type_is_refused(client: aiohttp.ClientSession, desk: SupplyDesk) -> None:
    """An unknown figure is 400."""
    await desk.refresh(Reader())  # type: ignore[arg-type]
    assert (await _get(client, "/?type=all"))[0] == 400


async def test_summary_breakdown_and_head(client: aiohttp.ClientSession, desk: SupplyDesk) -> None:
    """The bare route tells all figures, JSON gives the breakdown, HEAD has no body."""
    await desk.refresh(Reader())  # type: ignore[arg-type]
    assert "circulating 849000000" in (await _get(client, "/"))[2]
    status, kind, text = await _get(client, "/?type=circulating", Accept="application/json")
    assert (status, kind.split(";")[0]) == (200, "application/json")
    assert '"height":42' in text
    assert '"vesting":"1000000000000"' in text
    async with client.head("/?type=total") as response:
        assert (response.status, await response.text()) == (200, "")
        assert response.headers["content-length"] == "9"


@pytest.mark.parametrize(
    ("accepted", "kind"),
    [
        ("application/json", "application/json"),
        ("application/json, text/html;q=0.9", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
        ("*/*", "text/plain"),
        ("application/json, text/plain, */*", "text/plain"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "text/plain"),
        ("application/json;q=0, */*", "text/plain"),
        ("application/json;q=none", "text/plain"),
    ],
)
async def test_whoever_takes_text_as_gladly_gets_the_figure(
    client: aiohttp.ClientSession, desk: SupplyDesk, accepted: str, kind: str
) -> None:
    """Only who prefers JSON gets the breakdown: HTTP clients that name everything still read a number."""
    await desk.refresh(Reader())  # type: ignore[arg-type]
    assert (await _get(client, "/?type=total", Accept=accepted))[1].split(";")[0] == kind


async def test_a_surprise_does_not_end_the_refreshing() -> None:
    """An answer of the node that nobody foresaw is told and asked for again."""
    desk = SupplyDesk(refresh_seconds=60)
    waits: list[float] = []

    class Surprising(Reader):
        async def read(self) -> Figures:
            if not waits:
                raise ValueError("no such kind of account")
            return await super().read()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await desk.keep(Surprising(), sleep)  # type: ignore[arg-type]
    assert waits == [30, 60]
    assert desk.figures is FIGURES


async def test_figures_are_refreshed_before_they_expire_and_soon_after_a_failure() -> None:
    """The next read is due before an answer's hour is over; a failed one is repeated within seconds, ever slower."""
    settings = Settings()
    desk = SupplyDesk(refresh_seconds=settings.supply_api.refresh_seconds)
    reader = Reader()
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        reader.fails = len(waits) in (1, 2, 3)
        if len(waits) == 5:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await desk.keep(reader, sleep)  # type: ignore[arg-type]
    regular = settings.supply_api.refresh_seconds
    assert waits == [regular, 1, 2, 5, regular]
    assert regular < CACHE_SECONDS


async def test_an_answer_may_be_kept_for_an_hour(client: aiohttp.ClientSession, desk: SupplyDesk) -> None:
    """Caches may keep a figure for an hour, and text apart from JSON."""
    await desk.refresh(Reader())  # type: ignore[arg-type]
    for accepted in ("*/*", "application/json"):
        async with client.get("/?type=total", headers={"Accept": accepted}) as response:
            assert "max-age=3600" in response.headers["cache-control"]
            assert "accept" in [name for line in response.headers.getall("vary") for name in line.split(", ")]
