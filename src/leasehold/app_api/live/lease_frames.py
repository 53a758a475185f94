"""What streams show of leases, made with the functions behind the HTTP routes: at one height both say the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.app_api.gating import rules
from leasehold.app_api.live import messages
from leasehold.app_api.live.moments import Moment, both_of, is_address, item_of
from leasehold.app_api.live.sequence import last_of, place
from leasehold.app_api.live.views import Views
from leasehold.app_api.resources import leases
from leasehold.app_api.resources.lease_states import State
from leasehold.app_api.resources.lease_views import LeaseInfo, Market, lease_info
from leasehold.app_api.upstreams.bulk import Question, smart_question
from leasehold.app_api.upstreams.data import Protocol
from leasehold.app_api.upstreams.lcd import ContractRefused, NoSuchContract
from leasehold.app_api.upstreams.openings import Sign
from leasehold.serving.frames import Item

# Members a lease has in every frame of the public stream; over HTTP they are absent where they are null here.
ALWAYS = ("close_policy", "in_progress")


@dataclass(frozen=True, slots=True)
class Acted:
    """A lease that acted in a block; `ordinal` is its place there."""

    lease: str
    protocol: str
    ordinal: int


class LeaseFrames:
    """Owners' leases as of a moment."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._app = views.app

    async def owned(self, moment: Moment, owner: str) -> dict[str, str]:
        """Leases of an owner that the visible protocols list, each with its protocol."""
        if not is_address(owner):
            return {}
        registry = self._app.cells.contracts.value
        names = self._views.visible()
        query = {"leases": {"owner": owner}}
        found = await asyncio.gather(*(moment.view.smart(registry.of(name).leaser, query, list[str]) for name in names))
        return {address: name for name, listed in zip(names, found, strict=True) for address in listed}

    def owned_questions(self, owner: str) -> list[Question]:
        """What `owned` asks."""
        registry = self._app.cells.contracts.value
        query = {"leases": {"owner": owner}}
        return [smart_question(registry.of(name).leaser, query, list[str]) for name in self._views.visible()]

    async def all_of_owner(self, moment: Moment, owner: str) -> list[Item]:
        """Every lease of an owner."""
        if not is_address(owner):
            return []
        infos = await leases.leases_of(self._app, moment.view, owner)
        return [self._frame(moment, owner, info, last_of(moment.height), snapshot=True) for info in infos]

    def question(self, lease: str) -> Question:
        """What `change` asks of either moment."""
        return leases.state_question(lease, self._app.cells.gated.value)

    def sign_at_hand(self, moment: Moment, lease: str) -> Sign | None:
        """The sign of a lease whose state is at hand."""
        found: list[State] | None = moment.view.shared.known([self.question(lease).key])
        return leases.sign_of(found[0]) if found else None

    async def _market(self, moment: Moment, protocol: Protocol) -> Market:
        """What leases of a protocol are valued with as of a block, made once for all of them."""
        cells = self._app.cells
        versions = (cells.prices.version, cells.currencies.version, cells.lease_terms.version, cells.protocols.version)

        async def make() -> Market:
            return leases.market_of(self._app, protocol, await self._views.prices_at(moment))

        found: Market = await moment.view.once(("live-market", protocol.name, versions), make)
        return found

    async def change(
        self,
        moment: Moment,
        before: Moment,
        owner: str,
        acted: Acted,
        last: Sign | None,
        *,
        at_hand: bool,
    ) -> tuple[Item | None, Sign | None]:
        """A lease that acted in a block, None where that changed nothing or it is not shown; and its sign.

        `last` is the sign of its state before the block: where the new one is another, that state is not asked for.
        What is `at_hand` already is read in turn, and what the index knew last will do.
        """
        lease = acted.lease
        cells = self._app.cells
        gated, protocol = cells.gated.value, cells.filter.value.protocols.get(acted.protocol)
        if protocol is None:
            return None, None
        try:
            state, known = await both_of(
                leases.read_state(moment.view, lease, gated),
                leases.known_opening(self._app, lease, moment.view, crowded=at_hand),
                in_turn=at_hand,
            )
            sign = leases.sign_of(state)
            if (last is None or sign.follows(last)) and state == await self._state_before(before, lease):
                return None, sign
        except (ContractRefused, NoSuchContract):
            return None, None
        info = lease_info(lease, state, known, await self._market(moment, protocol))
        if info is None or not rules.lease_visible(gated, protocol, info.amount.ticker):
            return None, sign
        return self._frame(moment, owner, info, place(moment.height, acted.ordinal)), sign

    async def _state_before(self, before: Moment, lease: str) -> State | None:
        try:
            return await leases.read_state(before.view, lease, self._app.cells.gated.value)
        except (ContractRefused, NoSuchContract):
            return None

    def _frame(self, moment: Moment, owner: str, info: LeaseInfo, seq: int, *, snapshot: bool = False) -> Item:
        members: dict[str, Any] = {**dict.fromkeys(ALWAYS), **msgspec.to_builtins(info)}
        update = messages.LeaseUpdate(
            lease=msgspec.Raw(msgspec.json.encode(members, order="sorted")),
            owner=owner,
            seq=seq,
            height=moment.height,
            time=moment.time,
            snapshot=snapshot,
        )
        return item_of(update)
