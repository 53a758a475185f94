"""Events of the contracts: one type each, written as ordered attributes and read back from them.

On chain a type gets the prefix `wasm-`, `_contract_address` comes first and `msg_index` may come last; a reader
strips all three. Older names of attributes are read as the current ones. Amounts are integers in smallest units.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from leasehold.protocol.errors import ProtocolError

CHAIN_PREFIX = "wasm-"
CONTRACT = "_contract_address"
Attributes = list[tuple[str, str]]

_OLDER = {
    "prev-margin-interest": "overdue-margin-interest",
    "prev-loan-interest": "overdue-loan-interest",
    "curr-margin-interest": "due-margin-interest",
    "curr-loan-interest": "due-loan-interest",
}


class MalformedEvent(ProtocolError):
    """An event of a known type whose attributes are not those of the type."""


class ProtocolEvent(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A custom event; `type` is its name without the chain's prefix."""

    type: ClassVar[str] = ""

    def attributes(self) -> Attributes:
        """The attributes in order, without those the chain adds."""
        found = []
        for name, wire in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            value = getattr(self, name)
            if value is not None:
                found.append((wire, _text(value)))
        return found


def _text(value: object) -> str:
    if value is True:
        return "true"
    return "false" if value is False else str(value)


class At(ProtocolEvent, frozen=True, kw_only=True):
    """When: height, nanoseconds of the block's time, index of the transaction in the block."""

    height: int
    at: int
    idx: int


class RequestLoan(ProtocolEvent, frozen=True, kw_only=True):
    """A lease drew its loan."""

    type: ClassVar[str] = "ls-request-loan"
    id: str


class RegisterIca(ProtocolEvent, frozen=True, kw_only=True, rename=None):
    """An account on the DEX's chain was opened."""

    type: ClassVar[str] = "register-ica"
    id: str
    ica_host: str


class Open(At, frozen=True, kw_only=True):
    """A lease bought its asset; `air` is the loan's rate plus the margin in permille."""

    type: ClassVar[str] = "ls-open"
    id: str
    customer: str
    air: int
    currency: str
    loan_pool_id: str
    loan_amount: int
    loan_symbol: str
    downpayment_amount: int
    downpayment_symbol: str


class Repay(At, frozen=True, kw_only=True):
    """A payment in the lent currency was applied; it includes the change."""

    type: ClassVar[str] = "ls-repay"
    to: str
    payment_amount: int
    payment_symbol: str
    loan_close: bool
    overdue_margin_interest: int
    overdue_loan_interest: int
    due_margin_interest: int
    due_loan_interest: int
    principal: int
    change: int


class ClosePosition(Repay, frozen=True, kw_only=True):
    """A part or all of a position was sold and the proceeds applied."""

    type: ClassVar[str] = "ls-close-position"
    amount_amount: int
    amount_symbol: str


class Liquidation(Repay, frozen=True, kw_only=True):
    """A liquidation was settled; the thresholds come with the cause `high liability`."""

    type: ClassVar[str] = "ls-liquidation"
    cause: str
    ltv: int | None = None
    ltv_healthy: int | None = None
    amount_amount: int
    amount_symbol: str


class LiquidationWarning(ProtocolEvent, frozen=True, kw_only=True):
    """An evaluation ended in a warning zone; `ltv` is the zone's lower threshold."""

    type: ClassVar[str] = "ls-liquidation-warning"
    customer: str
    lease: str
    lease_asset: str
    ltv: int
    level: int


class AutoClose(At, frozen=True, kw_only=True):
    """A close policy fired and the sale started."""

    type: ClassVar[str] = "ls-auto-close-position"
    to: str
    take_profit_ltv: int | None = None
    stop_loss_ltv: int | None = None


class SlippageAnomaly(ProtocolEvent, frozen=True, kw_only=True, rename={"lease_asset": "lease-asset"}):
    """A liquidation's swap was refused."""

    type: ClassVar[str] = "ls-slippage-anomaly"
    customer: str
    lease: str
    lease_asset: str
    max_slippage: int


class Close(ProtocolEvent, frozen=True, kw_only=True):
    """A paid lease returned its asset."""

    type: ClassVar[str] = "ls-close"
    id: str
    height: int
    at: int
    idx: int


class DexProgress(ProtocolEvent, frozen=True, kw_only=True):
    """A step of a DEX leg: nothing more for a finished transfer out, a stage while coins are awaited, a timeout."""

    label: str
    stage: str | None = None
    amount_amount: int | None = None
    amount_symbol: str | None = None
    id: str | None = None
    timeout: str | None = None

    def attributes(self) -> Attributes:
        """The attributes in order; the label is the type."""
        return super().attributes()[1:]


class NextDelivery(ProtocolEvent, frozen=True, kw_only=True):
    """Handling of a DEX answer failed and will be tried again."""

    type: ClassVar[str] = "next-delivery"
    what: str


