"""What every handler and refresher shares: settings, upstreams, cells, snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.app_api.cells import Cell
from leasehold.app_api.gating.documents import GatedConfig
from leasehold.app_api.gating.rules import FilterContext
from leasehold.app_api.gating.store import GatedStore, Locale
from leasehold.app_api.refresh import Refresher
from leasehold.app_api.upstreams.all import Upstreams
from leasehold.app_api.upstreams.chain_staking import StakingPoolResponse
from leasehold.app_api.upstreams.data import Currency, Pool, Protocol
from leasehold.app_api.upstreams.lcd import ChainView
from leasehold.core.clock import Clock
from leasehold.core.settings import Settings
from leasehold.serving.routes import Registry
from leasehold.serving.snapshots import SnapshotTable
from leasehold.storage.pool import Database

if TYPE_CHECKING:
    from leasehold.app_api.resources.currencies import Catalogue
    from leasehold.app_api.resources.governance import ProposalBook
    from leasehold.app_api.resources.leases import LeaseTerms
    from leasehold.app_api.resources.prices import Prices
    from leasehold.app_api.resources.protocols import ContractRegistry
    from leasehold.app_api.resources.staking import Validator


class Cells:
    """Everything computed in the background."""

    def __init__(self, clock: Clock) -> None:
        def cell(name: str, title: str) -> Cell[Any]:
            return Cell(name, title, clock)

        self.gated: Cell[GatedConfig] = cell("gated_config", "Gated config")
        self.locales: Cell[dict[str, Locale]] = cell("locales", "Locales")
        self.protocols: Cell[dict[str, Protocol]] = cell("indexed_protocols", "Protocols")
        self.indexed_currencies: Cell[tuple[Currency, ...]] = cell("indexed_currencies", "Currencies")
        self.indexed_pools: Cell[dict[str, Pool]] = cell("indexed_pools", "Pools")
        self.filter: Cell[FilterContext] = cell("filter_context", "Filter context")
        self.contracts: Cell[ContractRegistry] = cell("protocol_contracts", "Protocol contracts")
        self.app_config: Cell[Any] = cell("app_config", "App config")
        self.currencies: Cell[Catalogue] = cell("currencies", "Currencies")
        self.prices: Cell[Prices] = cell("prices", "Prices")
        self.pools: Cell[list[Any]] = cell("pools", "Earn pools")
        self.earn_stats: Cell[Any] = cell("earn_stats", "Earn stats")
        self.validators: Cell[dict[str, Validator]] = cell("validators", "Validators")
        self.inflation: Cell[str] = cell("annual_inflation", "Annual inflation")
        self.staking_pool: Cell[StakingPoolResponse] = cell("staking_pool", "Staking pool")
        self.proposals: Cell[ProposalBook] = cell("proposals_with_tally", "Proposals")
        self.assets: Cell[Any] = cell("gated_assets", "Assets")
        self.gated_protocols: Cell[Any] = cell("gated_protocols", "Protocols")
        self.gated_networks: Cell[Any] = cell("gated_networks", "Networks")
        self.stats_overview: Cell[Any] = cell("stats_overview", "Stats overview")
        self.loans_stats: Cell[Any] = cell("loans_stats", "Loans stats")
        self.swap_config: Cell[Any] = cell("swap_config", "Swap config")
        self.lease_terms: Cell[dict[str, LeaseTerms]] = cell("lease_configs", "Lease configs")
        self.gas_fees: Cell[Any] = cell("gas_fee_config", "Gas fee config")

    def all(self) -> list[Cell[Any]]:
        return [one for one in vars(self).values() if isinstance(one, Cell)]


@dataclass(slots=True)
class App:
    """A running application API."""

    settings: Settings
    clock: Clock
    cells: Cells
    snapshots: SnapshotTable
    registry: Registry
    started: float
    links: Upstreams | None = None
    gated_store: GatedStore | None = None
    database: Database | None = None
    refreshers: dict[str, Refresher] = field(default_factory=dict)

    @property
    def upstreams(self) -> Upstreams:
        """The clients, there for as long as the service runs."""
        assert self.links is not None
        return self.links

    @property
    def store(self) -> GatedStore:
        assert self.gated_store is not None
        return self.gated_store

    @property
    def storage(self) -> Database:
        """The database, there for as long as the service runs."""
        assert self.database is not None
        return self.database

    @property
    def brand(self) -> str:
        """Name of the chain in texts for people."""
        return self.settings.identity.namespace.capitalize()

    async def chain(self) -> ChainView:
        """The chain as of its newest block."""
        head = await self.upstreams.node.head()
        return self.upstreams.reads.at(head.height)

    async def publish(self, path: str, value: Any, *, height: int = 0, time_ns: int = 0) -> None:
        """Make a value the answer of a snapshot route without parameters."""
        route = self.registry.find("GET", path)
        await self.snapshots.publish(
            route.target(), value, height=height, time_ns=time_ns, cache_control=route.cache.header
        )
