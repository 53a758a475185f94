"""Paths: fixed text wins, a parameter is one decoded segment, a wrong method is not a wrong path."""

from __future__ import annotations

import msgspec
import pytest

from leasehold.core.errors import InvalidInput
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.matching import Matcher
from leasehold.serving.routes import NoParams, Registry, Request


class One(msgspec.Struct, frozen=True):
    one: str


class Two(msgspec.Struct, frozen=True):
    one: str
    two: str


async def none(request: Request[NoParams, None]) -> None: ...
async def one(request: Request[One, None]) -> None: ...
async def two(request: Request[Two, None]) -> None: ...


@pytest.fixture
def matcher() -> Matcher:
    api = Registry("Paths", version="1", dialect=DataDialect())
    api.get("/")(none)
    api.get("/leases/{one}")(one)
    api.post("/leases/quote")(none)
    api.get("/leases/config/{one}")(one)
    api.get("/leases/{one}/history/{two}")(two)
    api.delete("/leases/{one}")(one)
    api.get("/proxy/known")(none)
    api.get("/proxy/{one*}")(one)
    return Matcher(api)


@pytest.mark.parametrize(
    ("path", "template", "values"),
    [
        (b"/", "/", ()),
        (b"/leases/abc", "/leases/{one}", ("abc",)),
        (b"/leases/ibc%2FAB", "/leases/{one}", ("ibc/AB",)),
        (b"/%6Ceases/abc", "/leases/{one}", ("abc",)),
        (b"/leases/config/x", "/leases/config/{one}", ("x",)),
        (b"/leases/config/history/x", "/leases/{one}/history/{two}", ("config", "x")),
        (b"/proxy/known", "/proxy/known", ()),
        (b"/proxy/other", "/proxy/{one*}", ("other",)),
        (b"/proxy/a/b/c", "/proxy/{one*}", ("a/b/c",)),
    ],
)
def test_found(matcher: Matcher, path: bytes, template: str, values: tuple[str, ...]) -> None:
    """A path finds its route; segments are decoded after splitting, so an encoded slash stays inside."""
    match = matcher.match(path)
    assert match is not None
    route = match.route("GET")
    assert route is not None
    assert (route.path, match.values) == (template, values)
    assert list(match.path_values(route).values()) == list(values)


@pytest.mark.parametrize(
    "path", [b"/leases", b"/leases/", b"/leases/a/", b"//leases/a", b"/LEASES/a", b"leases/a", b"*", b"", b"/a" * 70]
)
def test_not_found(matcher: Matcher, path: bytes) -> None:
    """Near misses are unknown: no empty parameter, no case folding, no collapsed slash."""
    assert matcher.match(path) is None


def test_a_fixed_path_hides_the_parameter_whatever_its_methods(matcher: Matcher) -> None:
    """GET on a path that exists for POST only is a wrong method, not a lookup of something of that name."""
    match = matcher.match(b"/leases/quote")
    assert match is not None
    assert match.route("GET") is None
    assert match.allowed == ("OPTIONS", "POST")


def test_methods_of_a_path(matcher: Matcher) -> None:
    """GET answers HEAD too, and Allow lists what there is."""
    match = matcher.match(b"/leases/a")
    assert match is not None
    assert match.route("HEAD") is match.route("GET")
    assert match.allowed == ("DELETE", "GET", "HEAD", "OPTIONS")


@pytest.mark.parametrize("path", [b"/leases/%FF", b"/leases/%z", b"/leases/%00", b"/leases/\xff"])
def test_bad_encoding_is_refused(matcher: Matcher, path: bytes) -> None:
    """Bad percent-encoding, bad UTF-8 and control characters are invalid input, not unknown paths."""
    with pytest.raises(InvalidInput):
        matcher.match(path)


def test_templates_are_checked() -> None:
    """A rest parameter that is not last, or a parameter inside a segment, is refused."""
    for path in ("/a/{one*}/b", "/a/x{one}"):
        api = Registry("Paths", version="1", dialect=DataDialect())
        api.get(path)(one)
        with pytest.raises(ValueError, match="parameter"):
            Matcher(api)
