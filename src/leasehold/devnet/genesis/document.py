"""The genesis document of the development chain."""

from __future__ import annotations

import base64
import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from leasehold.chain.registry import registry
from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import Bech32Prefixes, encode, module_address
from leasehold.core.clock import rfc3339
from leasehold.core.settings import Identity
from leasehold.devnet.consensus.keys import ValidatorKeys

TOKEN = 1_000_000
VALIDATORS = ("validator-1", "validator-2", "validator-3", "validator-4")
SELF_DELEGATIONS = (60_000_000, 40_000_000, 25_000_000, 10_000_000)
ACCOUNT_FUNDS = 5_000_000 * TOKEN
FAUCET_FUNDS = 150_000_000 * TOKEN
MONTH = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class NamedAccount:
    """An account whose key everybody knows."""

    name: str
    about: str
    mnemonic: str


@lru_cache(maxsize=1)
def named_accounts() -> dict[str, NamedAccount]:
    """The development accounts by name."""
    text = (resources.files("leasehold.devnet.genesis") / "accounts.toml").read_text()
    return {name: NamedAccount(name, entry["about"], entry["mnemonic"]) for name, entry in tomllib.loads(text).items()}


@lru_cache(maxsize=64)
def wallet(name: str, prefix: str, namespace: str) -> Wallet:
    """The wallet of a development account."""
    return Wallet.from_mnemonic(named_accounts()[name].mnemonic, prefix=prefix, types=registry(namespace))


def address(identity: Identity, name: str) -> str:
    return wallet(name, identity.prefix, identity.namespace).address


@dataclass(frozen=True, slots=True)
class VestingGrant:
    """A reserve account that vests; times in seconds from genesis."""

    name: str
    kind: str
    amount: int
    start: int
    end: int


# Reserve accounts of every vesting kind, so that circulating supply has something to compute.
GRANTS = (
    VestingGrant("reserve team", "Continuous", 80_000_000 * TOKEN, 0, 36 * MONTH),
    VestingGrant("reserve partners", "Delayed", 30_000_000 * TOKEN, 0, 12 * MONTH),
    VestingGrant("reserve ecosystem", "Periodic", 40_000_000 * TOKEN, 0, 24 * MONTH),
)


