"""Borrowers: they open leases and live with them."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.scene import Scene

# Beyond this many leases a borrower opens no more.
MOST_LEASES = 12
_YEAR_NS = 365 * 86_400 * 10**9


class Borrower:
    """One account that leases."""

    def __init__(self, hand: Hand, scene: Scene) -> None:
        self.hand = hand
        self._scene = scene

    def leases(self, ctx: Context, spec: ProtocolSpec) -> list[str]:
        leaser = self._scene.deployment.addresses(spec.name).leaser
        found: list[str] = self._scene.ask(ctx, leaser, {"leases": {"owner": self.hand.address}}) or []
        return sorted(found)

    def open(self, ctx: Context, spec: ProtocolSpec) -> Any | None:
        """A message that opens a lease of some size, or None when this borrower has enough."""
        scene, chance = self._scene, self._scene.chance
        if len(self.leases(ctx, spec)) >= MOST_LEASES:
            return None
        asset = chance.choice(spec.leased)
        paid_in = spec.lpn if chance.random() < 0.7 else asset
        usd = min(9000.0, 60.0 + chance.lognormvariate(7.2, 0.9))
        amount = scene.units(spec, paid_in, usd)
        denom = scene.currency(spec, paid_in).bank_symbol
        if not scene.holds(ctx, self.hand, denom, amount):
            return None
        limit = {"max_ltd": chance.choice((250, 500, 750, 1000))} if chance.random() < 0.35 else {}
        # The oracle may have nothing to say until the block's own feed, the pool always has.
        loan = {"amount": str(scene.units(spec, spec.lpn, usd * limit.get("max_ltd", 1500) / 1000)), "ticker": spec.lpn}
        at = scene.deployment.addresses(spec.name)
        if scene.ask(ctx, at.lpp, {"quote": {"amount": loan}}) in (None, "no_liquidity"):
            return None
        return self.hand.execute(at.leaser, {"open_lease": {"currency": asset, **limit}}, {denom: amount})

    def manage(self, ctx: Context, spec: ProtocolSpec, *, ending: bool = False) -> Any | None:
        """Something done to one of the leases; `ending` closes whatever there is."""
        for lease in self._shuffled(self.leases(ctx, spec)):
            state = self._scene.ask(ctx, lease, {"state": {}})
            opened = (state or {}).get("opened")
            if opened and opened["status"] == "idle":
                return self._act(ctx, spec, lease, opened, ending=ending)
        return None

    def _shuffled(self, items: list[str]) -> list[str]:
        self._scene.chance.shuffle(items)
        return items

    def _act(self, ctx: Context, spec: ProtocolSpec, lease: str, opened: dict[str, Any], *, ending: bool) -> Any | None:
        roll = self._scene.chance.random()
        if ending:
            roll = 0.2 if roll < 0.7 else 0.9
        if roll < 0.45:
            return self.hand.execute(lease, {"close_position": {"full_close": {}}})
        if roll < 0.55:
            amount = int(opened["amount"]["amount"]) * self._scene.chance.randint(15, 45) // 100
            partial = {"amount": {"amount": str(amount), "ticker": opened["amount"]["ticker"]}}
            return self.hand.execute(lease, {"close_position": {"partial_close": partial}})
        if roll < 0.72:
            return self._repay(ctx, spec, lease, opened, share=self._scene.chance.uniform(0.05, 0.5))
        if roll < 0.80:
            return self._policy(lease)
        return self._repay(ctx, spec, lease, opened, share=None)

    def _repay(
        self, ctx: Context, spec: ProtocolSpec, lease: str, opened: dict[str, Any], *, share: float | None
    ) -> Any | None:
        """Repay a share of the debt, in the lent currency or another; None repays it all."""
        scene = self._scene
        due = sum(
            int(opened[part]["amount"])
            for part in ("principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest")
        )
        ticker, amount = spec.lpn, due + due // 10_000 + 10
        if share is not None:
            amount = max(1, int(due * share))
            if scene.chance.random() < 0.3:
                ticker = opened["amount"]["ticker"]
                usd = amount / 10 ** scene.currency(spec, spec.lpn).decimal_digits * scene.model.usd(spec.lpn)
                amount = scene.units(spec, ticker, usd)
        denom = scene.currency(spec, ticker).bank_symbol
        if amount <= 0 or not scene.holds(ctx, self.hand, denom, amount):
            return None
        return self.hand.execute(lease, {"repay": []}, {denom: amount})

    def _policy(self, lease: str) -> Any:
        chance = self._scene.chance
        if chance.random() < 0.5:
            return self.hand.execute(lease, {"change_close_policy": {"stop_loss": {"set": chance.randint(780, 880)}}})
        return self.hand.execute(lease, {"change_close_policy": {"take_profit": {"set": chance.randint(150, 350)}}})
