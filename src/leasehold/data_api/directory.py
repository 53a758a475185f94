"""Registries: told as a whole, as what is active of it, and one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec

from leasehold.core.errors import NotFound
from leasehold.data_api.desk import Desk, encoded
from leasehold.data_api.index import Listing, Stated
from leasehold.serving.routes import NoParams


class Entry(Protocol):
    """Something that is or was in use."""

    @property
    def is_active(self) -> bool: ...


E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True)
class Directory(Generic[E]):
    """A registry: its rows as entries, what an entry is called, and how a list of them is told.

    `page` takes the entries shown, their number, and the numbers of all active and all deprecated ones.
    """

    noun: str
    listing: Listing
    entries: Callable[[bytes], list[E]]
    name: Callable[[E], str]
    page: Callable[[list[E], int, int, int], msgspec.Struct]

    def declare(
        self,
        desk: Desk,
        path: str,
        one_path: str,
        one_params: type[msgspec.Struct],
        *,
        tags: tuple[str, ...],
        summaries: tuple[str, str, str],
        wire_types: tuple[type, type],
    ) -> None:
        """Declare the three routes; the last takes the exact name as its only parameter."""

        async def read() -> tuple[list[E], Stated]:
            stated = await desk.index.array(self.listing)
            return self.entries(stated.body), stated

        def told(found: list[E], shown: list[E], stated: Stated) -> Stated:
            active = sum(entry.is_active for entry in found)
            return encoded(self.page(shown, len(shown), active, len(found) - active), stated)

        async def everything(_: NoParams) -> Stated:
            found, stated = await read()
            return told(found, found, stated)

        async def active(_: NoParams) -> Stated:
            found, stated = await read()
            return told(found, [entry for entry in found if entry.is_active], stated)

        async def one(params: msgspec.Struct) -> Stated:
            (wanted,) = msgspec.structs.astuple(params)
            found, stated = await read()
            for entry in found:
                if self.name(entry) == wanted:
                    return encoded(entry, stated)
            raise NotFound(f"no {self.noun} {wanted!r}")

        many, single = wire_types
        desk.live(path, NoParams, everything, summary=summaries[0], tags=tags, response=many)
        desk.live(f"{path}/active", NoParams, active, summary=summaries[1], tags=tags, response=many)
        desk.live(one_path, one_params, one, summary=summaries[2], tags=tags, response=single, errors=(404,))
