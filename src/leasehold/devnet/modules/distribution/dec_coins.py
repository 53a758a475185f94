"""Fractional coins: sums of scaled amounts by denom, zero amounts left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app.coins import Coin, Coins, DecCoin

DecCoins = tuple[DecCoin, ...]


def from_coins(coins: Iterable[Coin]) -> DecCoins:
    return tuple(DecCoin(denom, amount * ONE) for denom, amount in coins)


def add(left: DecCoins, right: DecCoins) -> DecCoins:
    if not left:
        return right
    if not right:
        return left
    if len(left) == 1 == len(right) and left[0][0] == right[0][0]:
        total = left[0][1] + right[0][1]
        return (DecCoin(left[0][0], total),) if total else ()
    totals = dict(left)
    for denom, amount in right:
        totals[denom] = totals.get(denom, 0) + amount
    return tuple(DecCoin(denom, totals[denom]) for denom in sorted(totals) if totals[denom])


def subtract(left: DecCoins, right: DecCoins) -> DecCoins:
    return add(left, tuple([DecCoin(denom, -amount) for denom, amount in right]))


def _each(coins: DecCoins, change: Callable[[int, int], int], operand: int) -> DecCoins:
    return tuple([DecCoin(denom, changed) for denom, amount in coins if (changed := change(amount, operand))])


def multiply(coins: DecCoins, factor: int) -> DecCoins:
    """Product with a scaled factor, half to even."""
    return _each(coins, fixed_point.multiply, factor)


def multiply_truncated(coins: DecCoins, factor: int) -> DecCoins:
    return _each(coins, fixed_point.multiply_truncated, factor)


def divide_truncated(coins: DecCoins, divisor: int) -> DecCoins:
    """Quotient by a scaled divisor, truncated."""
    return _each(coins, fixed_point.divide_truncated, divisor)


def lesser(left: DecCoins, right: DecCoins) -> DecCoins:
    """The smaller amount of each denom both have."""
    limits = dict(right)
    return tuple(
        DecCoin(denom, min(amount, limits[denom])) for denom, amount in left if limits.get(denom, 0) and amount
    )


def whole(coins: DecCoins) -> tuple[Coins, DecCoins]:
    """The whole units and the fractions left over."""
    units = tuple(Coin(denom, amount // ONE) for denom, amount in coins if amount // ONE)
    rest = tuple(DecCoin(denom, amount % ONE) for denom, amount in coins if amount % ONE)
    return units, rest


# What was packed is unpacked in the next block, most of the time; forgetting it changes nothing.
_packed: dict[bytes, DecCoins] = {}
_KEPT = 1024


def pack(coins: DecCoins) -> bytes:
    """Form in which they are kept in the state."""
    data = "\n".join([f"{amount} {denom}" for denom, amount in coins]).encode()
    if len(_packed) >= _KEPT:
        _packed.clear()
    _packed[data] = coins
    return data


def unpack(data: bytes | None) -> DecCoins:
    if not data:
        return ()
    known = _packed.get(data)
    if known is not None:
        return known
    coins = []
    for line in data.decode().split("\n"):
        amount, _, denom = line.partition(" ")
        coins.append(DecCoin(denom, int(amount)))
    return tuple(coins)
