"""Declaring routes and answering them: from the shelf, from the index, or as an export.

Every tag's module gets the desk and says what its routes are; how answers are kept, formatted and dated is here.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, TypeAlias, Unpack

import msgspec

from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.clock import EPOCH, Clock
from leasehold.core.errors import NotFound, RateLimited
from leasehold.core.settings import Settings
from leasehold.data_api.conventions import CSV, PERIODS, ExportParams, Window, WindowParams
from leasehold.data_api.examples import example
from leasehold.data_api.exports import Exports
from leasehold.data_api.index import MAX_ROWS, Index, Listing, Stated
from leasehold.data_api.packing import Packed
from leasehold.data_api.shelf import BEHIND, Content, Shelf, place_headers
from leasehold.serving.envelopes import JSON
from leasehold.serving.negotiation import not_modified
from leasehold.serving.routes import Cache, Declaration, NoParams, Registry, Reply, Request
from leasehold.storage.queries import load

Live: TypeAlias = Callable[[Any], Awaitable[Stated]]
# Lists made for who asks, at once, and how many seconds others wait for their turn.
AT_ONCE, PATIENCE = 3, 5.0
_PROTOCOL = "SELECT name, lpp FROM indexer.protocols WHERE name = $1"


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol a caller named, and its pool."""

    name: str
    pool: str


