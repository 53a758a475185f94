"""What the chain itself says at a height, and figures recomputed from that; nothing of any service is imported."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

from tests.end_to_end.conftest import PATIENCE

T = TypeVar("T")
# Texts of figures are the shortest decimals that a double can't tell from the exact value.
TOLERANCE = Fraction(1, 10**12)


class Chain:
    """The LCD of a stack, read at one height."""

    def __init__(self, base: str, height: int) -> None:
        self.base = base
        self.height = height

    def get(self, path: str) -> Any:
        headers = {"x-cosmos-block-height": str(self.height)}
        with urllib.request.urlopen(
            urllib.request.Request(self.base + path, headers=headers), timeout=PATIENCE
        ) as answer:
            return json.loads(answer.read())

    def smart(self, contract: str, query: Any) -> Any:
        text = urllib.parse.quote(b64encode(json.dumps(query).encode()).decode(), safe="")
        return self.get(f"/cosmwasm/wasm/v1/contract/{contract}/smart/{text}")["data"]


def fetched(url: str) -> tuple[dict[str, str], Any]:
    """Headers and JSON of an answer."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, json.loads(answer.read())


def eventually(condition: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The first true value of a condition."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except OSError:
            found = None  # type: ignore[assignment]
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


@contextmanager
def still(control: str) -> Iterator[None]:
    """No block is sealed meanwhile, so that whatever follows the chain catches up with it, however slow it is."""

    def tell(word: str) -> None:
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{control}/control/{word}", b"{}", headers)
        urllib.request.urlopen(asked, timeout=PATIENCE).close()

    tell("pause")
    try:
        yield
    finally:
        tell("resume")


def agree(lcd: str, ask: Callable[[], T], check: Callable[[Chain, T], None]) -> None:
    """Hold an answer against the newest block of a chain that is still: it soon agrees, or never does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            latest = fetched(f"{lcd}/cosmos/base/tendermint/v1beta1/blocks/latest")[1]
            check(Chain(lcd, int(latest["block"]["header"]["height"])), ask())
            return
        except (AssertionError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def ratio(price: Any) -> Fraction:
    """How much of the quote one unit of the amount is."""
    return Fraction(int(price["amount_quote"]["amount"]), int(price["amount"]["amount"]))


def decimals_of(chain: Chain, protocols: dict[str, Any]) -> dict[str, int]:
    """Decimals by currency and protocol, as the oracles say."""
    return {
        f"{one['ticker']}@{name}": one["decimal_digits"]
        for name, protocol in protocols.items()
        for one in chain.smart(protocol["contracts"]["oracle"], {"currencies": {}})
    }


def usd_prices(chain: Chain, protocols: dict[str, Any], decimals: dict[str, int]) -> dict[str, Fraction]:
    """USD prices from the oracles' own answers."""
    found = {}
    for name, protocol in protocols.items():
        oracle = protocol["contracts"]["oracle"]
        lpn = chain.smart(oracle, {"base_currency": {}})
        stable = chain.smart(oracle, {"stable_price": {"currency": lpn}})
        shift = decimals[f"{lpn}@{name}"] - decimals[f"{stable['amount_quote']['ticker']}@{name}"]
        usd = ratio(stable) * Fraction(10) ** shift
        found[f"{lpn}@{name}"] = usd
        for price in chain.smart(oracle, {"prices": {}})["prices"]:
            key = f"{price['amount']['ticker']}@{name}"
            if key != f"{lpn}@{name}":
                found[key] = ratio(price) * usd * Fraction(10) ** (decimals[key] - decimals[f"{lpn}@{name}"])
    return found


def close(text: str, exact: Fraction) -> bool:
    """Whether a text is the exact value, rounded to a double."""
    return abs(Fraction(text) - exact) <= abs(exact) * TOLERANCE


def priced(text: str | None, key: str, prices: dict[str, Fraction]) -> bool:
    """Whether a price is the one under a key, and there is none where there is no such key."""
    return (key in prices) == (text is not None) and (text is None or close(text, prices[key]))


def fixed(value: Fraction, places: int) -> str:
    """A value with so many decimals, half to even."""
    scaled = round(value * 10**places)
    text = f"{abs(scaled):0{places + 1}d}"
    return f"{'-' if scaled < 0 else ''}{text[:-places]}.{text[-places:]}"
