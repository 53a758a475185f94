"""The web application's files: which answer a path gets, and how long it may be kept."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from leasehold.app_api import site
from leasehold.core.clock import ManualClock
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.envelopes import ApplicationDialect
from leasehold.serving.routes import Registry
from leasehold.serving.service import serving

FILES = {
    "/index.html": b"<!doctype html>" + b" " * 2000,
    "/assets/index-abc123.js": b"export {};" * 200,
    "/assets/inter-abc123.woff2": b"wOF2" + bytes(range(256)),
    "/worker.js": b"self",
    "/icon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
}


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    api = Registry("Pages", version="1", dialect=ApplicationDialect())
    site.declare(api, FILES)
    application = Application(api, limits=Settings().limits, clock=ManualClock())
    await site.publish(application.snapshots, FILES)
    async with serving(application) as running, aiohttp.ClientSession(running.url, auto_decompress=False) as session:
        yield session


async def test_every_page_is_the_document_and_asked_about_again(client: aiohttp.ClientSession) -> None:
    """A page's address can be opened directly; the document is never kept unasked, and costs nothing while the same."""
    for path in site.PAGES:
        async with client.get(path) as response:
            assert response.status == 200
            assert response.headers["content-type"] == "text/html; charset=utf-8"
            assert response.headers["cache-control"] == "no-cache"
            known = response.headers["etag"]
        async with client.get(path, headers={"If-None-Match": known}) as response:
            assert response.status == 304


async def test_files_named_by_their_content_are_kept_for_ever(client: aiohttp.ClientSession) -> None:
    """What has a hash in its name never changes; the worker and the icon have none."""
    for path, content in FILES.items():
        if path == "/index.html":
            continue
        async with client.get(path, headers={"Accept-Encoding": "identity"}) as response:
            assert await response.read() == content
            kept = response.headers["cache-control"]
            assert ("immutable" in kept) is path.startswith("/assets/"), path


async def test_pages_are_compressed_and_closed_to_strangers(client: aiohttp.ClientSession) -> None:
    """Scripts travel compressed, run only from here, and the page stands in nobody's frame."""
    async with client.get("/assets/index-abc123.js", headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert len(await response.read()) < 200
    async with client.get("/") as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
