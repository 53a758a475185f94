"""The simulated chains beside this one: how they are connected, and the currencies traded on their DEX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leasehold.core.addresses import ibc_denom
from leasehold.core.settings import Identity
from leasehold.protocol.currencies import NATIVE, Currency


def _alloyed(issuer: str, name: str) -> str:
    return f"factory/osmo1{issuer}/alloyed/all{name}"


@dataclass(frozen=True, slots=True)
class Asset:
    """A currency of a network: its decimals there, its denom path there, and about what it is worth in USD."""

    ticker: str
    decimals: int
    path: str
    usd: str


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """A chain with a DEX."""

    key: str
    name: str
    dex: Any  # as the admin contract spells it
    dex_key: str
    prefix: str
    connection: str
    channel: str
    remote_channel: str
    assets: tuple[Asset, ...]

    def currency(self, ticker: str, group: str) -> Currency:
        """The currency as the protocol's contracts know it."""
        asset = next(asset for asset in self.assets if asset.ticker == ticker)
        return Currency(ticker, self.here(asset), self.there(asset), asset.decimals, group)

    def native(self, identity: Identity) -> Currency:
        """This chain's own token, which is a voucher over there."""
        remote = ibc_denom(f"transfer/{self.remote_channel}/{identity.base_denom}")
        return Currency(identity.display, identity.base_denom, remote, identity.exponent, NATIVE)

    def here(self, asset: Asset) -> str:
        """Denom of a currency on this chain."""
        return ibc_denom(f"transfer/{self.channel}/{asset.path}")

    @staticmethod
    def there(asset: Asset) -> str:
        """Denom of a currency on its DEX."""
        return ibc_denom(asset.path) if asset.path.startswith("transfer/") else asset.path

    def document(self, identity: Identity) -> dict[str, Any]:
        """What the counterparty module keeps of it."""
        denoms = {self.here(asset): self.there(asset) for asset in self.assets}
        denoms[identity.base_denom] = self.native(identity).dex_symbol
        return {
            "name": self.key,
            "prefix": self.prefix,
            "connection": self.connection,
            "channel": self.channel,
            "remote_channel": self.remote_channel,
            "denoms": denoms,
        }


OSMOSIS = NetworkSpec(
    key="OSMOSIS",
    name="Osmosis",
    dex="Osmosis",
    dex_key="OSMOSIS",
    prefix="osmo",
    connection="connection-0",
    channel="channel-0",
    remote_channel="channel-783",
    assets=(
        Asset("USDC_NOBLE", 6, "transfer/channel-750/uusdc", "1"),
        Asset("USDC", 6, "transfer/channel-208/uusdc", "1"),
        Asset("OSMO", 6, "uosmo", "0.033"),
        Asset("ATOM", 6, "transfer/channel-0/uatom", "1.5"),
        Asset("ALL_BTC", 8, _alloyed("z6r6qdknhgsc0zeracktgpcxf43j6sekq07nw8sxduc9lg0qjjlqfu25e3", "BTC"), "63000"),
        Asset("ALL_ETH", 18, _alloyed("k6c8jln7ejuqwtqmay3yvzrg3kueaczl96pk067ldg8u835w0yhsw27twm", "ETH"), "1850"),
        Asset("ALL_SOL", 9, _alloyed("n3n75av8awcnw4jl62n3l48e6e4sxqmaf97w5ua6ddu4s475q5qq9udvx4", "SOL"), "75"),
        Asset("AKT", 6, "transfer/channel-1/uakt", "0.55"),
        Asset("ST_ATOM", 6, "transfer/channel-326/stuatom", "1.95"),
        Asset("WBTC", 8, "transfer/channel-208/wbtc-satoshi", "62990"),
        Asset("WETH", 18, "transfer/channel-208/weth-wei", "1848"),
    ),
)  # fmt: skip

NEUTRON = NetworkSpec(
    key="NEUTRON",
    name="Neutron",
    dex={"Astroport": {"router_address": "neutron1rwj6mfxzzrwskur73v326xwuff52vygqk73lr7azkehnfzz5f5wskwekf4"}},
    dex_key="ASTROPORT",
    prefix="neutron",
    connection="connection-1",
    channel="channel-3839",
    remote_channel="channel-44",
    assets=(
        Asset("USDC_NOBLE", 6, "transfer/channel-30/uusdc", "1"),
        Asset("NTRN", 6, "untrn", "0.05"),
        Asset("ATOM", 6, "transfer/channel-1/uatom", "1.5"),
        Asset("DYDX", 18, "transfer/channel-48/adydx", "0.35"),
    ),
)

# Denoms over there are mints; the program that holds the escrow speaks for the chain.
SOLANA = NetworkSpec(
    key="SOLANA",
    name="Solana",
    dex="Raydium",
    dex_key="RAYDIUM",
    prefix="solana",
    connection="connection-2",
    channel="channel-4200",
    remote_channel="channel-0",
    assets=(
        Asset("USDC", 6, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "1"),
        Asset("SOL", 9, "So11111111111111111111111111111111111111112", "75"),
    ),
)

NETWORKS = (OSMOSIS, NEUTRON, SOLANA)
NATIVE_USD = "0.0012"
