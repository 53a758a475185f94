"""A lease's position: LTV, zones, the liquidation decision, the close policy and the alarms to arm.

`debt` and `asset` are amounts of the leased asset; prices are of the asset in the lent currency.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap, Refused
from leasehold.protocol.interest import HOUR
from leasehold.protocol.percent import MILLE, U128_MAX, bounded_ratio, of, shown, unbounded_of
from leasehold.protocol.price import IDENTITY, Price, inverse, price, total


class Liability(NamedTuple):
    """LTV thresholds in permille and the longest time between evaluations in nanoseconds."""

    initial: int
    healthy: int
    first_liq_warn: int
    second_liq_warn: int
    third_liq_warn: int
    max: int
    recalc_time: int

    def checked(self) -> Liability:
        """Itself, or the refusal that names the first broken rule."""
        for held, rule in (
            (self.initial > 0, "Initial % should not be zero"),
            (self.initial <= self.healthy, "Initial % should be <= healthy %"),
            (self.healthy < self.first_liq_warn, "Healthy % should be < first liquidation %"),
            (self.first_liq_warn < self.second_liq_warn, "First liquidation % should be < second liquidation %"),
            (self.second_liq_warn < self.third_liq_warn, "Second liquidation % should be < third liquidation %"),
            (self.third_liq_warn < self.max, "Third liquidation % should be < max %"),
            (self.recalc_time >= HOUR, "Recalculation cadence should be >= 1h"),
        ):
            if not held:
                raise Refused(
                    "[Finance] Programming error or invalid serialized object of 'finance::liability::Liability' type, "
                    f"cause '{rule}'"
                )
        return self

    def zone(self, ltv: int) -> Zone:
        """The zone of an LTV, which counts as just below the maximum when it is above."""
        if ltv < self.first_liq_warn:
            return Zone(0, None, self.first_liq_warn)
        if ltv < self.second_liq_warn:
            return Zone(1, self.first_liq_warn, self.second_liq_warn)
        if ltv < self.third_liq_warn:
            return Zone(2, self.second_liq_warn, self.third_liq_warn)
        return Zone(3, self.third_liq_warn, self.max)

    def to_liquidate(self, asset: int, debt: int) -> int:
        """Asset to sell so that the LTV returns to healthy; 0 below the maximum, everything when under water."""
        if debt < of(self.max, asset):
            return 0
        if asset <= debt:
            return asset
        extra = debt - min(debt, of(self.healthy, asset))
        return extra * MILLE // (MILLE - self.healthy)

    def borrow(self, downpayment: int, max_ltd: int | None) -> int:
        """Loan for a down-payment at the initial LTV, or less when the requested loan-to-down-payment is lower."""
        top = downpayment * self.initial // (MILLE - self.initial)
        if top > U128_MAX:
            raise Refused(f"[Position] Overflow during `calculating borrow amount`. Amount: `{downpayment}`")
        wanted = None if max_ltd is None else unbounded_of(max_ltd, downpayment)
        return top if wanted is None else min(top, wanted)


class Zone(NamedTuple):
    """An LTV interval between two thresholds; level 0 has no warning and no lower end."""

    level: int
    low: int | None
    high: int


class Cause(Enum):
    """Why a position is liquidated, by rank: liability wins a tie."""

    OVERDUE = "overdue"
    LIABILITY = "liability"


class Liquidation(NamedTuple):
    """Sell `amount` of the asset, or all of it when None."""

    amount: int | None
    cause: Cause

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """Full before partial, then the larger, then liability."""
        return (self.amount is None, self.amount or 0, self.cause is Cause.LIABILITY)


class NoDebt(NamedTuple):
    """Everything is paid."""


class Steady(NamedTuple):
    """Nothing to do now."""

    zone: Zone


class Trigger(NamedTuple):
    """A close policy's rule that fires: `kind` is stop_loss or take_profit."""

    kind: str
    ltv: int

    def __str__(self) -> str:
        text = "stop loss above or equal to" if self.kind == "stop_loss" else "take profit below"
        return f"{text} {shown(self.ltv)}"


class ClosePolicy(NamedTuple):
    """LTV permille at which a position closes by itself."""

    take_profit: int | None = None
    stop_loss: int | None = None

    def checked(self, max_ltv: int) -> ClosePolicy:
        """Itself, or the refusal of zeros, of a take-profit not below the stop-loss, or of a value at the maximum."""
        if self.take_profit == 0:
            raise Refused("[Position] The close policy 'take profit' should not be zero!")
        if self.stop_loss == 0:
            raise Refused("[Position] The close policy 'stop loss' should not be zero!")
        if self.take_profit is not None and self.stop_loss is not None and self.take_profit >= self.stop_loss:
            raise Refused(
                f"[Position] Invalid close policy! Take profit value '{shown(self.take_profit)}' should be less than"
                f" the stop loss value '{shown(self.stop_loss)}'!"
            )
        for kind, ltv in (("take_profit", self.take_profit), ("stop_loss", self.stop_loss)):
            if ltv is not None and ltv >= max_ltv:
                raise Refused(
                    f"[Position] Invalid close policy! The new strategy '{Trigger(kind, ltv)}' is not less than"
                    f" the max lease liability LTV '{shown(max_ltv)}'!"
                )
        return self

    def triggered(self, asset: int, debt: int) -> Trigger | None:
        """The rule that fires, stop-loss first."""
        if self.stop_loss is not None and of(self.stop_loss, asset) <= debt:
            return Trigger("stop_loss", self.stop_loss)
        if self.take_profit is not None and of(self.take_profit, asset) > debt:
            return Trigger("take_profit", self.take_profit)
        return None

    def within(self, zone: Zone) -> tuple[int | None, int]:
        """The LTV interval of a zone in which the policy stays quiet."""
        low, high = zone.low, zone.high
        if self.take_profit is not None:
            low = min(max(self.take_profit, low if low is not None else self.take_profit), high)
        if self.stop_loss is not None:
            high = min(max(self.stop_loss, low if low is not None else self.stop_loss), high)
        return low, high


