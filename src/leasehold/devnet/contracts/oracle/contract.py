"""The oracle contract: who feeds, what is asked, and what governance may change.

Storage: `config`, `tree`, `feeders`, and `feeder/<address>`, the number a feeder's observations bear.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.oracle.alarms import PriceAlarms
from leasehold.devnet.contracts.oracle.feeds import Feeds, Memory
from leasehold.devnet.contracts.oracle.tree import SwapTree, check_tree, stored_tree
from leasehold.devnet.contracts.platform import INVALID_ADDRESS, check_contract
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm.contract import (
    ContractError,
    Event,
    Reply,
    ReplyOn,
    Response,
    Storage,
    SubMessage,
    WasmExecute,
)
from leasehold.protocol import oracle as rules
from leasehold.protocol.errors import ComputationOverflow, NoPrice, ProtocolError
from leasehold.protocol.messages import oracle as wire
from leasehold.protocol.messages.timealarms import AlarmsStatus
from leasehold.protocol.messages.values import PackageRelease
from leasehold.protocol.price import IDENTITY, Price, cross, inverse

VERSION = "0.6.2"
DELIVERY = b'{"price_alarm":[]}'

_CONFIG = b"config"
_TREE = b"tree"
_FEEDERS = b"feeders"
_NUMBER = b"feeder/"

_config = msgspec.json.Decoder(wire.PriceConfig)


class Oracle(Native):
    """Prices of a sub-protocol's currencies in the one it lends."""

    tag = "[Oracle]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self._currencies = build.currencies
        self._base = build.currencies.lpn.ticker
        self._memory = Memory()
        self._release = protocol_release(build, "oracle", VERSION, 3)

    def refused(self, error: ProtocolError) -> ContractError:
        if isinstance(error, NoPrice | ComputationOverflow):
            return ContractError(f"[Oracle] [Market Price; Feeds] {error.message}")
        return super().refused(error)

    # -- messages ------------------------------------------------------------------------------------------------

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        case.storage.set(_CONFIG, msgspec.json.encode(msg.config.price_config))
        return self._replace_tree(case, msg.swap_tree)

    def execute_feed_prices(self, case: Case, msg: wire.FeedPrices) -> Response:
        if case.info.sender not in _feeders(case.storage):
            raise ContractError("[Oracle] No feeder data for the specified address")
        pairs = _tree(case.storage).pairs
        for fed in msg.prices:
            if (fed.amount.ticker, fed.amount_quote.ticker) not in pairs:
                legs = f"{fed.amount.amount} {fed.amount.ticker}/{fed.amount_quote.amount} {fed.amount_quote.ticker}"
                raise ContractError(f"[Oracle] Unsupported price Price({legs})")
        since = _price_config(case.storage).valid_since(case.now)
        fed_prices = [(fed.amount.ticker, fed.amount_quote.ticker, fed.value()) for fed in msg.prices]
        number = int(_stored(case.storage, _NUMBER + case.info.sender.encode()))
        Feeds(case.storage, self._memory).add(number, case.now, since, fed_prices)
        return Response()

    def execute_add_price_alarm(self, case: Case, msg: wire.AddPriceAlarm) -> Response:
        check_contract(case.querier, case.info.sender, self.tag)
        PriceAlarms(case.storage).set(case.info.sender, msg.alarm)
        return Response()

    def execute_dispatch_alarms(self, case: Case, msg: wire.DispatchAlarms) -> Response:
        alarms = PriceAlarms(case.storage)
        alarms.check_settled()
        due = list(islice(self._fired(case), msg.max_count))
        if not msg.max_count:  # the alarms of the first price are looked for nevertheless
            for ticker, value in islice(self._prices(case), 1):
                next(alarms.fired(ticker, value), None)
        alarms.send(due)
        event = Event("pricealarm", [("receiver", subscriber) for subscriber in due])
        messages = [SubMessage(WasmExecute(subscriber, DELIVERY), 0, ReplyOn.ALWAYS) for subscriber in due]
        return Response(messages, events=[event], data=b"%d" % len(due))

    def on_reply(self, case: Case, reply: Reply) -> Response:
        PriceAlarms(case.storage).settle(reply.ok)
        event = Event("pricealarm-delivery", [("delivered", "success" if reply.ok else "error")])
        if not reply.ok:
            event.attributes.append(("details", reply.error or ""))
        return Response(events=[event])

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        self._check_prices(case)
        return Response()

    # -- governance ----------------------------------------------------------------------------------------------

    def sudo_register_feeder(self, case: Case, msg: wire.Feeder) -> Response:
        if not case.querier.address_valid(msg.feeder_address):
            text = f"Failed to validate address while trying to register feeder! Cause: {INVALID_ADDRESS}"
            raise ContractError(f"[Oracle] {text}")
        feeders = _feeders(case.storage)
        if msg.feeder_address in feeders:
            raise ContractError("[Oracle] Given address already registered as a price feeder")
        case.storage.set(_FEEDERS, msgspec.json.encode([*feeders, msg.feeder_address]))
        number = _NUMBER + msg.feeder_address.encode()
        if case.storage.get(number) is None:  # a feeder that comes back keeps the number its observations bear
            known = sum(1 for _ in case.storage.iterate(_NUMBER, _NUMBER[:-1] + b"0"))
            case.storage.set(number, b"%d" % known)
        return Response()

    def sudo_remove_feeder(self, case: Case, msg: wire.Feeder) -> Response:
        if not case.querier.address_valid(msg.feeder_address):
            text = f"Failed to validate address while trying to unregister feeder! Cause: {INVALID_ADDRESS}"
            raise ContractError(f"[Oracle] {text}")
        feeders = _feeders(case.storage)
        if msg.feeder_address not in feeders:
            raise ContractError("[Oracle] No feeder data for the specified address")
        left = [feeder for feeder in feeders if feeder != msg.feeder_address]
        case.storage.set(_FEEDERS, msgspec.json.encode(left))
        return Response()

    def sudo_update_config(self, case: Case, msg: wire.PriceConfig) -> Response:
        case.storage.set(_CONFIG, msgspec.json.encode(msg))
        return Response()

    def sudo_swap_tree(self, case: Case, msg: wire.Tree) -> Response:
        return self._replace_tree(case, msg.tree)

    def _replace_tree(self, case: Case, root: wire.Node) -> Response:
        check_tree(root, self._currencies)
        case.storage.set(_TREE, msgspec.json.encode(root))
        self._check_prices(case)
        return Response()

    def _check_prices(self, case: Case) -> None:
        """Refuse a tree along which a price of the moment can't be computed; a missing one is no fault."""
        try:
            for _ in self._prices(case):
                pass
        except ContractError as error:
            text = f"[Oracle] The configured swap tree does not conform to the code! Cause: {error}"
            raise ContractError(text) from error

    # -- prices --------------------------------------------------------------------------------------------------

    def _prices(self, case: Case) -> Iterator[tuple[str, Price]]:
        """Prices in the base of every currency that has one, in tree order; what hangs below a gap has none."""
        tree, config = _tree(case.storage), _price_config(case.storage)
        registered = len(_feeders(case.storage))
        feeds = Feeds(case.storage, self._memory)
        known = {tree.root: IDENTITY}
        for edge in tree.edges:
            above = known.get(edge.parent) if edge.parent is not None else None
            if edge.parent is None or above is None:
                continue
            try:
                leg = feeds.price(edge.ticker, edge.parent, config, case.now, registered)
            except NoPrice:
                continue
            except rules.OverflowOf as overflow:
                raise self._overflown(overflow, edge.ticker, edge.parent) from overflow
            try:
                known[edge.ticker] = value = leg if above == IDENTITY else cross(leg, above)
            except ComputationOverflow as overflow:
                text = self._crossed(leg, (edge.ticker, edge.parent), above, (edge.parent, tree.root))
                raise ContractError(f"[Oracle] Overflow during cross rate calculation. `{text}`") from overflow
            yield edge.ticker, value

    def _base_price(self, case: Case, ticker: str) -> Price:
        tree, config = _tree(case.storage), _price_config(case.storage)
        self._check_supported(tree, ticker)
        registered = len(_feeders(case.storage))
        feeds = Feeds(case.storage, self._memory)
        result = IDENTITY
        for edge in tree.path_to_root(ticker):
            assert edge.parent is not None
            try:
                leg = feeds.price(edge.ticker, edge.parent, config, case.now, registered)
                result = leg if edge.ticker == ticker else cross(result, leg)
            except rules.OverflowOf as overflow:
                raise self._overflown(overflow, edge.ticker, edge.parent) from overflow
            except ComputationOverflow as overflow:
                text = self._crossed(result, (ticker, edge.ticker), leg, (edge.ticker, edge.parent))
                raise ContractError(
                    f"[Oracle] [Market Price; Feeds] Computation overflow during `{text}`"
                ) from overflow
        return result

    def _check_supported(self, tree: SwapTree, ticker: str) -> None:
        if ticker not in tree.by_ticker:
            raise ContractError(f"[Oracle][Base='{self._base}'] Unsupported currency '{ticker}'")

    def _fired(self, case: Case) -> Iterator[str]:
        alarms = PriceAlarms(case.storage)
        for ticker, value in self._prices(case):
            yield from alarms.fired(ticker, value)

    def _overflown(self, overflow: rules.OverflowOf, base: str, quote: str) -> ContractError:
        left = self._debug(overflow.left, base, quote)
        if isinstance(overflow.right, Price):
            text = f"({left} + {self._debug(overflow.right, base, quote)})"
        else:
            text = f"({left}.lossy_mul(BoundPercent(Permilles({overflow.right}))))"
        return ContractError(f"[Oracle] [Market Price; Feeds] Computation overflow during `{text}`")

    def _crossed(self, left: Price, of_left: tuple[str, str], right: Price, of_right: tuple[str, str]) -> str:
        return f"({self._debug(left, *of_left)}.cross_with({self._debug(right, *of_right)}))"

    def _debug(self, value: Price, base: str, quote: str) -> str:
        legs = (value.amount, base), (value.quote, quote)
        coins = [
            f"Coin {{ amount: {amount}, ticker: PhantomData<{self._currencies.by_ticker[ticker].definition}> }}"
            for amount, ticker in legs
        ]
        return f"Price {{ amount: {coins[0]},  amount_quote: {coins[1]} }}"

    # -- queries -------------------------------------------------------------------------------------------------

    def query_prices(self, case: Case, msg: Any) -> bytes:
        rows = ",".join(_price_json(value, ticker, self._base) for ticker, value in self._prices(case))
        return b'{"prices":[' + rows.encode() + b"]}"

    def query_base_price(self, case: Case, msg: wire.PriceOf) -> bytes:
        return _price_json(self._base_price(case, msg.currency), msg.currency, self._base).encode()

    def query_stable_price(self, case: Case, msg: wire.PriceOf) -> bytes:
        stable = self._currencies.stable
        quote = inverse(self._base_price(case, stable))
        base = self._base_price(case, msg.currency)
        try:
            value = cross(base, quote)
        except ComputationOverflow as overflow:
            text = self._crossed(base, (msg.currency, self._base), quote, (self._base, stable))
            raise ContractError(f"[Oracle] Overflow during cross rate calculation. `{text}`") from overflow
        return _price_json(value, msg.currency, stable).encode()

    def query_base_currency(self, case: Case, msg: Any) -> str:
        return self._base

    def query_stable_currency(self, case: Case, msg: Any) -> str:
        return self._currencies.stable

    def query_config(self, case: Case, msg: Any) -> bytes:
        return b'{"price_config":' + _stored(case.storage, _CONFIG) + b"}"

    def query_swap_tree(self, case: Case, msg: Any) -> bytes:
        return _tree(case.storage).answer

    def query_supported_currency_pairs(self, case: Case, msg: Any) -> Any:
        return _tree(case.storage).legs

    def query_currencies(self, case: Case, msg: Any) -> Any:
        known = self._currencies.by_ticker
        return [wire.Currency(*known[edge.ticker]) for edge in _tree(case.storage).edges]

    def query_swap_path(self, case: Case, msg: wire.SwapPath) -> Any:
        tree = _tree(case.storage)
        self._check_supported(tree, msg.source)
        self._check_supported(tree, msg.target)
        return tree.swap_path(msg.source, msg.target)

    def query_feeders(self, case: Case, msg: Any) -> bytes:
        return case.storage.get(_FEEDERS) or b"[]"

    def query_is_feeder(self, case: Case, msg: wire.IsFeeder) -> bool:
        return msg.address in _feeders(case.storage)

    def query_alarms_status(self, case: Case, msg: Any) -> AlarmsStatus:
        return AlarmsStatus(next(self._fired(case), None) is not None)

    def query_contract_version(self, case: Case, msg: Any) -> str:
        return VERSION

    def query_protocol_package_release(self, case: Case, msg: Any) -> PackageRelease:
        return self._release


def _stored(storage: Storage, key: bytes) -> bytes:
    value = storage.get(key)
    assert value is not None, "written at instantiation"
    return value


def _tree(storage: Storage) -> SwapTree:
    return stored_tree(_stored(storage, _TREE))


def _price_config(storage: Storage) -> rules.PriceConfig:
    return _config.decode(_stored(storage, _CONFIG)).value()


def _feeders(storage: Storage) -> list[str]:
    feeders: list[str] = msgspec.json.decode(storage.get(_FEEDERS) or b"[]")
    return feeders


def _price_json(value: Price, base: str, quote: str) -> str:
    return (
        f'{{"amount":{{"amount":"{value.amount}","ticker":"{base}"}},'
        f'"amount_quote":{{"amount":"{value.quote}","ticker":"{quote}"}}}}'
    )