class Desk:
    """The routes of the data API while they are being declared, and what answers them."""

    def __init__(
        self, api: Registry, index: Index, shelf: Shelf, exports: Exports, clock: Clock, settings: Settings
    ) -> None:
        self.api = api
        self.index = index
        self.shelf = shelf
        self.exports = exports
        self.clock = clock
        self.settings = settings
        self.prefixes = Bech32Prefixes(settings.identity.prefix)
        self._turns = asyncio.Semaphore(AT_ONCE)

    def account(self, address: str) -> str:
        """A valid lower-case account or contract address; InvalidAddress otherwise."""
        self.prefixes.account_bytes(address)
        return address

    async def protocol(self, name: str) -> Protocol:
        """The protocol of a name in any case; NotFound when there is none."""
        rows = await self.index.rows(_PROTOCOL, name.upper())
        if not rows:
            raise NotFound(f"no protocol {name!r}")
        return Protocol(rows[0]["name"], rows[0]["lpp"] or "")

    # -- declarations ----------------------------------------------------------------------------------------------

    def live(self, path: str, params: type[msgspec.Struct], answer: Live, **declaration: Unpack[Declaration]) -> None:
        """Declare a route computed for every request; an unchanged answer is a 304."""

        async def handler(request: Any) -> Reply:
            return self._dated(await answer(request.params), request)

        declaration.setdefault("cache", Cache.live())
        declaration.setdefault("responses", {304: None})
        self._declare(path, params, handler, declaration)

    def page(
        self, path: str, params: type[msgspec.Struct], listing: Listing, **declaration: Unpack[Declaration]
    ) -> None:
        """Declare a page of an account's rows as JSON or CSV. The listing takes (address, skip, limit)."""

        async def handler(request: Any) -> Reply:
            asked = request.params
            arguments = (self.account(asked.address), asked.skip, asked.limit)
            if asked.format == "json":
                return self._dated(await self.index.array(listing, *arguments), request)
            return self._content(await self.form(listing, asked.format, *arguments), request)

        declaration["produces"] = (JSON, CSV)
        declaration["response"] = listing.wire_type
        declaration.setdefault("cache", Cache.live())
        declaration.setdefault("responses", {304: None})
        self._declare(path, params, handler, declaration)

    def figure(self, path: str, listing: Listing, seconds: int, **declaration: Unpack[Declaration]) -> None:
        """Declare a route without parameters that gives the one row of a query, kept on the shelf."""

        async def make(_: NoParams) -> Content:
            return Content(await self.index.first(listing))

        declaration["response"] = listing.row
        self.kept(path, NoParams, make, seconds, **declaration)

    def listing(
        self, path: str, listing: Listing, seconds: int, *, default: str = "3m", **declaration: Unpack[Declaration]
    ) -> None:
        """Declare a list of a window: JSON or CSV, from the shelf unless `from` is given. Takes (since, changed)."""
        self._listed(path, WindowParams, listing, seconds, default, declaration)

    def exported(self, path: str, listing: Listing, seconds: int, **declaration: Unpack[Declaration]) -> None:
        """Declare a list of a window that can be streamed as a whole. Takes (since, changed)."""
        # Such lists grow with the history, so only the period that most ask for is kept ready.
        self._listed(path, ExportParams, listing, seconds, "3m", declaration, periods=("3m",))

    def kept(
        self,
        path: str,
        params: type[msgspec.Struct],
        make: Callable[[Any], Awaitable[Content]],
        seconds: int,
        *,
        export: Listing | None = None,
        **declaration: Unpack[Declaration],
    ) -> None:
        """Declare a route answered from the shelf, whatever its parameters; its default form is always there.

        `export`, a listing without arguments, is what `export=true` streams.
        """

        async def handler(request: Any) -> Reply:
            if export is not None and request.params.export:
                return await self._streamed(export)
            return await self._ask(path, request, make, seconds)

        declaration.setdefault("cache", Cache.snapshot(seconds))
        self._declare(path, params, handler, declaration)
        self._stock(path, params(), make, seconds)

    def windowed(
        self,
        path: str,
        params: type[msgspec.Struct],
        make: Callable[[Any], Awaitable[Content]],
        seconds: int,
        *,
        default: str = "3m",
        export: Listing | None = None,
        periods: tuple[str, ...] = PERIODS,
        **declaration: Unpack[Declaration],
    ) -> None:
        """Declare a route with `period` and `from`: kept on the shelf unless `from` is given.

        Some `periods` of its plain form are always there. `export`, a listing that takes (since, changed), is what
        `export=true` streams.
        """

        async def handler(request: Any) -> Reply:
            asked = request.params
            if export is not None and getattr(asked, "export", False):
                return await self._streamed(export, EPOCH, EPOCH)
            if asked.from_ is not None:
                return self._content(await self._in_turn(make, asked), request)
            return await self._ask(path, request, make, seconds, default)

        declaration.setdefault("cache", Cache.snapshot(seconds))
        self._declare(path, params, handler, declaration)
        for period in periods:
            self._stock(path, params(period=period), make, seconds, default)

    async def form(self, listing: Listing, format_name: str, *arguments: Any) -> Content:
        """A listing in the asked form."""
        csv = format_name == "csv"
        copied = await self.index.copied(listing, *arguments, csv=csv)
        headers = [("content-disposition", f'attachment; filename="{listing.name}.csv"')] if csv else []
        if copied.cut:
            headers.append(("x-row-limit", str(MAX_ROWS)))
        packed = copied.body if isinstance(copied.body, Packed) else None
        body = copied.body if isinstance(copied.body, bytes) else b""
        stated = Stated(body, copied.height, copied.time_ns)
        return Content(stated, CSV if csv else JSON, tuple(headers), packed)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _listed(
        self,
        path: str,
        params: type[msgspec.Struct],
        listing: Listing,
        seconds: int,
        default: str,
        declaration: Declaration,
        periods: tuple[str, ...] = PERIODS,
    ) -> None:
        async def make(asked: Any) -> Content:
            window = Window.of(self.clock, asked.period, asked.from_, default=default)
            return await self.form(listing, asked.format, window.since, window.changed)

        declaration["produces"] = (JSON, CSV)
        declaration["response"] = listing.wire_type
        self.windowed(path, params, make, seconds, default=default, export=listing, periods=periods, **declaration)

    async def _ask(
        self, path: str, request: Any, make: Callable[[Any], Awaitable[Content]], seconds: int, default: str = "3m"
    ) -> Reply:
        asked = request.params
        targets = self._targets(path, asked, default)
        return await self.shelf.ask(targets, lambda: self._in_turn(make, asked), seconds, request.headers)

    async def _in_turn(self, make: Callable[[Any], Awaitable[Content]], asked: Any) -> Content:
        """An answer made for who asks: few at a time, so that long ones leave connections for the others."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._turns.acquire()
        except TimeoutError:
            raise RateLimited("too many lists are being made at once", retry_after=10) from None
        try:
            return await make(asked)
        finally:
            self._turns.release()

    def _stock(
        self, path: str, asked: Any, make: Callable[[Any], Awaitable[Content]], seconds: int, default: str = "3m"
    ) -> None:
        self.shelf.keep(self._targets(path, asked, default), lambda: make(asked), seconds)

    def _targets(self, path: str, asked: Any, default: str) -> tuple[str, ...]:
        """All targets with the same answer: naming the default period changes nothing."""
        route = self.api.find("GET", path)
        if getattr(asked, "period", default) in (None, default) and hasattr(asked, "period"):
            named = msgspec.structs.replace(asked, period=default)
            unnamed = msgspec.structs.replace(asked, period=None)
            return route.target(unnamed), route.target(named)
        return (route.target(asked),)

    def _declare(
        self, path: str, params: type[msgspec.Struct], handler: Callable[[Any], Awaitable[Reply]], rest: Declaration
    ) -> None:
        if "response" in rest:
            rest.setdefault("examples", {"example": example(rest["response"])})
        handler.__annotations__ = {"request": Request[params, None], "return": Reply}  # type: ignore[valid-type]
        self.api.get(path, **rest)(handler)

    def _dated(self, stated: Stated, request: Request[Any, Any], media_type: str = JSON) -> Reply:
        """A live answer with the block it speaks for; 304 when the caller has it already."""
        # Weak, because every coding of the same bytes gets the same mark.
        mark = b'"' + urlsafe_b64encode(sha256(stated.body).digest()[:18]) + b'"'
        headers = {"cache-control": "no-cache", "etag": "W/" + mark.decode(), **self._place(stated)}
        if not_modified(request.known, mark):
            return Reply(status=304, headers=headers)
        return Reply(body=stated.body, media_type=media_type, headers=headers)

    def _content(self, content: Content, request: Request[Any, Any]) -> Reply:
        """A content that is not kept, for one caller."""
        if content.packed is not None:
            headers = {"cache-control": "no-cache", **self._place(content.stated), **dict(content.headers)}
            return content.packed.reply(request.headers, content.media_type, headers)
        reply = self._dated(content.stated, request, content.media_type)
        return replace(reply, headers={**reply.headers, **dict(content.headers)})

    async def _streamed(self, listing: Listing, *arguments: Any) -> Reply:
        reply = await self.exports.stream(listing, *arguments)
        warning = {"warning": BEHIND} if self.shelf.behind else {}
        return replace(reply, headers={**reply.headers, **warning})

    def _place(self, stated: Stated) -> dict[str, str]:
        """Which block an answer speaks for, and a warning where that is too long ago."""
        warning = {"warning": BEHIND} if self.shelf.is_behind(stated.time_ns) else {}
        return {**place_headers(stated), **warning}


def encoded(value: Any, stated: Stated) -> Stated:
    """A value made from rows, with the block of those rows."""
    return Stated(msgspec.json.encode(value), stated.height, stated.time_ns)


def queries(file: str) -> Any:
    """The named queries of a module."""
    return load("leasehold.data_api", file)
