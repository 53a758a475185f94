"""Fees: which denoms pay for gas, at which price."""

from __future__ import annotations

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating.documents import CosmosNetwork
from leasehold.app_api.upstreams import chain
from leasehold.core.errors import NotReady
from leasehold.serving.routes import Cache, Registry


class GasFeeConfigResponse(msgspec.Struct):
    """Least price of a unit of gas by denom, and the factor applied to simulated gas."""

    gas_prices: dict[str, str]
    gas_multiplier: float


def build(tax: chain.TaxParams, home: CosmosNetwork, native_denom: str) -> GasFeeConfigResponse:
    """What the tax module accepts, and the native token at the configured price."""
    prices = {one.denom: one.min_price for dex in tax.dex_fee_params for one in dex.accepted_denoms_min_prices}
    prices[native_denom] = home.gas_amount
    return GasFeeConfigResponse(dict(sorted(prices.items())), float(home.gas_multiplier))


def declare(api: Registry, app: App) -> None:
    """The route of fees."""
    api.snapshot(
        "/api/fees/gas-config",
        operation_id="get_gas_fee_config",
        summary="Accepted fee denoms with minimum gas prices",
        tags=("fees",),
        name="Gas fee config",
        response=GasFeeConfigResponse,
        cache=Cache.snapshot(30),
    )


async def refresh(app: App) -> bool:
    """Publish the accepted denoms as of the newest block."""
    identity = app.settings.identity
    home = app.cells.gated.value.networks.get(identity.network)
    if not isinstance(home, CosmosNetwork):
        raise NotReady(f"network-config has no {identity.network}", hint="configure the home network")
    head = await app.upstreams.node.head()
    tax = await chain.tax_params(app.upstreams.reads.at(head.height), identity.namespace)
    made = build(tax, home, identity.base_denom)
    changed = app.cells.gas_fees.put(made, height=head.height, time_ns=head.time_ns)
    await app.publish("/api/fees/gas-config", made, height=head.height, time_ns=head.time_ns)
    return changed
