"""Module queries of the chain, typed: what is asked of the LCD besides contracts."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import quote

import msgspec

from leasehold.app_api.upstreams.bulk import REMEMBERED, Question
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ChainView, Digits, Lcd, read_key, refusal_of
from leasehold.chain.client.contracts import balances_request, members

_VALIDATOR_STATUSES = ("BOND_STATUS_BONDED", "BOND_STATUS_UNBONDING", "BOND_STATUS_UNBONDED")
PROPOSALS = "/cosmos/gov/v1/proposals?pagination.limit=100&pagination.reverse=true&pagination.countTotal=true"


class Coin(msgspec.Struct, frozen=True):
    """An amount of a denom in base units."""

    denom: str
    amount: Digits


class DecimalCoin(msgspec.Struct, frozen=True):
    """An amount of a denom where the chain keeps fractions of base units."""

    denom: str
    amount: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,78}(\.[0-9]{1,18})?$")]


class Page(msgspec.Struct, frozen=True):
    next_key: str | None = None


class _Balances(msgspec.Struct):
    balances: list[Coin]
    pagination: Page | None = None


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


class MinimumPrice(msgspec.Struct, frozen=True):
    denom: str
    min_price: str
    ticker: str = ""


class DexFees(msgspec.Struct, frozen=True):
    accepted_denoms_min_prices: list[MinimumPrice] = []


class TaxParams(msgspec.Struct, frozen=True):
    dex_fee_params: list[DexFees] = []


class _Tax(msgspec.Struct):
    params: TaxParams


class TallyResult(msgspec.Struct, frozen=True):
    """Votes cast so far or in the end, in base units."""

    yes_count: str
    abstain_count: str
    no_count: str
    no_with_veto_count: str


class TallyResponse(msgspec.Struct, frozen=True):
    tally: TallyResult


class ChainProposal(msgspec.Struct, frozen=True):
    id: str
    status: str
    final_tally_result: TallyResult | None = None
    submit_time: str | None = None
    deposit_end_time: str | None = None
    voting_start_time: str | None = None
    voting_end_time: str | None = None
    title: str | None = None
    summary: str | None = None
    messages: list[dict[str, Any]] = []
    metadata: str | None = None


class _Proposals(msgspec.Struct):
    proposals: list[ChainProposal]


class VoteOption(msgspec.Struct, frozen=True):
    option: str
    weight: str


class Vote(msgspec.Struct, frozen=True):
    proposal_id: str
    voter: str
    options: list[VoteOption] = []


class VoteResponse(msgspec.Struct, frozen=True):
    """A vote; its options carry weights that sum to one."""

    vote: Vote


class TallyingParams(msgspec.Struct, frozen=True):
    quorum: str
    threshold: str
    veto_threshold: str


class TallyingParamsResponse(msgspec.Struct, frozen=True):
    params: TallyingParams


class DenomUnit(msgspec.Struct, frozen=True):
    denom: str
    exponent: int
    aliases: list[str] = []


class DenomMetadata(msgspec.Struct, frozen=True):
    """What the bank module knows about a denom."""

    description: str
    denom_units: list[DenomUnit]
    base: str
    display: str
    name: str
    symbol: str


class _Metadata(msgspec.Struct):
    metadata: DenomMetadata


class AccountResponse(msgspec.Struct, frozen=True):
    """A raw auth account; its members depend on its type."""

    account: dict[str, Any]


async def balances(view: ChainView, address: str) -> list[Coin]:
    """Every coin of an account, in the bank's order."""
    pages = await view.pages(_balances_of(address), _Balances, context="balances")
    return [coin for page in pages for coin in page.balances]


@lru_cache(maxsize=REMEMBERED)
def balances_question(address: str) -> Question:
    """The same as one of many questions."""
    path, data = balances_request(address)
    return Question(read_key(_balances_of(address), _Balances), path, data.hex(), _read_balances)


