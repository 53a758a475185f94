"""The chain around the contract runtime: its bank and its gas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.core.addresses import decode
from leasehold.devnet.app.abci import Event
from leasehold.devnet.app.coins import Coin, Coins
from leasehold.devnet.app.context import Block, Context, Mode
from leasehold.devnet.app.errors import UNAUTHORIZED, ChainError, PlainError
from leasehold.devnet.state.gas import GasMeter, MeteredStore
from leasehold.devnet.state.store import Overlay, Reader, Store
from leasehold.devnet.wasm.contract import BankCoin
from leasehold.devnet.wasm.failures import ModuleFailure

if TYPE_CHECKING:
    from leasehold.devnet.app.assembly import Modules

_NOWHERE = Block(0, 0, "")


def coins_of(funds: Sequence[BankCoin]) -> Coins:
    return tuple(sorted(Coin(coin.denom, coin.amount) for coin in funds))


class MeterGas:
    """A transaction's meter as the runtime sees it."""

    __slots__ = ("meter",)

    def __init__(self, meter: GasMeter) -> None:
        self.meter = meter

    def charge(self, amount: int, reason: str) -> None:
        self.meter.consume(amount, reason)


def context_around(store: Reader, block: Block = _NOWHERE) -> Context:
    """A context over the runtime's store; writes go through when that is an overlay."""
    return Context(store if isinstance(store, Overlay) else Overlay(store), block, Mode.DELIVER)


class ContractBank:
    """The bank module for contracts: moves by text addresses, without the message(sender) event.

    The block and the meter of the running transaction are set with `during`, because vesting accounts are locked by
    time and bank reads cost gas.
    """

    def __init__(self, modules: Callable[[], Modules]) -> None:
        self._modules = modules
        self._block = _NOWHERE
        self._meter: GasMeter | None = None

    @contextmanager
    def during(self, block: Block, meter: GasMeter | None) -> Iterator[None]:
        before = self._block, self._meter
        self._block, self._meter = block, meter
        try:
            yield
        finally:
            self._block, self._meter = before

    def _context(self, store: Store) -> Context:
        ctx = context_around(store, self._block)
        if self._meter is not None:
            ctx.store = MeteredStore(ctx.overlay, self._meter)
        return ctx

    def send(self, store: Store, sender: str, recipient: str, coins: Sequence[BankCoin]) -> list[Event]:
        bank = self._modules().bank
        ctx = self._context(store)
        moved = coins_of(coins)
        try:
            to = self._modules().auth.address_bytes(recipient)
            if bank.blocked(to):
                raise UNAUTHORIZED(f"{recipient} is not allowed to receive funds")
            bank.require_enabled(ctx, moved)
            bank.send(ctx, decode(sender)[1], to, moved, announce=False)
        except ChainError as error:
            raise ModuleFailure(error.kind.codespace, error.kind.code, error.log) from None
        except PlainError as error:
            raise ModuleFailure("sdk", 7, f"{error}: invalid address") from None
        return ctx.events

    def burn(self, store: Store, owner: str, coins: Sequence[BankCoin]) -> list[Event]:
        modules = self._modules()
        ctx = self._context(store)
        try:
            modules.bank.send(ctx, decode(owner)[1], modules.auth.module_account(ctx, "wasm"), coins_of(coins))
            modules.bank.burn(ctx, "wasm", coins_of(coins))
        except ChainError as error:
            raise ModuleFailure(error.kind.codespace, error.kind.code, error.log) from None
        return ctx.events

    def balance(self, store: Reader, address: str, denom: str) -> int:
        return self._modules().bank.balance(context_around(store, self._block), decode(address)[1], denom)

    def balances(self, store: Reader, address: str) -> tuple[BankCoin, ...]:
        held = self._modules().bank.balances(context_around(store, self._block), decode(address)[1])
        return tuple(BankCoin(denom, amount) for denom, amount in held)
