"""Deposits of proposals: enough to start a vote, given back, burnt or charged."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.core.addresses import module_address
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coin, Coins, amount_of, coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_COINS
from leasehold.devnet.modules.gov.errors import DEPOSIT_TOO_SMALL, INACTIVE_PROPOSAL, INVALID_DEPOSIT_DENOM
from leasehold.devnet.modules.gov.ledger import (
    ACTIVE_QUEUE,
    DEPOSIT_PERIOD,
    INACTIVE_QUEUE,
    V1,
    VOTING_PERIOD,
    number,
)
from leasehold.devnet.modules.gov.tally import Tally
from leasehold.devnet.modules.instants import duration, instant, set_instant, sortable


class Deposits(Tally):
    """Coins behind a proposal."""

    def _check_initial_deposit(self, ctx: Context, deposit: Coins, *, expedited: bool) -> None:
        if not coin_lists.valid(deposit):
            raise INVALID_COINS(coins_text(deposit))
        params = self.params(ctx)
        ratio = fixed_point.parse(params.min_initial_deposit_ratio or "0")
        if ratio == 0:
            return
        wanted = from_proto(params.expedited_min_deposit if expedited else params.min_deposit)
        least = tuple(Coin(c.denom, fixed_point.round_to_integer(c.amount * ratio)) for c in wanted)
        if not _covers(deposit, least):
            raise DEPOSIT_TOO_SMALL(f"was ({coins_text(deposit)}), need ({coins_text(least)})")

    def _check_denoms(self, ctx: Context, deposit: Coins) -> None:
        accepted = [coin.denom for coin in self.params(ctx).min_deposit]
        if any(coin.denom not in accepted for coin in deposit):
            shown = " ".join(accepted)
            raise INVALID_DEPOSIT_DENOM(
                f"deposited {coins_text(deposit)}, but gov accepts only the following denom(s): [{shown}]"
            )

    def deposit(self, ctx: Context, proposal_id: int, depositor: bytes, coins: Coins) -> bool:
        """Add to a proposal's deposit; returns whether that started the vote."""
        proposal = self.proposal(ctx, proposal_id)
        if proposal.status not in (DEPOSIT_PERIOD, VOTING_PERIOD):
            raise INACTIVE_PROPOSAL(str(proposal_id))
        params = self.params(ctx)
        wanted = from_proto(params.expedited_min_deposit if proposal.expedited else params.min_deposit)
        self._check_denoms(ctx, coins)
        self._check_share(params, wanted, coins)
        account = self.modules.auth.module_account(ctx, "gov")
        self.modules.bank.send(ctx, depositor, account, coins)
        total = coin_lists.add(from_proto(proposal.total_deposit), coins)
        del proposal.total_deposit[:]
        proposal.total_deposit.extend(self.coins(total))
        started = proposal.status == DEPOSIT_PERIOD and _covers(total, wanted)
        if started:
            self._start_vote(ctx, proposal)
        self.save_proposal(ctx, proposal)
        record = self.find_deposit(ctx, proposal_id, depositor)
        text = self.prefixes.account_text(depositor)
        if record is None:
            record = self.new(V1 + "Deposit", proposal_id=proposal_id, depositor=text)
        sum_of_both = coin_lists.add(from_proto(record.amount), coins)
        del record.amount[:]
        record.amount.extend(self.coins(sum_of_both))
        ctx.emit(
            "proposal_deposit",
            ("depositor", text),
            ("amount", coins_text(coins)),
            ("proposal_id", str(proposal_id)),
        )
        self.save_deposit(ctx, depositor, record)
        return started

    def _check_share(self, params: Any, wanted: Coins, coins: Coins) -> None:
        ratio = fixed_point.parse(params.min_deposit_ratio or "0")
        if ratio == 0:
            return
        least = tuple(Coin(c.denom, fixed_point.truncate(c.amount * ratio)) for c in wanted)
        given = dict(coins)
        if not any(c.denom in given and given[c.denom] >= c.amount for c in least):
            raise DEPOSIT_TOO_SMALL(
                f"received {coins_text(coins)} but need at least one of the following: {coins_text(least)}"
            )

    def _start_vote(self, ctx: Context, proposal: Any) -> None:
        params = self.params(ctx)
        period = duration(params.expedited_voting_period if proposal.expedited else params.voting_period)
        end = ctx.block.time_ns + period
        set_instant(proposal.voting_start_time, ctx.block.time_ns)
        set_instant(proposal.voting_end_time, end)
        proposal.status = VOTING_PERIOD
        key = number(proposal.id)
        ctx.store.delete(INACTIVE_QUEUE + sortable(instant(proposal.deposit_end_time)) + key)
        ctx.store.set(ACTIVE_QUEUE + sortable(end) + key, b"")

    def _refund(self, ctx: Context, proposal_id: int) -> None:
        account = self.modules.auth.module_account(ctx, "gov")
        for depositor, coins in self.take_deposits(ctx, proposal_id):
            self.modules.bank.send(ctx, account, depositor, coins)

    def _burn(self, ctx: Context, proposal_id: int) -> None:
        for _, coins in self.take_deposits(ctx, proposal_id):
            self.modules.bank.burn(ctx, "gov", coins)

    def _charge(self, ctx: Context, proposal_id: int) -> None:
        params = self.params(ctx)
        ratio = fixed_point.parse(params.proposal_cancel_ratio or "0")
        account = self.modules.auth.module_account(ctx, "gov")
        charged: Coins = ()
        for depositor, coins in self.take_deposits(ctx, proposal_id):
            cut = tuple(Coin(c.denom, fixed_point.truncate(c.amount * ratio)) for c in coins)
            rest = coin_lists.subtract(coins, cut)
            charged = coin_lists.add(charged, cut)
            if rest:
                self.modules.bank.send(ctx, account, depositor, rest)
        if not charged:
            return
        target = params.proposal_cancel_dest
        if not target:
            self.modules.bank.burn(ctx, "gov", charged)
            return
        address = self.participants.account(target)
        if address == module_address("distribution"):
            self.modules.distribution.fund(ctx, account, charged)
        else:
            self.modules.bank.send(ctx, account, address, charged)


def _covers(coins: Coins, wanted: Coins) -> bool:
    return all(amount_of(coins, coin.denom) >= coin.amount for coin in wanted)
