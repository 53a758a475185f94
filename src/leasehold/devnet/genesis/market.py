"""The genesis of a chain with a market: the protocols deployed, their reserves filled, the actors funded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import encode, escrow_address
from leasehold.core.settings import Identity
from leasehold.devnet.consensus.keys import ValidatorKeys
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import TOKEN, address, genesis_document, named_accounts
from leasehold.devnet.genesis.networks import NETWORKS, Asset

BORROWERS = 60
LENDERS = 24
STAKERS = 12
# Worth of each foreign currency on a developer's and on an actor's account, in USD.
DEVELOPER_USD = 1_000_000
ACTOR_USD = 3_000_000
RESERVE_SHARE = 4  # the reserve holds a quarter of the pool
ESCROWED = 50_000_000 * TOKEN
TREASURY_FUNDS = 250_000_000 * TOKEN
ACTOR_TOKENS = 500_000 * TOKEN
FEEDERS = ("feeder-1", "feeder-2")
# What fees may be paid in, where a network has it, and the least of it for a unit of gas.
_FEE_CURRENCIES = (("USDC_NOBLE", "0.000003"), ("OSMO", "0.0001"), ("NTRN", "0.00006"))


def actor_names() -> list[str]:
    """The market's own accounts; their keys are made from these names."""
    groups = (("borrower", BORROWERS), ("lender", LENDERS), ("staker", STAKERS))
    return [f"{group}-{number}" for group, count in groups for number in range(1, count + 1)]


def actor_wallet(identity: Identity, name: str) -> Wallet:
    return Wallet.from_name(f"leasehold market {name}", prefix=identity.prefix)


def units(asset: Asset, usd: int) -> int:
    """Smallest units of an asset worth about so many dollars at its first price."""
    return int(Decimal(usd) / Decimal(asset.usd) * 10**asset.decimals)


def market_genesis(deployment: Deployment, *, keys: ValidatorKeys, time_ns: int) -> bytes:
    """The genesis document."""
    identity = deployment.identity
    balances: dict[str, dict[str, int]] = {}

    def fund(holder: str, coins: dict[str, int]) -> None:
        held = balances.setdefault(holder, {})
        for denom, amount in coins.items():
            held[denom] = held.get(denom, 0) + amount

    foreign = {network.here(asset): (asset, network) for network in NETWORKS for asset in network.assets}
    for name in named_accounts():
        fund(address(identity, name), {denom: units(asset, DEVELOPER_USD) for denom, (asset, _) in foreign.items()})
    for name in actor_names():
        holder = actor_wallet(identity, name).address
        fund(holder, {denom: units(asset, ACTOR_USD) for denom, (asset, _) in foreign.items()})
        fund(holder, {identity.base_denom: ACTOR_TOKENS})
    for network in NETWORKS:
        # What of the native token is on the other chains stands in escrow here.
        escrow = encode(identity.prefix, escrow_address("transfer", network.channel))
        fund(escrow, {identity.base_denom: ESCROWED})
    fund(deployment.platform["treasury"], {identity.base_denom: TREASURY_FUNDS})
    for spec in deployment.protocols:
        denom = deployment.builds[spec.name].currencies.lpn.bank_symbol
        fund(deployment.addresses(spec.name).reserve, {denom: spec.pool // RESERVE_SHARE})
    return genesis_document(
        identity,
        keys=keys,
        time_ns=time_ns,
        balances=balances,
        treasury=deployment.platform["treasury"],
        fee_prices=_fee_prices(deployment),
        counterparty={
            "relayer": address(identity, "relayer"),
            "networks": [network.document(identity) for network in NETWORKS],
        },
        contracts=deployment.document(
            deployer=address(identity, "deployer"), feeders=tuple(address(identity, name) for name in FEEDERS)
        ),
    )


def _fee_prices(deployment: Deployment) -> list[dict[str, Any]]:
    """Foreign fee currencies: stable ones and the DEX's own, taxed to the profit of a protocol of their network."""
    entries = []
    for network in NETWORKS:
        protocol = next(spec for spec in deployment.protocols if spec.network is network)
        prices = [
            {"denom": network.here(asset), "ticker": asset.ticker, "min_price": price}
            for asset in network.assets
            for ticker, price in _FEE_CURRENCIES
            if asset.ticker == ticker
        ]
        if not prices:
            continue
        profit = deployment.addresses(protocol.name).profit
        entries.append({"profit_address": profit, "accepted_denoms_min_prices": prices})
    return entries
