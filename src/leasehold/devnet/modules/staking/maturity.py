"""The end of waiting times: unbondings are paid out, redelegations become free."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.coins import Coin, coins_text
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.modules.instants import instant, sortable
from leasehold.devnet.modules.staking.delegations import Delegations
from leasehold.devnet.modules.staking.ledger import NOT_BONDED_POOL, REDELEGATION_QUEUE, UNBONDING_QUEUE, split_sized


class Maturity(Delegations):
    """What happens to stake whose time has come."""

    def _mature(self, ctx: Context, queue: bytes) -> list[list[bytes]]:
        """Take what is due out of a queue, in the order it became due, each only once."""
        end = queue + sortable(ctx.block.time_ns + 1)
        due = list(ctx.store.iterate(queue, end))
        for key, _ in due:
            ctx.store.delete(key)
        return [split_sized(value) for value in dict.fromkeys(value for _, value in due)]

    def complete_unbondings(self, ctx: Context) -> None:
        """Pay out what finished unbonding."""
        for delegator, operator in self._mature(ctx, UNBONDING_QUEUE):
            inner = ctx.fork()
            try:
                self._complete_unbonding(inner, delegator, operator)
            except ChainError:
                # As on the real chain a payout that fails is passed over: the block must go on.
                continue
            ctx.join(inner)

    def _complete_unbonding(self, ctx: Context, delegator: bytes, operator: bytes) -> None:
        unbonding = self.find_unbonding(ctx, delegator, operator)
        if unbonding is None:
            return
        paid, waiting = 0, []
        for entry in unbonding.entries:
            if instant(entry.completion_time) > ctx.block.time_ns or entry.unbonding_on_hold_ref_count > 0:
                waiting.append(entry)
                continue
            paid += int(entry.balance)
            self._pay_out(ctx, delegator, int(entry.balance))
        kept = [self._copy(entry) for entry in waiting]
        del unbonding.entries[:]
        unbonding.entries.extend(kept)
        self.save_unbonding(ctx, delegator, operator, unbonding)
        ctx.emit(
            "complete_unbonding",
            ("amount", self._amount_text(ctx, paid)),
            ("validator", self.operator_text(operator)),
            ("delegator", self.account_text(delegator)),
        )

    def _copy(self, entry: Any) -> Any:
        copied = type(entry)()
        copied.CopyFrom(entry)
        return copied

    def _pay_out(self, ctx: Context, delegator: bytes, amount: int) -> None:
        if amount:
            self.modules.bank.undelegate(ctx, NOT_BONDED_POOL, delegator, (self.bond_coin(ctx, amount),))

    def _amount_text(self, ctx: Context, amount: int) -> str:
        coins: tuple[Coin, ...] = (self.bond_coin(ctx, amount),) if amount else ()
        return coins_text(coins)

    def complete_redelegations(self, ctx: Context) -> None:
        """Forget redelegations whose time is over."""
        for delegator, source, target in self._mature(ctx, REDELEGATION_QUEUE):
            redelegation = self.find_redelegation(ctx, delegator, source, target)
            if redelegation is None:
                continue
            moved = 0
            for index in range(len(redelegation.entries) - 1, -1, -1):
                entry = redelegation.entries[index]
                if instant(entry.completion_time) > ctx.block.time_ns:
                    continue
                moved += int(entry.initial_balance)
                del redelegation.entries[index]
            self.save_redelegation(ctx, delegator, source, target, redelegation)
            ctx.emit(
                "complete_redelegation",
                ("amount", self._amount_text(ctx, moved)),
                ("delegator", self.account_text(delegator)),
                ("source_validator", self.operator_text(source)),
                ("destination_validator", self.operator_text(target)),
            )
