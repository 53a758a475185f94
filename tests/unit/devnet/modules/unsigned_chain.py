"""The chain's modules without signatures and fees: messages run directly, blocks are sealed by hand."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from leasehold.chain.registry import registry
from leasehold.core.addresses import Bech32Prefixes, ed25519_address
from leasehold.core.settings import Identity
from leasehold.devnet.app import abci
from leasehold.devnet.app.assembly import BEGIN_ORDER, END_ORDER, GENESIS_ORDER, assemble
from leasehold.devnet.app.context import Block, Context, Mode
from leasehold.devnet.app.errors import UNKNOWN_REQUEST, ChainError
from leasehold.devnet.state.gas import GasMeter
from leasehold.devnet.state.store import OrderedMap, Overlay

DENOM = "ulsh"
START_NS = 1_800_000_000 * 10**9
SECOND = 10**9
ABSENT, PRESENT = 1, 2

GENESIS: dict[str, Any] = {
    "auth": {
        "params": {
            "max_memo_characters": "256",
            "tx_sig_limit": "7",
            "tx_size_cost_per_byte": "10",
            "sig_verify_cost_ed25519": "590",
            "sig_verify_cost_secp256k1": "1000",
        },
        "accounts": [],
    },
    "bank": {"params": {"send_enabled": [], "default_send_enabled": True}, "balances": []},
    "distribution": {
        "params": {
            "community_tax": "0.020000000000000000",
            "base_proposer_reward": "0.000000000000000000",
            "bonus_proposer_reward": "0.000000000000000000",
            "withdraw_addr_enabled": True,
        },
        "fee_pool": {"community_pool": []},
    },
    "staking": {
        "params": {
            "unbonding_time": "100s",
            "max_validators": 2,
            "max_entries": 7,
            "historical_entries": 5,
            "bond_denom": DENOM,
            "min_commission_rate": "0.000000000000000000",
        },
        "last_total_power": "0",
    },
    "slashing": {
        "params": {
            "signed_blocks_window": "10",
            "min_signed_per_window": "0.500000000000000000",
            "downtime_jail_duration": "60s",
            "slash_fraction_double_sign": "0.050000000000000000",
            "slash_fraction_downtime": "0.010000000000000000",
        },
        "signing_infos": [],
        "missed_blocks": [],
    },
    "gov": {
        "starting_proposal_id": "1",
        "params": {
            "min_deposit": [{"denom": DENOM, "amount": "1000"}],
            "max_deposit_period": "50s",
            "voting_period": "40s",
            "quorum": "0.334000000000000000",
            "threshold": "0.500000000000000000",
            "veto_threshold": "0.334000000000000000",
            "min_initial_deposit_ratio": "0.000000000000000000",
            "proposal_cancel_ratio": "0.500000000000000000",
            "proposal_cancel_dest": "",
            "expedited_voting_period": "20s",
            "expedited_threshold": "0.667000000000000000",
            "expedited_min_deposit": [{"denom": DENOM, "amount": "2000"}],
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
        "params": {"mint_denom": DENOM, "max_mintable_nanoseconds": "60000000000"},
    },
    "tax": {"params": {"fee_rate": 40, "base_denom": DENOM, "dex_fee_params": [], "treasury_address": ""}},
    "wasm": {"params": {"code_upload_access": {"permission": "Nobody", "addresses": []},
                        "instantiate_default_permission": "Everybody"}},
}  # fmt: skip


@dataclass(slots=True)
class Outcome:
    """What became of a message."""

    response: Any = None
    error: ChainError | None = None
    events: list[abci.Event] = field(default_factory=list)

    @property
    def log(self) -> str:
        return self.error.log if self.error is not None else ""

    def of_type(self, kind: str) -> list[dict[str, str]]:
        return [dict(event.attributes) for event in self.events if event.type == kind]


@dataclass(slots=True)
class Sealed:
    """A block after it was executed."""

    outcomes: list[Outcome]
    events: list[abci.Event]
    updates: list[abci.ValidatorUpdate]

    def of_type(self, kind: str) -> list[dict[str, str]]:
        return [dict(event.attributes) for event in self.events if event.type == kind]


class UnsignedChain:
    """Accounts named by words, each with the same balance."""

    def __init__(self, *names: str, balance: int = 10**12, genesis: dict[str, Any] | None = None) -> None:
        self.identity = Identity()
        self.registry = registry()
        self.prefixes = Bech32Prefixes(self.identity.prefix)
        self.modules = assemble(self.identity, self.registry, self)
        self.params = abci.ConsensusParams()
        self._handlers: dict[str, Any] = {}
        self._checks: dict[str, Any] = {}
        self.queries: dict[str, Any] = {}
        for module in self.modules.all():
            self._handlers.update(module.marked("handles"))
            self._checks.update(module.marked("validates"))
            self.queries.update(module.marked("answers"))
        self.overlay = Overlay(OrderedMap())
        self.block = Block(0, START_NS, self.identity.chain_id)
        document = copy.deepcopy(genesis or GENESIS)
        for number, name in enumerate(names):
            text = self.account(name)
            document["auth"]["accounts"].append(
                {
                    "@type": "/cosmos.auth.v1beta1.BaseAccount",
                    "address": text,
                    "pub_key": None,
                    "account_number": str(number),
                    "sequence": "0",
                }
            )
            entry = {"address": text, "coins": [{"denom": DENOM, "amount": str(balance)}]}
            document["bank"]["balances"].append(entry)
        ctx = self.context(Mode.GENESIS)
        for module in self.modules.ordered(GENESIS_ORDER):
            module.init_genesis(ctx, document.get(module.name) or {})
        self.powers: dict[bytes, int] = {}

    # Names.

    def address(self, name: str) -> bytes:
        return sha256(name.encode()).digest()[:20]

    def account(self, name: str) -> str:
        return self.prefixes.account_text(self.address(name))

    def operator(self, name: str) -> str:
        return self.prefixes.operator_text(self.address(name))

    def consensus_key(self, name: str) -> bytes:
        return sha256(b"key " + name.encode()).digest()

    # What modules ask of the application.

    def execute(self, ctx: Context, message: Any) -> Any:
        handler = self._handlers.get(message.DESCRIPTOR.full_name)
        if handler is None:
            raise UNKNOWN_REQUEST(message.DESCRIPTOR.full_name)
        return handler(ctx, message)

    def check(self, message: Any) -> None:
        if (checked := self._checks.get(message.DESCRIPTOR.full_name)) is not None:
            checked(message)

    def routes(self, name: str) -> bool:
        return name in self._handlers

    def set_consensus_params(self, ctx: Context, **changes: int) -> None:
        self.params = replace(self.params, **changes)  # type: ignore[arg-type]

    # Running.

    def context(self, mode: Mode = Mode.BLOCK) -> Context:
        return Context(self.overlay, self.block, mode)

    def run(self, message: Any) -> Outcome:
        """Run one message in the current block; a failure changes nothing."""
        ctx = Context(Overlay(self.overlay), self.block, Mode.DELIVER, gas=GasMeter())
        try:
            self.check(message)
            response = self.execute(ctx, message)
        except ChainError as error:
            return Outcome(error=error)
        ctx.overlay.write(self.overlay)
        return Outcome(response, None, ctx.events)

    def done(self, message: Any) -> Outcome:
        """Run a message that has to succeed."""
        outcome = self.run(message)
        assert outcome.error is None, outcome.log
        return outcome

    def seal(self, *messages: Any, seconds: int = 5, absent: tuple[str, ...] = ()) -> Sealed:
        """Execute a block with these messages; everyone but `absent` signed the last one."""
        missing = {ed25519_address(self.consensus_key(name)) for name in absent}
        votes = tuple(
            abci.VoteInfo(address, power, ABSENT if address in missing else PRESENT)
            for address, power in sorted(self.powers.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        self.block = Block(
            self.block.height + 1, self.block.time_ns + seconds * SECOND, self.block.chain_id, commit=votes
        )
        ctx = self.context()
        for module in self.modules.ordered(BEGIN_ORDER):
            module.begin_block(ctx)
        outcomes = [self.run(message) for message in messages]
        for module in self.modules.ordered(END_ORDER):
            module.end_block(ctx)
        updates = self.modules.staking.validator_updates(ctx)
        for update in updates:
            if update.power:
                self.powers[ed25519_address(update.public_key)] = update.power
            else:
                del self.powers[ed25519_address(update.public_key)]
        return Sealed(outcomes, ctx.events, updates)

    def ask(self, path: str, **fields: Any) -> Any:
        """Answer of a query, from state that is thrown away."""
        return self.answer(path, self.registry.method_by_path["/" + path].request_type(**fields))

    def answer(self, path: str, request: Any) -> Any:
        return self.queries[path](Context.for_query(self.overlay, self.block), request)

    def message_names(self) -> list[str]:
        """Full names of all messages that have a handler."""
        return list(self._handlers)

    # Messages.

    def message(self, name: str, **fields: Any) -> Any:
        return self.registry.new(name, **fields)

    def coin(self, amount: int, denom: str = DENOM) -> Any:
        return self.registry.new("cosmos.base.v1beta1.Coin", denom=denom, amount=str(amount))

    def create_validator(self, name: str, amount: int, rate: str = "100000000000000000") -> Any:
        key = self.registry.new("cosmos.crypto.ed25519.PubKey", key=self.consensus_key(name))
        message = self.message(
            "cosmos.staking.v1beta1.MsgCreateValidator",
            validator_address=self.operator(name),
            pubkey=self.registry.pack(key),
            value=self.coin(amount),
            min_self_delegation="1",
        )
        message.description.moniker = name
        message.commission.rate = rate
        message.commission.max_rate = "500000000000000000"
        message.commission.max_change_rate = "100000000000000000"
        return message

    def stake(self, kind: str, delegator: str, validator: str, amount: int, **fields: Any) -> Any:
        """MsgDelegate, MsgUndelegate or MsgCancelUnbondingDelegation."""
        return self.message(
            f"cosmos.staking.v1beta1.{kind}",
            delegator_address=self.account(delegator),
            validator_address=self.operator(validator),
            amount=self.coin(amount),
            **fields,
        )

    def redelegate(self, delegator: str, source: str, target: str, amount: int) -> Any:
        return self.message(
            "cosmos.staking.v1beta1.MsgBeginRedelegate",
            delegator_address=self.account(delegator),
            validator_src_address=self.operator(source),
            validator_dst_address=self.operator(target),
            amount=self.coin(amount),
        )

    def balance(self, name: str) -> int:
        return self.modules.bank.balance(self.context(), self.address(name), DENOM)

    def validator(self, name: str) -> Any:
        return self.modules.staking.validator(self.context(), self.address(name))