def _read_balances(answer: bytes) -> _Balances | None:
    """An account's coins; one with more than a page has is left to the LCD."""
    found = members(answer)
    if any(members(page).get(1, [b""])[0] for page in found.get(2, ())):
        return None
    coins = [members(coin) for coin in found.get(1, ())]
    return _Balances([Coin(one[1][0].decode(), one[2][0].decode()) for one in coins])


def _balances_of(address: str) -> str:
    return f"/cosmos/bank/v1beta1/balances/{_part(address)}"


async def validators(view: ChainView) -> list[ChainValidator]:
    """Bonded, then unbonding, then unbonded validators, each in the chain's order."""
    found = []
    for status in _VALIDATOR_STATUSES:
        target = f"/cosmos/staking/v1beta1/validators?status={status}&pagination.limit=200"
        for page in await view.pages(target, _Validators, context="validators"):
            found += page.validators
    return found


async def delegations(view: ChainView, address: str) -> list[DelegationAnswer]:
    target = f"/cosmos/staking/v1beta1/delegations/{_part(address)}"
    pages = await view.pages(target, _Delegations, context="delegations")
    return [one for page in pages for one in page.delegation_responses]


async def unbonding(view: ChainView, address: str) -> list[Unbonding]:
    target = f"/cosmos/staking/v1beta1/delegators/{_part(address)}/unbonding_delegations"
    pages = await view.pages(target, _Unbondings, context="unbonding delegations")
    return [one for page in pages for one in page.unbonding_responses]


async def rewards(view: ChainView, address: str) -> Rewards:
    target = f"/cosmos/distribution/v1beta1/delegators/{_part(address)}/rewards"
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


async def tax_params(view: ChainView, namespace: str) -> TaxParams:
    found = await view.read(f"/{namespace}/tax/v2/params", _Tax, context="tax params")
    params: TaxParams = found.params
    return params


async def proposals(view: ChainView) -> list[ChainProposal]:
    """The hundred newest proposals, newest first."""
    found = await view.read(PROPOSALS, _Proposals, context="proposals")
    listed: list[ChainProposal] = found.proposals
    return listed


async def tally(lcd: Lcd, proposal: str) -> TallyResponse:
    return await lcd.read(f"/cosmos/gov/v1/proposals/{_part(proposal)}/tally", TallyResponse, context="tally")


async def vote(lcd: Lcd, proposal: str, voter: str) -> VoteResponse | None:
    """A vote, None where there is none: the LCD says that with 404, or with 400 and gRPC code 3."""
    target = f"/cosmos/gov/v1/proposals/{_part(proposal)}/votes/{_part(voter)}"
    try:
        return await lcd.read(target, VoteResponse, context="vote")
    except ChainFailure as error:
        refusal = refusal_of(error)
        absent = error.reply_status == 400 and refusal.code == 3 and "not found for proposal" in refusal.message
        if error.reply_status == 404 or absent:
            return None
        raise


async def tallying_params(lcd: Lcd) -> TallyingParamsResponse:
    return await lcd.read("/cosmos/gov/v1/params/tallying", TallyingParamsResponse, context="tallying params")


async def account(lcd: Lcd, address: str) -> AccountResponse:
    return await lcd.read(f"/cosmos/auth/v1beta1/accounts/{_part(address)}", AccountResponse, context="account")


async def denom_metadata(lcd: Lcd, denom: str) -> DenomMetadata | None:
    """Metadata of a denom, None where none is registered."""
    target = f"/cosmos/bank/v1beta1/denoms_metadata/{_part(denom)}"
    try:
        return (await lcd.read(target, _Metadata, context="denom metadata")).metadata
    except ChainFailure as error:
        if error.reply_status == 404:
            return None
        raise


def _part(text: str) -> str:
    # An address needs no escaping, and is what this is asked about most.
    return text if text.isascii() and text.isalnum() else quote(text, safe="")
