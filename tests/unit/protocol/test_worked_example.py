"""The worked lease of the fact sheet (8.10), number by number."""

from __future__ import annotations

from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.pool import BorrowRate, Loan, PoolTotals, quote_rate
from leasehold.protocol.position import Cause, Liability, Liquidation, PositionSpec, Steady, in_asset, ltv
from leasehold.protocol.price import Price, inverse, price, total
from leasehold.protocol.rewards import Bar, RewardScale, pool_reward

DAY = 86_400_000_000_000
LIABILITY = Liability(600, 830, 850, 865, 880, 900, 3_600_000_000_000)
SPEC = PositionSpec(LIABILITY, 15_000_000, 1_000_000, "USDC_NOBLE")
OPENED = Loan(150_000_000, 60, 0)
LEASE = LeaseLoan(OPENED, 20, 30 * DAY, 0)
PRICE = Price(1, 600)
ASSET = 416_666
DEBT = 150_986_301


def test_opening() -> None:
    """100 units down borrow 150 at 60 permille, which buys 416666 at an LTV of 600."""
    borrow = SPEC.borrow_amount(100_000_000, None)
    rate = quote_rate(PoolTotals(receipts=10**12), BorrowRate(60, 700, 20), 0, 10**12, borrow)
    asset = total(100_000_000 + borrow, inverse(PRICE))
    assert (borrow, rate, asset) == (150_000_000, 60, ASSET)
    assert ltv(ASSET, in_asset(ASSET, borrow, PRICE)) == 600
    assert (
        SPEC.alarms(ASSET, borrow, 30 * DAY, PRICE).below == price(354_166, 150_000_000) == Price(177_083, 75_000_000)
    )


def test_interest_after_a_month_and_a_day() -> None:
    """After 30 days nothing is overdue, after 31 one day is."""
    month, later = LEASE.due(30 * DAY), LEASE.due(31 * DAY)
    assert (month.due_interest, month.due_margin) == (739_726, 246_575)
    assert (later.overdue_interest, later.overdue_margin) == (24_657, 8_219)
    assert (later.due_interest, later.due_margin) == (739_726, 246_575)
    assert month.total == DEBT


def test_zones_and_liquidation() -> None:
    """The LTV rises as the price falls, through three warnings to a sale."""
    for quote, expected, level in ((430, 842, 0), (424, 854, 1), (417, 868, 2), (410, 883, 3)):
        value = Price(1, quote)
        assert ltv(ASSET, in_asset(ASSET, DEBT, value)) == expected
        found = SPEC.assess(ASSET, DEBT, 0, value)
        assert isinstance(found, Steady)
        assert found.zone.level == level
    assert SPEC.assess(ASSET, DEBT, 0, Price(1, 402)) == Liquidation(175_029, Cause.LIABILITY)
    assert SPEC.assess(ASSET, DEBT, 0, Price(1, 400)) == Liquidation(186_076, Cause.LIABILITY)


def test_repayment_after_a_month() -> None:
    """Fifty units pay the interest and the margin first."""
    _, receipt = LEASE.repay(30 * DAY, 50_000_000)
    assert (receipt.due_interest, receipt.due_margin, receipt.principal, receipt.change) == (
        739726,
        246575,
        49013699,
        0,
    )


def test_pool_and_rewards() -> None:
    """The receipt's price, the locked value's bar and the reward of half a day."""
    totals = PoolTotals(receipts=10**12).borrow(0, 150_000_000, 60)
    balance = 10**12 - 150_000_000
    assert totals.receipt_price(30 * DAY, balance) == Price(500_000_000_000, 500_000_369_863)
    tvl = totals.value(30 * DAY, balance)
    scale = RewardScale.of([Bar(2000, 120), Bar(0, 150), Bar(1000, 130), Bar(500, 140)])
    assert (tvl, scale.apr(tvl)) == (1_000_000_739_726, 130)
    assert pool_reward(130, tvl, DAY // 2, Price(1, 1)) == 178_082_323


def test_collection_of_overdue_interest() -> None:
    """Interest is collectable once overdue and as large as the minimal transaction."""
    due = LEASE.due(0)
    assert due.collect_in(10) == 2_592_000_000_000_000
    assert due.collect_in(1_000_000) == 2_628_000_000_000_000
