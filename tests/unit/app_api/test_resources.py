"""What resources compute from the index and the configuration."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from leasehold.app_api.gating.documents import GatedConfig, SwapSettings, bundle
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.resources import assets, config, currencies, earn, networks, protocols, swap
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.upstreams.data import Contracts, Currency, Mapping, Pool, Protocol
from leasehold.core.configuration import load
from leasehold.core.errors import NotFound

SETTINGS = load().settings
GATED = bundle(1, first_documents(SETTINGS))
LPP = Contracts(lpp="lpp")
PROTOCOLS = {
    one.name: one
    for one in (
        Protocol("OSMOSIS-OSMOSIS-USDC_NOBLE", "Long", "USDC_NOBLE", True, "Osmosis", '"Osmosis"', LPP),
        Protocol("OLD", "Long", "USDC", False, "Osmosis", None, LPP),
        Protocol("NOWHERE", "Long", "USDC", True, None, None),
    )
}
MAIN = "OSMOSIS-OSMOSIS-USDC_NOBLE"
ATOM = Currency("ATOM", 6, True, (Mapping("OLD", "lease", "ibc/A", "a"), Mapping(MAIN, "lease", "ibc/A", "a")))
USDC = Currency("USDC_NOBLE", 6, True, (Mapping(MAIN, "lpn", "ibc/U", "u"),))
PICA = Currency("PICA", 12, True, (Mapping(MAIN, "payment_only", "ibc/P", "p"),))
GONE = Currency("TIA", 6, False, (Mapping("OLD", "lease", "ibc/T", "t"),))
CURRENCIES = (USDC, ATOM, PICA, GONE)
PRICES = Prices.of({"ATOM@OLD": Fraction(9), f"ATOM@{MAIN}": Fraction(3)})


def test_the_catalogue_of_currencies_hides_nothing() -> None:
    """Ignored, unconfigured and deprecated currencies are listed; only `is_active` tells."""
    found = currencies.build(GATED, CURRENCIES, "ulsh")
    assert list(found.currencies) == sorted(found.currencies)
    assert found.currencies["TIA@OLD"].is_active is False
    assert found.currencies[f"PICA@{MAIN}"].icon == "/assets/icons/currencies/PICA.svg"
    assert ([info.key for info in found.lpn], found.lease_currencies, found.map) == (
        [f"USDC_NOBLE@{MAIN}"],
        ["ATOM"],
        {},
    )


def test_a_plain_ticker_finds_a_visible_protocol() -> None:
    """The exact key wins; a ticker stands for its visible protocol, not for whichever comes first."""
    catalogue = currencies.Catalogue.of(currencies.build(GATED, CURRENCIES, "ulsh"))
    for key, expected in (("ATOM@OLD", "ATOM@OLD"), ("ATOM", f"ATOM@{MAIN}"), ("TIA", "TIA@OLD")):
        found = catalogue.find(key, {MAIN})
        assert found is not None
        assert found.key == expected
    assert catalogue.find("atom", {MAIN}) is None


def test_assets_are_priced_by_the_primary_protocol() -> None:
    """The network's primary protocol prices an asset even where another key is smaller."""
    found = assets.catalogue(GATED, CURRENCIES, PROTOCOLS, PRICES)
    assert [(one.ticker, one.price) for one in found.assets] == [("USDC_NOBLE", msgspec.UNSET), ("ATOM", "3")]
    assert found.assets[1].networks == ["Osmosis"]
    without = Prices.of({"ATOM@OLD": Fraction(9)})
    assert assets.catalogue(GATED, CURRENCIES, PROTOCOLS, without).assets[1].price == "9"


@pytest.mark.parametrize(
    ("ticker", "message"),
    [
        ("NOPE", "Asset NOPE not found"),
        ("TIA", "Asset TIA not found"),
        ("PICA", "Asset PICA (not configured) not found"),
    ],
)
def test_an_asset_that_is_not_shown_says_why(ticker: str, message: str) -> None:
    """Unknown, deprecated and unconfigured are told apart."""
    with pytest.raises(NotFound) as refusal:
        assets.detail(GATED, ticker, CURRENCIES, PROTOCOLS, PRICES)
    assert refusal.value.message == message


def test_pools_of_a_network_are_found_whatever_its_case() -> None:
    """The index says Osmosis, the configuration OSMOSIS; figures come as texts, unknown ones not at all."""
    pools = networks.pools(GATED, "OSMOSIS", PROTOCOLS, {MAIN: Pool(MAIN, earn_apr="8.5", supplied="10")})
    wire = msgspec.to_builtins(pools)
    assert (wire["count"], wire["pools"][0]["apr"], wire["pools"][0]["total_supplied"]) == (1, "8.5", "10")
    assert "utilization" not in wire["pools"][0]


def test_an_svm_network_keeps_its_endpoint_to_itself() -> None:
    """Its RPC is never served."""
    svm = {
        "chain_type": "svm",
        "name": "S",
        "chain_id": "s",
        "rpc": "http://secret",
        "program_id": "p",
        "transfer_channel_id": "channel-1",
        "explorer_url_pattern": "x/{txHash}",
        "symbol": "SOL",
        "gas_multiplier": 1,
    }
    documents = first_documents(SETTINGS)
    documents["network-config"] = {**documents["network-config"], "SOLANA": svm}
    gated = bundle(1, documents)
    served = msgspec.json.encode(
        [config.network_info("SOLANA", gated.networks["SOLANA"], "X"), networks.configured(gated)]
    )
    assert b"secret" not in served
    assert b'"program_id":"p"' in served


def test_a_protocol_is_spelled_twice() -> None:
    """The map has bare and lower-case names, the list has what the index says."""
    mapped = protocols.protocol_map(PROTOCOLS)[MAIN]
    assert (mapped.dex, mapped.position_type) == ("Osmosis", "long")
    listed = protocols.protocol_list(GATED, PROTOCOLS).protocols
    assert [(one.protocol, one.dex, one.position_type) for one in listed] == [(MAIN, '"Osmosis"', "Long")]
    assert msgspec.to_builtins(mapped.contracts) == {"lpp": "lpp"}


def test_the_swap_screen_knows_denoms() -> None:
    """Denoms of the configured tickers by network, the first occurrence of each denom, nothing of the home network."""
    settings = SwapSettings("u", swap_currencies={"osmosis": "ATOM", "juno": "NOPE"}, swap_to_currency="USDC_NOBLE")
    gated: GatedConfig = msgspec.structs.replace(GATED, swap=settings)
    found = swap.build(gated, CURRENCIES, PROTOCOLS, "LEASEHOLD")
    assert (found["swap_to_currency"], found["swap_currency_osmosis"], found["swap_currency_juno"]) == (
        "ibc/U",
        "ibc/A",
        "",
    )
    denoms = [one["from"] for one in found["transfers"]["OSMOSIS"]["currencies"]]
    assert denoms == ["ibc/U", "ibc/A", "ibc/P"]
    assert swap.build(gated, CURRENCIES, PROTOCOLS, "OSMOSIS")["transfers"] == {}


def test_the_average_is_over_all_pools() -> None:
    """A pool without a readable rate counts as one without yield."""
    pools = {"A": Pool("A", earn_apr="3"), "B": Pool("B", earn_apr="x"), "C": Pool("C", apr="6")}
    assert msgspec.to_builtins(earn.stats("1.5", pools, 85)) == {
        "total_value_locked": "1.5",
        "pools_count": 3,
        "average_apy": 3.0,
        "dispatcher_rewards": 8.5e-6,
    }
    assert earn.stats("0", {}, None).average_apy == 0.0
