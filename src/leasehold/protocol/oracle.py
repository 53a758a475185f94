"""Market prices: averaging of observations, the tree of pairs, and how alarms compare.

An observation is (feeder, instant in ns, price of the child currency in its parent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow, NoPrice
from leasehold.protocol.percent import MILLE, U128_MAX
from leasehold.protocol.price import IDENTITY, Price, add, add_exact, cross, inverse, multiply, multiply_permille

SECOND = 1_000_000_000
ALARM_UNIT = 10**18
_EXACT = 2**100


class PriceConfig(NamedTuple):
    """How observations become a price: permille of feeders needed, seconds per sample, samples, permille weight."""

    min_feeders: int
    sample_period_secs: int
    samples_number: int
    discount_factor: int

    @property
    def sample_period(self) -> int:
        """Nanoseconds of one sample."""
        return self.sample_period_secs * SECOND

    def valid_since(self, now: int) -> int:
        """Observations are valid when strictly younger than this instant, which is never before the epoch."""
        return max(now - self.sample_period * self.samples_number, 0)

    def feeders_needed(self, registered: int) -> int:
        """Distinct feeders without which there is no price, floored."""
        return registered * self.min_feeders // MILLE


class Observation(NamedTuple):
    """What a feeder said at an instant."""

    feeder: str
    at: int
    price: Price


class OverflowOf(ComputationOverflow):
    """A fold of samples that has no exact result; carries the operands for the caller's text."""

    def __init__(self, operation: str, left: Price, right: Price | int) -> None:
        super().__init__(f"{left} {operation} {right}")
        self.operation = operation
        self.left = left
        self.right = right


def average(observations: Iterable[Observation], config: PriceConfig, now: int, registered: int) -> Price:
    """The price of one edge at an instant, from observations in the order they came."""
    since = config.valid_since(now)
    valid = [observation for observation in observations if observation.at > since]
    needed = config.feeders_needed(registered)
    if needed > len(valid) or (needed > 1 and needed > len({observation.feeder for observation in valid})):
        raise NoPrice("No price")
    result: Price | None = None
    for sample in _samples(valid, since, config):
        result = sample if result is None else _fold(result, sample, config.discount_factor)
    if result is None:
        raise NoPrice("No price")
    return result


def _samples(valid: list[Observation], since: int, config: PriceConfig) -> Iterator[Price]:
    period, left = config.sample_period, config.samples_number
    end = since + period
    latest: dict[str, Price] = {}
    last: Price | None = None
    for feeder, at, value in valid:
        while at > end:
            if latest:
                last = _mean(list(latest.values()))
                latest = {}
            if last is not None:
                yield last
            end += period
            left -= 1
        latest[feeder] = value
    if latest:
        last = _mean(list(latest.values()))
    if last is not None:
        for _ in range(left):
            yield last


def _mean(prices: list[Price]) -> Price:
    result = prices[0]
    if len(prices) == 1 or (prices.count(result) == len(prices) and max(result) < _EXACT):
        return result
    for value in prices[1:]:
        result = add(result, value)
    mean = multiply(result, 1, len(prices))
    if mean is None:
        raise ArithmeticTrap("The reciprocal should be less or equal to 1")
    return mean


def _fold(previous: Price, sample: Price, discount: int) -> Price:
    # Both parts of one price add up to it again, exactly, while no product comes near 128 bits.
    if sample == previous and 0 < discount < MILLE and max(sample) < _EXACT:
        return sample
    weighted = multiply_permille(sample, discount)
    if weighted is None:
        raise OverflowOf("*", sample, discount)
    rest = multiply_permille(previous, MILLE - discount)
    if rest is None:
        raise OverflowOf("*", previous, MILLE - discount)
    result = add_exact(weighted, rest)
    if result is None:
        raise OverflowOf("+", weighted, rest)
    return result


class Edge(NamedTuple):
    """A currency of the tree with the pool that leads to its parent; the root's parent is None."""

    ticker: str
    pool_id: int
    parent: str | None


class PriceTree:
    """The swap tree in depth-first pre-order, root first."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.edges = tuple(edges)
        self.by_ticker = {edge.ticker: edge for edge in self.edges}

    @property
    def root(self) -> str:
        """The base currency."""
        return self.edges[0].ticker

    def path_to_root(self, ticker: str) -> list[Edge]:
        """Edges from a currency up, without the root."""
        path = []
        edge = self.by_ticker[ticker]
        while edge.parent is not None:
            path.append(edge)
            edge = self.by_ticker[edge.parent]
        return path

    def base_price(self, ticker: str, edge_price: Callable[[str, str], Price]) -> Price:
        """Price of a currency in the root, multiplied edge by edge on the way up."""
        result = IDENTITY
        for number, edge in enumerate(self.path_to_root(ticker)):
            assert edge.parent is not None
            leg = edge_price(edge.ticker, edge.parent)
            result = leg if number == 0 else cross(result, leg)
        return result

    def swap_path(self, source: str, target: str) -> list[tuple[int, str]]:
        """Hops (pool, next currency) from one currency to another along the tree."""
        up, down = self.path_to_root(source), self.path_to_root(target)
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        hops = [(edge.pool_id, edge.parent) for edge in up if edge.parent is not None]
        return hops + [(edge.pool_id, edge.ticker) for edge in reversed(down)]


def stable_price(base: Price, stable_in_base: Price) -> Price:
    """Price of a currency in the stable one from both prices in the base."""
    return cross(base, inverse(stable_in_base))


def alarm_key(value: Price) -> int:
    """What alarms are compared by: asset per 10^18 of the base; larger means cheaper."""
    key = ALARM_UNIT * value.amount // value.quote
    if key > U128_MAX:
        raise ComputationOverflow("an alarm price")
    return key


def fires_below(alarm: Price, current: Price) -> bool:
    """Whether the price fell strictly below the alarm."""
    return alarm_key(alarm) < alarm_key(current)


def fires_above(alarm: Price, current: Price) -> bool:
    """Whether the price reached the alarm from below."""
    return alarm_key(alarm) >= alarm_key(current)
