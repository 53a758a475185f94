"""The sub-protocols of the development chain: what each lends, against what, and on which terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from leasehold.core.settings import Identity
from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.genesis.networks import NEUTRON, OSMOSIS, SOLANA, NetworkSpec
from leasehold.protocol.currencies import LEASE, LPN, PAYMENT_ONLY, CurrencySet

# Stands for the native token in the trees below; its real ticker comes from the identity.
NATIVE_TICKER = "<native>"

Tree = tuple[str, "tuple[Tree, ...]"]


@dataclass(frozen=True, slots=True)
class BorrowTerms:
    """Rates in permille."""

    base: int = 60
    optimal: int = 700
    addon: int = 20
    min_utilization: int = 0
    margin: int = 40


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """A sub-protocol; `tree` is the swap tree with the lent currency at its root."""

    name: str
    network: NetworkSpec
    stable: str
    tree: Tree
    leased: tuple[str, ...]
    min_asset: int
    min_transaction: int
    pool: int  # what the first lenders deposit together, in the lent currency
    appeal: int  # how often borrowers choose it, against the others
    appetite: int  # permille of the pool that lenders like to see lent; they come and go until it is
    terms: BorrowTerms = field(default_factory=BorrowTerms)

    @property
    def lpn(self) -> str:
        return self.tree[0]

    @property
    def is_long(self) -> bool:
        return self.lpn == self.stable

    def build(self, identity: Identity) -> ProtocolBuild:
        """The build of its contracts."""
        currencies = []
        for ticker in _tickers(self.tree):
            if ticker == NATIVE_TICKER:
                currencies.append(self.network.native(identity))
                continue
            group = LPN if ticker == self.lpn else LEASE if ticker in self.leased else PAYMENT_ONLY
            currencies.append(self.network.currency(ticker, group))
        pairs = [(self._named(child, identity), self._named(parent, identity)) for child, parent in _edges(self.tree)]
        return ProtocolBuild(self.name, self.network.key, CurrencySet(currencies, pairs, self.stable))

    def swap_tree(self, identity: Identity) -> dict[str, Any]:
        """The tree as the oracle takes it, pools numbered in pre-order from 1."""
        numbers = iter(range(1, 1000))

        def node(tree: Tree, pool: int) -> dict[str, Any]:
            ticker, children = tree
            made: dict[str, Any] = {"value": [pool, self._named(ticker, identity)]}
            if children:
                made["children"] = [node(child, next(numbers)) for child in children]
            return made

        return node(self.tree, 0)

    def edges(self, identity: Identity) -> list[tuple[str, str]]:
        """(child, parent) tickers of every pool, in pre-order."""
        return [(self._named(child, identity), self._named(parent, identity)) for child, parent in _edges(self.tree)]

    @staticmethod
    def _named(ticker: str, identity: Identity) -> str:
        return identity.display if ticker == NATIVE_TICKER else ticker


def _tickers(tree: Tree) -> Iterator[str]:
    yield tree[0]
    for child in tree[1]:
        yield from _tickers(child)


def _edges(tree: Tree) -> Iterator[tuple[str, str]]:
    for child in tree[1]:
        yield child[0], tree[0]
        yield from _edges(child)


def _leaf(ticker: str) -> Tree:
    return ticker, ()


def _short(
    name: str,
    network: NetworkSpec,
    lpn: str,
    *,
    minimum: int,
    pool: int,
    appetite: int,
    stable: str = "USDC_NOBLE",
    appeal: int = 2,
    paid_in: tuple[str, ...] = (),
) -> ProtocolSpec:
    """A protocol that lends what its borrowers expect to fall; `paid_in` are further currencies they may pay in."""
    tree: Tree = (lpn, ((stable, (_leaf(NATIVE_TICKER), *map(_leaf, paid_in))),))
    return ProtocolSpec(
        name=name,
        network=network,
        stable=stable,
        tree=tree,
        leased=(stable,),
        min_asset=minimum * 15,
        min_transaction=minimum,
        pool=pool,
        appeal=appeal,
        appetite=appetite,
        terms=BorrowTerms(base=50),
    )


PROTOCOLS = (
    ProtocolSpec(
        name="OSMOSIS-OSMOSIS-USDC_NOBLE",
        network=OSMOSIS,
        stable="USDC_NOBLE",
        tree=(
            "USDC_NOBLE",
            (
                ("OSMO", (("ATOM", (_leaf("ST_ATOM"),)), _leaf("AKT"), _leaf(NATIVE_TICKER))),
                ("ALL_BTC", (("ALL_ETH", (_leaf("WETH"),)), _leaf("WBTC"), _leaf("ALL_SOL"))),
            ),
        ),
        leased=("ALL_BTC", "ALL_ETH", "ALL_SOL", "ATOM", "OSMO", "AKT", "ST_ATOM", "WBTC", "WETH"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=300_000 * 10**6,
        appeal=12,
        appetite=680,
    ),
    _short("OSMOSIS-OSMOSIS-ALL_BTC", OSMOSIS, "ALL_BTC", minimum=1500, pool=13 * 10**7, appetite=600, appeal=3),
    _short("OSMOSIS-OSMOSIS-OSMO", OSMOSIS, "OSMO", minimum=30_000_000, pool=1_800_000 * 10**6, appetite=450),
    _short(
        "OSMOSIS-OSMOSIS-ATOM",
        OSMOSIS,
        "ATOM",
        minimum=700_000,
        pool=40_000 * 10**6,
        appetite=520,
        paid_in=("OSMO",),
    ),
    ProtocolSpec(
        name="NEUTRON-ASTROPORT-USDC_NOBLE",
        network=NEUTRON,
        stable="USDC_NOBLE",
        tree=("USDC_NOBLE", (("NTRN", (_leaf(NATIVE_TICKER),)), _leaf("ATOM"), _leaf("DYDX"))),
        leased=("NTRN", "ATOM", "DYDX"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=120_000 * 10**6,
        appeal=5,
        appetite=560,
    ),
    _short("NEUTRON-ASTROPORT-NTRN", NEUTRON, "NTRN", minimum=20_000_000, pool=1_000_000 * 10**6, appetite=400),
    ProtocolSpec(
        name="SOLANA-RAYDIUM-USDC",
        network=SOLANA,
        stable="USDC",
        tree=("USDC", (("SOL", (_leaf(NATIVE_TICKER),)),)),
        leased=("SOL",),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=120_000 * 10**6,
        appeal=5,
        appetite=720,
    ),
    _short("SOLANA-RAYDIUM-SOL", SOLANA, "SOL", minimum=13_000_000, pool=800 * 10**9, appetite=480, stable="USDC"),
    ProtocolSpec(
        name="OSMOSIS-OSMOSIS-USDC_AXELAR",
        network=OSMOSIS,
        stable="USDC",
        tree=("USDC", (("OSMO", (_leaf("ATOM"), _leaf(NATIVE_TICKER))),)),
        leased=("OSMO", "ATOM"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=60_000 * 10**6,
        appeal=3,
        appetite=500,
    ),
)
# Closed by governance in the course of the simulated history.
DEPRECATED = "OSMOSIS-OSMOSIS-USDC_AXELAR"
# Given a minimal utilization by governance, below which it takes no deposits.
CAPPED = "OSMOSIS-OSMOSIS-ATOM"
