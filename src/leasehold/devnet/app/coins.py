"""Coins as the bank knows them: amounts by denom, sorted, with the text forms of events and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from leasehold.core import fixed_point

_DENOM = re.compile(r"[a-zA-Z][a-zA-Z0-9/:._-]{2,127}")
_COIN = re.compile(r"(\d+)([a-zA-Z][a-zA-Z0-9/:._-]{2,127})")


class Coin(NamedTuple):
    """An amount of one denom."""

    denom: str
    amount: int

    def __str__(self) -> str:
        return f"{self.amount}{self.denom}"


class DecCoin(NamedTuple):
    """A fixed-point amount of one denom, scaled by 10^18."""

    denom: str
    amount: int

    def __str__(self) -> str:
        return f"{fixed_point.text(self.amount)}{self.denom}"


Coins = tuple[Coin, ...]


def denom_valid(denom: str) -> bool:
    return _DENOM.fullmatch(denom) is not None


def coins_text(coins: Iterable[Coin | DecCoin]) -> str:
    """Comma-joined text; empty for no coins."""
    return ",".join(map(str, coins))


def from_proto(coins: Iterable[Any]) -> Coins:
    """Coins of a repeated protobuf field, in the order given."""
    return tuple(Coin(coin.denom, int(coin.amount or "0")) for coin in coins)


def parse_coins(text: str) -> Coins:
    """Coins of a comma-joined text, sorted by denom."""
    result = []
    for part in filter(None, text.split(",")):
        match = _COIN.fullmatch(part)
        if match is None:
            raise ValueError(f"invalid coin {part!r}")
        result.append(Coin(match[2], int(match[1])))
    return tuple(sorted(result))


def valid(coins: Coins) -> bool:
    """Whether coins are sorted by denom, without duplicates, all positive and of valid denoms."""
    previous = ""
    for denom, amount in coins:
        if amount <= 0 or denom <= previous or not denom_valid(denom):
            return False
        previous = denom
    return True


def fault(coins: Coins) -> str | None:
    """What is wrong with coins, in the words of the original; None when nothing is."""
    previous = ""
    for position, (denom, amount) in enumerate(coins):
        if not denom_valid(denom):
            return f"invalid denom: {denom}"
        if position and denom < previous:
            return f"denomination {denom} is not sorted"
        if position and denom == previous:
            return f"duplicate denomination {denom}"
        if amount <= 0:
            return f"coin {denom if position else coins[0]} amount is not positive"
        previous = denom
    return None


def add(left: Coins, right: Coins) -> Coins:
    """Sum by denom, zero amounts dropped."""
    totals = {coin.denom: coin.amount for coin in left}
    for denom, amount in right:
        totals[denom] = totals.get(denom, 0) + amount
    return tuple(Coin(denom, totals[denom]) for denom in sorted(totals) if totals[denom])


def subtract(left: Coins, right: Coins) -> Coins:
    """Difference by denom, zero amounts dropped; amounts may come out negative."""
    return add(left, tuple(Coin(denom, -amount) for denom, amount in right))


def amount_of(coins: Iterable[Coin], denom: str) -> int:
    return next((coin.amount for coin in coins if coin.denom == denom), 0)
