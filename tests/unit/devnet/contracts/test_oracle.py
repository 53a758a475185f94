"""The oracle: feeding, averaging, expiry, the tree, and price alarms."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import (
    CURRENCIES,
    FEEDER,
    KEEPER,
    OWNER,
    SECOND,
    USER,
    Lending,
    Refusal,
    account,
)
from tests.unit.devnet.contracts.test_timealarms import Subscriber

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.oracle import Oracle
from leasehold.devnet.wasm.contract import ContractError, Response
from leasehold.protocol.currencies import CurrencySet

SECOND_FEEDER = account("second feeder")


class Watcher(Subscriber):
    """Takes or refuses price alarms."""

    def execute(self, deps: Any, env: Any, info: Any, msg: bytes) -> Response:
        if msg != b'{"price_alarm":[]}':
            return Response()
        if self.refuses:
            raise ContractError("not now")
        self.taken.append(env.contract)
        return Response()


@pytest.fixture
def lending() -> Lending:
    return Lending()


@pytest.fixture
def watcher(lending: Lending) -> Watcher:
    program = Watcher()
    lending.runtime.install(b"\x07" * 32, program)
    code = lending.runtime.store_code(lending._call(lending.store), OWNER, b"\x07" * 32)
    for name in ("one", "two"):
        lending.codes[name] = code
        lending.create(name, {})
    return program


def _price(base: str, amount: int, quote: int, quote_ticker: str = "USDC") -> dict[str, Any]:
    return {
        "amount": {"amount": str(amount), "ticker": base},
        "amount_quote": {"amount": str(quote), "ticker": quote_ticker},
    }


def _feed(lending: Lending, *prices: dict[str, Any], feeder: str = FEEDER) -> None:
    lending.tell("oracle", {"feed_prices": {"prices": list(prices)}}, feeder)


def _btc(lending: Lending) -> dict[str, Any]:
    price: dict[str, Any] = lending.ask("oracle", {"base_price": {"currency": "BTC"}})
    return price


def _watch(lending: Lending, name: str, below: int, above: int | None = None, ticker: str = "BTC") -> None:
    alarm = {"below": _price(ticker, 1, below), "above": None if above is None else _price(ticker, 1, above)}
    lending.tell("oracle", {"add_price_alarm": {"alarm": alarm}}, lending.at[name])


def test_prices_in_tree_order_without_the_root(lending: Lending) -> None:
    """Every priced currency comes in the lent one, depth first; prices are in lowest terms."""
    answer = lending.ask("oracle", {"prices": {}})
    assert answer == {"prices": [_price("BTC", 1, 630), _price("OSMO", 1000, 33), _price("NLS", 1000, 1)]}
    assert lending.ask("oracle", {"base_price": {"currency": "USDC"}}) == _price("USDC", 1, 1)
    assert lending.ask("oracle", {"stable_price": {"currency": "BTC"}}) == _price("BTC", 1, 630)


def test_a_price_ends_with_its_window(lending: Lending) -> None:
    """An observation counts while strictly younger than the window, then there is no price."""
    lending.time += 600 * SECOND - 1
    assert _btc(lending) == _price("BTC", 1, 630)
    lending.time += 1
    with pytest.raises(Refusal, match=r"^\[Oracle\] \[Market Price; Feeds\] No price: query"):
        _btc(lending)
    assert lending.ask("oracle", {"prices": {}}) == {"prices": []}


def test_missing_branch_is_skipped(lending: Lending) -> None:
    """A currency without a price takes what hangs below it along, not its neighbours."""
    tree = {"value": [0, "USDC"], "children": [{"value": [2, "OSMO"]}, {"value": [1, "BTC"]}]}
    lending.govern("oracle", {"swap_tree": {"tree": tree}})
    lending.advance(601)
    _feed(lending, _price("BTC", 1, 600))
    assert lending.ask("oracle", {"prices": {}}) == {"prices": [_price("BTC", 1, 600)]}
    with pytest.raises(Refusal, match=r"^\[Oracle\]\[Base='USDC'\] Unsupported currency 'NLS'"):
        lending.ask("oracle", {"base_price": {"currency": "NLS"}})
    with pytest.raises(Refusal, match=r"^\[Oracle\] Unsupported price Price\(1 NLS/2 USDC\)"):
        _feed(lending, _price("NLS", 1, 2))


def test_discounted_average(lending: Lending) -> None:
    """The worked vector: means of feeders' last words per period, folded with the discount."""
    lending.govern("oracle", {"register_feeder": {"feeder_address": SECOND_FEEDER}})
    config = {"min_feeders": 500, "sample_period_secs": 5, "samples_number": 3, "discount_factor": 750}
    lending.govern("oracle", {"update_config": config})
    lending.advance(1000)
    for wait, feeder, quote in ((0, 0, 5160), (5, 0, 5500), (1, 0, 5010), (0, 1, 4990), (4, 0, 5000), (2, None, 0)):
        lending.advance(wait)
        if feeder is not None:
            _feed(lending, _price("BTC", 1, quote), feeder=(FEEDER, SECOND_FEEDER)[feeder])
    assert _btc(lending) == _price("BTC", 1, 5010)


