"""A lease contract's answer to `state`, in the current and in older forms, as one shape."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from leasehold.app_api.upstreams.lcd import Digits

Status = Literal["opening", "opened", "paid_off", "closing", "closed", "liquidated", "open_failed"]


class Amount(msgspec.Struct, frozen=True):
    """An amount in smallest units."""

    amount: Digits
    ticker: str


class Opening(msgspec.Struct, frozen=True):
    currency: str
    downpayment: Amount
    loan: Amount
    loan_interest_rate: int
    in_progress: Any = None


class ClosePolicy(msgspec.Struct, frozen=True):
    stop_loss: int | None = None
    take_profit: int | None = None


class Opened(msgspec.Struct, frozen=True):
    amount: Amount
    loan_interest_rate: int
    margin_interest_rate: int
    principal_due: Amount
    overdue_margin: Amount
    overdue_interest: Amount
    due_margin: Amount
    due_interest: Amount
    overdue_collect_in: int
    close_policy: ClosePolicy = ClosePolicy()
    status: Any = "idle"


class Closing(msgspec.Struct, frozen=True):
    """Nothing is owed any more; contracts before the current ones still listed what had been."""

    amount: Amount
    loan_interest_rate: int = 0
    margin_interest_rate: int = 0
    principal_due: Amount | None = None
    overdue_margin: Amount | None = None
    overdue_interest: Amount | None = None
    due_margin: Amount | None = None
    due_interest: Amount | None = None


class PaidOff(msgspec.Struct, frozen=True):
    amount: Amount


class OpenFailed(msgspec.Struct, frozen=True):
    reason: str


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """Exactly one member is there: the state the lease is in."""

    opening: Opening | msgspec.UnsetType = msgspec.UNSET
    opened: Opened | msgspec.UnsetType = msgspec.UNSET
    paid_off: PaidOff | msgspec.UnsetType = msgspec.UNSET
    closing: Closing | msgspec.UnsetType = msgspec.UNSET
    closed: Any = msgspec.UNSET
    liquidated: Any = msgspec.UNSET
    open_failed: OpenFailed | msgspec.UnsetType = msgspec.UNSET

    @property
    def status(self) -> Status | None:
        """Name of the state, None for one nobody knows."""
        names: tuple[Status, ...] = (
            "opening",
            "opened",
            "paid_off",
            "closing",
            "closed",
            "liquidated",
            "open_failed",
        )
        return next((name for name in names if getattr(self, name) is not msgspec.UNSET), None)


def stage_of(in_progress: Any) -> str | None:
    """Name of a stage: a bare text, or the single key of an object."""
    if isinstance(in_progress, str):
        return in_progress
    if isinstance(in_progress, dict) and len(in_progress) == 1:
        return str(next(iter(in_progress)))
    return None


def activity_of(status: Any) -> dict[str, Any] | None:
    """What an opened lease is doing, in the words clients know; None while it is idle."""
    if status == "slippage_protection_activated":
        return {"slippage_protection": {}}
    if not isinstance(status, dict) or not isinstance(status.get("in_progress"), dict):
        return None
    name, detail = next(iter(status["in_progress"].items()), (None, None))
    if name == "liquidation":
        cause = detail.get("cause") if isinstance(detail, dict) else None
        return {"liquidation": {"cause": cause} if isinstance(cause, str) else {}}
    return {name: {}} if name in ("repayment", "close") else None
