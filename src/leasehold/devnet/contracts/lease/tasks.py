"""What the legs of a lease on the DEX are for: buying the asset, buying the lent currency, selling, coming home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leasehold.devnet.contracts.dex import DexCoin, Outcome, Stage
from leasehold.devnet.contracts.lease.scene import Scene, emitted, merged
from leasehold.devnet.contracts.lease.states import Anomaly
from leasehold.devnet.contracts.native import Case
from leasehold.devnet.wasm.contract import Response
from leasehold.protocol import events
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.lease_state import BuyAsset, BuyLpn, LeaseRecord, ReturnAsset, SellAsset
from leasehold.protocol.messages.values import Account
from leasehold.protocol.percent import MILLE, of

LABELS = {
    "BuyAsset": "ls-open-swap",
    "BuyLpn": "ls-repay-swap",
    "PartialClose": "ls-close-position",
    "FullClose": "ls-close-position",
    "PartialLiquidation": "ls-liquidation-swap",
    "FullLiquidation": "ls-liquidation-swap",
    "ClosingTransferIn": "ls-close-transfer-in",
}

Spec = BuyAsset | BuyLpn | SellAsset | ReturnAsset


@dataclass(frozen=True, slots=True)
class LeaseTask:
    """A leg's purpose: a kind (the stored variant) over a spec, and what to do with the output."""

    kind: str
    spec: Spec
    scene: Scene
    ends: Callable[[str, Spec, int], Outcome]

    @property
    def label(self) -> str:
        return LABELS[self.kind]

    @property
    def local(self) -> bool:
        return self.kind != "BuyAsset"

    @property
    def out_ticker(self) -> str:
        if isinstance(self.spec, BuyAsset):
            return self.spec.form.currency
        core = self.spec.lease.lease
        return core.position.amount.ticker if isinstance(self.spec, ReturnAsset) else core.lpn

    @property
    def account(self) -> Account:
        return self.spec.dex_account if isinstance(self.spec, BuyAsset) else self.spec.lease.dex

    @property
    def time_alarms(self) -> str:
        if isinstance(self.spec, BuyAsset):
            return self.spec.deps[2].addr
        return self.spec.lease.lease.time_alarms.addr

    @property
    def oracle(self) -> str:
        return self.spec.deps[1].addr if isinstance(self.spec, BuyAsset) else self.spec.lease.lease.oracle.addr

    def coins(self) -> tuple[DexCoin, ...]:
        spec = self.spec
        if isinstance(spec, BuyAsset):
            down, loan = spec.downpayment, spec.loan.principal
            return DexCoin(down.units, down.ticker), DexCoin(loan.units, loan.ticker)
        if isinstance(spec, BuyLpn):
            return (DexCoin(spec.payment.units, spec.payment.ticker),)
        sold = spec.amount if isinstance(spec, SellAsset) else spec.lease.lease.position.amount
        return (DexCoin(sold.units, sold.ticker),)

    def min_output(self, case: Case, coin: DexCoin) -> int:
        """One on customers' legs; on liquidations the oracle's value less the slippage allowed."""
        limit = self._limit
        if limit is None:
            return 1
        try:
            worth = self.scene.prices(self.oracle).in_lpn(coin.amount, coin.ticker)
        except Refused as refusal:
            raise Refused(
                f"[Dex] [Oracle; Price; Stub] Failed to convert to the quote currency! Cause: {refusal.message}"
            ) from None
        return of(MILLE - limit, worth)

    def on_anomaly(self, case: Case) -> Outcome | None:
        """A refused liquidation protects the lease from a bad price; any other swap is tried again."""
        limit = self._limit
        if limit is None:
            return None
        assert isinstance(self.spec, SellAsset)
        record: LeaseRecord = self.spec.lease
        anomaly = events.SlippageAnomaly(
            customer=record.lease.customer,
            lease=record.lease.addr,
            lease_asset=record.lease.position.amount.ticker,
            max_slippage=limit,
        )
        return Outcome(Response(events=[emitted(anomaly)]), Anomaly(record))

    def finish(self, case: Case, amount_out: int) -> Outcome:
        return self.ends(self.kind, self.spec, amount_out)

    def stored(self) -> Spec:
        return self.spec

    @property
    def _limit(self) -> int | None:
        return self.spec.slippage_calc.max_slippage if isinstance(self.spec, SellAsset) else None


def entered(stage: Stage, case: Case, before: Response | None = None) -> Outcome:
    """The step into a stage, after what was already decided."""
    response = stage.enter(case)
    return Outcome(response if before is None else merged(before, response), stage)