def test_feeders_needed(lending: Lending) -> None:
    """Too few distinct feeders make no price, however often one of them speaks; one that left and came back is one."""
    lending.govern("oracle", {"update_config": {**_CONFIG, "min_feeders": 1000}})
    lending.govern("oracle", {"register_feeder": {"feeder_address": SECOND_FEEDER}})
    with pytest.raises(Refusal, match="No price"):
        _btc(lending)
    lending.govern("oracle", {"remove_feeder": {"feeder_address": FEEDER}})
    lending.govern("oracle", {"register_feeder": {"feeder_address": FEEDER}})
    _feed(lending, _price("BTC", 1, 640))
    with pytest.raises(Refusal, match="No price"):
        _btc(lending)
    _feed(lending, _price("BTC", 1, 640), feeder=SECOND_FEEDER)
    assert _btc(lending)["amount"]["amount"] == "1"


_CONFIG = {"min_feeders": 500, "sample_period_secs": 50, "samples_number": 12, "discount_factor": 650}


def test_overflow_fails_the_whole_list(lending: Lending) -> None:
    """Averages that don't fit 128 bits are an error with its operands, also for the list of all prices."""
    lending.advance(601)
    for number in range(8):
        _feed(lending, _price("BTC", 10**9 - 63 + 2 * number, 629_999_999_987 + 6 * number))
        lending.advance(50)
    for query in ({"prices": {}}, {"base_price": {"currency": "BTC"}}):
        with pytest.raises(Refusal, match=r"Feeds\] Computation overflow during `\(Price { amount: Coin { amount: "):
            lending.ask("oracle", query)


def test_a_tree_is_refused_while_prices_overflow(lending: Lending) -> None:
    """A new tree is tried on the prices of the moment; so is a dispatch, even one of nothing."""
    lending.advance(601)
    for number in range(8):
        _feed(lending, _price("BTC", 10**9 - 63 + 2 * number, 629_999_999_987 + 6 * number))
        lending.advance(50)
    tree = {"value": [0, "USDC"], "children": [{"value": [7, "BTC"]}]}
    text = r"^\[Oracle\] The configured swap tree does not conform to the code! Cause: \[Oracle\] \[Market Price; Fe"
    with pytest.raises(Refusal, match=text):
        lending.govern("oracle", {"swap_tree": {"tree": tree}})
    with pytest.raises(Refusal, match="Computation overflow"):
        lending.tell("oracle", {"dispatch_alarms": {"max_count": 0}}, KEEPER)
    lending.advance(601)
    lending.govern("oracle", {"swap_tree": {"tree": tree}})
    assert lending.ask("oracle", {"supported_currency_pairs": {}}) == [["BTC", [7, "USDC"]]]
    assert lending.tell("oracle", {"dispatch_alarms": {"max_count": 0}}, KEEPER) == b"0"


