"""The market model: correlated random walks with jumps and scripted moves, the same for the same seed.

Prices are in USD for one whole unit. The walk itself is a model, so it computes in floats; what is fed to the chain is
made exact in `quotation`, with power-of-ten denominators that the oracles' averaging can take.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

DAY_SECONDS = 86_400
# Significant digits of a fed price: enough to move smoothly, few enough to average exactly in 128 bits.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class AssetModel:
    """How an asset moves: yearly volatility, how much it follows the market, the pull back to its first price."""

    ticker: str
    usd: float
    volatility: float
    beta: float
    reversion: float = 0.02
    follows: str = ""  # moves with another asset (a wrapped or staked form of it)


@dataclass(frozen=True, slots=True)
class Move:
    """A scripted change: from `start` over `seconds` the price goes to `factor` of what it would be, and stays."""

    ticker: str
    start: int
    seconds: int
    factor: float


@dataclass(frozen=True, slots=True)
class PriceState:
    """A walk at one instant."""

    now: int
    logs: dict[str, float]
    moves: tuple[Move, ...]


MODELS = (
    AssetModel("ALL_BTC", 63_000, 0.55, 1.0),
    AssetModel("ALL_ETH", 1_850, 0.75, 1.2),
    AssetModel("SOL", 75, 0.85, 1.2),
    AssetModel("ATOM", 1.5, 0.95, 1.2),
    AssetModel("OSMO", 0.033, 1.1, 1.2),
    AssetModel("AKT", 0.55, 1.2, 1.1),
    AssetModel("NTRN", 0.05, 1.2, 1.2),
    AssetModel("DYDX", 0.35, 1.1, 1.2),
    AssetModel("<native>", 0.0012, 0.9, 0.8),
    AssetModel("ST_ATOM", 1.95, 0.02, 0.0, follows="ATOM"),
    AssetModel("ALL_SOL", 75, 0.005, 0.0, follows="SOL"),
    AssetModel("WBTC", 62_990, 0.005, 0.0, follows="ALL_BTC"),
    AssetModel("WETH", 1_848, 0.005, 0.0, follows="ALL_ETH"),
    AssetModel("USDC_NOBLE", 1.0, 0.0, 0.0),
    AssetModel("USDC", 1.0, 0.0, 0.0),
)


class PriceModel:
    """Prices that advance in time; asking twice for the same instant gives the same prices."""

    def __init__(
        self,
        seed: int,
        start: int,
        *,
        native: str,
        models: Iterable[AssetModel] = MODELS,
        moves: Iterable[Move] = (),
        jumps_per_day: float = 0.12,
    ) -> None:
        self._seed = seed
        self._random = random.Random()
        self._models = {native if m.ticker == "<native>" else m.ticker: m for m in models}
        self._logs = dict.fromkeys(self._models, 0.0)
        self._moves = list(moves)
        self._jumps_per_day = jumps_per_day
        self.now = start

    def state(self) -> PriceState:
        """Where the walk stands, for `restore`."""
        return PriceState(self.now, dict(self._logs), tuple(self._moves))

    def restore(self, state: PriceState) -> None:
        """Stand there again; an asset that the state does not know stays where it is."""
        self.now, self._moves = state.now, list(state.moves)
        self._logs.update((ticker, log) for ticker, log in state.logs.items() if ticker in self._models)

    @property
    def tickers(self) -> tuple[str, ...]:
        return tuple(self._models)

    def script(self, move: Move) -> None:
        """Add a scripted move."""
        self._moves.append(move)

    def script_market(self, start: int, seconds: int, factor: float) -> None:
        """Add a move of the whole market: each asset goes as far as it follows the market."""
        for ticker, model in self._models.items():
            if model.beta:
                self.script(Move(ticker, start, seconds, factor**model.beta))

    def advance(self, now: int) -> None:
        """Move to a later unix second."""
        passed = now - self.now
        if passed <= 0:
            return
        self.now = now
        # By the instant, so that what comes next depends on where the walk stands and on nothing it remembers.
        self._random.seed(f"prices/{self._seed}/{now}")
        years = passed / (365 * DAY_SECONDS)
        common = self._random.gauss(0, 1) * math.sqrt(years) * 0.5
        if self._random.random() < self._jumps_per_day * passed / DAY_SECONDS:
            common += self._random.choice((-1, -1, 1)) * self._random.uniform(0.03, 0.12)
        for ticker, model in self._models.items():
            own = self._random.gauss(0, 1) * math.sqrt(years) * model.volatility
            pull = -self._logs[ticker] * model.reversion * passed / DAY_SECONDS
            self._logs[ticker] += model.beta * common + own + pull

    def usd(self, ticker: str) -> float:
        """Price of one whole unit now."""
        model = self._models[ticker]
        value = model.usd * math.exp(self._logs[ticker])
        if model.follows:
            parent = self._models[model.follows]
            value *= self.usd(model.follows) / parent.usd
        return value * self._scripted(ticker)

    def prices(self) -> dict[str, float]:
        """Every price now, by ticker."""
        return {ticker: self.usd(ticker) for ticker in self._models}

    def set_prices(self, prices: dict[str, float]) -> None:
        """Continue from given prices; scripted moves end here."""
        self._moves = []
        for ticker, usd in prices.items():
            if ticker in self._models and usd > 0:
                self.set_price(ticker, usd)

    def set_price(self, ticker: str, usd: float) -> None:
        """Make a price what it should be now; it moves on from there."""
        self._logs[ticker] += math.log(usd / self.usd(ticker))

    def _scripted(self, ticker: str) -> float:
        factor = 1.0
        for move in self._moves:
            if move.ticker == ticker and self.now >= move.start:
                share = min(1.0, (self.now - move.start) / move.seconds) if move.seconds else 1.0
                factor *= math.exp(math.log(move.factor) * share)
        return factor


def quotation(base_usd: float, base_decimals: int, quote_usd: float, quote_decimals: int) -> tuple[int, int]:
    """Amount and quote, both smallest units, of a price with a few significant digits and a power-of-ten amount."""
    ratio = base_usd / quote_usd * 10.0 ** (quote_decimals - base_decimals)
    exponent = max(0, DIGITS - 1 - math.floor(math.log10(ratio)))
    return 10**exponent, round(ratio * 10.0**exponent)