def genesis_document(
    identity: Identity,
    *,
    keys: ValidatorKeys,
    time_ns: int,
    balances: dict[str, dict[str, int]] | None = None,
    treasury: str = "",
    fee_prices: list[dict[str, Any]] | None = None,
    counterparty: dict[str, Any] | None = None,
    contracts: dict[str, Any] | None = None,
) -> bytes:
    """The document; `balances` adds coins by address and denom, `treasury` receives the tax on fees."""
    builder = _Builder(identity, time_ns // 10**9)
    for name in named_accounts():
        amount = FAUCET_FUNDS if name == "faucet" else ACCOUNT_FUNDS
        builder.add_account(address(identity, name))
        builder.add_coins(address(identity, name), {identity.base_denom: amount})
    for name, stake in zip(VALIDATORS, SELF_DELEGATIONS, strict=True):
        builder.add_coins(address(identity, name), {identity.base_denom: stake * TOKEN})
    for grant in GRANTS:
        builder.add_grant(grant)
    for holder, coins in (balances or {}).items():
        builder.add_account(holder)
        builder.add_coins(holder, coins)
    state = builder.app_state()
    state["tax"] = {
        "params": {
            "fee_rate": 40,
            "base_denom": identity.base_denom,
            "dex_fee_params": fee_prices or [],
            "treasury_address": treasury or address(identity, "deployer"),
        }
    }
    if contracts is not None:
        state["wasm"]["deployment"] = contracts
    state["counterparty"] = counterparty or {"relayer": address(identity, "relayer"), "networks": []}
    state["genutil"] = {"gen_txs": [_gentx(identity, keys, i, name) for i, name in enumerate(VALIDATORS)]}
    document = {
        "app_name": identity.namespace,
        "app_version": "",
        "genesis_time": rfc3339(time_ns),
        "chain_id": identity.chain_id,
        "initial_height": 1,
        "app_hash": None,
        "app_state": state,
        "consensus": {
            "params": {
                "block": {"max_bytes": "22020096", "max_gas": "-1"},
                "evidence": {
                    "max_age_num_blocks": "100000",
                    "max_age_duration": "172800000000000",
                    "max_bytes": "1048576",
                },
                "validator": {"pub_key_types": ["ed25519"]},
                "version": {"app": "0"},
                "abci": {"vote_extensions_enable_height": "0"},
            }
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _gentx(identity: Identity, keys: ValidatorKeys, index: int, name: str) -> dict[str, Any]:
    owner = wallet(name, identity.prefix, identity.namespace)
    public_key = keys.public_keys()[index]
    message = {
        "@type": "/cosmos.staking.v1beta1.MsgCreateValidator",
        "description": {
            "moniker": name.replace("-", " ").title(),
            "identity": "",
            "website": "",
            "security_contact": "",
            "details": "A validator of the development chain.",
        },
        "commission": {
            "rate": f"0.0{5 + index}0000000000000000",
            "max_rate": "0.200000000000000000",
            "max_change_rate": "0.010000000000000000",
        },
        "min_self_delegation": "1",
        "delegator_address": "",
        "validator_address": Bech32Prefixes(identity.prefix).operator_text(owner.address_bytes),
        "pubkey": {
            "@type": "/cosmos.crypto.ed25519.PubKey",
            "key": base64.b64encode(public_key).decode(),
        },
        "value": {"denom": identity.base_denom, "amount": str(SELF_DELEGATIONS[index] * TOKEN)},
    }
    signer = {
        "public_key": {"@type": "/cosmos.crypto.secp256k1.PubKey", "key": base64.b64encode(owner.public_key).decode()}
    }
    return {"body": {"messages": [message]}, "auth_info": {"signer_infos": [signer]}}


class _Builder:
    """Collects accounts and balances."""

    def __init__(self, identity: Identity, now: int) -> None:
        self._identity = identity
        self._now = now
        self._accounts: dict[str, dict[str, Any]] = {}
        self._coins: dict[str, dict[str, int]] = {}

    def _base(self, holder: str) -> dict[str, Any]:
        return {"address": holder, "pub_key": None, "account_number": str(len(self._accounts)), "sequence": "0"}

    def add_account(self, holder: str) -> None:
        if holder not in self._accounts:
            self._accounts[holder] = {"@type": "/cosmos.auth.v1beta1.BaseAccount", **self._base(holder)}

    def add_coins(self, holder: str, coins: dict[str, int]) -> None:
        held = self._coins.setdefault(holder, {})
        for denom, amount in coins.items():
            held[denom] = held.get(denom, 0) + amount

    def add_grant(self, grant: VestingGrant) -> None:
        holder = encode(self._identity.prefix, module_address(grant.name))
        coins = [{"denom": self._identity.base_denom, "amount": str(grant.amount)}]
        start, end = self._now + grant.start, self._now + grant.end
        entry: dict[str, Any] = {
            "@type": f"/cosmos.vesting.v1beta1.{grant.kind}VestingAccount",
            "base_vesting_account": {
                "base_account": self._base(holder),
                "original_vesting": coins,
                "delegated_free": [],
                "delegated_vesting": [],
                "end_time": str(end),
            },
        }
        if grant.kind != "Delayed":
            entry["start_time"] = str(start)
        if grant.kind == "Periodic":
            quarter = {"denom": self._identity.base_denom, "amount": str(grant.amount // 4)}
            entry["vesting_periods"] = [{"length": str((end - start) // 4), "amount": [quarter]} for _ in range(4)]
        self._accounts[holder] = entry
        self.add_coins(holder, {self._identity.base_denom: grant.amount})

    def app_state(self) -> dict[str, Any]:
        denom = self._identity.base_denom
        return {
            "auth": {
                "params": {
                    "max_memo_characters": "256",
                    "tx_sig_limit": "7",
                    "tx_size_cost_per_byte": "10",
                    "sig_verify_cost_ed25519": "590",
                    "sig_verify_cost_secp256k1": "1000",
                },
                "accounts": list(self._accounts.values()),
            },
            "bank": {
                "params": {"send_enabled": [], "default_send_enabled": True},
                "balances": [
                    {
                        "address": holder,
                        "coins": [{"denom": d, "amount": str(coins[d])} for d in sorted(coins) if coins[d]],
                    }
                    for holder, coins in self._coins.items()
                ],
                "denom_metadata": [self._metadata()],
            },
            "staking": {
                "params": {
                    "unbonding_time": "1814400s",
                    "max_validators": 40,
                    "max_entries": 7,
                    "historical_entries": 100,
                    "bond_denom": denom,
                    "min_commission_rate": "0.000000000000000000",
                }
            },
            "distribution": {
                "params": {
                    "community_tax": "0.020000000000000000",
                    "base_proposer_reward": "0.000000000000000000",
                    "bonus_proposer_reward": "0.000000000000000000",
                    "withdraw_addr_enabled": True,
                },
                "fee_pool": {"community_pool": []},
            },
            "slashing": {
                "params": {
                    "signed_blocks_window": "10000",
                    "min_signed_per_window": "0.050000000000000000",
                    "downtime_jail_duration": "600s",
                    "slash_fraction_double_sign": "0.050000000000000000",
                    "slash_fraction_downtime": "0.000100000000000000",
                }
            },
            "gov": {
                "starting_proposal_id": "1",
                "params": {
                    "min_deposit": [{"denom": denom, "amount": "2500000000"}],
                    "max_deposit_period": "864000s",
                    "voting_period": "86400s",
                    "quorum": "0.334000000000000000",
                    "threshold": "0.500000000000000000",
                    "veto_threshold": "0.334000000000000000",
                    "min_initial_deposit_ratio": "0.000000000000000000",
                    "proposal_cancel_ratio": "0.500000000000000000",
                    "proposal_cancel_dest": "",
                    "expedited_voting_period": "43200s",
                    "expedited_threshold": "0.667000000000000000",
                    "expedited_min_deposit": [{"denom": denom, "amount": "5000000000"}],
                    "burn_vote_quorum": False,
                    "burn_proposal_deposit_prevote": False,
                    "burn_vote_veto": True,
                    "min_deposit_ratio": "0.010000000000000000",
                },
                "constitution": "",
            },
            "mint": {
                "minter": {
                    "norm_time_passed": "17.250000000000000000",
                    "total_minted": "52529447990000",
                    "prev_block_timestamp": "0",
                    "annual_inflation": "0",
                },
                # Long enough for the sparse blocks of simulated history to mint what live blocks would.
                "params": {"mint_denom": denom, "max_mintable_nanoseconds": "3600000000000"},
            },
            "wasm": {
                "params": {
                    "code_upload_access": {"permission": "Everybody", "addresses": []},
                    "instantiate_default_permission": "Everybody",
                }
            },
        }

    def _metadata(self) -> dict[str, Any]:
        identity = self._identity
        display = identity.display.lower()
        return {
            "description": "The native token of the development chain.",
            "denom_units": [
                {"denom": identity.base_denom, "exponent": 0, "aliases": []},
                {"denom": display, "exponent": identity.exponent, "aliases": []},
            ],
            "base": identity.base_denom,
            "display": display,
            "name": identity.display,
            "symbol": identity.display,
            "uri": "",
            "uri_hash": "",
        }
