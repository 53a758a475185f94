"""Zero-interest campaigns: which run, and whom they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from leasehold.core.clock import Clock, from_datetime, parse_rfc3339, rfc3339, to_datetime
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.storage import queries
from leasehold.storage.pool import Database, Session
from leasehold.upstreams.index import Index
from leasehold.upstreams.payments import wire

QUERIES = queries.load("leasehold.upstreams.payments", "queries.sql")
NO_CAMPAIGN = "no campaign"


@dataclass(slots=True)
class Campaigns:
    """The campaigns in PostgreSQL."""

    database: Database
    clock: Clock
    index: Index

    async def all(self) -> list[wire.Campaign]:
        return [campaign(row) for row in await self.database.fetch(QUERIES.campaigns)]

    async def add(self, asked: wire.CampaignRequest) -> wire.Campaign:
        row = await self.database.writing(lambda session: session.fetchrow(QUERIES.add_campaign, *_columns(asked)))
        return campaign(row)

    async def replace(self, number: int, asked: wire.CampaignRequest) -> wire.Campaign:
        row = await self.database.writing(
            lambda session: session.fetchrow(QUERIES.replace_campaign, number, *_columns(asked))
        )
        if row is None:
            raise NotFound("campaign not found")
        return campaign(row)

    async def seed(self, asked: wire.CampaignRequest) -> None:
        """Add a first campaign where there is none at all."""
        if not await self.database.fetch(QUERIES.campaigns):
            await self.add(asked)

    async def running(self) -> wire.ActiveCampaigns:
        """Campaigns that run now, with what any of them allows."""
        found = [campaign(row) for row in await self.database.fetch(QUERIES.running_campaigns, self._now())]
        return wire.ActiveCampaigns(
            found,
            _union(one.eligible_currencies for one in found),
            _union(one.eligible_protocols for one in found),
            any(_is_universal(one) for one in found),
        )

    async def eligibility(self, wallet: str, protocol: str | None, currency: str | None) -> wire.CampaignEligibility:
        """The running campaigns for a wallet; what is not asked about excludes nothing."""
        matching = await self.database.reading(lambda session: self.matching(session, wallet, protocol, currency))
        named = [wire.MatchingCampaign(row["id"], row["name"]) for row in matching]
        if not named:
            return wire.CampaignEligibility(False, [], NO_CAMPAIGN)
        return wire.CampaignEligibility(True, named)

    async def matching(
        self, session: Session, wallet: str, protocol: str | None, currency: str | None
    ) -> list[asyncpg.Record]:
        """Rows of the running campaigns that allow a wallet, protocol and currency."""
        names = await self._names(session, protocol)
        rows = await session.fetch(QUERIES.running_campaigns, self._now())
        return [
            row
            for row in rows
            if (not row["wallets"] or wallet in row["wallets"])
            and (names is None or not row["protocols"] or names & set(row["protocols"]))
            and (currency is None or not row["currencies"] or currency in row["currencies"])
        ]

    async def _names(self, session: Session, protocol: str | None) -> set[str] | None:
        """What a campaign may call a protocol: its name or its leaser."""
        if protocol is None:
            return None
        names = {protocol}
        if await self.index.height(session) is not None:
            for row in await session.fetch(QUERIES.protocol_names, protocol):
                names |= {row["name"], row["leaser"]} - {None}
        return names

    def _now(self) -> datetime:
        return to_datetime(self.clock.now_ns())


def campaign(row: Any) -> wire.Campaign:
    return wire.Campaign(
        id=row["id"],
        name=row["name"],
        active=row["active"],
        eligible_protocols=row["protocols"],
        eligible_currencies=row["currencies"],
        eligible_wallets=row["wallets"],
        start_date=_instant(row["start_date"]),
        end_date=_instant(row["end_date"]),
        description=row["description"],
    )


def _columns(asked: wire.CampaignRequest) -> tuple[Any, ...]:
    start, end = _moment(asked.start_date, "start_date"), _moment(asked.end_date, "end_date")
    if start is not None and end is not None and end <= start:
        raise InvalidInput("a campaign ends after it starts", field="end_date")
    return (
        asked.name,
        asked.active,
        asked.eligible_protocols,
        asked.eligible_currencies,
        asked.eligible_wallets,
        start,
        end,
        asked.description,
    )


def _moment(text: str | None, field: str) -> datetime | None:
    if text is None:
        return None
    try:
        return to_datetime(parse_rfc3339(text))
    except (ValueError, OverflowError):
        raise InvalidInput("not an RFC 3339 instant", field=field) from None


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(from_datetime(moment), digits="grouped")


def _union(lists: Iterable[list[str]]) -> list[str]:
    return sorted({item for items in lists for item in items})


def _is_universal(one: wire.Campaign) -> bool:
    return not (one.eligible_protocols or one.eligible_currencies or one.eligible_wallets)
