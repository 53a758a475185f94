"""The registry: what a declaration makes of a handler, and which mistakes it refuses."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from leasehold.serving.envelopes import DataDialect
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, NoParams, Registry, Request


class Page(msgspec.Struct, frozen=True):
    address: Annotated[str, Input(aliases=("owner",))]
    limit: Annotated[int, msgspec.Meta(ge=0, le=100), Input(clamp=True)] = 10


class Point(msgspec.Struct):
    x: int


class Key(msgspec.Struct, frozen=True):
    key: str
    period: str = "3m"


@pytest.fixture
def api() -> Registry:
    return Registry("Test", version="1", dialect=DataDialect())


async def points(request: Request[Page, None]) -> list[Point]:
    return [Point(request.params.limit)]


async def store(request: Request[NoParams, Point]) -> Point:
    return request.body


def test_types_come_from_the_handler(api: Registry) -> None:
    """Parameters, body and response of a route are those the handler is annotated with."""
    api.get("/points")(points)
    api.post("/points")(store)
    read, write = api
    assert (read.params, read.body, read.response) == (Page, None, list[Point])
    assert (write.params, write.body, write.response) == (NoParams, Point, Point)
    assert [p.place for p in read.parameters] == ["query", "query"]
    assert (read.rate, write.rate) == ("read", "write")


def test_a_route_is_declared_once(api: Registry) -> None:
    """The same method and path shape, or the same operation id, twice is refused at declaration."""
    api.get("/points/{address}")(points)
    with pytest.raises(ValueError, match="declared twice"):
        api.get("/points/{limit}")(points)
    with pytest.raises(ValueError, match="used twice"):
        api.get("/other", operation_id="get_points_address")(points)


def test_a_path_parameter_must_be_declared(api: Registry) -> None:
    """A placeholder without a field is a mistake found at declaration."""
    with pytest.raises(ValueError, match="lacks path parameters"):
        api.post("/points/{id}")(store)


def test_a_handler_must_take_a_request(api: Registry) -> None:
    """A function with another signature is refused at declaration."""

    async def wrong(text: str) -> str:
        return text

    with pytest.raises(TypeError, match="must take one Request"):
        api.get("/wrong")(wrong)


def test_snapshot_targets_are_canonical(api: Registry) -> None:
    """Defaults are left out, values are quoted, path values keep an encoded slash inside their segment."""
    route = api.snapshot("/currencies/{key}", params=Key, response=Point, name="Currencies")
    assert route.target(Key("ibc/AB")) == "/currencies/ibc%2FAB"
    assert route.target(Key("A B", "all")) == "/currencies/A%20B?period=all"
    assert route.cache.kind == "snapshot"


@pytest.mark.parametrize(
    ("cache", "header"),
    [
        (Cache(), "no-store"),
        (Cache.live(), "no-store"),
        (Cache.live(11), "public, max-age=11, stale-while-revalidate=5"),
        (Cache.live(11, personal=True), "private, max-age=11"),
        (Cache.snapshot(), "no-cache"),
        (Cache.snapshot(30), "public, max-age=30, stale-while-revalidate=15"),
    ],
)
def test_cache_control(cache: Cache, header: str) -> None:
    """Cache-Control follows the policy: half the age for stale-while-revalidate, no-store where nothing may be kept."""
    assert cache.header == header


def test_registries_can_be_joined(api: Registry) -> None:
    """A module may declare its routes in its own registry and have it included."""
    other = Registry("Part", version="1", dialect=DataDialect())
    other.get("/points")(points)
    api.include(other)
    assert api.find("GET", "/points").response == list[Point]
    with pytest.raises(ValueError, match="declared twice"):
        api.include(other)
