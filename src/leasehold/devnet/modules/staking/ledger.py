"""Staking's records: parameters, validators with their indexes, delegations, unbondings, redelegations, queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.addresses import ed25519_address
from leasehold.core.settings import Identity
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.participants import Participants
from leasehold.devnet.modules.staking.errors import NO_VALIDATOR
from leasehold.devnet.modules.staking.shares import potential_power
from leasehold.devnet.state.store import prefix_end

PACKAGE = "cosmos.staking.v1beta1."
BONDED_POOL = "bonded_tokens_pool"
NOT_BONDED_POOL = "not_bonded_tokens_pool"

PARAMS = b"staking/params"
VALIDATOR = b"staking/v/"
BY_CONSENSUS = b"staking/vc/"
BY_POWER = b"staking/vp/"
LAST_POWER = b"staking/lp/"
LAST_TOTAL = b"staking/lt"
VALIDATOR_QUEUE = b"staking/qv/"
DELEGATION = b"staking/d/"
DELEGATION_BY_VALIDATOR = b"staking/dv/"
UNBONDING = b"staking/u/"
UNBONDING_BY_VALIDATOR = b"staking/uv/"
UNBONDING_QUEUE = b"staking/qu/"
REDELEGATION = b"staking/r/"
REDELEGATION_BY_SOURCE = b"staking/rs/"
REDELEGATION_BY_DESTINATION = b"staking/rd/"
REDELEGATION_QUEUE = b"staking/qr/"
UNBONDING_ID = b"staking/id"
HISTORY = b"staking/h/"
HISTORY_SETS = b"staking/hs/"


def sized(address: bytes) -> bytes:
    """An address with its length in front, so that keys made of several stay unambiguous."""
    return bytes([len(address)]) + address


class Ledger(Module):
    """Reads and writes of staking's records."""

    name = "staking"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, PARAMS, PACKAGE + "Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(PARAMS, params.SerializeToString())

    def bond_coin(self, ctx: Context, amount: int) -> Coin:
        return Coin(self.params(ctx).bond_denom, amount)

    def operator(self, validator: Any) -> bytes:
        """Operator address bytes of a validator."""
        return self.participants.operator(validator.operator_address)

    def operator_text(self, operator: bytes) -> str:
        return self.prefixes.operator_text(operator)

    def account_text(self, address: bytes) -> str:
        return self.prefixes.account_text(address)

    # Validators.

    def find_validator(self, ctx: Context, operator: bytes) -> Any:
        """A copy of a validator that may be changed and saved, or None."""
        data = ctx.store.get(VALIDATOR + sized(operator))
        return None if data is None else self.registry.type(PACKAGE + "Validator").FromString(data)

    def seen_validator(self, ctx: Context, operator: bytes) -> Any:
        """A validator to look at and not to change, or None."""
        return self.read(ctx, VALIDATOR + sized(operator), PACKAGE + "Validator")

    def seen_by_consensus(self, ctx: Context, address: bytes) -> Any:
        """The validator behind a consensus address, to look at and not to change, or None."""
        operator = self.operator_by_consensus(ctx, address)
        return None if operator is None else self.seen_validator(ctx, operator)

    def validator(self, ctx: Context, operator: bytes) -> Any:
        found = self.find_validator(ctx, operator)
        if found is None:
            raise ChainError(NO_VALIDATOR)
        return found

    def save_validator(self, ctx: Context, validator: Any) -> None:
        ctx.store.set(VALIDATOR + sized(self.operator(validator)), validator.SerializeToString())

    def consensus_key(self, validator: Any) -> bytes:
        """Public key bytes with which a validator signs blocks."""
        return bytes(self.unpacked(validator.consensus_pubkey).key)

    def consensus_address(self, validator: Any) -> bytes:
        return ed25519_address(self.consensus_key(validator))

    def operator_by_consensus(self, ctx: Context, address: bytes) -> bytes | None:
        return ctx.store.get(BY_CONSENSUS + sized(address))

    def find_by_consensus(self, ctx: Context, address: bytes) -> Any:
        operator = self.operator_by_consensus(ctx, address)
        return None if operator is None else self.find_validator(ctx, operator)

    def _power_key(self, validator: Any) -> bytes:
        # Of two validators with equal power the one with the lower operator address ranks higher.
        operator = bytes(255 - byte for byte in self.operator(validator))
        return BY_POWER + potential_power(validator).to_bytes(8, "big") + sized(operator)

    def index_power(self, ctx: Context, validator: Any) -> None:
        """Rank a validator by its power; a jailed one has no rank."""
        if not validator.jailed:
            ctx.store.set(self._power_key(validator), self.operator(validator))

    def unindex_power(self, ctx: Context, validator: Any) -> None:
        ctx.store.delete(self._power_key(validator))

    def ranked(self, ctx: Context) -> Iterator[bytes]:
        """Operators from the most powerful down."""
        for _, operator in ctx.store.iterate(BY_POWER, prefix_end(BY_POWER), reverse=True):
            yield operator

    def validators(self, ctx: Context) -> Iterator[Any]:
        """All validators by operator address; read-only copies."""
        kind = self.registry.type(PACKAGE + "Validator")
        for _, data in ctx.store.iterate(VALIDATOR, prefix_end(VALIDATOR)):
            yield kind.FromString(data)

    def last_powers(self, ctx: Context) -> dict[bytes, int]:
        """Powers of the set last told to consensus, by operator."""
        found = ctx.store.iterate(LAST_POWER, prefix_end(LAST_POWER))
        return {key[len(LAST_POWER) + 1 :]: int(value) for key, value in found}

    def total_bonded(self, ctx: Context) -> int:
        """Tokens in the bonded pool."""
        return self._pool(ctx, BONDED_POOL)

    def _pool(self, ctx: Context, name: str) -> int:
        address = self.modules.auth.module_account(ctx, name)
        return self.modules.bank.balance(ctx, address, self.params(ctx).bond_denom)

    def pools(self, ctx: Context) -> tuple[int, int]:
        """Tokens in the not-bonded and the bonded pool."""
        return self._pool(ctx, NOT_BONDED_POOL), self._pool(ctx, BONDED_POOL)

    def move_between_pools(self, ctx: Context, amount: int, *, to_bonded: bool) -> None:
        source, target = (NOT_BONDED_POOL, BONDED_POOL) if to_bonded else (BONDED_POOL, NOT_BONDED_POOL)
        accounts = self.modules.auth
        self.modules.bank.send(
            ctx,
            accounts.module_account(ctx, source),
            accounts.module_account(ctx, target),
            (self.bond_coin(ctx, amount),),
        )

    def next_unbonding_id(self, ctx: Context) -> int:
        number = int(ctx.store.get(UNBONDING_ID) or b"0") + 1
        ctx.store.set(UNBONDING_ID, str(number).encode())
        return number

    # Delegations.

    def find_delegation(self, ctx: Context, delegator: bytes, operator: bytes) -> Any:
        data = ctx.store.get(DELEGATION + sized(delegator) + sized(operator))
        return None if data is None else self.registry.type(PACKAGE + "Delegation").FromString(data)

    def save_delegation(self, ctx: Context, delegator: bytes, operator: bytes, delegation: Any) -> None:
        ctx.store.set(DELEGATION + sized(delegator) + sized(operator), delegation.SerializeToString())
        ctx.store.set(DELEGATION_BY_VALIDATOR + sized(operator) + delegator, b"")

    def drop_delegation(self, ctx: Context, delegator: bytes, operator: bytes) -> None:
        ctx.store.delete(DELEGATION + sized(delegator) + sized(operator))
        ctx.store.delete(DELEGATION_BY_VALIDATOR + sized(operator) + delegator)

    def delegations_of(self, ctx: Context, delegator: bytes) -> list[Any]:
        """A delegator's delegations by operator address."""
        prefix = DELEGATION + sized(delegator)
        kind = self.registry.type(PACKAGE + "Delegation")
        return [kind.FromString(data) for _, data in ctx.store.iterate(prefix, prefix_end(prefix))]

    def find_unbonding(self, ctx: Context, delegator: bytes, operator: bytes) -> Any:
        data = ctx.store.get(UNBONDING + sized(delegator) + sized(operator))
        return None if data is None else self.registry.type(PACKAGE + "UnbondingDelegation").FromString(data)

    def save_unbonding(self, ctx: Context, delegator: bytes, operator: bytes, unbonding: Any) -> None:
        """Keep an unbonding delegation; one without entries is dropped."""
        key = UNBONDING + sized(delegator) + sized(operator)
        index = UNBONDING_BY_VALIDATOR + sized(operator) + sized(delegator)
        if unbonding.entries:
            ctx.store.set(key, unbonding.SerializeToString())
            ctx.store.set(index, b"")
        else:
            ctx.store.delete(key)
            ctx.store.delete(index)

    def find_redelegation(self, ctx: Context, delegator: bytes, source: bytes, target: bytes) -> Any:
        data = ctx.store.get(REDELEGATION + sized(delegator) + sized(source) + sized(target))
        return None if data is None else self.registry.type(PACKAGE + "Redelegation").FromString(data)

    def save_redelegation(
        self, ctx: Context, delegator: bytes, source: bytes, target: bytes, redelegation: Any
    ) -> None:
        """Keep a redelegation; one without entries is dropped."""
        key = REDELEGATION + sized(delegator) + sized(source) + sized(target)
        by_source = REDELEGATION_BY_SOURCE + sized(source) + sized(delegator) + sized(target)
        by_target = REDELEGATION_BY_DESTINATION + sized(target) + sized(delegator) + sized(source)
        if redelegation.entries:
            ctx.store.set(key, redelegation.SerializeToString())
            ctx.store.set(by_source, b"")
            ctx.store.set(by_target, b"")
        else:
            for stale in (key, by_source, by_target):
                ctx.store.delete(stale)

    def receives_redelegation(self, ctx: Context, delegator: bytes, target: bytes) -> bool:
        """Whether an immature redelegation of the delegator goes to a validator."""
        prefix = REDELEGATION_BY_DESTINATION + sized(target) + sized(delegator)
        return next(iter(ctx.store.iterate(prefix, prefix_end(prefix))), None) is not None

    def historical_info(self, ctx: Context, height: int) -> Any:
        """The header and validator set kept for a height, or None."""
        data = ctx.store.get(HISTORY + height.to_bytes(8, "big"))
        if data is None:
            return None
        packed = ctx.store.get(HISTORY_SETS + data[:16])
        assert packed is not None
        info = self.registry.parse(PACKAGE + "HistoricalInfo", packed)
        info.header.ParseFromString(data[16:])
        return info


def split_sized(data: bytes) -> list[bytes]:
    """Addresses of a key made of several, each with its length in front."""
    parts = []
    while data:
        size = data[0]
        parts.append(data[1 : 1 + size])
        data = data[1 + size :]
    return parts
