"""vestings: accounts whose coins become spendable over time, by the SDK's three messages and the chain's own."""

from __future__ import annotations

from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.settings import Identity
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_ADDRESS, INVALID_COINS, INVALID_REQUEST, UNAUTHORIZED, PlainError
from leasehold.devnet.app.module import Module, handles, validates
from leasehold.devnet.modules.accounts import Kind, Vesting
from leasehold.devnet.modules.participants import Participants

_SDK = "cosmos.vesting.v1beta1."
_OWN = "{ns}.vestings.v1beta1."


def _positive(coins: Coins) -> Coins:
    if not coins or not coin_lists.valid(coins):
        raise INVALID_COINS(coins_text(coins))
    return coins


def _pairs(coins: Coins) -> list[tuple[str, int]]:
    return [(coin.denom, coin.amount) for coin in coins]


class Vestings(Module):
    """Creation of vesting accounts."""

    name = "vestings"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)

    def _ends(self, msg: Any) -> tuple[bytes, bytes]:
        source = self.participants.account(msg.from_address, "invalid 'from' address: ")
        return source, self.participants.account(msg.to_address, "invalid 'to' address: ")

    def _create(
        self, ctx: Context, ends: tuple[bytes, bytes], to_text: str, coins: Coins, kind: Kind, vesting: Vesting
    ) -> None:
        """Make a new account under a schedule and fund it."""
        source, target = ends
        self.modules.bank.require_enabled(ctx, coins)
        if self.modules.bank.blocked(target):
            raise UNAUTHORIZED(f"{to_text} is not allowed to receive funds")
        if self.modules.auth.exists(ctx, target):
            raise INVALID_REQUEST(f"account {to_text} already exists")
        self.modules.auth.create(ctx, target, kind=kind, vesting=vesting)
        self.modules.bank.send(ctx, source, target, coins)

    @handles(_SDK + "MsgCreateVestingAccount")
    def handle_create(self, ctx: Context, msg: Any) -> Any:
        ends = self._ends(msg)
        coins = _positive(from_proto(msg.amount))
        if msg.end_time <= 0:
            raise INVALID_REQUEST("invalid end time")
        kind = Kind.DELAYED if msg.delayed else Kind.CONTINUOUS
        start = 0 if msg.delayed else ctx.block.time_s
        vesting = Vesting(original=_pairs(coins), end=msg.end_time, start=start)
        self._create(ctx, ends, msg.to_address, coins, kind, vesting)
        return self.new(_SDK + "MsgCreateVestingAccountResponse")

    @handles(_SDK + "MsgCreatePermanentLockedAccount")
    def handle_create_locked(self, ctx: Context, msg: Any) -> Any:
        ends = self._ends(msg)
        coins = _positive(from_proto(msg.amount))
        vesting = Vesting(original=_pairs(coins), end=0)
        self._create(ctx, ends, msg.to_address, coins, Kind.PERMANENT, vesting)
        return self.new(_SDK + "MsgCreatePermanentLockedAccountResponse")

    @handles(_SDK + "MsgCreatePeriodicVestingAccount")
    def handle_create_periodic(self, ctx: Context, msg: Any) -> Any:
        ends = self._ends(msg)
        if msg.start_time < 1:
            raise INVALID_REQUEST(f"invalid start time of {msg.start_time}, length must be greater than 0")
        total: Coins = ()
        periods = []
        end = msg.start_time
        for index, period in enumerate(msg.vesting_periods):
            if period.length < 1:
                raise INVALID_REQUEST(
                    f"invalid period length of {period.length} in period {index}, length must be greater than 0"
                )
            coins = _positive(from_proto(period.amount))
            total = coin_lists.add(total, coins)
            periods.append((period.length, _pairs(coins)))
            end += period.length
        vesting = Vesting(original=_pairs(total), end=end, start=msg.start_time, periods=periods)
        self._create(ctx, ends, msg.to_address, total, Kind.PERIODIC, vesting)
        return self.new(_SDK + "MsgCreatePeriodicVestingAccountResponse")

    @validates(_OWN + "MsgCreateVestingAccount")
    def validate_own(self, msg: Any) -> None:
        for text, what in ((msg.from_address, "from"), (msg.to_address, "to")):
            try:
                self.modules.auth.plain_address_bytes(text)
            except PlainError as error:
                raise INVALID_ADDRESS(f"invalid '{what}' address: {error}") from None
        _positive(from_proto(msg.amount))
        if msg.start_time <= 0:
            raise INVALID_REQUEST("invalid start time")
        if msg.end_time <= 0:
            raise INVALID_REQUEST("invalid end time")
        if msg.start_time >= msg.end_time:
            raise INVALID_REQUEST("invalid start time")

    @handles(_OWN + "MsgCreateVestingAccount")
    def handle_own(self, ctx: Context, msg: Any) -> Any:
        ends = self._ends(msg)
        coins = from_proto(msg.amount)
        kind = Kind.DELAYED if msg.delayed else Kind.CONTINUOUS
        start = 0 if msg.delayed else msg.start_time
        vesting = Vesting(original=_pairs(coins), end=msg.end_time, start=start)
        self._create(ctx, ends, msg.to_address, coins, kind, vesting)
        return self.new(_OWN + "MsgCreateVestingAccountResponse")
