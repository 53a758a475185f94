"""Leases: of an account, by contract, and their history over all accounts."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.core.errors import InvalidInput
from leasehold.data_api import lease_rows as rows
from leasehold.data_api.conventions import (
    CSV,
    AccountPageParams,
    Address,
    FewLimit,
    FormatParams,
    Limit,
    Name,
    ProtocolParams,
    Skip,
)
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.shelf import FIVE_MINUTES, HOURLY, Content
from leasehold.serving.envelopes import JSON
from leasehold.serving.parameters import Input

TAGS = ("Lease",)
MAX_LEASES = 100
sql = queries("lease.sql")


class SearchParams(msgspec.Struct, frozen=True):
    """Lease contracts of an account."""

    address: Address
    search: Annotated[str, msgspec.Meta(max_length=128), Input(about="part of a contract address")] = ""
    skip: Skip = 0
    limit: Limit = 10


class ClosingParams(msgspec.Struct, frozen=True):
    """Closed leases of an account, ten at most."""

    address: Address
    skip: Skip = 0
    limit: FewLimit = 10


class OpeningParams(msgspec.Struct, frozen=True):
    """One lease with its history, or several without; `leases` wins."""

    lease: Annotated[Name | None, Input(about="lease contract")] = None
    leases: Annotated[
        Annotated[str, msgspec.Meta(max_length=6800)] | None, Input(about="up to 100 lease contracts, by comma")
    ] = None


class LeaseId(msgspec.Struct):
    """A row of one column."""

    lease: str


def with_openings(query: str) -> str:
    """A query over openings with the columns that all lists of them have."""
    return query.replace("{opened}", sql.opened)


_leases = msgspec.json.Decoder(list[LeaseId])
_closings = msgspec.json.Decoder(list[rows.ClosingRow])


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    _declare_of_account(desk)
    _declare_opening(desk)
    _declare_totals(desk)
    for path, row, query, summary in (
        ("liquidations", rows.Liquidation, sql.liquidations, "Liquidations, newest first"),
        (
            "interest-repayments",
            rows.InterestRepayment,
            sql.interest_repayments,
            "Interest and margin paid in USD, newest first",
        ),
        (
            "historically-opened",
            rows.Opened,
            with_openings(sql.historically_opened),
            "Openings of positions, newest first",
        ),
        ("historically-repaid", rows.Repaid, sql.historically_repaid, "Positions repaid or closed on the market"),
        ("historically-liquidated", rows.Liquidated, sql.historically_liquidated, "Positions that were liquidated"),
    ):
        desk.exported(f"/api/{path}", Listing(path, row, query), FIVE_MINUTES, summary=summary, tags=TAGS)


def _declare_of_account(desk: Desk) -> None:
    opened = Listing("leases", rows.LeaseOpening, sql.leases.replace("{opening}", sql.opening))
    ids = Listing("leases-search", LeaseId, sql.leases_search)
    closed = Listing("ls-loan-closing", rows.ClosingRow, sql.ls_loan_closing)

    async def leases(params: AccountPageParams) -> Stated:
        return await desk.index.array(opened, desk.account(params.address), params.skip, params.limit)

    async def search(params: SearchParams) -> Stated:
        account = desk.account(params.address)
        stated = await desk.index.array(ids, account, params.skip, params.limit, params.search.lower())
        return encoded([row.lease for row in _leases.decode(stated.body)], stated)

    async def closings(params: ClosingParams) -> Stated:
        stated = await desk.index.array(closed, desk.account(params.address), params.skip, params.limit)
        return encoded([_closing(row) for row in _closings.decode(stated.body)], stated)

    desk.live(
        "/api/leases",
        AccountPageParams,
        leases,
        summary="Leases of an account, newest first, closed ones too",
        tags=TAGS,
        response=list[rows.LeaseOpening],
    )
    desk.live(
        "/api/leases-search",
        SearchParams,
        search,
        summary="Lease contracts of an account, newest first",
        tags=TAGS,
        response=list[str],
    )
    desk.live(
        "/api/ls-loan-closing",
        ClosingParams,
        closings,
        summary="Closed leases of an account, newest first",
        tags=TAGS,
        response=list[rows.LoanClosing],
    )


def _closing(row: rows.ClosingRow) -> rows.LoanClosing:
    return rows.LoanClosing(
        row.contract,
        row.asset,
        row.pool,
        row.kind,
        row.at,
        float(row.sent),
        float(row.received),
        float(row.pnl),
        row.strategy,
        row.strategy_ltv,
    )


def _declare_opening(desk: Desk) -> None:
    briefs = Listing("ls-opening", rows.LeaseBrief, sql.briefs.replace("{opening}", sql.opening))
    story = Listing("ls-opening", rows.LeaseStory, sql.story.replace("{opening}", sql.opening))

    async def opening(params: OpeningParams) -> Stated:
        if params.leases is not None:
            wanted = list(dict.fromkeys(part.strip() for part in params.leases.split(",") if part.strip()))
            if len(wanted) > MAX_LEASES:
                raise InvalidInput(f"more than {MAX_LEASES} leases", field="leases")
            return await desk.index.array(briefs, wanted)
        if params.lease is None:
            return await desk.index.text("'[]'")
        return await desk.index.first(story, params.lease)

    desk.live(
        "/api/ls-opening",
        OpeningParams,
        opening,
        summary="A lease with its history, or several as they were opened",
        description="`null` for an unknown lease; unknown ones of a list are left out.",
        tags=TAGS,
        response=rows.LeaseStory | list[rows.LeaseBrief] | None,
    )


def _declare_totals(desk: Desk) -> None:
    desk.listing(
        "/api/leases-monthly",
        Listing("leases-monthly", rows.MonthlyLeases, sql.leases_monthly),
        FIVE_MINUTES,
        default="all",
        summary="USD of openings by month, newest first",
        tags=TAGS,
    )
    assets = Listing("leased-assets", rows.LeasedAsset, sql.leased_assets)

    async def leased(params: ProtocolParams) -> Content:
        name = None if params.protocol is None else (await desk.protocol(params.protocol)).name
        return Content(await desk.index.array(assets, name))

    desk.kept(
        "/api/leased-assets",
        ProtocolParams,
        leased,
        FIVE_MINUTES,
        summary="USD of open positions by asset, largest first",
        tags=TAGS,
        response=list[rows.LeasedAsset],
        errors=(404,),
    )
    for path, row, query, seconds, summary in (
        ("lease-value-stats", rows.LeaseValue, sql.lease_value_stats, HOURLY, "Mean and largest position by asset"),
        ("loans-by-token", rows.TokenLoans, sql.loans_by_token, HOURLY, "Principal of open positions by token"),
        ("loans-granted", rows.GrantedLoans, sql.loans_granted, FIVE_MINUTES, "Loans ever granted by asset"),
    ):
        _declare_list(desk, Listing(path, row, query), seconds, summary)


def _declare_list(desk: Desk, listing: Listing, seconds: int, summary: str) -> None:
    async def make(params: FormatParams) -> Content:
        return await desk.form(listing, params.format)

    desk.kept(
        f"/api/{listing.name}",
        FormatParams,
        make,
        seconds,
        summary=f"{summary}, in USD",
        tags=TAGS,
        produces=(JSON, CSV),
        response=listing.wire_type,
    )
