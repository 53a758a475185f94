"""What is refreshed, from what, and when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from leasehold.app_api.app import App
from leasehold.app_api.gating import documents
from leasehold.app_api.gating.rules import FilterContext
from leasehold.app_api.refresh import Refresher
from leasehold.app_api.resources import (
    assets,
    config,
    currencies,
    earn,
    etl,
    fees,
    governance,
    leases,
    networks,
    prices,
    protocols,
    staking,
    swap,
)
from leasehold.core.errors import NotReady

T = TypeVar("T")
# A change of the configuration is noticed by asking for one number this often.
GATED_SECONDS = 2.0
# Short, because an index that is still catching up learns of protocols and currencies as it goes.
INDEX_SECONDS = 5.0
# Where each value comes from; those not named are computed from other values.
SOURCES = {
    "gated_config": "PostgreSQL",
    "indexed_protocols": "data API",
    "indexed_currencies": "data API",
    "indexed_pools": "data API",
    "stats_overview": "data API",
    "loans_stats": "data API",
    "earn_stats": "data API and chain",
    "protocol_contracts": "chain",
    "gas_fee_config": "chain",
    "prices": "chain",
    "pools": "chain",
    "lease_configs": "chain",
    "validators": "chain",
    "annual_inflation": "chain",
    "staking_pool": "chain",
    "proposals_with_tally": "chain",
}


async def refresh_gated(app: App) -> bool:
    """Take over the gated configuration if its version moved; one that is wrong keeps the last."""
    version = await app.store.version()
    last = app.cells.gated.get()
    if last is not None and last.version == version:
        app.cells.gated.put(last)
        return False
    app.cells.locales.put(await app.store.locales())
    version, contents = await app.store.contents()
    return app.cells.gated.put(documents.bundle(version, contents))


def _there(what: str, found: T) -> T:
    """What the index has, if it has any: an index that has only begun must not empty what is shown."""
    if not found:
        raise NotReady(f"the index has no {what} yet")
    return found


async def refresh_protocols(app: App) -> bool:
    found = {one.name: one for one in await app.upstreams.data.protocols()}
    return app.cells.protocols.put(_there("protocols", found))


async def refresh_indexed_currencies(app: App) -> bool:
    return app.cells.indexed_currencies.put(_there("currencies", await app.upstreams.data.currencies()))


async def refresh_indexed_pools(app: App) -> bool:
    found = {one.protocol.upper(): one for one in await app.upstreams.data.pools()}
    return app.cells.indexed_pools.put(found)


async def refresh_filter(app: App) -> bool:
    context = FilterContext.of(app.cells.gated.value, app.cells.protocols.value.values())
    return app.cells.filter.put(context)


async def refresh_contracts(app: App) -> bool:
    return app.cells.contracts.put(await protocols.read_registry(await app.chain(), app.settings))


async def refresh_head(app: App) -> bool:
    """Learn of the newest block; says whether there is a new one."""
    last = app.upstreams.node.newest
    found = await app.upstreams.node.refresh()
    return last is None or found.height > last.height


def refreshers(app: App) -> list[Refresher]:
    """The graph of a running service."""

    def make(
        name: str,
        work: Callable[[App], Awaitable[bool]],
        *needs: str,
        every: float = 60.0,
        on_block: bool = False,
        follows: bool = True,
    ) -> Refresher:
        source = SOURCES.get(name, "memory")
        return Refresher(name, lambda: work(app), needs, every, on_block, follows, source=source)

    found = [
        make("gated_config", refresh_gated, every=GATED_SECONDS),
        make("indexed_protocols", refresh_protocols, every=INDEX_SECONDS),
        make("indexed_currencies", refresh_indexed_currencies, every=INDEX_SECONDS),
        make("indexed_pools", refresh_indexed_pools, every=INDEX_SECONDS),
        make("protocol_contracts", refresh_contracts),
        make("filter_context", refresh_filter, "gated_config", "indexed_protocols"),
        make("hidden_proposals", governance.refresh_hidden, "gated_config"),
        make("gated_networks", networks.refresh, "gated_config"),
        make("protocol_map", protocols.refresh_map, "indexed_protocols", "gated_config"),
        make("gated_protocols", protocols.refresh_list, "indexed_protocols", "gated_config"),
        make("app_config", config.refresh, "gated_config", "indexed_protocols", "protocol_contracts"),
        make("currencies", currencies.refresh, "gated_config", "indexed_currencies"),
        make("swap_config", swap.refresh, "gated_config", "indexed_currencies", "indexed_protocols", every=300.0),
        make("gas_fee_config", fees.refresh, "gated_config", on_block=True),
        make("prices", prices.refresh, "indexed_protocols", "currencies", on_block=True),
        make("gated_assets", assets.refresh, "gated_config", "indexed_currencies", "indexed_protocols", "prices"),
        make(
            "pools",
            earn.refresh_pools,
            "protocol_contracts",
            "indexed_pools",
            "prices",
            "filter_context",
            every=15.0,
            follows=False,
        ),
        make("shown_pools", earn.publish_pools, "filter_context", "pools", every=300.0),
        make("earn_stats", earn.refresh_stats, "protocol_contracts", "indexed_pools", every=15.0),
        make("lease_configs", leases.refresh_terms, "gated_config", "protocol_contracts"),
        make("validators", staking.refresh, every=30.0),
        make("annual_inflation", governance.refresh_inflation),
        make("staking_pool", governance.refresh_staking_pool, every=30.0),
        make("apr", governance.refresh_apr, "annual_inflation", "staking_pool"),
        make("proposals_with_tally", governance.refresh_proposals, every=30.0),
        make("stats_overview", etl.refresh_overview, every=15.0),
        make("loans_stats", etl.refresh_loans, every=15.0),
    ]
    app.refreshers = {one.name: one for one in found}
    return found
