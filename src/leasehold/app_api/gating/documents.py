"""The five documents, their types and their rules; a message about a wrong one names the field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from leasehold.core.errors import InvalidInput

T = TypeVar("T")
CURRENCY_DISPLAY = "currency-display"
NETWORK_CONFIG = "network-config"
LEASE_RULES = "lease-rules"
SWAP_SETTINGS = "swap-settings"
UI_SETTINGS = "ui-settings"
NAMES = (CURRENCY_DISPLAY, LEASE_RULES, NETWORK_CONFIG, SWAP_SETTINGS, UI_SETTINGS)
_PATH = re.compile(r" - at `\$?(.*)`$")
_ABSENT = re.compile(r"Object missing required field `(\w+)`")
_GAS_PRICE = re.compile(r"\d+(\.\d+)?[A-Za-z][A-Za-z0-9/:._-]*")
Colour = Annotated[str, msgspec.Meta(pattern=r"^#[0-9A-Fa-f]{6}$")]
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Factor = Annotated[float, msgspec.Meta(gt=0)]


class CurrencyDisplay(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a currency is shown; it is configured once icon and name are there."""

    icon: str
    displayName: str  # noqa: N815 - the documents' spelling
    shortName: str | None = None  # noqa: N815
    color: Colour | None = None
    coingeckoId: str | None = None  # noqa: N815

    @property
    def configured(self) -> bool:
        return bool(self.icon and self.displayName)


