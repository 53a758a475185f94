"""Wire types of the oracle."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from leasehold.protocol import oracle
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.values import BasePrice, MarketPrice, PriceAlarm
from leasehold.protocol.percent import U64_MAX
from leasehold.protocol.scalars import U16, U32, U64, Address, PaymentTicker, Percent100
from leasehold.protocol.serde import Empty, Lax, Nothing, OneOf, Wire

SwapTarget = tuple[U64, PaymentTicker]


class PriceConfig(Lax, frozen=True):
    """How observations become prices; nothing may be zero."""

    rust_name: ClassVar[str] = "Config"
    min_feeders: Percent100
    sample_period_secs: U32
    samples_number: U16
    discount_factor: Percent100

    def __post_init__(self) -> None:
        validity = self.sample_period_secs * oracle.SECOND * self.samples_number
        for held, cause in (
            (validity <= U64_MAX, "Overflow multiplying sample period by samples number"),
            (self.min_feeders > 0, "The minumum feeders should be greater than 0 and less or equal to 100%"),
            (self.sample_period_secs > 0, "The sample period should be longer than zero"),
            (self.samples_number > 0, "The price feeds validity should be longer than zero"),
            (self.discount_factor > 0, "The discounting factor should be greater than 0 and less or equal to 100%"),
        ):
            if not held:
                raise Refused(f"[Market Price; Feeds] Configuration error: {cause}")

    def value(self) -> oracle.PriceConfig:
        """The configuration as the arithmetic wants it."""
        return oracle.PriceConfig(self.min_feeders, self.sample_period_secs, self.samples_number, self.discount_factor)


class Config(Wire, frozen=True):
    """The oracle's configuration, and the answer to `config`."""

    price_config: PriceConfig


class Node(Wire, frozen=True, omit_defaults=True):
    """A node of the swap tree: the pool that leads to the parent, and the currency."""

    value: SwapTarget
    children: list[Node] = field(default_factory=list)


class Instantiate(Wire, frozen=True):
    """A new oracle."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    config: Config
    swap_tree: Node


class FeedPrices(Wire, frozen=True):
    """Observations of a feeder."""

    prices: list[MarketPrice]


class AddPriceAlarm(Wire, frozen=True):
    """The sender's alarm, which replaces its previous one."""

    alarm: PriceAlarm


class DispatchAlarms(Wire, frozen=True):
    """How many to deliver at most."""

    max_count: U32


class Execute(OneOf, frozen=True):
    """What the oracle can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    feed_prices: FeedPrices | None = None
    add_price_alarm: AddPriceAlarm | None = None
    dispatch_alarms: DispatchAlarms | None = None


class Feeder(Wire, frozen=True):
    """A feeder to register or remove."""

    feeder_address: str


class Tree(Wire, frozen=True):
    """A swap tree, and the answer to `swap_tree`."""

    tree: Node


class Sudo(OneOf, frozen=True):
    """What governance can tell the oracle."""

    rust_name: ClassVar[str] = "SudoMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"update_config"})
    register_feeder: Feeder | None = None
    remove_feeder: Feeder | None = None
    update_config: PriceConfig | None = None
    swap_tree: Tree | None = None


class IsFeeder(Wire, frozen=True):
    """Who may be a feeder."""

    address: Address


class PriceOf(Wire, frozen=True):
    """Which price."""

    currency: PaymentTicker


class SwapPath(Wire, frozen=True, rename={"source": "from", "target": "to"}):
    """Between which currencies."""

    source: PaymentTicker
    target: PaymentTicker


class Query(OneOf, frozen=True):
    """What the oracle can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    contract_version: Empty | None = None
    protocol_package_release: Empty | None = None
    config: Empty | None = None
    swap_tree: Empty | None = None
    feeders: Empty | None = None
    is_feeder: IsFeeder | None = None
    prices: Empty | None = None
    base_currency: Empty | None = None
    base_price: PriceOf | None = None
    stable_currency: Empty | None = None
    stable_price: PriceOf | None = None
    supported_currency_pairs: Empty | None = None
    currencies: Empty | None = None
    swap_path: SwapPath | None = None
    alarms_status: Empty | None = None


class Delivery(OneOf, frozen=True):
    """What a subscriber gets."""

    rust_name: ClassVar[str] = "ExecuteAlarmMsg"
    price_alarm: Nothing | None = None


class Prices(Lax, frozen=True):
    """Answer to `prices`, in tree order without the root."""

    prices: list[BasePrice]


class Currency(Lax, frozen=True):
    """An element of the answer to `currencies`."""

    ticker: str
    bank_symbol: str
    dex_symbol: str
    decimal_digits: int
    group: str
