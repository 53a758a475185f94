"""The rules of visibility: which protocols, currencies and positions the gated configuration lets through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leasehold.app_api.gating.documents import CosmosNetwork, GatedConfig
from leasehold.app_api.upstreams.data import Currency, Mapping, Protocol


def protocol_visible(gated: GatedConfig, protocol: Protocol) -> bool:
    """Active, on a configured network, with a pool currency that is configured for display."""
    return (
        protocol.is_active
        and gated.network(protocol.network_key) is not None
        and gated.shown(protocol.lpn_symbol) is not None
    )


def protocol_listed(gated: GatedConfig, protocol: Protocol) -> bool:
    """Visible, and its pool currency not restricted for its kind of position."""
    return protocol_visible(gated, protocol) and not restricted(gated, protocol, protocol.lpn_symbol)


def restricted(gated: GatedConfig, protocol: Protocol, ticker: str) -> bool:
    """Whether positions of this protocol's kind in a currency are switched off."""
    rules = gated.lease_rules.asset_restrictions
    listed = rules.ignore_short if protocol.is_short else rules.ignore_long if protocol.is_long else ()
    return _named(listed, ticker, protocol.name)


def ignored(gated: GatedConfig, ticker: str) -> bool:
    """Whether a currency is switched off everywhere."""
    return ticker in gated.lease_rules.asset_restrictions.ignore_all


def currency_visible(gated: GatedConfig, ticker: str) -> bool:
    """Configured for display and not switched off."""
    return gated.shown(ticker) is not None and not ignored(gated, ticker)


def currency_of_protocol_listed(gated: GatedConfig, protocol: Protocol, currency: Currency) -> bool:
    """Whether a currency that has a mapping for the protocol is listed with it."""
    ignored_here = f"{currency.ticker}@{protocol.name}" in gated.lease_rules.asset_restrictions.ignore_all
    return (
        currency.is_active
        and currency_visible(gated, currency.ticker)
        and not ignored_here
        and not restricted(gated, protocol, currency.ticker)
    )


def lease_visible(gated: GatedConfig, protocol: Protocol, ticker: str) -> bool:
    """Whether a position in a currency is shown to its owner; a finished one has no currency and is."""
    if not protocol_visible(gated, protocol):
        return False
    if not ticker:
        return True
    everywhere = gated.lease_rules.asset_restrictions.ignore_all
    return not _named(everywhere, ticker, protocol.name) and not restricted(gated, protocol, ticker)


def carriers(gated: GatedConfig, currency: Currency, protocols: dict[str, Protocol]) -> list[tuple[Mapping, Protocol]]:
    """Visible protocols that know a currency, in the order of the index."""
    return [
        (mapping, protocols[mapping.protocol])
        for mapping in currency.protocols
        if mapping.protocol in protocols and protocol_visible(gated, protocols[mapping.protocol])
    ]


def pool_icon(gated: GatedConfig, protocol: str, network_key: str | None) -> str | None:
    """Icon of a protocol's pool."""
    network = gated.networks.get(network_key) if network_key else None
    if not isinstance(network, CosmosNetwork) or protocol not in network.pools:
        return None
    return network.pools[protocol].icon


@dataclass(frozen=True, slots=True)
class FilterContext:
    """What requests filter by: the visible protocols of one configuration."""

    gated: GatedConfig
    protocols: dict[str, Protocol]

    @classmethod
    def of(cls, gated: GatedConfig, protocols: Iterable[Protocol]) -> FilterContext:
        return cls(gated, {one.name: one for one in protocols if protocol_visible(gated, one)})

    def visible(self, protocol: str) -> bool:
        return protocol in self.protocols


def _named(listed: tuple[str, ...], ticker: str, protocol: str) -> bool:
    return ticker in listed or f"{ticker}@{protocol}" in listed
