"""The five documents and their rules."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.app_api.gating.documents import NAMES, CosmosNetwork, bundle, checked
from leasehold.app_api.gating.first import first_documents
from leasehold.core.configuration import load
from leasehold.core.errors import InvalidInput

NETWORK = {
    "name": "N",
    "chain_id": "n-1",
    "prefix": "n",
    "rpc": "http://r",
    "lcd": "http://l",
    "gas_price": "0.025un",
    "gas_multiplier": 2,
}


@pytest.mark.parametrize(
    ("name", "content", "field"),
    [
        ("currency-display", {"ATOM": {"icon": "i"}}, "currency-display.ATOM.displayName"),
        ("currency-display", {"ATOM": {"icon": 1, "displayName": "A"}}, "currency-display.ATOM.icon"),
        (
            "currency-display",
            {"ATOM": {"icon": "i", "displayName": "A", "color": "red"}},
            "currency-display.ATOM.color",
        ),
        ("currency-display", {"A@P": {"icon": "i", "displayName": "A"}}, "currency-display.A@P"),
        ("currency-display", [], "currency-display"),
        ("network-config", {"osmosis": NETWORK}, "network-config.osmosis"),
        ("network-config", {"N": {**NETWORK, "gas_price": "cheap"}}, "network-config.N.gas_price"),
        ("network-config", {"N": {**NETWORK, "gas_multiplier": 0}}, "network-config.N.gas_multiplier"),
        ("network-config", {"N": {**NETWORK, "chain_type": "evm"}}, "network-config.N.chain_type"),
        ("network-config", {"N": {"chain_type": "svm", "name": "S"}}, "network-config.N.chain_id"),
        (
            "lease-rules",
            {"downpayment_ranges": {"P": {"T": {"min": 2, "max": 1}}}},
            "lease-rules.downpayment_ranges.P.T.min",
        ),
        (
            "lease-rules",
            {"downpayment_ranges": {"P": {"T": {"min": "2", "max": 3}}}},
            "lease-rules.downpayment_ranges.P.T.min",
        ),
        ("lease-rules", {"due_projection_secs": -1}, "lease-rules.due_projection_secs"),
        ("swap-settings", {"api_url": "u", "timeoutSeconds": "soon"}, "swap-settings.timeoutSeconds"),
        ("swap-settings", {}, "swap-settings.api_url"),
        ("ui-settings", {"maintenance": {}}, "ui-settings.maintenance.enabled"),
        ("ui-settings", {"hidden_proposals": [7]}, "ui-settings.hidden_proposals[0]"),
        ("nope", {}, "name"),
    ],
)
def test_a_complaint_names_the_field(name: str, content: Any, field: str) -> None:
    """Whoever wrote a wrong document learns which field it is."""
    with pytest.raises(InvalidInput) as refusal:
        checked(name, content)
    assert refusal.value.field == field


def test_a_network_is_cosmos_unless_it_says_otherwise() -> None:
    """The tag may be missing; what the gas price says about the fee currency is read off it."""
    network = checked("network-config", {"N": NETWORK})["N"]
    assert isinstance(network, CosmosNetwork)
    assert (network.configured, network.symbol, network.gas_amount) == (True, "N", "0.025")
    assert not checked("network-config", {"N": {**NETWORK, "rpc": ""}})["N"].configured


def test_a_bundle_needs_every_document() -> None:
    """A configuration is all five documents or none."""
    contents = first_documents(load().settings)
    assert bundle(3, contents).version == 3
    assert set(contents) == set(NAMES)
    del contents["ui-settings"]
    with pytest.raises(InvalidInput, match="ui-settings"):
        bundle(3, contents)
