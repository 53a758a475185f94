"""The rules of visibility."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import AssetRestrictions, GatedConfig, LeaseRules, bundle
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.upstreams.data import Currency, Mapping, Protocol
from leasehold.core.configuration import load

GATED = bundle(1, first_documents(load().settings))
LONG = Protocol("P-LONG", "Long", "USDC_NOBLE", True, "Osmosis")
SHORT = Protocol("P-SHORT", "Short", "ATOM", True, "Osmosis")


def restricted(**lists: tuple[str, ...]) -> GatedConfig:
    return msgspec.structs.replace(GATED, lease_rules=LeaseRules(asset_restrictions=AssetRestrictions(**lists)))


def changed(protocol: Protocol, **fields: Any) -> Protocol:
    return msgspec.structs.replace(protocol, **fields)


@pytest.mark.parametrize(
    ("protocol", "visible"),
    [
        (LONG, True),
        (changed(LONG, network="OSMOSIS"), True),
        (changed(LONG, is_active=False), False),
        (changed(LONG, network=None), False),
        (changed(LONG, network="Archway"), False),
        (changed(LONG, lpn_symbol="PICA"), False),
    ],
)
def test_a_protocol_is_visible_once_everything_about_it_is_configured(protocol: Protocol, visible: bool) -> None:
    """Active, on a configured network whatever its spelling, with a pool currency that can be displayed."""
    assert rules.protocol_visible(GATED, protocol) is visible


@pytest.mark.parametrize(
    ("lists", "protocol", "ticker", "visible"),
    [
        ({}, LONG, "ATOM", True),
        ({"ignore_all": ("ATOM",)}, LONG, "ATOM", False),
        ({"ignore_all": ("ATOM@P-SHORT",)}, LONG, "ATOM", True),
        ({"ignore_long": ("ATOM",)}, LONG, "ATOM", False),
        ({"ignore_long": ("ATOM@P-LONG",)}, LONG, "ATOM", False),
        ({"ignore_long": ("ATOM",)}, SHORT, "ATOM", True),
        ({"ignore_short": ("USDC_NOBLE",)}, SHORT, "USDC_NOBLE", False),
        ({"ignore_short": ("USDC_NOBLE",)}, LONG, "USDC_NOBLE", True),
        ({"ignore_all": ("ATOM",)}, LONG, "", True),
    ],
)
def test_the_ignore_lists_hide_positions(
    lists: dict[str, tuple[str, ...]], protocol: Protocol, ticker: str, visible: bool
) -> None:
    """Each list hides its kind of position, by ticker or by ticker and protocol; a finished lease has no ticker."""
    assert rules.lease_visible(restricted(**lists), protocol, ticker) is visible


def test_a_listed_protocol_lends_a_currency_that_is_not_restricted() -> None:
    """The list of protocols is held against the ignore list of their kind."""
    assert rules.protocol_listed(GATED, SHORT)
    assert not rules.protocol_listed(restricted(ignore_short=("ATOM",)), SHORT)
    assert rules.protocol_listed(restricted(ignore_long=("ATOM",)), SHORT)


def test_carriers_are_visible_protocols_in_the_order_of_the_index() -> None:
    """A currency's carriers are those that can be seen."""
    mappings = (Mapping("P-SHORT"), Mapping("GONE"), Mapping("P-LONG"))
    currency = Currency("ATOM", 6, True, mappings)
    hidden = changed(SHORT, is_active=False)
    assert [one.name for _, one in rules.carriers(GATED, currency, {"P-LONG": LONG, "P-SHORT": SHORT})] == [
        "P-SHORT",
        "P-LONG",
    ]
    assert [one.name for _, one in rules.carriers(GATED, currency, {"P-LONG": LONG, "P-SHORT": hidden})] == ["P-LONG"]


def test_the_first_configuration_shows_the_home_network_of_any_identity() -> None:
    """The embedded chain's own network is configured under whatever identity it runs."""
    settings = load(profile="devnet-nolus").settings
    gated = bundle(1, first_documents(replace(settings)))
    assert gated.network("NOLUS") is not None
    assert gated.shown("NLS") is not None
