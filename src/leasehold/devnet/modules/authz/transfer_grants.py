"""Grants to send tokens over channels: by channel how much, to whom and with which memos."""

from __future__ import annotations

from typing import Any

from leasehold.chain.registry import Registry
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coin, amount_of, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind
from leasehold.devnet.modules.authz.verdicts import Verdict
from leasehold.devnet.modules.ibc import identifiers
from leasehold.devnet.modules.ibc.errors import INVALID_ADDRESS, NOT_FOUND
from leasehold.devnet.state.gas import NEXT_FLAT

TRANSFER = "ibc.applications.transfer.v1.TransferAuthorization"
MESSAGE = "/ibc.applications.transfer.v1.MsgTransfer"
# A limit of this amount is none.
UNBOUNDED = 2**256 - 1
_ANY_MEMO = ["*"]
_ITERATION_GAS = NEXT_FLAT

INSUFFICIENT_FUNDS = Kind("ibc", 3, "insufficient funds")
INVALID_COINS = Kind("ibc", 6, "invalid coins")
INVALID_CHANNEL = Kind("channel", 4, "invalid channel")
INVALID_AUTHORIZATION = Kind("transfer", 10, "invalid transfer authorization")


def check(authorization: Any) -> None:
    """Refuse an authorization that makes no sense by itself."""
    if not authorization.allocations:
        raise INVALID_AUTHORIZATION("allocations cannot be empty")
    channels = set()
    for one in authorization.allocations:
        if one.source_channel in channels:
            raise INVALID_CHANNEL(f"duplicate source channel ID: {one.source_channel}")
        channels.add(one.source_channel)
        if not one.spend_limit:
            raise INVALID_COINS("spend limit cannot be nil")
        wrong = coin_lists.fault(from_proto(one.spend_limit))
        if wrong is not None:
            raise INVALID_COINS(f"invalid spend limit: {wrong}")
        _check_identifier("port", one.source_port)
        _check_identifier("channel", one.source_channel)
        seen = set()
        for recipient in one.allow_list:
            if recipient in seen:
                raise INVALID_AUTHORIZATION(f"duplicate entry in allow list {recipient}")
            seen.add(recipient)


def _check_identifier(kind: str, text: str) -> None:
    try:
        identifiers.check(kind, text)
    except ChainError as error:
        raise error.wrap(f"invalid source {kind} ID") from None


def accept(types: Registry, ctx: Context, authorization: Any, message: Any) -> Verdict:
    """Judge a transfer by the allocation of its channel, and take it off the limit."""
    route = (message.source_port, message.source_channel)
    index = next(
        (at for at, one in enumerate(authorization.allocations) if (one.source_port, one.source_channel) == route), None
    )
    if index is None:
        raise NOT_FOUND("requested port and channel allocation does not exist")
    allocation = authorization.allocations[index]
    if not _is_listed(ctx, message.receiver, list(allocation.allow_list)):
        raise INVALID_ADDRESS("not allowed receiver address for transfer")
    _check_memo(ctx, message.memo, list(allocation.allowed_packet_data))
    limit = from_proto(allocation.spend_limit)
    denom = message.token.denom
    if amount_of(limit, denom) == UNBOUNDED:
        return Verdict()
    left = coin_lists.subtract(limit, (Coin(denom, int(message.token.amount or "0")),))
    if any(coin.amount < 0 for coin in left):
        raise INSUFFICIENT_FUNDS(f"requested amount of token {denom} is more than spend limit")
    updated = types.new(TRANSFER)
    updated.CopyFrom(authorization)
    del updated.allocations[index].spend_limit[:]
    for coin in left:
        updated.allocations[index].spend_limit.add(denom=coin.denom, amount=str(coin.amount))
    if not left:
        del updated.allocations[index]
    return Verdict(updated=updated) if updated.allocations else Verdict(used_up=True)


def _is_listed(ctx: Context, recipient: str, allowed: list[str]) -> bool:
    for one in allowed:
        ctx.gas.consume(_ITERATION_GAS, "transfer authorization")
        if one == recipient:
            return True
    return not allowed


def _check_memo(ctx: Context, memo: str, allowed: list[str]) -> None:
    if not allowed:
        if memo.strip():
            raise INVALID_AUTHORIZATION("memo must be empty because allowed packet data in allocation is empty")
        return
    if allowed == _ANY_MEMO:
        return
    for one in allowed:
        ctx.gas.consume(_ITERATION_GAS, "transfer authorization")
        if one.strip() == memo.strip():
            return
    raise INVALID_AUTHORIZATION(f"not allowed memo: {memo}")
