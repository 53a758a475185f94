"""The first configuration of a stack with its own development chain, so that everything on it is shown.

A real chain gets none from us: what is shown of it is its operator's decision.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from leasehold.app_api.gating import documents
from leasehold.app_api.gating.store import Locale
from leasehold.core.settings import Settings

_CURRENCIES = {
    "USDC_NOBLE": ("USDC", "USDC", "#2775CA", "usd-coin"),
    "USDC": ("USDC axl", "USDC.axl", "#2775CA", "usd-coin"),
    "OSMO": ("Osmosis", "OSMO", "#750BBB", "osmosis"),
    "ATOM": ("Cosmos Hub", "ATOM", "#6F7390", "cosmos"),
    "ST_ATOM": ("Stride Staked ATOM", "stATOM", "#E50571", "stride-staked-atom"),
    "ALL_BTC": ("Bitcoin", "BTC", "#F7931A", "bitcoin"),
    "ALL_ETH": ("Ethereum", "ETH", "#627EEA", "ethereum"),
    "WBTC": ("Wrapped Bitcoin", "WBTC", "#F09242", "wrapped-bitcoin"),
    "WETH": ("Wrapped Ether", "WETH", "#627EEA", "weth"),
    "AKT": ("Akash", "AKT", "#FF414C", "akash-network"),
    "NTRN": ("Neutron", "NTRN", "#111111", "neutron-3"),
    "DYDX": ("dYdX", "DYDX", "#6966FF", "dydx-chain"),
    "SOL": ("Solana", "SOL", "#9945FF", "solana"),
    "ALL_SOL": ("Solana", "SOL", "#9945FF", "solana"),
}
_COUNTERPARTIES = {
    "OSMOSIS": ("Osmosis", "osmosis-1", "osmo", "uosmo", "OSMOSIS-OSMOSIS-USDC_NOBLE", "osmosis-poolmanager"),
    "NEUTRON": ("Neutron", "neutron-1", "neutron", "untrn", "NEUTRON-ASTROPORT-USDC_NOBLE", "neutron-astroport"),
}
_SVM_LONG = "SOLANA-RAYDIUM-USDC"
SOURCE = "en"
# Each named in itself, as the application's choice of languages shows them.
LANGUAGES = {"en": "English", "de": "Deutsch", "es": "Español"}
_DOWNPAYMENT = {"min": 40.0, "max": 6000.0}


def first_documents(settings: Settings) -> dict[str, Any]:
    """The five documents for the embedded chain of these settings."""
    identity = settings.identity
    currencies = {identity.display: (identity.display, identity.display, "#083344", None), **_CURRENCIES}
    endpoints = {"rpc": settings.url("rpc"), "lcd": settings.url("lcd")}
    networks: dict[str, Any] = {
        identity.network: {
            "chain_type": "cosmos",
            "name": identity.namespace.capitalize(),
            "chain_id": identity.chain_id,
            "prefix": identity.prefix,
            **endpoints,
            "gas_price": f"{settings.devnet.minimum_gas_price}{identity.base_denom}",
            "gas_multiplier": float(settings.app_api.gas_multiplier),
            "icon": f"/assets/icons/networks/{identity.network.lower()}.svg",
            "estimation": 6,
        }
    }
    for key, (name, chain_id, prefix, denom, primary, venue) in _COUNTERPARTIES.items():
        networks[key] = {
            "chain_type": "cosmos",
            "name": name,
            "chain_id": chain_id,
            "prefix": prefix,
            # The counterparties live inside the development chain, behind its endpoints.
            **endpoints,
            "gas_price": f"0.025{denom}",
            "gas_multiplier": 2.0,
            "icon": f"/assets/icons/networks/{key.lower()}.svg",
            "primaryProtocol": primary,
            "estimation": 20,
            "swap_venue": {"name": venue},
            "pools": {primary: {"icon": f"/assets/icons/pools/{key.lower()}-usdc.svg"}},
        }
    networks["SOLANA"] = {
        "chain_type": "svm",
        "name": "Solana",
        "chain_id": "solana-1",
        "rpc": settings.app_api.svm_url or f"{settings.url('upstreams')}/svm",
        "program_id": settings.upstreams.svm_program_id,
        "transfer_channel_id": "channel-0",
        "explorer_url_pattern": "",
        "symbol": "SOL",
        "gas_multiplier": 1.0,
        "icon": "/assets/icons/networks/solana.svg",
        "estimation": 20,
    }
    longs = dict.fromkeys((*(entry[4] for entry in _COUNTERPARTIES.values()), _SVM_LONG), _DOWNPAYMENT)
    return {
        documents.CURRENCY_DISPLAY: {
            ticker: {
                "icon": f"/assets/icons/currencies/{ticker}.svg",
                "displayName": name,
                "shortName": short,
                "color": colour,
                **({"coingeckoId": gecko} if gecko else {}),
            }
            for ticker, (name, short, colour, gecko) in currencies.items()
        },
        documents.NETWORK_CONFIG: networks,
        documents.LEASE_RULES: {
            "due_projection_secs": 400,
            "downpayment_ranges": {
                protocol: dict.fromkeys(("ALL_BTC", "ALL_ETH", "ATOM", "OSMO", "NTRN", "SOL"), bounds)
                for protocol, bounds in longs.items()
            },
            "asset_restrictions": {"ignore_all": [], "ignore_long": [], "ignore_short": []},
        },
        documents.SWAP_SETTINGS: {
            "api_url": settings.app_api.swap_url or settings.url("upstreams"),
            "swap_currencies": {"osmosis": "USDC_NOBLE", "neutron": "USDC_NOBLE"},
            "swap_to_currency": identity.display,
        },
        documents.UI_SETTINGS: {"hidden_proposals": [], "feature_flags": {}},
    }


def first_locales() -> list[Locale]:
    """The application's own texts and their translations; English is the source of every other language."""
    folder = resources.files("leasehold.app_api.gating") / "locales"
    return [
        Locale(lang, label, lang == SOURCE, True, msgspec.json.decode((folder / f"{lang}.json").read_bytes()))
        for lang, label in LANGUAGES.items()
    ]
