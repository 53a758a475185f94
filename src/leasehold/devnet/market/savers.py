"""Lenders, stakers and voters."""

from __future__ import annotations

from typing import Any

from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.document import TOKEN, VALIDATORS
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.scene import Scene

YES, ABSTAIN, NO, VETO = 1, 2, 3, 4


class Lender:
    """One account that lends."""

    def __init__(self, hand: Hand, scene: Scene) -> None:
        self.hand = hand
        self._scene = scene

    def deposit(self, ctx: Context, spec: ProtocolSpec, amount: int) -> Any | None:
        denom = self._scene.currency(spec, spec.lpn).bank_symbol
        if amount <= 0 or not self._scene.holds(ctx, self.hand, denom, amount):
            return None
        return self.hand.execute(self._pool(spec), {"deposit": []}, {denom: amount})

    def change(self, ctx: Context, spec: ProtocolSpec, *, ending: bool = False) -> Any | None:
        """A deposit, a withdrawal or a claim.

        Lenders bring money where much of it is lent, which pays, and take it away where little is; now and then one
        comes or goes for reasons of its own. From a pool that is `ending` they only go.
        """
        scene, chance = self._scene, self._scene.chance
        roll = chance.random()
        if roll < 0.15:
            return self._claim(ctx, spec)
        state = scene.ask(ctx, self._pool(spec), {"lpp_balance": []})
        if state is None:
            return None
        free = int(state["balance"]["amount"])
        due = int(state["total_principal_due"]["amount"]) + int(state["total_interest_due"]["amount"])
        if roll < 0.75:
            # The pool's size at which as much of it would be lent as lenders like.
            content = max(due * 1000 // spec.appetite, spec.pool // 2)
            move = int((content - free - due) * chance.uniform(0.2, 0.6))
        else:
            move = int((free + due) * chance.uniform(0.01, 0.08)) * chance.choice((1, -1))
        if ending:
            move = -abs(move)
        if move > 0:
            return self._add(ctx, spec, move)
        return self._take(ctx, spec, min(-move, free // 2), state)

    def _add(self, ctx: Context, spec: ProtocolSpec, amount: int) -> Any | None:
        capacity = self._scene.ask(ctx, self._pool(spec), {"deposit_capacity": []})
        return self.deposit(ctx, spec, amount if capacity is None else min(amount, int(capacity["amount"])))

    def _take(self, ctx: Context, spec: ProtocolSpec, amount: int, state: dict[str, Any]) -> Any | None:
        """Give back receipts worth about so much, at most one's own."""
        held = self._scene.ask(ctx, self._pool(spec), {"balance": {"address": self.hand.address}}) or {"amount": "0"}
        worth = sum(int(state[part]["amount"]) for part in ("balance", "total_principal_due", "total_interest_due"))
        receipts = min(int(held["amount"]), amount * int(state["balance_nlpn"]["amount"]) // max(worth, 1))
        if receipts <= 0:
            return None
        return self.hand.execute(self._pool(spec), {"burn": {"amount": {"amount": str(receipts)}}})

    def _claim(self, ctx: Context, spec: ProtocolSpec) -> Any | None:
        rewards = self._scene.ask(ctx, self._pool(spec), {"rewards": {"address": self.hand.address}})
        if not rewards or int(rewards["rewards"]["amount"]) == 0:
            return None
        return self.hand.execute(self._pool(spec), {"claim_rewards": {"other_recipient": None}})

    def _pool(self, spec: ProtocolSpec) -> str:
        return self._scene.deployment.addresses(spec.name).lpp


class Staker:
    """One account that stakes and votes."""

    def __init__(self, hand: Hand, scene: Scene) -> None:
        self.hand = hand
        self._scene = scene
        prefixes = Bech32Prefixes(scene.app.identity.prefix)
        self._validators = [prefixes.operator_text(scene.named_hand(name).wallet.address_bytes) for name in VALIDATORS]

    def delegate(self, amount: int) -> Any:
        return self._message("MsgDelegate", self._scene.chance.choice(self._validators), amount)

    def change(self, ctx: Context) -> Any | None:
        """A delegation, a withdrawal of rewards, an undelegation or a redelegation, as it comes."""
        roll = self._scene.chance.random()
        denom = self._scene.app.identity.base_denom
        if roll < 0.4:
            amount = self._scene.chance.randint(50, 5_000) * TOKEN
            return self.delegate(amount) if self._scene.holds(ctx, self.hand, denom, amount + TOKEN) else None
        held = self._delegations(ctx)
        if not held:
            return None
        validator, amount = self._scene.chance.choice(held)
        if roll < 0.8:
            return self.hand.message(
                "cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward",
                delegator_address=self.hand.address,
                validator_address=validator,
            )
        part = amount // 10
        if part == 0:
            return None
        if roll < 0.92:
            return self._message("MsgUndelegate", validator, part)
        other = self._scene.chance.choice([found for found in self._validators if found != validator])
        return self.hand.message(
            "cosmos.staking.v1beta1.MsgBeginRedelegate",
            delegator_address=self.hand.address,
            validator_src_address=validator,
            validator_dst_address=other,
            amount={"denom": denom, "amount": str(part)},
        )

    def _delegations(self, ctx: Context) -> list[tuple[str, int]]:
        request = self._scene.app.registry.new(
            "cosmos.staking.v1beta1.QueryDelegatorDelegationsRequest", delegator_addr=self.hand.address
        )
        handler = self._scene.app.queries.handlers["/cosmos.staking.v1beta1.Query/DelegatorDelegations"]
        answer = handler(ctx, request)
        return [(r.delegation.validator_address, int(r.balance.amount)) for r in answer.delegation_responses]

    def _message(self, name: str, validator: str, amount: int) -> Any:
        return self.hand.message(
            f"cosmos.staking.v1beta1.{name}",
            delegator_address=self.hand.address,
            validator_address=validator,
            amount={"denom": self._scene.app.identity.base_denom, "amount": str(amount)},
        )


def vote(hand: Hand, proposal: int, option: int) -> Any:
    return hand.message("cosmos.gov.v1.MsgVote", proposal_id=proposal, voter=hand.address, option=option)


def propose(hand: Hand, denom: str, title: str, summary: str, deposit: int, messages: list[Any]) -> Any:
    """A proposal with a deposit; with the full one it goes to the vote at once."""
    return hand.message(
        "cosmos.gov.v1.MsgSubmitProposal",
        messages=messages,
        initial_deposit=[{"denom": denom, "amount": str(deposit)}] if deposit else [],
        proposer=hand.address,
        metadata="ipfs://devnet" if not messages else "",
        title=title,
        summary=summary,
    )
