"""Which leases the followed owners have, known from a height on, so that not every block has to ask for them.

A lease's owner and protocol never change. Its leaser lists it from the block that opens it, which names its owner,
until it has ended. So whoever knows an owner's leases as of one block, and reads them again with every later block in
which a leaser acts and the owner is named, knows all that were listed since. That is what an entry says: `leases` has
every lease that was listed at the end of any block from `first` to `last`. It may have more, which harms nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from leasehold.app_api.live.journal import Journal, Notes


@dataclass(slots=True)
class _Held:
    first: int
    last: int
    leases: dict[str, str]


class Holdings:
    """Leases with their protocols, by owner; `listed` reads those of an owner as of the end of a height."""

    def __init__(
        self,
        journal: Journal,
        listed: Callable[[str, int], Awaitable[dict[str, str]]],
        leasers: Callable[[], frozenset[str]],
    ) -> None:
        """`leasers` are those that are looked at; when they are others, nothing is known any more."""
        self._journal = journal
        self._listed = listed
        self._leasers = leasers
        self._looked_at: frozenset[str] = frozenset()
        self._held: dict[str, _Held] = {}

    def __contains__(self, owner: str) -> bool:
        return self._of(owner) is not None

    def _of(self, owner: str) -> _Held | None:
        leasers = self._leasers()
        if leasers is not self._looked_at and leasers != self._looked_at:
            self._held.clear()
        self._looked_at = leasers
        return self._held.get(owner)

    def forget(self, others_than: Collection[str]) -> None:
        """Drop all owners but those."""
        self._held = {owner: held for owner, held in self._held.items() if owner in others_than}

    def opened(self, owner: str, notes: Notes) -> bool:
        """Whether a block may have opened a lease of an owner."""
        return owner in notes.named and notes.acted(self._leasers())

    def untouched(self, owner: str, notes: Notes) -> bool:
        """Whether no lease of an owner acted in a block that opened none of his; False where that is not known.

        Asked for every owner and block, in order: it only looks at what is known.
        """
        held = self._of(owner)
        if held is None or not held.first < notes.height <= held.last + 1:
            return False
        held.last = max(held.last, notes.height)
        return not notes.acted(held.leases.keys())

    async def around(self, owner: str, notes: Notes) -> Mapping[str, str]:
        """Leases listed before or after a block; what becomes known later does not change them."""
        held = self._of(owner)
        if held is not None and held.first < notes.height:
            if notes.height <= held.last:
                return dict(held.leases)
            since = self._journal.between(held.last + 1, notes.height)
            if since is not None:
                for one in since:
                    if self.opened(owner, one):
                        held.leases.update(await self._listed(owner, one.height))
                    held.last = max(held.last, one.height)
                return dict(held.leases)
        found = dict(await self._listed(owner, notes.height - 1))
        if self.opened(owner, notes):
            found.update(await self._listed(owner, notes.height))
        self._extend(owner, _Held(notes.height - 1, notes.height, dict(found)))
        return found

    def saw(self, owner: str, height: int, leases: dict[str, str]) -> None:
        """Note what is listed as of a height."""
        self._extend(owner, _Held(height, height, dict(leases)))

    async def acted(self, owner: str, height: int, blocks: Sequence[Notes]) -> list[Notes]:
        """Of consecutive blocks after a height those in which a lease of an owner acted, leases that came and went in
        between included."""
        leases = dict(await self._listed(owner, height))
        found = []
        for notes in blocks:
            if self.opened(owner, notes):
                leases.update(await self._listed(owner, notes.height))
            if notes.acted(leases.keys()):
                found.append(notes)
        self._extend(owner, _Held(height, blocks[-1].height, leases))
        return found

    def _extend(self, owner: str, new: _Held) -> None:
        held = self._of(owner)
        if held is None:
            self._held[owner] = new
            return
        if new.first <= held.last + 1 and held.first <= new.last + 1:
            held.first, held.last = min(held.first, new.first), max(held.last, new.last)
        elif new.last > held.last:
            held.first, held.last = new.first, new.last
        held.leases.update(new.leases)