def test_the_stable_currency_needs_a_price_of_its_own(lending: Lending) -> None:
    """Where another currency is lent, even the stable one's price in itself, and the lent one's, need a feed."""
    currencies = CurrencySet(CURRENCIES.all, CURRENCIES.pairs, "OSMO")
    lending.runtime.install(sha256(b"oracle").digest(), Oracle(ProtocolBuild("TEST", "OSMOSIS", currencies)))
    query = {"stable_price": {"currency": "OSMO"}}
    assert lending.ask("oracle", query) == _price("OSMO", 1, 1, "OSMO")
    assert lending.ask("oracle", {"stable_price": {"currency": "USDC"}}) == _price("USDC", 33, 1000, "OSMO")
    lending.advance(601)
    for ticker in ("OSMO", "USDC", "BTC"):
        with pytest.raises(Refusal, match=r"^\[Oracle\] \[Market Price; Feeds\] No price: query"):
            lending.ask("oracle", {"stable_price": {"currency": ticker}})


def test_feeds_valid_since_before_the_epoch(lending: Lending) -> None:
    """A window longer than time itself starts at the epoch; one that no duration holds is refused."""
    longest = {"min_feeders": 500, "sample_period_secs": 2**32 - 1, "samples_number": 4, "discount_factor": 650}
    lending.govern("oracle", {"update_config": longest})
    assert _btc(lending) == _price("BTC", 1, 630)
    text = "Feeds] Configuration error: Overflow multiplying sample period by samples number"
    with pytest.raises(Refusal, match=re.escape(text)):
        lending.govern("oracle", {"update_config": {**longest, "samples_number": 5}})


def test_feeder_rules(lending: Lending) -> None:
    """Only registered feeders feed; nobody is registered twice or removed unknown; one bad pair refuses all."""
    with pytest.raises(Refusal, match=r"^\[Oracle\] No feeder data for the specified address"):
        _feed(lending, _price("BTC", 1, 1), feeder=USER)
    for message, text in (
        ({"register_feeder": {"feeder_address": FEEDER}}, "Given address already registered as a price feeder"),
        ({"remove_feeder": {"feeder_address": USER}}, "No feeder data for the specified address"),
        ({"register_feeder": {"feeder_address": "x"}}, "Failed to validate address while trying to register feeder!"),
        ({"remove_feeder": {"feeder_address": "x"}}, "Failed to validate address while trying to unregister feeder!"),
    ):
        with pytest.raises(Refusal, match=rf"^\[Oracle\] {text}"):
            lending.govern("oracle", message)
    with pytest.raises(Refusal, match="No records for a pool with 'BTC' and 'OSMO'"):
        _feed(lending, _price("BTC", 1, 500), _price("BTC", 1, 1, "OSMO"))
    assert _btc(lending) == _price("BTC", 1, 630)
    _feed(lending)
    assert lending.ask("oracle", {"is_feeder": {"address": FEEDER}}) is True
    assert lending.ask("oracle", {"feeders": {}}) == [FEEDER]


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"value": [0, "BTC"]}, r"\[Oracle\]\[Base='USDC'\] Invalid base currency 'BTC'"),
        (
            {"value": [0, "USDC"], "children": [{"value": [1, "BTC"]}, {"value": [2, "BTC"]}]},
            r"\[Oracle\] Duplicated nodes in the currency tree",
        ),
        (
            {"value": [0, "USDC"], "children": [{"value": [1, "BTC"], "children": [{"value": [2, "OSMO"]}]}]},
            r"\[Oracle\] The configured swap tree does not conform to the code! Cause: \[Oracle\] \[Currency\] No rec",
        ),
    ],
)
def test_refused_trees(lending: Lending, tree: Any, text: str) -> None:
    """A tree has the lent currency at its root, each currency once, and only edges with a pool."""
    with pytest.raises(Refusal, match=f"^{text}"):
        lending.govern("oracle", {"swap_tree": {"tree": tree}})


