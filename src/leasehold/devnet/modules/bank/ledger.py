"""Balances and supply, and how they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leasehold.core.addresses import decode, module_address
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coin, Coins, amount_of, coins_text
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INSUFFICIENT_FUNDS, INVALID_COINS, Kind
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.auth import PERMISSIONS
from leasehold.devnet.state.store import prefix_end

BALANCE = b"bank/b/"
HOLDER = b"bank/h/"
SUPPLY = b"bank/s/"
METADATA = b"bank/m/"
ENABLED = b"bank/e/"
_PARAMS = b"bank/params"

SEND_DISABLED = Kind("bank", 5, "send transactions are disabled")

BLOCKED = frozenset(module_address(name) for name in PERMISSIONS)


def holding(address: bytes) -> bytes:
    """Prefix of the balances of an account."""
    return BALANCE + bytes([len(address)]) + address


class Ledger(Module):
    """What everybody holds."""

    name = "bank"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        ctx.store.set(_PARAMS, self.from_json("cosmos.bank.v1beta1.Params", state["params"]).SerializeToString())
        for entry in state["balances"]:
            address = decode(entry["address"])[1]
            for coin in entry["coins"]:
                amount = int(coin["amount"])
                self._set(ctx, address, coin["denom"], amount)
                self._change_supply(ctx, coin["denom"], amount)
        for metadata in state.get("denom_metadata", []):
            message = self.from_json("cosmos.bank.v1beta1.Metadata", metadata)
            ctx.store.set(METADATA + message.base.encode(), message.SerializeToString())
        for enabled in state.get("send_enabled", []):
            ctx.store.set(ENABLED + enabled["denom"].encode(), b"1" if enabled["enabled"] else b"0")

    # What other modules use.

    def balance(self, ctx: Context, address: bytes, denom: str) -> int:
        return int(ctx.store.get(holding(address) + denom.encode()) or b"0")

    def balances(self, ctx: Context, address: bytes) -> Coins:
        return tuple(self._iterate(ctx, address))

    def _iterate(self, ctx: Context, address: bytes) -> Iterator[Coin]:
        prefix = holding(address)
        for key, value in ctx.store.iterate(prefix, prefix_end(prefix)):
            yield Coin(key[len(prefix) :].decode(), int(value))

    def locked(self, ctx: Context, address: bytes) -> Coins:
        account = self.modules.auth.get(ctx, address)
        return account.locked_coins(ctx.block.time_s) if account is not None else ()

    def spendable(self, ctx: Context, address: bytes, denom: str) -> int:
        return max(0, self.balance(ctx, address, denom) - amount_of(self.locked(ctx, address), denom))

    def supply(self, ctx: Context, denom: str) -> int:
        return int(ctx.store.get(SUPPLY + denom.encode()) or b"0")

    def send(self, ctx: Context, sender: bytes, recipient: bytes, coins: Coins, *, announce: bool = True) -> None:
        """Move coins; emits coin_spent, coin_received, transfer and, if `announce`, message(sender)."""
        self.take(ctx, sender, coins)
        self.give(ctx, recipient, coins)
        self.modules.auth.ensure(ctx, recipient)
        to, by, amount = self.text(recipient), self.text(sender), coins_text(coins)
        ctx.emit("transfer", ("recipient", to), ("sender", by), ("amount", amount))
        if announce:
            ctx.emit("message", ("sender", by))

    def take(self, ctx: Context, address: bytes, coins: Coins) -> None:
        """Subtract spendable coins; emits coin_spent."""
        if not coin_lists.valid(coins):
            raise INVALID_COINS(coins_text(coins))
        locked = self.locked(ctx, address)
        for denom, amount in coins:
            held = self.balance(ctx, address, denom)
            free = held - amount_of(locked, denom)
            if free < 0:
                missing = (
                    f"locked amount exceeds account balance funds: {amount_of(locked, denom)}{denom} > {held}{denom}"
                )
                raise INSUFFICIENT_FUNDS(missing)
            if free < amount:
                raise INSUFFICIENT_FUNDS(f"spendable balance {free}{denom} is smaller than {amount}{denom}")
            self._set(ctx, address, denom, held - amount)
        ctx.emit("coin_spent", ("spender", self.text(address)), ("amount", coins_text(coins)))

    def give(self, ctx: Context, address: bytes, coins: Coins) -> None:
        """Add coins; emits coin_received."""
        if not coin_lists.valid(coins):
            raise INVALID_COINS(coins_text(coins))
        for denom, amount in coins:
            self._set(ctx, address, denom, self.balance(ctx, address, denom) + amount)
        ctx.emit("coin_received", ("receiver", self.text(address)), ("amount", coins_text(coins)))

    def delegate(self, ctx: Context, delegator: bytes, pool: str, coins: Coins) -> None:
        """Move coins, locked ones included, from an account to a staking pool."""
        held = self.balances(ctx, delegator)
        for denom, amount in coins:
            if amount_of(held, denom) < amount:
                raise INSUFFICIENT_FUNDS(
                    f"failed to delegate; {amount_of(held, denom)}{denom} is smaller than {amount}{denom}"
                )
            self._set(ctx, delegator, denom, amount_of(held, denom) - amount)
        account = self.modules.auth.get(ctx, delegator)
        if account is not None and account.vesting is not None:
            account.track_delegation(held, coins, ctx.block.time_s)
            self.modules.auth.save(ctx, account)
        ctx.emit("coin_spent", ("spender", self.text(delegator)), ("amount", coins_text(coins)))
        self.give(ctx, self.modules.auth.module_account(ctx, pool), coins)

    def undelegate(self, ctx: Context, pool: str, delegator: bytes, coins: Coins) -> None:
        """Move coins from a staking pool back to an account."""
        self.take(ctx, module_address(pool), coins)
        account = self.modules.auth.get(ctx, delegator)
        if account is not None and account.vesting is not None:
            account.track_undelegation(coins)
            self.modules.auth.save(ctx, account)
        self.give(ctx, delegator, coins)

    def mint(self, ctx: Context, module: str, coins: Coins) -> None:
        """Create coins on a module account; emits coin_received and coinbase."""
        address = self.modules.auth.module_account(ctx, module)
        self.give(ctx, address, coins)
        for denom, amount in coins:
            self._change_supply(ctx, denom, amount)
        ctx.emit("coinbase", ("minter", self.text(address)), ("amount", coins_text(coins)))

    def burn(self, ctx: Context, module: str, coins: Coins) -> None:
        """Destroy coins of a module account; emits coin_spent and burn."""
        address = module_address(module)
        self.take(ctx, address, coins)
        for denom, amount in coins:
            self._change_supply(ctx, denom, -amount)
        ctx.emit("burn", ("burner", self.text(address)), ("amount", coins_text(coins)))

    def _set(self, ctx: Context, address: bytes, denom: str, amount: int) -> None:
        key = holding(address) + denom.encode()
        holder = HOLDER + denom.encode() + b"\x00" + bytes([len(address)]) + address
        if amount:
            if ctx.store.get(key) is None:
                ctx.store.set(holder, b"")
            ctx.store.set(key, str(amount).encode())
        else:
            ctx.store.delete(key)
            ctx.store.delete(holder)

    def _change_supply(self, ctx: Context, denom: str, delta: int) -> None:
        amount = self.supply(ctx, denom) + delta
        if amount:
            ctx.store.set(SUPPLY + denom.encode(), str(amount).encode())
        else:
            ctx.store.delete(SUPPLY + denom.encode())

    def text(self, address: bytes) -> str:
        return self.prefixes.account_text(address)

    def blocked(self, address: bytes) -> bool:
        """Whether user sends to an address are refused."""
        return address in BLOCKED

    def require_enabled(self, ctx: Context, coins: Coins) -> None:
        for denom, _ in coins:
            flag = ctx.store.get(ENABLED + denom.encode())
            enabled = flag == b"1" if flag is not None else self.params(ctx).default_send_enabled
            if not enabled:
                raise SEND_DISABLED(f"{denom} transfers are currently disabled")

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "cosmos.bank.v1beta1.Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())
