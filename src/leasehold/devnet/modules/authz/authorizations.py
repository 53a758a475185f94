"""What a grant allows: sends up to a limit, staking up to a limit with some validators, or anything of one type."""

from __future__ import annotations

from typing import Any

from leasehold.chain.registry import Registry
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FUNDS,
    INVALID_COINS,
    INVALID_REQUEST,
    INVALID_TYPE,
    UNAUTHORIZED,
    ChainError,
    Kind,
    undefined,
)
from leasehold.devnet.modules.authz import code_grants, transfer_grants
from leasehold.devnet.modules.authz.contract_grants import MESSAGES as CONTRACT_MESSAGES
from leasehold.devnet.modules.authz.verdicts import Verdict

GENERIC = "cosmos.authz.v1beta1.GenericAuthorization"
SEND = "cosmos.bank.v1beta1.SendAuthorization"
STAKE = "cosmos.staking.v1beta1.StakeAuthorization"
_STAKING = "/cosmos.staking.v1beta1."
_STAKE_TYPES = {
    1: _STAKING + "MsgDelegate",
    2: _STAKING + "MsgUndelegate",
    3: _STAKING + "MsgBeginRedelegate",
    4: _STAKING + "MsgCancelUnbondingDelegation",
}
_ITERATION_GAS = 10

UNKNOWN_TYPE = Kind("authz", 4, "unknown authorization type")
NEGATIVE_MAX_TOKENS = Kind("authz", 12, "max tokens should be positive")
DUPLICATE_ENTRY = Kind("bank", 8, "duplicate entry")


def message_type(authorization: Any) -> str:
    """Type URL of the messages an authorization is about."""
    name = authorization.DESCRIPTOR.full_name
    if name == GENERIC:
        return str(authorization.msg)
    if name == SEND:
        return "/cosmos.bank.v1beta1.MsgSend"
    if name == STAKE and authorization.authorization_type in _STAKE_TYPES:
        return _STAKE_TYPES[authorization.authorization_type]
    if name == transfer_grants.TRANSFER:
        return transfer_grants.MESSAGE
    if name == code_grants.STORE:
        return code_grants.MESSAGE
    if name in CONTRACT_MESSAGES:
        return CONTRACT_MESSAGES[name]
    raise INVALID_TYPE(f"expected authorization, got {name}")


def check(authorization: Any) -> None:
    """Refuse an authorization that makes no sense by itself."""
    name = authorization.DESCRIPTOR.full_name
    if name == SEND:
        limit = from_proto(authorization.spend_limit)
        if not limit:
            raise INVALID_COINS("spend limit cannot be nil")
        if any(coin.amount <= 0 for coin in limit):
            raise INVALID_COINS("spend limit must be positive")
        if len(set(authorization.allow_list)) != len(authorization.allow_list):
            raise ChainError(DUPLICATE_ENTRY)
    elif name == STAKE:
        if authorization.HasField("max_tokens") and int(authorization.max_tokens.amount or "0") < 0:
            shown = f"{authorization.max_tokens.amount}{authorization.max_tokens.denom}"
            raise NEGATIVE_MAX_TOKENS(f"negative coin amount: {shown}")
        if authorization.authorization_type == 0:
            raise ChainError(UNKNOWN_TYPE)
    elif name == transfer_grants.TRANSFER:
        transfer_grants.check(authorization)


def accept(types: Registry, ctx: Context, authorization: Any, message: Any) -> Verdict:
    """Judge a message under an authorization."""
    name = authorization.DESCRIPTOR.full_name
    if name == SEND:
        return _accept_send(types, ctx, authorization, message)
    if name == STAKE:
        return _accept_stake(types, ctx, authorization, message)
    if name == transfer_grants.TRANSFER:
        return transfer_grants.accept(types, ctx, authorization, message)
    if name == code_grants.STORE:
        return code_grants.accept(authorization, message)
    return Verdict()


def _accept_send(types: Registry, ctx: Context, authorization: Any, message: Any) -> Verdict:
    left = coin_lists.subtract(from_proto(authorization.spend_limit), from_proto(message.amount))
    if any(coin.amount < 0 for coin in left):
        raise INSUFFICIENT_FUNDS("requested amount is more than spend limit")
    allowed = list(authorization.allow_list)
    ctx.gas.consume(_ITERATION_GAS * len(allowed), "send authorization")
    if allowed and message.to_address not in allowed:
        raise UNAUTHORIZED(f"cannot send to {message.to_address} address")
    if not left:
        return Verdict(used_up=True)
    coins = [types.new("cosmos.base.v1beta1.Coin", denom=c.denom, amount=str(c.amount)) for c in left]
    return Verdict(updated=types.new(SEND, spend_limit=coins, allow_list=allowed))


def _accept_stake(types: Registry, ctx: Context, authorization: Any, message: Any) -> Verdict:
    if "/" + message.DESCRIPTOR.full_name not in _STAKE_TYPES.values():
        raise INVALID_REQUEST("unknown msg type")
    redelegates = message.DESCRIPTOR.name == "MsgBeginRedelegate"
    validator = message.validator_dst_address if redelegates else message.validator_address
    allowed, denied = list(authorization.allow_list.address), list(authorization.deny_list.address)
    ctx.gas.consume(_ITERATION_GAS * (len(allowed) + len(denied)), "stake authorization")
    if validator in denied or (allowed and validator not in allowed):
        raise UNAUTHORIZED(f"cannot delegate/undelegate to {validator} validator")
    if not authorization.HasField("max_tokens"):
        return Verdict(updated=authorization)
    limit = authorization.max_tokens
    if limit.denom != message.amount.denom:
        raise undefined(f"invalid coin denominations; {limit.denom}, {message.amount.denom}")
    left = int(limit.amount or "0") - int(message.amount.amount or "0")
    if left < 0:
        raise undefined(f"negative coin amount: {left}")
    if left == 0:
        return Verdict(used_up=True)
    updated = types.new(STAKE)
    updated.CopyFrom(authorization)
    updated.max_tokens.amount = str(left)
    return Verdict(updated=updated)
