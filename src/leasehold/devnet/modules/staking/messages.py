"""Staking's messages."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.core.clock import rfc3339
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app.coins import denom_valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, NOT_FOUND, ChainError, Kind
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.compact_text import compact_text
from leasehold.devnet.modules.instants import ZERO_NS, instant, set_instant
from leasehold.devnet.modules.parameter_rules import check_staking
from leasehold.devnet.modules.staking.commission import (
    check_description,
    check_new_rate,
    check_rates,
    merge_description,
)
from leasehold.devnet.modules.staking.errors import (
    COMMISSION_BELOW_MIN,
    EMPTY_PUBKEY,
    INVALID_EXCHANGE_RATE,
    JAILED,
    MIN_SELF_DELEGATION_DECREASED,
    OPERATOR_EXISTS,
    PUBKEY_EXISTS,
    PUBKEY_TYPE,
    SELF_DELEGATION_BELOW_MINIMUM,
)
from leasehold.devnet.modules.staking.ledger import BY_CONSENSUS, PACKAGE, sized
from leasehold.devnet.modules.staking.shares import UNBONDED, UNBONDING, exchange_rate_invalid
from leasehold.devnet.modules.staking.validator_set import ValidatorSet

_ED25519 = "cosmos.crypto.ed25519.PubKey"


def completion_text(nanoseconds: int) -> str:
    """A completion time as events show it: whole seconds."""
    return "0001-01-01T00:00:00Z" if nanoseconds == ZERO_NS else rfc3339(nanoseconds, digits="seconds")


class Messages(ValidatorSet):
    """Handlers."""

    def _amount(self, coin: Any, refusal: str) -> int:
        amount = int(coin.amount or "0")
        if amount <= 0 or not denom_valid(coin.denom):
            raise INVALID_REQUEST(refusal)
        return amount

    def _require_bond_denom(self, ctx: Context, coin: Any) -> None:
        expected = self.params(ctx).bond_denom
        if coin.denom != expected:
            raise INVALID_REQUEST(f"invalid coin denomination: got {coin.denom}, expected {expected}")

    @handles(PACKAGE + "MsgCreateValidator")
    def handle_create(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        self._check_new(ctx, msg)
        if self.find_validator(ctx, operator) is not None:
            raise ChainError(OPERATOR_EXISTS)
        validator = self.new(
            PACKAGE + "Validator",
            operator_address=msg.validator_address,
            consensus_pubkey=msg.pubkey,
            status=UNBONDED,
            tokens="0",
            delegator_shares="0",
            description=msg.description,
            min_self_delegation=msg.min_self_delegation,
        )
        is_known = msg.pubkey.type_url.rpartition("/")[2] == _ED25519
        # No validator has a key of another kind.
        consensus = self.consensus_address(validator) if is_known else b""
        if is_known and self.operator_by_consensus(ctx, consensus) is not None:
            raise ChainError(PUBKEY_EXISTS)
        self._require_bond_denom(ctx, msg.value)
        check_description(msg.description)
        if not is_known:
            raise PUBKEY_TYPE(f"got: {msg.pubkey.type_url.rpartition('.')[0].rpartition('.')[2]}, expected: [ed25519]")
        validator.commission.commission_rates.CopyFrom(msg.commission)
        set_instant(validator.commission.update_time, ctx.block.time_ns)
        set_instant(validator.unbonding_time, 0)
        self.save_validator(ctx, validator)
        ctx.store.set(BY_CONSENSUS + sized(consensus), operator)
        self.index_power(ctx, validator)
        self.modules.distribution.after_validator_created(ctx, operator)
        self.delegate(ctx, operator, int(msg.value.amount), validator)
        ctx.emit(
            "create_validator",
            ("validator", msg.validator_address),
            ("amount", f"{msg.value.amount}{msg.value.denom}"),
        )
        return self.new(PACKAGE + "MsgCreateValidatorResponse")

    def _check_new(self, ctx: Context, msg: Any) -> None:
        if not msg.pubkey.type_url:
            raise ChainError(EMPTY_PUBKEY)
        amount = self._amount(msg.value, "invalid delegation amount")
        if not msg.description.ByteSize():
            raise INVALID_REQUEST("empty description")
        if not msg.commission.ByteSize():
            raise INVALID_REQUEST("empty commission")
        check_rates(msg.commission)
        least = int(msg.min_self_delegation or "0")
        if least <= 0:
            raise INVALID_REQUEST("minimum self delegation must be a positive integer")
        if amount < least:
            raise ChainError(SELF_DELEGATION_BELOW_MINIMUM)
        floor = int(self.params(ctx).min_commission_rate or "0")
        if int(msg.commission.rate or "0") < floor:
            text = fixed_point.text(floor)
            raise COMMISSION_BELOW_MIN(f"cannot set validator commission to less than minimum rate of {text}")

    @handles(PACKAGE + "MsgEditValidator")
    def handle_edit(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        if not msg.description.ByteSize():
            raise INVALID_REQUEST("empty description")
        if msg.min_self_delegation and int(msg.min_self_delegation) <= 0:
            raise INVALID_REQUEST("minimum self delegation must be a positive integer")
        if msg.commission_rate:
            rate = int(msg.commission_rate)
            if rate > ONE or rate < 0:
                raise INVALID_REQUEST("commission rate must be between 0 and 1 (inclusive)")
            floor = int(self.params(ctx).min_commission_rate or "0")
            if rate < floor:
                shown = fixed_point.text(floor)
                raise INVALID_REQUEST(f"commission rate cannot be less than the min commission rate {shown}")
        validator = self.validator(ctx, operator)
        merge_description(validator.description, msg.description)
        check_description(validator.description)
        if msg.commission_rate:
            check_new_rate(validator.commission, int(msg.commission_rate), ctx.block.time_ns)
            validator.commission.commission_rates.rate = msg.commission_rate
            set_instant(validator.commission.update_time, ctx.block.time_ns)
        if msg.min_self_delegation:
            least = int(msg.min_self_delegation)
            if least <= int(validator.min_self_delegation):
                raise ChainError(MIN_SELF_DELEGATION_DECREASED)
            if least > int(validator.tokens):
                raise ChainError(SELF_DELEGATION_BELOW_MINIMUM)
            validator.min_self_delegation = msg.min_self_delegation
        self.save_validator(ctx, validator)
        ctx.emit(
            "edit_validator",
            ("commission_rate", compact_text(validator.commission)),
            ("min_self_delegation", validator.min_self_delegation),
        )
        return self.new(PACKAGE + "MsgEditValidatorResponse")

    @handles(PACKAGE + "MsgDelegate")
    def handle_delegate(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        amount = self._amount(msg.amount, "invalid delegation amount")
        validator = self.validator(ctx, operator)
        self._require_bond_denom(ctx, msg.amount)
        issued = self.delegate(ctx, delegator, amount, validator)
        ctx.emit(
            "delegate",
            ("validator", msg.validator_address),
            ("delegator", msg.delegator_address),
            ("amount", f"{amount}{msg.amount.denom}"),
            ("new_shares", fixed_point.text(issued)),
        )
        return self.new(PACKAGE + "MsgDelegateResponse")

    @handles(PACKAGE + "MsgBeginRedelegate")
    def handle_redelegate(self, ctx: Context, msg: Any) -> Any:
        source = self.participants.operator(msg.validator_src_address, "invalid source validator address: ")
        target = self.participants.operator(msg.validator_dst_address, "invalid destination validator address: ")
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        amount = self._amount(msg.amount, "invalid shares amount")
        shares = self.shares_for(ctx, delegator, source, amount)
        self._require_bond_denom(ctx, msg.amount)
        completion = self.redelegate(ctx, delegator, source, target, shares)
        ctx.emit(
            "redelegate",
            ("source_validator", msg.validator_src_address),
            ("destination_validator", msg.validator_dst_address),
            ("amount", f"{amount}{msg.amount.denom}"),
            ("completion_time", completion_text(completion)),
        )
        response = self.new(PACKAGE + "MsgBeginRedelegateResponse")
        set_instant(response.completion_time, completion)
        return response

    @handles(PACKAGE + "MsgUndelegate")
    def handle_undelegate(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        amount = self._amount(msg.amount, "invalid shares amount")
        shares = self.shares_for(ctx, delegator, operator, amount)
        self._require_bond_denom(ctx, msg.amount)
        completion, released = self.undelegate(ctx, delegator, operator, shares)
        ctx.emit(
            "unbond",
            ("validator", msg.validator_address),
            ("delegator", msg.delegator_address),
            ("amount", f"{released}{msg.amount.denom}"),
            ("completion_time", completion_text(completion)),
        )
        response = self.new(PACKAGE + "MsgUndelegateResponse", amount=self.coin(self.bond_coin(ctx, released)))
        set_instant(response.completion_time, completion)
        return response

    @handles(PACKAGE + "MsgCancelUnbondingDelegation")
    def handle_cancel(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        amount = self._amount(msg.amount, "invalid amount")
        if msg.creation_height <= 0:
            raise INVALID_REQUEST("invalid height")
        self._require_bond_denom(ctx, msg.amount)
        validator = self.validator(ctx, operator)
        if exchange_rate_invalid(validator):
            raise ChainError(INVALID_EXCHANGE_RATE)
        if validator.jailed:
            raise ChainError(JAILED)
        unbonding = self.find_unbonding(ctx, delegator, operator)
        if unbonding is None:
            text = (
                f"rpc error: code = NotFound desc = unbonding delegation with delegator {msg.delegator_address} "
                f"not found for validator {msg.validator_address}"
            )
            raise ChainError(Kind("undefined", 1, text))
        index = next((i for i, e in enumerate(unbonding.entries) if e.creation_height == msg.creation_height), -1)
        if index < 0:
            raise NOT_FOUND(f"unbonding delegation entry is not found at block height {msg.creation_height}")
        entry = unbonding.entries[index]
        if int(entry.balance) < amount:
            raise INVALID_REQUEST("amount is greater than the unbonding delegation entry balance")
        if instant(entry.completion_time) < ctx.block.time_ns:
            raise INVALID_REQUEST("unbonding delegation is already processed")
        self.delegate(ctx, delegator, amount, validator, source=UNBONDING)
        rest = int(entry.balance) - amount
        if rest:
            entry.balance = str(rest)
            entry.initial_balance = str(int(entry.initial_balance) - amount)
        else:
            del unbonding.entries[index]
        self.save_unbonding(ctx, delegator, operator, unbonding)
        ctx.emit(
            "cancel_unbonding_delegation",
            ("amount", f"{amount}{msg.amount.denom}"),
            ("validator", msg.validator_address),
            ("delegator", msg.delegator_address),
            ("creation_height", str(msg.creation_height)),
        )
        return self.new(PACKAGE + "MsgCancelUnbondingDelegationResponse")

    @handles(PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        check_staking(msg.params)
        if msg.params.bond_denom != self.params(ctx).bond_denom and any(self.pools(ctx)):
            # The pools hold the old denom: the next change of the set could not move its stake and would halt all.
            raise INVALID_REQUEST("bond denom cannot be changed while tokens are staked")
        self.set_params(ctx, msg.params)
        return self.new(PACKAGE + "MsgUpdateParamsResponse")
