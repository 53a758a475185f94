"""Grants to call or migrate contracts: each names a contract, how often or with how much, and which messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.chain.registry import Registry
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_TYPE, NOT_FOUND, UNAUTHORIZED, ChainError, PlainError, undefined
from leasehold.devnet.modules.authz.verdicts import Verdict
from leasehold.devnet.modules.wasm.errors import DUPLICATE, EMPTY, INVALID
from leasehold.devnet.modules.wasm.payloads import is_json

_WASM = "cosmwasm.wasm.v1."
# The messages that an authorization is about, by its own name.
MESSAGES = {
    _WASM + "ContractExecutionAuthorization": f"/{_WASM}MsgExecuteContract",
    _WASM + "ContractMigrationAuthorization": f"/{_WASM}MsgMigrateContract",
}
_GAS_PER_BYTE = 1

Unpack = Callable[[Any], Any]


class ContractGrants:
    """Judges these authorizations; `unpack` reads an Any, `address` an address or raises PlainError."""

    def __init__(self, types: Registry, unpack: Unpack, address: Callable[[str], bytes]) -> None:
        self._types = types
        self._unpack = unpack
        self._address = address

    def check(self, authorization: Any) -> None:
        """Refuse an authorization that makes no sense by itself."""
        if not authorization.grants:
            raise EMPTY("grants")
        for index, grant in enumerate(authorization.grants):
            where = f"position {index}"
            try:
                self._address(grant.contract)
                self._check_limit(self._inside(grant.limit, "limit"))
                self._check_filter(self._inside(grant.filter, "filter"))
            except ChainError as error:
                raise error.wrap(where) from None
            except PlainError as error:
                raise undefined(f"{where}: contract: {error}") from None

    def _inside(self, packed: Any, what: str) -> Any:
        if not packed.type_url:
            raise INVALID_TYPE(f"{what}: undefined {what}")
        return self._unpack(packed)

    def _check_limit(self, limit: Any) -> None:
        name = limit.DESCRIPTOR.name
        if name == "MaxCallsLimit":
            if limit.remaining == 0:
                raise EMPTY("limit: remaining calls")
            return
        if name not in ("MaxFundsLimit", "CombinedLimit"):
            raise INVALID_TYPE("limit: undefined limit")
        amounts = from_proto(limit.amounts)
        wrong = coin_lists.fault(amounts)
        if name == "MaxFundsLimit":
            if wrong is not None:
                raise undefined(f"limit: {wrong}")
        elif limit.calls_remaining == 0:
            raise EMPTY("limit: remaining calls")
        if not any(coin.amount for coin in amounts):
            raise EMPTY("limit: amounts")
        if wrong is not None:
            raise undefined(f"limit: amounts: {wrong}")

    def _check_filter(self, wanted: Any) -> None:
        name = wanted.DESCRIPTOR.name
        if name == "AcceptedMessageKeysFilter":
            _check_keys(list(wanted.keys))
        elif name == "AcceptedMessagesFilter":
            _check_messages(list(wanted.messages))
        elif name != "AllowAllMessagesFilter":
            raise INVALID_TYPE("filter: undefined filter")

    def accept(self, ctx: Context, authorization: Any, message: Any) -> Verdict:
        """Judge a message: the first grant that allows it counts, and pays for it."""
        funds = from_proto(getattr(message, "funds", ()))
        for index, grant in enumerate(authorization.grants):
            if grant.contract != message.contract:
                continue
            limit = self._unpack(grant.limit)
            left = self._left(limit, funds)
            if left is _REFUSED or not self._passes(ctx, self._unpack(grant.filter), message.msg):
                continue
            if left is limit:
                return Verdict()
            updated = self._types.new(authorization.DESCRIPTOR.full_name)
            updated.CopyFrom(authorization)
            if left is None:
                del updated.grants[index]
                return Verdict(updated=updated) if updated.grants else Verdict(used_up=True)
            updated.grants[index].limit.CopyFrom(self._types.pack(left))
            return Verdict(updated=updated)
        raise ChainError(UNAUTHORIZED)

    def _left(self, limit: Any, funds: Coins) -> Any:
        """What is left of a limit after a call: the same one, a lower one, None for nothing, or a refusal."""
        name = limit.DESCRIPTOR.name
        if name == "MaxCallsLimit":
            if funds:
                return _REFUSED
            return None if limit.remaining == 1 else self._types.new(_WASM + name, remaining=limit.remaining - 1)
        if name not in ("MaxFundsLimit", "CombinedLimit"):
            raise NOT_FOUND("limit: undefined filter")
        if name == "MaxFundsLimit" and not funds:
            return limit
        amounts = coin_lists.subtract(from_proto(limit.amounts), funds)
        if any(coin.amount < 0 for coin in amounts):
            return _REFUSED
        if not amounts or (name == "CombinedLimit" and limit.calls_remaining == 1):
            return None
        kept = [self._types.new("cosmos.base.v1beta1.Coin", denom=one.denom, amount=str(one.amount)) for one in amounts]
        if name == "MaxFundsLimit":
            return self._types.new(_WASM + name, amounts=kept)
        return self._types.new(_WASM + name, calls_remaining=limit.calls_remaining - 1, amounts=kept)

    def _passes(self, ctx: Context, wanted: Any, payload: bytes) -> bool:
        name = wanted.DESCRIPTOR.name
        if name == "AcceptedMessagesFilter":
            return payload in wanted.messages
        if name == "AllowAllMessagesFilter":
            return True
        ctx.gas.consume(_GAS_PER_BYTE * len(payload), "contract authorization")
        document = msgspec.json.decode(payload)
        return isinstance(document, dict) and len(document) == 1 and next(iter(document)) in wanted.keys


# A limit that does not allow a call; the next grant may.
_REFUSED = object()


def _check_keys(keys: list[str]) -> None:
    if not keys:
        raise EMPTY("filter: keys")
    seen = set()
    for key in keys:
        if not key:
            raise EMPTY("filter: key")
        if key != key.strip():
            raise INVALID(f'filter: key "{key}" contains whitespaces')
        if key in seen:
            raise DUPLICATE(f'filter: key "{key}"')
        seen.add(key)


def _check_messages(messages: list[bytes]) -> None:
    if not messages:
        raise EMPTY("filter: messages")
    seen = set()
    for message in messages:
        if not message:
            raise EMPTY("filter: message")
        if not is_json(message):
            raise INVALID("filter")
        if message in seen:
            raise DUPLICATE("filter: message")
        seen.add(message)
