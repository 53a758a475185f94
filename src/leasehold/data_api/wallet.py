"""Wallets: what one account did, earned and holds. Always read live."""

from __future__ import annotations

import msgspec

from leasehold.data_api.conventions import AccountParams, Address, Format, Limit, Skip
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.pnl import UnrealizedPnl

TAGS = ("Wallet",)
BANDS = ("<0", "0-50", "51\N{EN DASH}100", "101\N{EN DASH}300", "301+")
sql = queries("wallet.sql")


class Earnings(msgspec.Struct):
    """USD earned by lending, also in pools the account has left; `rewards` are native tokens claimed besides."""

    earnings: str
    rewards: str


class Band(msgspec.Struct):
    """Closed positions whose profit, in percent of what was put in, is in a range."""

    bucket: str
    positions: int
    share_percent: str


class HistoryStats(msgspec.Struct):
    """An account's leases: USD and percent, JSON numbers as clients of old expect them."""

    pnl: float
    tx_volume: float
    win_rate: float
    bucket: list[Band]


class AccountRow(msgspec.Struct):
    """An account's figures as the index has them."""

    openings: int = 0
    closings: int = 0
    wins: int = 0
    volume: str = "0"
    pnl: str = "0"
    bands: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)


class StakingAction(msgspec.Struct):
    """A delegation, undelegation, redelegation or withdrawal of rewards; `amount` in base units."""

    timestamp: str
    type: str
    validator: str
    source_validator: str | None
    amount: str
    denom: str
    amount_usd: str | None
    block: int
    tx_hash: str


class StakingEarnings(msgspec.Struct):
    """Staking rewards withdrawn: whole native tokens, and USD at the time of each."""

    earnings: str
    earnings_usd: str
    withdrawals: int
    last_withdrawal: str | None


class LeaseSignal(msgspec.Struct):
    """A liquidation warning, a refused swap or an automatic close; `ltv` in permille."""

    timestamp: str
    contract_id: str
    type: str
    asset: str | None
    level: int | None
    ltv: int | None
    strategy: str | None
    block: int
    tx_hash: str


class PageFormatParams(msgspec.Struct, frozen=True):
    """A page of an account's rows as JSON or CSV."""

    address: Address
    skip: Skip = 0
    limit: Limit = 10
    format: Format = "json"


def declare(desk: Desk) -> None:
    """Declare the routes of this tag, except `txs`."""
    earned = Listing("earnings", Earnings, sql.earnings)
    unrealized = Listing("unrealized-pnl-by-address", UnrealizedPnl, sql.unrealized_pnl)
    staked = Listing("staking-earnings", StakingEarnings, sql.staking_earnings)
    decimals = desk.settings.identity.exponent

    async def earnings(params: AccountParams) -> Stated:
        return await desk.index.first(earned, desk.account(params.address), decimals)

    async def unrealized_pnl(params: AccountParams) -> Stated:
        return await desk.index.first(unrealized, desk.account(params.address))

    async def staking_earnings(params: AccountParams) -> Stated:
        return await desk.index.first(staked, desk.account(params.address), decimals)

    desk.live(
        "/api/earnings",
        AccountParams,
        earnings,
        summary="What an account earned by lending, in USD",
        tags=TAGS,
        response=Earnings,
    )
    desk.live(
        "/api/unrealized-pnl-by-address",
        AccountParams,
        unrealized_pnl,
        summary="Unrealized profit of an account's open positions in USD",
        tags=TAGS,
        response=UnrealizedPnl,
    )
    _declare_history(desk)
    desk.page(
        "/api/staking-activity",
        PageFormatParams,
        Listing("staking-activity", StakingAction, sql.staking_activity),
        summary="What an account did with its stake, newest first",
        tags=TAGS,
    )
    desk.live(
        "/api/staking-earnings",
        AccountParams,
        staking_earnings,
        summary="Staking rewards an account withdrew",
        tags=TAGS,
        response=StakingEarnings,
    )
    desk.page(
        "/api/lease-signals",
        PageFormatParams,
        Listing("lease-signals", LeaseSignal, sql.lease_signals),
        summary="Warnings and automatic closes of an account's leases, newest first",
        tags=TAGS,
    )


def _declare_history(desk: Desk) -> None:
    figures = Listing("history-stats", AccountRow, sql.account)

    async def history_stats(params: AccountParams) -> Stated:
        stated = await desk.index.first(figures, desk.account(params.address))
        row = msgspec.json.decode(stated.body, type=AccountRow | None) or AccountRow()
        return encoded(statistics(row), stated)

    desk.live(
        "/api/history-stats",
        AccountParams,
        history_stats,
        summary="Profit, volume and success of an account's leases",
        tags=TAGS,
        response=HistoryStats,
    )


def statistics(row: AccountRow) -> HistoryStats:
    """An account's figures as they are told; shares are rounded to two decimals of a percent."""
    total = row.closings

    def share(part: int) -> str:
        hundredths = (part * 20_000 + total) // (2 * total) if total else 0
        return f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")

    return HistoryStats(
        float(row.pnl),
        float(row.volume),
        row.wins * 100 / total if total else 0.0,
        [Band(name, count, share(count)) for name, count in zip(BANDS, row.bands, strict=True)],
    )
