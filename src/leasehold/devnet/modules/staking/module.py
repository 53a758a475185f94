"""The staking module: genesis, blocks, and the history it keeps of validator sets."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from leasehold.devnet.app import abci
from leasehold.devnet.app.context import Context
from leasehold.devnet.modules.instants import instant, set_instant, sortable
from leasehold.devnet.modules.staking.ledger import (
    BONDED_POOL,
    BY_CONSENSUS,
    HISTORY,
    HISTORY_SETS,
    LAST_POWER,
    LAST_TOTAL,
    NOT_BONDED_POOL,
    PACKAGE,
    REDELEGATION_QUEUE,
    UNBONDING_QUEUE,
    VALIDATOR,
    sized,
)
from leasehold.devnet.modules.staking.queries import Queries
from leasehold.devnet.modules.staking.shares import UNBONDING, consensus_power


class Staking(Queries):
    """Validators and the stake behind them."""

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self.set_params(ctx, self.from_json(PACKAGE + "Params", state["params"]))
        for entry in state.get("validators", []):
            self._load_validator(ctx, self.from_json(PACKAGE + "Validator", entry))
        for entry in state.get("delegations", []):
            delegation = self.from_json(PACKAGE + "Delegation", entry)
            delegator = self.participants.account(delegation.delegator_address)
            operator = self.participants.operator(delegation.validator_address)
            if not state.get("exported"):
                self.modules.distribution.before_delegation_created(ctx, operator)
            self.save_delegation(ctx, delegator, operator, delegation)
            if not state.get("exported"):
                self.modules.distribution.after_delegation_modified(ctx, delegator, operator)
        self._load_waiting(ctx, state)
        for entry in state.get("last_validator_powers", []):
            operator = self.participants.operator(entry["address"])
            ctx.store.set(LAST_POWER + sized(operator), str(int(entry["power"])).encode())
        ctx.store.set(LAST_TOTAL, str(int(state.get("last_total_power", "0"))).encode())
        self.modules.auth.module_account(ctx, BONDED_POOL)
        self.modules.auth.module_account(ctx, NOT_BONDED_POOL)

    def _load_validator(self, ctx: Context, validator: Any) -> None:
        operator = self.operator(validator)
        self.save_validator(ctx, validator)
        ctx.store.set(BY_CONSENSUS + sized(self.consensus_address(validator)), operator)
        self.index_power(ctx, validator)
        self.modules.distribution.after_validator_created(ctx, operator)
        if validator.status == UNBONDING:
            ctx.store.set(self._queue_key(validator), b"")

    def _load_waiting(self, ctx: Context, state: dict[str, Any]) -> None:
        for document in state.get("unbonding_delegations", []):
            unbonding = self.from_json(PACKAGE + "UnbondingDelegation", document)
            delegator = self.participants.account(unbonding.delegator_address)
            operator = self.participants.operator(unbonding.validator_address)
            for entry in unbonding.entries:
                entry.unbonding_id = self.next_unbonding_id(ctx)
                key = UNBONDING_QUEUE + sortable(instant(entry.completion_time))
                ctx.store.set(key + entry.unbonding_id.to_bytes(8, "big"), sized(delegator) + sized(operator))
            self.save_unbonding(ctx, delegator, operator, unbonding)
        for document in state.get("redelegations", []):
            redelegation = self.from_json(PACKAGE + "Redelegation", document)
            delegator = self.participants.account(redelegation.delegator_address)
            source = self.participants.operator(redelegation.validator_src_address)
            target = self.participants.operator(redelegation.validator_dst_address)
            for entry in redelegation.entries:
                entry.unbonding_id = self.next_unbonding_id(ctx)
                key = REDELEGATION_QUEUE + sortable(instant(entry.completion_time))
                parts = sized(delegator) + sized(source) + sized(target)
                ctx.store.set(key + entry.unbonding_id.to_bytes(8, "big"), parts)
            self.save_redelegation(ctx, delegator, source, target, redelegation)

    def begin_block(self, ctx: Context) -> None:
        self._keep_history(ctx)

    def end_block(self, ctx: Context) -> None:
        self._updates = self.apply_set_updates(ctx)
        self.complete_unbonding_validators(ctx)
        self.complete_unbondings(ctx)
        self.complete_redelegations(ctx)

    def validator_updates(self, ctx: Context) -> list[abci.ValidatorUpdate]:
        """Changes of the set in the block just ended; after genesis, the first set."""
        if ctx.block.height == 0:
            return self.apply_set_updates(ctx)
        updates, self._updates = self._updates, []
        return updates

    _updates: list[abci.ValidatorUpdate] = []  # noqa: RUF012 - replaced, never changed in place

    # History for counterparties of IBC: the header and the set of each recent height.

    def _keep_history(self, ctx: Context) -> None:
        kept = self.params(ctx).historical_entries
        height = ctx.block.height
        if height > kept:
            ctx.store.delete(HISTORY + (height - kept).to_bytes(8, "big"))
        if kept == 0:
            return
        # A set changes rarely: it is made and kept once, and heights refer to it.
        records = tuple(ctx.store.get(VALIDATOR + sized(operator)) for operator in self.last_powers(ctx))
        if self._packed_set[0] != records:
            self._packed_set = (records, self._pack_set(ctx))
        packed = self._packed_set[1]
        digest = sha256(packed).digest()[:16]
        if ctx.store.get(HISTORY_SETS + digest) is None:
            ctx.store.set(HISTORY_SETS + digest, packed)
        header = self.new("tendermint.types.Header", chain_id=ctx.block.chain_id, height=height)
        set_instant(header.time, ctx.block.time_ns)
        header.proposer_address = ctx.block.proposer
        header.next_validators_hash = ctx.block.next_validators_hash
        header.app_hash = ctx.block.app_hash
        ctx.store.set(HISTORY + height.to_bytes(8, "big"), digest + header.SerializeToString())

    _packed_set: tuple[tuple[bytes | None, ...], bytes] = ((), b"")

    def _pack_set(self, ctx: Context) -> bytes:
        members = [self.validator(ctx, operator) for operator in self.last_powers(ctx)]
        members.sort(key=lambda member: (-consensus_power(member), self.consensus_address(member)))
        return bytes(self.new(PACKAGE + "HistoricalInfo", valset=members).SerializeToString())
