"""Rewards of lenders: the treasury's scale of rates by locked value, and the pool's index per receipt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow, Refused
from leasehold.protocol.interest import interest
from leasehold.protocol.price import Price, add, price, total

BAR_UNIT = 10**9


class Bar(NamedTuple):
    """From `tvl` thousands of whole stable units on, lenders earn `apr` permille a year."""

    tvl: int
    apr: int


class RewardScale(NamedTuple):
    """Bars in ascending order, the first at zero."""

    bars: tuple[Bar, ...]

    @classmethod
    def of(cls, bars: Iterable[Bar]) -> RewardScale:
        """The scale of these bars in any order, refused when empty, doubled or without a zero bar."""
        ordered = tuple(sorted(bars))
        if not ordered:
            raise Refused("kind: Other, error: Argument vector contains no bars!")
        if len({bar.tvl for bar in ordered}) < len(ordered):
            raise Refused("kind: Other, error: Argument vector contains duplicates!")
        if ordered[0].tvl != 0:
            raise Refused("kind: Other, error: No zero TVL reward scale bar found!")
        return cls(ordered)

    def apr(self, tvl: int) -> int:
        """Permille rate for a total locked value in smallest stable units (6 decimals)."""
        return max(bar for bar in self.bars if bar.tvl * BAR_UNIT <= tvl).apr


def pool_reward(apr: int, tvl: int, period: int, native_price: Price) -> int:
    """Native reward of a pool for `period` nanoseconds; the price is of the native currency in the stable one."""
    stable = interest(apr, tvl, period)
    native = total(stable, Price(native_price.quote, native_price.amount))
    if native is None:
        raise ComputationOverflow("a reward in the native currency")
    return native


def index_after(index: Price | None, reward: int, receipts: int) -> Price:
    """The index after distributing a reward over all receipts."""
    step = price(receipts, reward)
    return step if index is None else add(index, step)


def earned(index: Price | None, receipts: int) -> int:
    """Native units that receipts have earned since an index of zero."""
    if index is None:
        return 0
    amount = total(receipts, index)
    if amount is None:
        raise ComputationOverflow("calculating the rewards")
    return amount


class Deposit(NamedTuple):
    """A lender's receipts, the index at the last settlement and the native units pending from before."""

    receipts: int
    since: Price | None
    pending: int

    def rewards(self, index: Price | None) -> int:
        """Everything pending at an index: the difference of two floors, and what was stored."""
        rewards = earned(index, self.receipts) + self.pending - earned(self.since, self.receipts)
        if rewards < 0:
            raise ArithmeticTrap("attempt to subtract with overflow")
        return rewards

    def settled(self, index: Price | None, receipts: int) -> Deposit:
        """The deposit with another number of receipts, its rewards so far stored."""
        return Deposit(receipts, index, self.rewards(index))
