"""A swap that the memo of a transfer orders, and what it yields.

Memos of transfers to a simulated chain may carry `{"swap": {…}}`: the coins are sold on that chain's DEX and the
proceeds go to `receiver`, on this chain or on that one. The DEX sells at the price its oracle had at the end of the
block of the quote, as long as that is recent and today's price would yield no less than `min_out`; so what was quoted
is what is paid, to the unit. The order's form is Leasehold's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import msgspec

# Share of the proceeds the DEX keeps, in permille, whatever the number of pools on the way.
FEE_PERMILLE = 3
# Blocks for which a quoted price is honoured.
QUOTE_BLOCKS = 120
BASIS_POINTS = 10_000


class SwapOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to buy: `height` is the block of the quote, amounts are base units as text."""

    oracle: str
    height: int
    denom_out: str
    min_out: str
    receiver: str
    affiliate: str = ""
    affiliate_bps: int = 0

    def memo(self) -> str:
        """The memo that carries this order."""
        return msgspec.json.encode({"swap": self}).decode()


class _Memo(msgspec.Struct, frozen=True):
    swap: SwapOrder


class MalformedOrder(ValueError):
    """A memo that orders a swap and does not say which."""


@dataclass(frozen=True, slots=True)
class Proceeds:
    """What a swap yields its receiver and its affiliate."""

    amount: int
    affiliate: int


def order_in(memo: str) -> SwapOrder | None:
    """The order in a memo, None where it has none; MalformedOrder where it can't be understood."""
    try:
        content = msgspec.json.decode(memo)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(content, dict) or "swap" not in content:
        return None
    try:
        order = msgspec.convert(content, _Memo).swap
    except msgspec.ValidationError as error:
        raise MalformedOrder(str(error)) from None
    minimum_is_amount = order.min_out.isascii() and order.min_out.isdigit() and len(order.min_out) <= 39
    if not minimum_is_amount or not 0 <= order.affiliate_bps < BASIS_POINTS:
        raise MalformedOrder("amounts of the order are out of range")
    return order


def proceeds(amount: int, price_in: Fraction, price_out: Fraction, affiliate_bps: int = 0) -> Proceeds:
    """What selling an amount yields, each part floored; prices are units of one common currency per unit."""
    gross = int(amount * price_in / price_out * (1000 - FEE_PERMILLE) / 1000)
    affiliate = gross * affiliate_bps // BASIS_POINTS
    return Proceeds(gross - affiliate, affiliate)


def amount_for(wanted: int, price_in: Fraction, price_out: Fraction, affiliate_bps: int = 0) -> int:
    """The least amount whose sale yields at least `wanted`."""
    # Invert the two roundings one after the other; both are monotonic, so the result is exact.
    gross = -(-wanted * BASIS_POINTS // (BASIS_POINTS - affiliate_bps))
    while gross > wanted and (gross - 1) - (gross - 1) * affiliate_bps // BASIS_POINTS >= wanted:
        gross -= 1
    rate = price_in / price_out * (1000 - FEE_PERMILLE) / 1000
    return -(-gross * rate.denominator // rate.numerator)
