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

    def change(self, ctx: Context, spec: ProtocolSpec) -> Any | None:
        """A deposit, a withdrawal or a claim, as it comes."""
        scene, chance = self._scene, self._scene.chance
        roll = chance.random()
        if roll < 0.5:
            return self.deposit(ctx, spec, scene.units(spec, spec.lpn, chance.lognormvariate(8.5, 1.0)))
        held = int(
            (scene.ask(ctx, self._pool(spec), {"balance": {"address": self.hand.address}}) or {"amount": "0"})["amount"]
        )
        if not held:
            return None
        if roll < 0.8:
            share = 100 if chance.random() < 0.15 else chance.randint(5, 40)
            balance = scene.ask(ctx, self._pool(spec), {"lpp_balance": []})
            amount = min(held * share // 100, int(balance["balance"]["amount"]) // 2)
            return (
                self.hand.execute(self._pool(spec), {"burn": {"amount": {"amount": str(amount)}}}) if amount else None
            )
        rewards = scene.ask(ctx, self._pool(spec), {"rewards": {"address": self.hand.address}})
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
