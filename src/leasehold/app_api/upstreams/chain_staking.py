"""Validators, stakes and what they earn, asked of the LCD."""

from __future__ import annotations

import msgspec

from leasehold.app_api.upstreams.chain import Coin, DecimalCoin, Page, part
from leasehold.app_api.upstreams.lcd import ChainView, Lcd

_VALIDATOR_STATUSES = ("BOND_STATUS_BONDED", "BOND_STATUS_UNBONDING", "BOND_STATUS_UNBONDED")


class Description(msgspec.Struct, frozen=True):
    moniker: str = ""
    identity: str | None = None
    website: str | None = None
    details: str | None = None


class Rates(msgspec.Struct, frozen=True):
    rate: str
    max_rate: str
    max_change_rate: str


class Commission(msgspec.Struct, frozen=True):
    commission_rates: Rates


class ChainValidator(msgspec.Struct, frozen=True):
    operator_address: str
    status: str
    tokens: str
    delegator_shares: str
    description: Description
    commission: Commission
    jailed: bool = False
    unbonding_height: str = "0"
    unbonding_time: str = "1970-01-01T00:00:00Z"


class _Validators(msgspec.Struct):
    validators: list[ChainValidator]
    pagination: Page | None = None


class Delegation(msgspec.Struct, frozen=True):
    validator_address: str
    shares: str


class DelegationAnswer(msgspec.Struct, frozen=True):
    delegation: Delegation
    balance: Coin


class _Delegations(msgspec.Struct):
    delegation_responses: list[DelegationAnswer]
    pagination: Page | None = None


class Entry(msgspec.Struct, frozen=True):
    creation_height: str
    completion_time: str
    initial_balance: str
    balance: str


class Unbonding(msgspec.Struct, frozen=True):
    validator_address: str
    entries: list[Entry]


class _Unbondings(msgspec.Struct):
    unbonding_responses: list[Unbonding]
    pagination: Page | None = None


class Reward(msgspec.Struct, frozen=True):
    validator_address: str
    reward: list[DecimalCoin] | None = None


class Rewards(msgspec.Struct, frozen=True):
    rewards: list[Reward]
    total: list[DecimalCoin]


class StakingParams(msgspec.Struct, frozen=True):
    """Parameters of staking; `unbonding_time` like `1814400s`."""

    unbonding_time: str
    max_validators: int
    max_entries: int
    bond_denom: str
    min_commission_rate: str = ""


class _StakingParams(msgspec.Struct):
    params: StakingParams


class StakingPool(msgspec.Struct, frozen=True):
    not_bonded_tokens: str
    bonded_tokens: str


class StakingPoolResponse(msgspec.Struct, frozen=True):
    """Bonded and not bonded tokens in base units."""

    pool: StakingPool


class _Inflation(msgspec.Struct):
    annual_inflation: str


async def validators(view: ChainView) -> list[ChainValidator]:
    """Bonded, then unbonding, then unbonded validators, each in the chain's order."""
    found = []
    for status in _VALIDATOR_STATUSES:
        target = f"/cosmos/staking/v1beta1/validators?status={status}&pagination.limit=200"
        for page in await view.pages(target, _Validators, context="validators"):
            found += page.validators
    return found


async def delegations(view: ChainView, address: str) -> list[DelegationAnswer]:
    target = f"/cosmos/staking/v1beta1/delegations/{part(address)}"
    pages = await view.pages(target, _Delegations, context="delegations")
    return [one for page in pages for one in page.delegation_responses]


async def unbonding(view: ChainView, address: str) -> list[Unbonding]:
    target = f"/cosmos/staking/v1beta1/delegators/{part(address)}/unbonding_delegations"
    pages = await view.pages(target, _Unbondings, context="unbonding delegations")
    return [one for page in pages for one in page.unbonding_responses]


async def rewards(view: ChainView, address: str) -> Rewards:
    target = f"/cosmos/distribution/v1beta1/delegators/{part(address)}/rewards"
    found: Rewards = await view.read(target, Rewards, context="rewards")
    return found


async def staking_params(lcd: Lcd) -> StakingParams:
    found = await lcd.read("/cosmos/staking/v1beta1/params", _StakingParams, context="staking params")
    return found.params


async def staking_pool(view: ChainView) -> StakingPoolResponse:
    found: StakingPoolResponse = await view.read(
        "/cosmos/staking/v1beta1/pool", StakingPoolResponse, context="staking pool"
    )
    return found


async def annual_inflation(view: ChainView, namespace: str) -> str:
    """Base units of the native token minted over the next twelve months."""
    found = await view.read(f"/{namespace}/mint/v1beta1/annual_inflation", _Inflation, context="annual inflation")
    text: str = found.annual_inflation
    return text