def test_tree_answers(lending: Lending) -> None:
    """The tree, its edges, its currencies and paths through it are told as configured."""
    assert lending.ask("oracle", {"supported_currency_pairs": {}})[0] == ["BTC", [1, "USDC"]]
    assert lending.ask("oracle", {"swap_path": {"from": "BTC", "to": "OSMO"}}) == [[1, "USDC"], [2, "OSMO"]]
    assert lending.ask("oracle", {"swap_tree": {}})["tree"]["children"][0] == {"value": [1, "BTC"]}
    first, second = lending.ask("oracle", {"currencies": {}})[:2]
    assert (first["ticker"], first["group"], second["decimal_digits"]) == ("USDC", "lpn", 8)
    assert lending.ask("oracle", {"contract_version": {}}) == "0.6.2"
    assert lending.ask("oracle", {"config": {}}) == {"price_config": _CONFIG}


def test_alarm_bounds(lending: Lending, watcher: Watcher) -> None:
    """Below fires strictly below, above fires at or above; both are gone once delivered."""
    _watch(lending, "one", 630, 631)
    assert lending.ask("oracle", {"alarms_status": {}}) == {"remaining_alarms": False}
    lending.reprice(631)
    assert lending.ask("oracle", {"alarms_status": {}}) == {"remaining_alarms": True}
    assert lending.dispatch() == 1
    lending.reprice(1)
    assert lending.dispatch() == 0
    _watch(lending, "one", 2)
    assert lending.dispatch() == 1


def test_alarm_order_and_limit(lending: Lending, watcher: Watcher) -> None:
    """The currencies come in tree order; the limit leaves the rest; setting again replaces."""
    _watch(lending, "one", 10**9, ticker="OSMO")
    _watch(lending, "two", 10**9, ticker="BTC")
    assert lending.tell("oracle", {"dispatch_alarms": {"max_count": 1}}, KEEPER) == b"1"
    assert watcher.taken == [lending.at["two"]]
    _watch(lending, "one", 1, ticker="BTC")
    assert lending.dispatch() == 0


def test_refused_alarm_is_kept(lending: Lending, watcher: Watcher) -> None:
    """An undelivered alarm stays and is delivered later; accounts have none."""
    _watch(lending, "one", 700)
    watcher.refuses = True
    assert lending.dispatch() == 1
    assert lending.seen("pricealarm-delivery")[0]["details"] == "not now: execute wasm contract failed"
    watcher.refuses = False
    assert lending.dispatch() == 1
    assert lending.dispatch() == 0
    alarm = {"below": _price("BTC", 1, 1), "above": None}
    with pytest.raises(Refusal, match="No such contract"):
        lending.tell("oracle", {"add_price_alarm": {"alarm": alarm}}, USER)


def test_alarm_price_beyond_comparison(lending: Lending, watcher: Watcher) -> None:
    """A price too small to be normalised in 128 bits is refused."""
    alarm = {"below": _price("BTC", 10**30, 1), "above": None}
    with pytest.raises(Refusal, match="Overflow during normalizing the market price"):
        lending.tell("oracle", {"add_price_alarm": {"alarm": alarm}}, lending.at["one"])


def test_feeding_forgets_what_is_too_old(lending: Lending) -> None:
    """The stored observations don't grow beyond the window."""
    for _ in range(30):
        lending.advance(100)
        lending.feed(BTC=630)
    stored = lending.runtime.raw(lending.store, lending.at["oracle"], b"feed/BTC/USDC")
    assert stored is not None
    assert stored.count(b"\n") == 6


def test_memory_is_only_memory(lending: Lending) -> None:
    """Another process, which remembers nothing, computes the same prices from the same state."""
    lending.advance(60)
    lending.feed(BTC=650)
    before = lending.ask("oracle", {"prices": {}})
    lending.runtime.install(sha256(b"oracle").digest(), Oracle(ProtocolBuild("TEST", "OSMOSIS", CURRENCIES)))
    assert lending.ask("oracle", {"prices": {}}) == before
