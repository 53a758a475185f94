"""The states of a lease and how they are stored: `{"<Variant>":…}` under the key `state`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from leasehold.devnet.contracts import dex
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.messages.lease_state import (
    BuyAsset,
    BuyLpn,
    Connectee,
    Holding,
    LeaseRecord,
    LoanRequest,
    ReturnAsset,
    SellAsset,
)
from leasehold.protocol.serde import encode

STATE_KEY = b"state"
_SPECS: dict[str, type[msgspec.Struct]] = {
    "BuyAsset": BuyAsset,
    "BuyLpn": BuyLpn,
    "PartialLiquidation": SellAsset,
    "FullLiquidation": SellAsset,
    "PartialClose": SellAsset,
    "FullClose": SellAsset,
    "ClosingTransferIn": ReturnAsset,
}
_VARIANT = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_HOLDING = msgspec.json.Decoder(Holding).decode
_DELIVERY = "RespDelivery"


@dataclass(frozen=True, slots=True)
class Requested:
    """The loan was asked for; lasts within one transaction."""

    request: LoanRequest


@dataclass(frozen=True, slots=True)
class Connecting:
    """The account on the DEX is being opened; with a version its answer is being handled."""

    connectee: Connectee
    version: str | None = None

    def __str__(self) -> str:
        name = "IcaConnector(OpenIcaAccount)"
        return name if self.version is None else f"ResponseDelivery({name})"


@dataclass(frozen=True, slots=True)
class Active:
    """Opened and at rest."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A liquidation was refused; the lease administrator decides."""

    record: LeaseRecord


class Final(Enum):
    """Nothing is left to do."""

    CLOSED = "Closed"
    LIQUIDATED = "Liquidated"


State = Requested | Connecting | Active | Anomaly | Final | dex.Stage


def stored(state: State) -> bytes:
    """The state's JSON."""
    if isinstance(state, Active):
        return b'{"OpenedActive":{"lease":%b}}' % encode(state.record)
    if isinstance(state, Anomaly):
        return b'{"SlippageAnomaly":{"lease":%b}}' % encode(state.record)
    if isinstance(state, Final):
        return b'{"%b":{}}' % state.value.encode()
    if isinstance(state, Requested):
        return b'{"RequestLoan":%b}' % encode(state.request)
    if isinstance(state, Connecting):
        connecting: dict[str, Any] = {"connectee": state.connectee}
        if state.version is None:
            return encode({"BuyAsset": {"OpenIca": connecting}})
        return encode({"BuyAsset": {"OpenIca" + _DELIVERY: {"handler": connecting, "response": state.version}}})
    stage = state.handler if isinstance(state, dex.Delivery) else state
    return encode({leg_kind(stage): {state.name: state.stored()}})


def leg_kind(stage: dex.Stage) -> str:
    """The variant of a leg."""
    kind: str = getattr(stage.task, "kind")  # noqa: B009
    return kind


def loaded(raw: bytes, task_of: Callable[[str, Any], dex.SwapTask], currencies: CurrencySet) -> State:
    """The state of its JSON; `task_of` makes the task of a leg's kind and spec."""
    ((kind, body),) = _VARIANT(raw).items()
    if kind == "OpenedActive":
        return Active(_HOLDING(body).lease)
    if kind in ("Closed", "Liquidated"):
        return Final(kind)
    if kind == "SlippageAnomaly":
        return Anomaly(_HOLDING(body).lease)
    if kind == "RequestLoan":
        return Requested(msgspec.json.decode(body, type=LoanRequest))
    content = msgspec.json.decode(body)
    if "OpenIca" in content:
        return Connecting(msgspec.convert(content["OpenIca"]["connectee"], Connectee))
    if "OpenIca" + _DELIVERY in content:
        delivery = content["OpenIca" + _DELIVERY]
        return Connecting(msgspec.convert(delivery["handler"]["connectee"], Connectee), delivery["response"])
    return dex.loaded(content, lambda spec: task_of(kind, msgspec.convert(spec, _SPECS[kind])), currencies)
