"""What the index knows about leases, kept as long as their contracts say nothing new.

A lease's record in the index changes when the lease acts, and its contract's state shows that at once. So the index is
asked when a state shows an act, then about once a block for as long as the index may be behind, then rarely: what it is
asked does not grow with clients, and hardly with blocks.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from leasehold.app_api.upstreams.data import DataApi, Opening
from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.upstreams.lcd import Shared
from leasehold.core import logging

# How long after an act the index may not have it yet, and how soon it is asked again meanwhile and afterwards.
SETTLING_SECONDS = 30.0
SOON_SECONDS = 1.0
# How long after they acted together with many others the index is asked about leases.
SETTLED_SECONDS = (2.0, SETTLING_SECONDS)
AT_ONCE = 4
BREATH_SECONDS = 0.02
KEPT_SECONDS = 60.0
MOST_LEASES = 50_000
_log = logging.get("openings")


@dataclass(frozen=True, slots=True)
class Sign:
    """What tells that a lease has acted: another `mark`, or less `due`, which by itself only grows."""

    mark: tuple[str, ...]
    due: int = 0

    def follows(self, last: Sign) -> bool:
        """Whether nothing happened since the last sign."""
        return self.mark == last.mark and self.due >= last.due


@dataclass(slots=True)
class _Kept:
    opening: Opening | None
    sign: Sign | None
    acted: float
    answered: float = -math.inf
    failed: bool = False


class Openings:
    """The index's records of leases; a failure of the index keeps what was known."""

    def __init__(
        self,
        data: DataApi,
        monotonic: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._data = data
        self._now = monotonic
        self._pause = pause
        self._recalled: dict[str, list[float]] = {}
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._under_way: Shared[Opening | None] = Shared(keep=False)

    def __len__(self) -> int:
        return len(self._kept)

    async def of(self, lease: str, sign: Sign | None = None) -> Opening | None:
        """The record of a lease whose state shows a sign (without one: a record of the last moment will do)."""
        kept = self._kept.get(lease)
        if kept is None:
            return await self.ask(lease, sign)
        if sign is not None:
            if kept.sign is not None and not sign.follows(kept.sign):
                return await self.ask(lease, sign)
            kept.sign = sign
        now = self._now()
        soon = sign is None or kept.failed or now - kept.acted < SETTLING_SECONDS
        if now - kept.answered < (SOON_SECONDS if soon else KEPT_SECONDS):
            self._kept.move_to_end(lease)
            return kept.opening
        return await self._refreshed(lease, kept)

    async def ask(self, lease: str, sign: Sign | None = None) -> Opening | None:
        """The record of a lease that has just acted, or that nobody has asked about before; None where there is none or
        the index fails and never told."""
        last = self._kept.get(lease)
        kept = _Kept(last.opening if last else None, sign or (last.sign if last else None), self._now())
        self._kept[lease] = kept
        self._kept.move_to_end(lease)
        while len(self._kept) > MOST_LEASES:
            self._kept.popitem(last=False)
        return await self._refreshed(lease, kept)

    async def recall(self, lease: str) -> Opening | None:
        """The record of a lease that has just acted together with many others, as it was told last: the index, which is
        behind a block that new, is asked afterwards. One nobody has asked about before is asked for."""
        kept = self._kept.get(lease)
        if kept is None:
            return await self.ask(lease)
        now = kept.acted = self._now()
        self._recalled[lease] = [now + wait for wait in SETTLED_SECONDS]
        return kept.opening

    async def settling(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Ask the index about recalled leases when it should know what they did, and, where it tells nothing new then,
        when it must; for ever, and a few at a time, when it is their `turn`."""
        while True:
            await self._pause(SETTLED_SECONDS[0])
            due = self._due()
            for start in range(0, len(due), AT_ONCE):
                await turn()
                await asyncio.gather(*(self._settle(*one) for one in due[start : start + AT_ONCE]))
                await self._pause(BREATH_SECONDS)

    async def _settle(self, lease: str, kept: _Kept) -> None:
        last = kept.opening
        if await self._refreshed(lease, kept) != last:
            self._recalled.pop(lease, None)

    def _due(self) -> list[tuple[str, _Kept]]:
        now = self._now()
        due = [lease for lease, moments in self._recalled.items() if moments[0] <= now]
        for lease in due:
            left = [moment for moment in self._recalled.pop(lease) if moment > now]
            if left:
                self._recalled[lease] = left
        return [(lease, self._kept[lease]) for lease in due if lease in self._kept]

    async def _refreshed(self, lease: str, kept: _Kept) -> Opening | None:
        async def read() -> Opening | None:
            return await self._data.opening(lease)

        try:
            kept.opening = await self._under_way.get(lease, read)
            kept.failed = False
        except ServiceFailure as error:
            kept.failed = True
            _log.info("the index does not answer", lease=lease, error=error.message)
        kept.answered = self._now()
        return kept.opening

    def close(self) -> None:
        self._under_way.clear()
