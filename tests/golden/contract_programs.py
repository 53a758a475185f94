"""The contracts of the recordings' two builds, with the currencies they were recorded with."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from leasehold.core.addresses import ibc_denom
from leasehold.devnet.contracts.build import PlatformBuild, ProtocolBuild
from leasehold.devnet.wasm.contract import Contract, ContractError, Response
from leasehold.protocol.currencies import LEASE, LPN, NATIVE, PAYMENT_ONLY, Currency, CurrencySet

CODES = {
    "timealarms": 1,
    "treasury": 2,
    "admin": 3,
    "lease": 4,
    "lpp": 5,
    "oracle": 6,
    "profit": 7,
    "reserve": 8,
    "leaser": 9,
    "proxy": 10,
    "void": 11,
    "lease_next": 12,
}
_ALLOYED = {
    "ALL_BTC": "factory/osmo1z6r6qdknhgsc0zeracktgpcxf43j6sekq07nw8sxduc9lg0qjjlqfu25e3/alloyed/allBTC",
    "ALL_ETH": "factory/osmo1k6c8jln7ejuqwtqmay3yvzrg3kueaczl96pk067ldg8u835w0yhsw27twm/alloyed/allETH",
}
_REMOTE = {
    "USDC_NOBLE": (6, "transfer/channel-750/uusdc"),
    "OSMO": (6, "uosmo"),
    "ATOM": (6, "transfer/channel-0/uatom"),
    "ALL_BTC": (8, _ALLOYED["ALL_BTC"]),
    "ALL_ETH": (18, _ALLOYED["ALL_ETH"]),
    "AKT": (6, "transfer/channel-1/uakt"),
    "ST_ATOM": (6, "transfer/channel-326/stuatom"),
    "WBTC": (8, "transfer/channel-208/wbtc-satoshi"),
    "WETH": (18, "transfer/channel-208/weth-wei"),
}
NATIVE_CURRENCY = Currency("NLS", "unls", ibc_denom("transfer/channel-783/unls"), 6, NATIVE)


def _currency(ticker: str, group: str) -> Currency:
    decimals, path = _REMOTE[ticker]
    remote = ibc_denom(path) if path.startswith("transfer/") else path
    return Currency(ticker, ibc_denom(f"transfer/channel-0/{path}"), remote, decimals, group)


def _long() -> ProtocolBuild:
    leased = ("ALL_BTC", "ALL_ETH", "ATOM", "OSMO", "AKT", "ST_ATOM", "WBTC", "WETH")
    currencies = [_currency("USDC_NOBLE", LPN), NATIVE_CURRENCY, *(_currency(ticker, LEASE) for ticker in leased)]
    pairs = (
        ("OSMO", "USDC_NOBLE"),
        ("ATOM", "OSMO"),
        ("ST_ATOM", "ATOM"),
        ("AKT", "OSMO"),
        ("NLS", "OSMO"),
        ("ALL_BTC", "USDC_NOBLE"),
        ("ALL_ETH", "ALL_BTC"),
        ("WETH", "ALL_ETH"),
        ("WBTC", "ALL_BTC"),
    )
    return ProtocolBuild("OSMOSIS-OSMOSIS-USDC_NOBLE", "OSMOSIS", CurrencySet(currencies, pairs, "USDC_NOBLE"))


def _short() -> ProtocolBuild:
    currencies = [
        _currency("ALL_BTC", LPN),
        NATIVE_CURRENCY,
        _currency("USDC_NOBLE", LEASE),
        _currency("ATOM", PAYMENT_ONLY),
    ]
    pairs = (("USDC_NOBLE", "ALL_BTC"), ("NLS", "USDC_NOBLE"), ("ATOM", "USDC_NOBLE"))
    return ProtocolBuild("OSMOSIS-OSMOSIS-ALL_BTC", "OSMOSIS", CurrencySet(currencies, pairs, "USDC_NOBLE"))


@dataclass(frozen=True)
class Build:
    """A recorded build: the sub-protocol's and the platform's."""

    protocol: ProtocolBuild
    platform: PlatformBuild

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def currencies(self) -> tuple[Currency, ...]:
        return self.protocol.currencies.all


_BUILDS: dict[str, Build] = {}


def build_for(lpn: str) -> Build:
    """The build whose pool lends this currency."""
    if lpn not in _BUILDS:
        protocol = _short() if lpn == "ALL_BTC" else _long()
        _BUILDS[lpn] = Build(protocol, PlatformBuild(NATIVE_CURRENCY))
    return _BUILDS[lpn]


class Absent:
    """Stands where a contract can't be loaded; every call says so, and differs from its recording."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __getattr__(self, entry: str) -> Any:
        def refuse(*arguments: Any) -> Any:
            if entry == "instantiate":
                return Response()
            raise ContractError(f"no {self._kind} contract: {entry}")

        return refuse


def programs(build: Build) -> dict[str, Contract]:
    """One program per code of the recordings; the helper contract is added by the world."""
    made: dict[str, Any] = {}
    for kind, name in (("timealarms", "TimeAlarms"), ("treasury", "Treasury"), ("admin", "Admin")):
        made[kind] = _made(kind, name, build.platform)
    for kind, name in (
        ("lease", "Lease"),
        ("lpp", "Lpp"),
        ("oracle", "Oracle"),
        ("profit", "Profit"),
        ("reserve", "Reserve"),
        ("leaser", "Leaser"),
        ("void", "Void"),
    ):
        made[kind] = _made(kind, name, build.protocol)
    made["lease_next"] = made["lease"]
    return made


def _made(kind: str, name: str, build: Any) -> Any:
    try:
        module = importlib.import_module(f"leasehold.devnet.contracts.{kind}")
    except ModuleNotFoundError:
        return Absent(kind)
    return getattr(module, name)(build)
