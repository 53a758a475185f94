"""The API about itself: its version and description, and what the index covers."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.core.errors import NotFound
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, NoParams

TAGS = ("Meta",)
sql = queries("meta.sql")


class Block(msgspec.Struct):
    """An indexed block."""

    height: int
    hash: str
    time: str
    tx_count: int


class Gap(msgspec.Struct):
    """Heights that are missing, both ends included."""

    first: int
    last: int


class Coverage(msgspec.Struct):
    """What the index covers."""

    first_height: int
    height: int
    blocks: int


class Gaps(msgspec.Struct):
    """The heights the index should hold, and those it lacks."""

    first_height: int
    height: int
    gaps: list[Gap]


class Version(msgspec.Struct):
    """Version of the running API."""

    version: str


class HeightParams(msgspec.Struct, frozen=True):
    """A height."""

    height: Annotated[int, msgspec.Meta(ge=0), Input(example=1)]


def declare(desk: Desk) -> None:
    """Declare the routes of this tag, except subscriptions."""
    version = Version(desk.api.version)

    async def api_version(_: NoParams) -> Stated:
        return Stated(msgspec.json.encode(version), 0, 0)

    desk.live("/api/version", NoParams, api_version, summary="Version of the API", tags=TAGS, response=Version)
    _declare_blocks(desk)
    for path, media, summary in (
        ("/openapi.json", "application/json", "This description"),
        ("/llms.txt", "text/plain", "An overview for agents"),
        ("/", "text/html", "A browsable index"),
    ):
        desk.api.snapshot(path, summary=summary, tags=TAGS, produces=(media,), cache=Cache.snapshot(300), response=dict)


def _declare_blocks(desk: Desk) -> None:
    latest_block = Listing("blocks", Block, sql.latest)
    one_block = Listing("blocks", Block, sql.block)
    coverage = Listing("gaps", Coverage, sql.coverage)
    gaps = Listing("gaps", Gap, sql.gaps)
    # Blocks arrive in order, so gaps are made by hand: while as many blocks are missing, they are the same ones.
    known: dict[int, list[Gap]] = {0: []}

    async def blocks(_: NoParams) -> Stated:
        return await desk.index.text(f"({sql.blocks})")

    async def latest(_: NoParams) -> Stated:
        return _found(await desk.index.first(latest_block))

    async def block(params: HeightParams) -> Stated:
        return _found(await desk.index.first(one_block, params.height))

    async def missing(_: NoParams) -> Stated:
        stated = await desk.index.first(coverage)
        covered = msgspec.json.decode(stated.body, type=Coverage | None)
        if covered is None:
            return encoded(Gaps(0, 0, []), stated)
        lacking = covered.height - covered.first_height + 1 - covered.blocks
        if lacking not in known:
            listed = await desk.index.array(gaps)
            known.clear()
            known.update({0: [], lacking: msgspec.json.decode(listed.body, type=list[Gap])})
        return encoded(Gaps(covered.first_height, covered.height, known[lacking]), stated)

    desk.live("/api/blocks", NoParams, blocks, summary="Number of blocks ingested", tags=TAGS, response=int)
    desk.live(
        "/api/blocks/latest",
        NoParams,
        latest,
        summary="The newest indexed block",
        tags=TAGS,
        response=Block,
        errors=(404,),
    )
    desk.live("/api/blocks/gaps", NoParams, missing, summary="Heights that are missing", tags=TAGS, response=Gaps)
    desk.live(
        "/api/blocks/{height}",
        HeightParams,
        block,
        summary="An indexed block",
        tags=TAGS,
        response=Block,
        errors=(404,),
    )


def _found(stated: Stated) -> Stated:
    if stated.body == b"null":
        raise NotFound("this block is not indexed")
    return stated