class Deposit(
    At,
    frozen=True,
    kw_only=True,
    rename={"sender": "from", "deposit_amount": "deposit-amount", "deposit_symbol": "deposit-symbol"},
):
    """A lender deposited."""

    type: ClassVar[str] = "lp-deposit"
    sender: str
    to: str
    deposit_amount: int
    deposit_symbol: str
    receipts: int


class Withdraw(
    At,
    frozen=True,
    kw_only=True,
    rename={"sender": "from", "withdraw_amount": "withdraw-amount", "withdraw_symbol": "withdraw-symbol"},
):
    """A lender withdrew; `close` says that nothing is left."""

    type: ClassVar[str] = "lp-withdraw"
    to: str
    sender: str
    withdraw_amount: int
    withdraw_symbol: str
    receipts: int
    close: bool


class Rewards(At, frozen=True, kw_only=True):
    """The treasury rewarded a pool."""

    type: ClassVar[str] = "tr-rewards"
    to: str
    rewards_amount: int
    rewards_symbol: str


class Profit(At, frozen=True, kw_only=True):
    """The profit was sent to the treasury."""

    type: ClassVar[str] = "tr-profit"
    profit_amount_amount: int
    profit_amount_symbol: str


class CoverLoss(ProtocolEvent, frozen=True, kw_only=True):
    """The reserve covered a shortfall of a lease."""

    type: ClassVar[str] = "reserve-cover-loss"
    to: str
    payment_amount: int
    payment_symbol: str


class MigrateLeases(ProtocolEvent, frozen=True, kw_only=True, rename={"continuation_key": "contunuation-key"}):
    """A batch of leases migrated; `status` is done, or the key says where to go on (misspelt on the wire)."""

    type: ClassVar[str] = "migrate-leases"
    status: str | None = None
    continuation_key: str | None = None


class Dispatched(ProtocolEvent, frozen=True, kw_only=True):
    """Subscribers that alarms were sent to; the attribute repeats."""

    label: str
    receivers: list[str]

    def attributes(self) -> Attributes:
        """One attribute per receiver."""
        return [("receiver", receiver) for receiver in self.receivers]


class Delivered(ProtocolEvent, frozen=True, kw_only=True):
    """Outcome of one delivery: success or error with details."""

    label: str
    delivered: str
    details: str | None = None

    def attributes(self) -> Attributes:
        """The attributes in order; the label is the type."""
        return super().attributes()[1:]


TIME_ALARM, TIME_DELIVERY = "timealarm", "time-alarm"
PRICE_ALARM, PRICE_DELIVERY = "pricealarm", "pricealarm-delivery"
_ALARMS = frozenset({TIME_ALARM, TIME_DELIVERY, PRICE_ALARM, PRICE_DELIVERY})
PROGRESS_LABELS = frozenset(
    {"ls-open-swap", "ls-repay-swap", "ls-close-position", "ls-liquidation-swap", "ls-close-transfer-in", "BuyBack"}
)
_TYPES: dict[str, type[ProtocolEvent]] = {
    kind.type: kind
    for kind in (
        RequestLoan, RegisterIca, Open, Repay, ClosePosition, Liquidation, LiquidationWarning, AutoClose,
        SlippageAnomaly, Close, NextDelivery, Deposit, Withdraw, Rewards, Profit, CoverLoss, MigrateLeases,
    )
}  # fmt: skip


def parse(event_type: str, attributes: Iterable[tuple[str, str]]) -> tuple[str, ProtocolEvent] | None:
    """The emitting contract and the event; None for a type that is not the protocol's."""
    name = event_type.removeprefix(CHAIN_PREFIX)
    known = _TYPES.get(name)
    if event_type == name or (known is None and name not in PROGRESS_LABELS | _ALARMS):
        return None
    contract, receivers, found = "", [], dict[str, str]()
    for key, value in attributes:
        if key == CONTRACT:
            contract = contract or value
        elif key == "receiver":
            receivers.append(value)
        elif key != "msg_index":
            found[_OLDER.get(key, key)] = value
    content: dict[str, Any] = dict(found)
    if name in (TIME_ALARM, PRICE_ALARM):
        return contract, Dispatched(label=name, receivers=receivers)
    kind: type[ProtocolEvent]
    if name in (TIME_DELIVERY, PRICE_DELIVERY):
        kind, content["label"] = Delivered, name
    elif name in PROGRESS_LABELS and "height" not in found:
        kind, content["label"] = DexProgress, name
    else:
        assert known is not None
        kind = known
    try:
        return contract, msgspec.convert(content, kind, strict=False)
    except msgspec.ValidationError as error:
        raise MalformedEvent(f"{event_type} of {contract or 'no contract'}: {error}") from None