class SwapVenue(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    address: str | None = None


class PoolDisplay(msgspec.Struct, frozen=True):
    icon: str


class CosmosNetwork(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="chain_type", tag="cosmos"
):
    """A Cosmos chain; it is configured once both endpoints and a gas price are there."""

    name: str
    chain_id: str
    prefix: str
    rpc: str
    lcd: str
    fallback_rpc: tuple[str, ...] = ()
    fallback_lcd: tuple[str, ...] = ()
    gas_price: str
    explorer: str | None = None
    icon: str | None = None
    primaryProtocol: str | None = None  # noqa: N815
    estimation: Whole | None = None
    forward: bool | None = None
    swap_venue: SwapVenue | None = None
    gas_multiplier: Factor
    pools: dict[str, PoolDisplay] = {}

    @property
    def configured(self) -> bool:
        return bool(self.rpc and self.lcd and self.gas_price)

    @property
    def gas_amount(self) -> str:
        """The number of the gas price."""
        return re.sub(r"[A-Za-z_/].*$", "", self.gas_price)

    @property
    def symbol(self) -> str:
        """Display name of the fee currency, from its denom: `0.025uosmo` is OSMO."""
        return self.gas_price.lstrip("0123456789.").lstrip("u").upper()


class SvmNetwork(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="chain_type", tag="svm"):
    """An SVM chain; its RPC is for us only."""

    name: str
    chain_id: str
    rpc: str
    program_id: str
    transfer_channel_id: str
    explorer_url_pattern: str
    symbol: str
    gas_multiplier: Factor
    icon: str | None = None
    estimation: Whole | None = None

    @property
    def configured(self) -> bool:
        return bool(self.rpc and self.program_id and self.transfer_channel_id)


Network = CosmosNetwork | SvmNetwork


class DownpaymentRange(msgspec.Struct, frozen=True):
    """Smallest and largest downpayment in USD."""

    min: Annotated[float, msgspec.Meta(ge=0)]
    max: Annotated[float, msgspec.Meta(ge=0)]


class AssetRestrictions(msgspec.Struct, frozen=True):
    """Tickers, or `TICKER@PROTOCOL`, that are hidden everywhere, in long or in short positions."""

    ignore_all: tuple[str, ...] = ()
    ignore_long: tuple[str, ...] = ()
    ignore_short: tuple[str, ...] = ()


class LeaseRules(msgspec.Struct, frozen=True):
    """What may be leased, and how far ahead due amounts are projected."""

    downpayment_ranges: dict[str, dict[str, DownpaymentRange]] = {}
    asset_restrictions: AssetRestrictions = AssetRestrictions()
    due_projection_secs: Annotated[int, msgspec.Meta(ge=0)] = 400


class SmartSwapOptions(msgspec.Struct, frozen=True):
    split_routes: bool = True
    evm_swaps: bool = True


class SwapSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """How swaps are asked for; slippage in percent, fee in basis points."""

    api_url: str
    blacklist: tuple[str, ...] = ()
    slippage: Whole = 1
    gas_multiplier: Whole = 2
    fee: Whole = 35
    fee_address: str | None = None
    timeoutSeconds: str = "60"  # noqa: N815
    swap_currencies: dict[str, str] = {}
    swap_to_currency: str | None = None
    go_fast: bool = True
    smart_relay: bool = True
    allow_multi_tx: bool = True
    allow_unsafe: bool = True
    bridges: tuple[str, ...] = ("IBC",)
    experimental_features: tuple[str, ...] = ("stargate", "eureka")
    smart_swap_options: SmartSwapOptions = SmartSwapOptions()


class Maintenance(msgspec.Struct, frozen=True, omit_defaults=True):
    enabled: bool
    message: str | None = None
    end_time: str | None = None


class UiSettings(msgspec.Struct, frozen=True):
    hidden_proposals: tuple[str, ...] = ()
    feature_flags: dict[str, bool] = {}
    maintenance: Maintenance | None = None


class GatedConfig(msgspec.Struct, frozen=True):
    """The five documents as one version."""

    version: int
    currencies: dict[str, CurrencyDisplay]
    networks: dict[str, Network]
    lease_rules: LeaseRules
    swap: SwapSettings
    ui: UiSettings

    def shown(self, ticker: str) -> CurrencyDisplay | None:
        """How a currency is displayed, None where it is not configured."""
        found = self.currencies.get(ticker)
        return found if found is not None and found.configured else None

    def network(self, key: str | None) -> Network | None:
        """A configured network by its upper-case key."""
        found = self.networks.get(key) if key is not None else None
        return found if found is not None and found.configured else None


def checked(name: str, content: Any) -> Any:
    """A document as its type; InvalidInput names the field that is wrong."""
    if name == CURRENCY_DISPLAY:
        currencies = {key: converted(f"{name}.{key}", one, CurrencyDisplay) for key, one in _members(name, content)}
        for ticker in currencies:
            _require(bool(ticker) and "@" not in ticker, name, ticker, "is a plain ticker, without a protocol")
        return currencies
    if name == NETWORK_CONFIG:
        networks = {key: _network(f"{name}.{key}", one) for key, one in _members(name, content)}
        for key, network in networks.items():
            _require(key == key.upper() and bool(key), name, key, "must be upper case")
            if isinstance(network, CosmosNetwork) and network.gas_price:
                good = _GAS_PRICE.fullmatch(network.gas_price) is not None
                _require(good, name, f"{key}.gas_price", 'is a number and a denom, such as "0.025uosmo"')
        return networks
    if name == LEASE_RULES:
        if isinstance(content, dict):
            # One by one first, because a complaint about the whole does not say which entry it is about.
            for protocol, ranges in _members(f"{name}.downpayment_ranges", content.get("downpayment_ranges", {})):
                for ticker, bounds in _members(f"{name}.downpayment_ranges.{protocol}", ranges):
                    converted(f"{name}.downpayment_ranges.{protocol}.{ticker}", bounds, DownpaymentRange)
        rules = converted(name, content, LeaseRules)
        for protocol, ranges in rules.downpayment_ranges.items():
            for ticker, bounds in ranges.items():
                place = f"downpayment_ranges.{protocol}.{ticker}"
                _require(bounds.min <= bounds.max, name, f"{place}.min", "is above max")
        return rules
    if name == SWAP_SETTINGS:
        swap = converted(name, content, SwapSettings)
        _require(swap.timeoutSeconds.isdecimal(), name, "timeoutSeconds", "must be digits")
        return swap
    if name == UI_SETTINGS:
        return converted(name, content, UiSettings)
    raise InvalidInput(f"there is no document {name!r}; there are {', '.join(NAMES)}", field="name")


def bundle(version: int, contents: Mapping[str, Any]) -> GatedConfig:
    """The documents together; every one of them must be there and right."""
    missing = [name for name in NAMES if name not in contents]
    if missing:
        raise InvalidInput(f"documents are missing: {', '.join(missing)}", field=missing[0])
    typed = {name: checked(name, contents[name]) for name in NAMES}
    return GatedConfig(
        version,
        typed[CURRENCY_DISPLAY],
        typed[NETWORK_CONFIG],
        typed[LEASE_RULES],
        typed[SWAP_SETTINGS],
        typed[UI_SETTINGS],
    )


def _members(place: str, content: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(content, dict):
        raise InvalidInput(f"{place}: Expected `object`, got `{type(content).__name__}`", field=place)
    return content.items()


def _network(place: str, content: Any) -> Network:
    if isinstance(content, dict):
        content = {"chain_type": "cosmos", **content}
        if content["chain_type"] not in ("cosmos", "svm"):
            raise InvalidInput(f"{place}.chain_type is cosmos or svm", field=f"{place}.chain_type")
    kind: Any = Network
    found: Network = converted(place, content, kind)
    return found


def converted(name: str, content: Any, kind: type[T]) -> T:
    """Content as a type; InvalidInput names the field that is wrong."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        found, absent = _PATH.search(text), _ABSENT.match(text)
        field = name + (found[1] if found else "") + (f".{absent[1]}" if absent else "")
        raise InvalidInput(f"{field}: {_PATH.sub('', text)}", field=field) from None


def _require(good: bool, name: str, place: str, complaint: str) -> None:
    if not good:
        raise InvalidInput(f"{name}.{place} {complaint}", field=f"{name}.{place}")
