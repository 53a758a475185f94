"""Accounts as auth keeps them: base, module and vesting accounts, and how much of a vesting account is locked."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from leasehold.chain.vesting import Period, Schedule, vested
from leasehold.devnet.app.coins import Coin, Coins, add, amount_of, subtract


class Kind(IntEnum):
    BASE = 0
    MODULE = 1
    CONTINUOUS = 2
    DELAYED = 3
    PERIODIC = 4
    PERMANENT = 5


TYPE_NAMES = {
    Kind.BASE: "cosmos.auth.v1beta1.BaseAccount",
    Kind.MODULE: "cosmos.auth.v1beta1.ModuleAccount",
    Kind.CONTINUOUS: "cosmos.vesting.v1beta1.ContinuousVestingAccount",
    Kind.DELAYED: "cosmos.vesting.v1beta1.DelayedVestingAccount",
    Kind.PERIODIC: "cosmos.vesting.v1beta1.PeriodicVestingAccount",
    Kind.PERMANENT: "cosmos.vesting.v1beta1.PermanentLockedAccount",
}
KINDS = {name: kind for kind, name in TYPE_NAMES.items()}
_SCHEDULES = {
    Kind.CONTINUOUS: Schedule.CONTINUOUS,
    Kind.DELAYED: Schedule.DELAYED,
    Kind.PERIODIC: Schedule.PERIODIC,
    Kind.PERMANENT: Schedule.PERMANENT,
}


class Vesting(msgspec.Struct, array_like=True):
    """The grant of a vesting account; times in unix seconds."""

    original: list[tuple[str, int]]
    end: int
    start: int = 0
    periods: list[tuple[int, list[tuple[str, int]]]] = []
    delegated_free: list[tuple[str, int]] = []
    delegated_vesting: list[tuple[str, int]] = []


class Account(msgspec.Struct, array_like=True):
    """One account; `pub_key` is the serialized Any, empty until the first signature."""

    kind: Kind
    address: bytes
    number: int
    sequence: int = 0
    pub_key: bytes = b""
    name: str = ""
    permissions: list[str] = []
    vesting: Vesting | None = None

    def vesting_coins(self, now: int) -> Coins:
        """Coins not vested yet at a unix time."""
        if self.vesting is None:
            return ()
        schedule = _SCHEDULES[self.kind]
        grant = self.vesting
        result = []
        for denom, amount in grant.original:
            periods = [Period(length, _of(coins, denom)) for length, coins in grant.periods]
            rest = amount - vested(schedule, amount, grant.start, grant.end, now, periods)
            if rest:
                result.append(Coin(denom, rest))
        return tuple(result)

    def locked_coins(self, now: int) -> Coins:
        """Vesting coins that are not delegated: they can't be spent."""
        if self.vesting is None:
            return ()
        delegated = dict(self.vesting.delegated_vesting)
        locked = (Coin(d, max(0, amount - delegated.get(d, 0))) for d, amount in self.vesting_coins(now))
        return tuple(coin for coin in locked if coin.amount)

    def track_delegation(self, balance: Coins, amount: Coins, now: int) -> None:
        """Note a delegation: locked coins are used first."""
        assert self.vesting is not None
        vesting_now = self.vesting_coins(now)
        for denom, value in amount:
            if amount_of(balance, denom) < value:
                raise ValueError("insufficient funds for delegation")
            delegated = _of(self.vesting.delegated_vesting, denom)
            locked = min(max(amount_of(vesting_now, denom) - delegated, 0), value)
            self._move("delegated_vesting", denom, locked)
            self._move("delegated_free", denom, value - locked)

    def track_undelegation(self, amount: Coins) -> None:
        """Note an undelegation: free coins come back first."""
        assert self.vesting is not None
        for denom, value in amount:
            free = min(_of(self.vesting.delegated_free, denom), value)
            locked = min(_of(self.vesting.delegated_vesting, denom), value - free)
            self._move("delegated_free", denom, -free)
            self._move("delegated_vesting", denom, -locked)

    def _move(self, member: str, denom: str, delta: int) -> None:
        coins = tuple(Coin(*pair) for pair in getattr(self.vesting, member))
        change = (Coin(denom, abs(delta)),) if delta else ()
        moved = add(coins, change) if delta >= 0 else subtract(coins, change)
        setattr(self.vesting, member, [tuple(coin) for coin in moved])


def _of(coins: list[tuple[str, int]], denom: str) -> int:
    return next((amount for found, amount in coins if found == denom), 0)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Account)
# Amounts of a vesting account may exceed what msgpack takes as a number; JSON takes any.
_VESTING_ENCODER = msgspec.json.Encoder()
_VESTING_DECODER = msgspec.json.Decoder(Account)


def encode(account: Account) -> bytes:
    return (_ENCODER if account.vesting is None else _VESTING_ENCODER).encode(account)


def decode(data: bytes) -> Account:
    return (_VESTING_DECODER if data.startswith(b"[") else _DECODER).decode(data)


def to_proto(registry: Any, account: Account, address_text: str) -> Any:
    """The protobuf account message a query answers with."""
    base = registry.new(
        "cosmos.auth.v1beta1.BaseAccount",
        address=address_text,
        account_number=account.number,
        sequence=account.sequence,
    )
    if account.pub_key:
        base.pub_key.ParseFromString(account.pub_key)
    if account.kind is Kind.BASE:
        return base
    name = TYPE_NAMES[account.kind]
    if account.kind is Kind.MODULE:
        return registry.new(name, base_account=base, name=account.name, permissions=account.permissions)
    grant = account.vesting
    assert grant is not None

    def coins(pairs: list[tuple[str, int]]) -> list[Any]:
        return [registry.new("cosmos.base.v1beta1.Coin", denom=d, amount=str(a)) for d, a in pairs]

    vesting = registry.new(
        "cosmos.vesting.v1beta1.BaseVestingAccount",
        base_account=base,
        original_vesting=coins(grant.original),
        delegated_free=coins(grant.delegated_free),
        delegated_vesting=coins(grant.delegated_vesting),
        end_time=grant.end,
    )
    message = registry.new(name, base_vesting_account=vesting)
    if account.kind in (Kind.CONTINUOUS, Kind.PERIODIC):
        message.start_time = grant.start
    for length, amounts in grant.periods:
        message.vesting_periods.add(length=length, amount=coins(amounts))
    return message


def from_genesis(entry: dict[str, Any], address: bytes, pub_key: bytes) -> Account:
    """An account of the genesis document; its number is kept, numbers are settled by the caller."""
    kind = KINDS[entry["@type"].removeprefix("/")]
    vesting = None
    base = entry
    if kind is Kind.MODULE:
        base = entry["base_account"]
    elif kind is not Kind.BASE:
        outer = entry["base_vesting_account"]
        base = outer["base_account"]
        vesting = Vesting(
            original=_pairs(outer["original_vesting"]),
            end=int(outer["end_time"]),
            start=int(entry.get("start_time", "0")),
            periods=[(int(p["length"]), _pairs(p["amount"])) for p in entry.get("vesting_periods", [])],
            delegated_free=_pairs(outer["delegated_free"]),
            delegated_vesting=_pairs(outer["delegated_vesting"]),
        )
    return Account(
        kind=kind,
        address=address,
        number=int(base["account_number"]),
        sequence=int(base["sequence"]),
        pub_key=pub_key,
        name=entry.get("name", ""),
        permissions=list(entry.get("permissions", [])),
        vesting=vesting,
    )


def _pairs(coins: list[dict[str, str]]) -> list[tuple[str, int]]:
    return [(coin["denom"], int(coin["amount"])) for coin in coins]
