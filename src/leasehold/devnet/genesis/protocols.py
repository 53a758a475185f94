"""The sub-protocols of the development chain: what each lends, against what, and on which terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from leasehold.core.settings import Identity
from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.genesis.networks import NEUTRON, OSMOSIS, NetworkSpec
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
    pool: int  # what the first lender deposits, in the lent currency
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


def _short(name: str, network: NetworkSpec, lpn: str, minimum: int, pool: int, *, native_parent: str) -> ProtocolSpec:
    tree: Tree = (lpn, ((native_parent, (_leaf(NATIVE_TICKER),)),))
    terms = BorrowTerms(base=50)
    return ProtocolSpec(name, network, "USDC_NOBLE", tree, ("USDC_NOBLE",), minimum * 15, minimum, pool, terms)


PROTOCOLS = (
    ProtocolSpec(
        name="OSMOSIS-OSMOSIS-USDC_NOBLE",
        network=OSMOSIS,
        stable="USDC_NOBLE",
        tree=(
            "USDC_NOBLE",
            (
                ("OSMO", (("ATOM", (_leaf("ST_ATOM"),)), _leaf("AKT"), _leaf(NATIVE_TICKER))),
                ("ALL_BTC", (("ALL_ETH", (_leaf("WETH"),)), _leaf("WBTC"))),
            ),
        ),
        leased=("ALL_BTC", "ALL_ETH", "ATOM", "OSMO", "AKT", "ST_ATOM", "WBTC", "WETH"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=2_000_000 * 10**6,
    ),
    _short("OSMOSIS-OSMOSIS-ALL_BTC", OSMOSIS, "ALL_BTC", 1500, 12 * 10**8, native_parent="USDC_NOBLE"),
    _short("OSMOSIS-OSMOSIS-OSMO", OSMOSIS, "OSMO", 30_000_000, 20_000_000 * 10**6, native_parent="USDC_NOBLE"),
    _short("OSMOSIS-OSMOSIS-ATOM", OSMOSIS, "ATOM", 700_000, 400_000 * 10**6, native_parent="USDC_NOBLE"),
    ProtocolSpec(
        name="NEUTRON-ASTROPORT-USDC_NOBLE",
        network=NEUTRON,
        stable="USDC_NOBLE",
        tree=("USDC_NOBLE", (("NTRN", (_leaf(NATIVE_TICKER),)), _leaf("ATOM"), _leaf("DYDX"))),
        leased=("NTRN", "ATOM", "DYDX"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=700_000 * 10**6,
    ),
    _short("NEUTRON-ASTROPORT-NTRN", NEUTRON, "NTRN", 20_000_000, 6_000_000 * 10**6, native_parent="USDC_NOBLE"),
    ProtocolSpec(
        name="OSMOSIS-OSMOSIS-USDC_AXELAR",
        network=OSMOSIS,
        stable="USDC",
        tree=("USDC", (("OSMO", (_leaf("ATOM"), _leaf(NATIVE_TICKER))),)),
        leased=("OSMO", "ATOM"),
        min_asset=15_000_000,
        min_transaction=1_000_000,
        pool=150_000 * 10**6,
    ),
)
# Closed by governance in the course of the simulated history.
DEPRECATED = "OSMOSIS-OSMOSIS-USDC_AXELAR"
