"""Staking: validators, parameters, and a wallet's delegations, all of one block."""

from __future__ import annotations

import asyncio

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.inputs import AddressParams, is_of, require_bech32
from leasehold.app_api.upstreams import chain, chain_staking
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Cache, PlainRequest, Registry, Request

_STATUSES = {"BOND_STATUS_BONDED": "bonded", "BOND_STATUS_UNBONDING": "unbonding"}


class Validator(msgspec.Struct, frozen=True):
    """A validator; rates and shares with 18 decimals, tokens in base units."""

    operator_address: str
    moniker: str
    identity: str | None
    website: str | None
    details: str | None
    commission_rate: str
    max_commission_rate: str
    max_commission_change_rate: str
    tokens: str
    delegator_shares: str
    unbonding_height: str
    unbonding_time: str
    status: str
    jailed: bool


class StakingPosition(msgspec.Struct):
    validator_address: str
    validator_moniker: str | None
    shares: str
    balance: chain.Coin


class UnbondingPosition(msgspec.Struct):
    validator_address: str
    validator_moniker: str | None
    entries: list[chain_staking.Entry]


class ValidatorReward(msgspec.Struct):
    validator_address: str
    rewards: list[chain.DecimalCoin]


class StakingPositionsResponse(msgspec.Struct):
    """Delegations, unbonding entries and pending rewards; totals in base units of the bond denom."""

    delegations: list[StakingPosition]
    unbonding: list[UnbondingPosition]
    rewards: list[ValidatorReward]
    total_staked: str
    total_rewards: str


def validator(found: chain_staking.ChainValidator) -> Validator:
    about, rates = found.description, found.commission.commission_rates
    return Validator(
        found.operator_address,
        about.moniker,
        about.identity,
        about.website,
        about.details,
        rates.rate,
        rates.max_rate,
        rates.max_change_rate,
        found.tokens,
        found.delegator_shares,
        found.unbonding_height,
        found.unbonding_time,
        _STATUSES.get(found.status, "unbonded"),
        found.jailed,
    )


def positions(
    delegations: list[chain_staking.DelegationAnswer],
    unbonding: list[chain_staking.Unbonding],
    rewards: chain_staking.Rewards,
    validators: dict[str, Validator],
    bond_denom: str,
) -> StakingPositionsResponse:
    """A wallet's staking; only whole units of the bond denom count as rewards."""

    def moniker(address: str) -> str | None:
        known = validators.get(address)
        return known.moniker if known is not None else None

    return StakingPositionsResponse(
        [
            StakingPosition(
                one.delegation.validator_address,
                moniker(one.delegation.validator_address),
                one.delegation.shares,
                one.balance,
            )
            for one in delegations
        ],
        [UnbondingPosition(one.validator_address, moniker(one.validator_address), one.entries) for one in unbonding],
        [ValidatorReward(one.validator_address, one.reward or []) for one in rewards.rewards],
        str(sum(int(one.balance.amount) for one in delegations)),
        str(sum(int(coin.amount.partition(".")[0]) for coin in rewards.total if coin.denom == bond_denom)),
    )


class ValidatorParams(msgspec.Struct, frozen=True):
    address: str


def declare(api: Registry, app: App) -> None:
    """The routes of staking."""
    tags = ("staking",)
    api.snapshot(
        "/api/staking/validators",
        operation_id="get_validators",
        summary="Validators, bonded and not",
        tags=tags,
        name="Validators",
        response=list[Validator],
        cache=Cache.snapshot(300),
    )

    @api.get(
        "/api/staking/validators/{address}",
        operation_id="get_validator",
        summary="One validator",
        tags=tags,
        cache=Cache.live(300),
        errors=(404, 503),
    )
    async def one(request: Request[ValidatorParams, None]) -> Validator:
        found = app.cells.validators.value.get(request.params.address)
        if found is None:
            raise NotFound(f"Validator {request.params.address} not found")
        return found

    @api.get(
        "/api/staking/params",
        operation_id="get_staking_params",
        summary="Parameters",
        tags=tags,
        cache=Cache.live(30),
        errors=(502,),
    )
    async def params(request: PlainRequest) -> chain_staking.StakingParams:
        return await chain_staking.staking_params(app.upstreams.lcd)

    @api.get(
        "/api/staking/positions",
        operation_id="get_staking_positions",
        summary="A wallet's staking",
        tags=tags,
        errors=(400, 502),
    )
    async def wallet(request: Request[AddressParams, None]) -> StakingPositionsResponse:
        address = require_bech32(request.params.address)
        if not is_of(address, app.settings.identity.prefix):
            return StakingPositionsResponse([], [], [], "0", "0")
        view = await app.chain()
        delegations, unbonding, rewards = await asyncio.gather(
            chain_staking.delegations(view, address),
            chain_staking.unbonding(view, address),
            chain_staking.rewards(view, address),
        )
        known = app.cells.validators.get() or {}
        return positions(delegations, unbonding, rewards, known, app.settings.identity.base_denom)


async def refresh(app: App) -> bool:
    """Publish the validators as of the newest block."""
    head = await app.upstreams.node.head()
    found = [validator(one) for one in await chain_staking.validators(app.upstreams.reads.at(head.height))]
    changed = app.cells.validators.put(
        {one.operator_address: one for one in found}, height=head.height, time_ns=head.time_ns
    )
    await app.publish("/api/staking/validators", found, height=head.height, time_ns=head.time_ns)
    return changed