class Alarms(NamedTuple):
    """What to arm: a time from now in nanoseconds, and prices below which and from which on to look again."""

    time_in: int
    below: Price
    above_or_equal: Price | None


class PositionSpec(NamedTuple):
    """The rules a position was opened under; the minimums are in the lent currency, whose ticker texts show."""

    liability: Liability
    min_asset: int
    min_transaction: int
    lpn: str
    close: ClosePolicy = ClosePolicy()

    def borrow_amount(self, downpayment: int, max_ltd: int | None) -> int:
        """Loan for a down-payment worth `downpayment`, refused when anything is below its minimum."""
        self.check_transaction(downpayment, IDENTITY)
        borrow = self.liability.borrow(downpayment, max_ltd)
        self.check_transaction(borrow, IDENTITY)
        if downpayment + borrow > U128_MAX:
            raise ArithmeticTrap("attempt to add with overflow")
        if downpayment + borrow < self.min_asset:
            raise Refused(f"[Position] The asset amount should worth at least {self.min_asset} {self.lpn}")
        return borrow

    def check_transaction(self, amount: int, value: Price) -> None:
        """Refuse a payment worth less than the minimal transaction."""
        if _worth(amount, value, "transaction") < self.min_transaction:
            raise Refused(f"[Position] The transaction amount should worth at least {self.min_transaction} {self.lpn}")

    def check_close(self, asset: int, amount: int, value: Price) -> None:
        """Refuse a partial close that sells too little or leaves too little."""
        if _worth(amount, value, "transaction") < self.min_transaction:
            raise Refused(
                f"[Position] The position close amount should worth at least {self.min_transaction} {self.lpn}"
            )
        if _worth(max(asset - amount, 0), value, "position") < self.min_asset:
            raise Refused(f"[Position] The position past this close should worth at least {self.min_asset} {self.lpn}")

    def assess(self, asset: int, total_due: int, collectable: int, value: Price) -> NoDebt | Steady | Liquidation:
        """Whether a position must be liquidated, and if not in which zone it is."""
        debt = in_asset(asset, total_due, value)
        by_liability = self._liquidation(asset, self.liability.to_liquidate(asset, debt), Cause.LIABILITY, value)
        by_overdue = self._liquidation(asset, in_asset(asset, collectable, value), Cause.OVERDUE, value)
        if by_liability is not None and by_overdue is not None:
            return max(by_liability, by_overdue, key=lambda liquidation: liquidation.rank)
        if by_liability is not None or by_overdue is not None:
            found = by_liability or by_overdue
            assert found is not None
            return found
        if total_due == 0:
            return NoDebt()
        return Steady(self.liability.zone(ltv(asset, debt)))

    def triggered(self, asset: int, total_due: int, value: Price) -> Trigger | None:
        """The rule of the close policy that fires at a price."""
        return self.close.triggered(asset, in_asset(asset, total_due, value))

    def alarms(self, asset: int, total_due: int, collect_in: int, value: Price) -> Alarms:
        """What to arm for a steady position."""
        low, high = self.close.within(self.liability.zone(ltv(asset, in_asset(asset, total_due, value))))
        above = None if low is None else price(of(low, asset), total_due)
        return Alarms(min(collect_in, self.liability.recalc_time), price(of(high, asset), total_due), above)

    def with_policy(self, policy: ClosePolicy, asset: int, total_due: int, value: Price) -> PositionSpec:
        """The rules with another close policy, refused when it is invalid or would fire at once."""
        debt = in_asset(asset, total_due, value)
        trigger = policy.checked(self.liability.max).triggered(asset, debt)
        if trigger is not None:
            raise Refused(
                f"[Position] Invalid close policy! The current lease LTV '{shown(ltv(asset, debt))}' would trigger"
                f" '{trigger}'!"
            )
        return self._replace(close=policy)

    def _liquidation(self, asset: int, amount: int, cause: Cause, value: Price) -> Liquidation | None:
        worth = total(amount, value)
        left = total(max(asset - amount, 0), value)
        if worth is None or (worth >= self.min_transaction and left is None):
            raise ArithmeticTrap("internal error: entered unreachable code")
        if worth < self.min_transaction:
            return None
        if left is not None and left < self.min_asset:
            return Liquidation(None, cause)
        return Liquidation(amount, cause)


def _worth(amount: int, value: Price, what: str) -> int:
    worth = total(amount, value)
    if worth is None:
        raise Refused(f"[Position] Overflow during `converting the {what} amount to Lpn`. Amount: `{amount}`")
    return worth


def in_asset(asset: int, lpn: int, value: Price) -> int:
    """An amount of the lent currency in asset units, floored; the whole asset when it overflows."""
    amount = total(lpn, inverse(value))
    return asset if amount is None else amount


def ltv(asset: int, debt: int) -> int:
    """Loan to value in permille; a debt above the asset aborts, as it does on chain."""
    return bounded_ratio(debt, asset)
