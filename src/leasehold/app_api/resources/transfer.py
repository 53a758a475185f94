"""Transfer status: where a followed transfer between the chain and an SVM chain stands."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from leasehold.app_api.app import App
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Registry, Request

IN_FLIGHT = frozenset(("Committed", "Relayed", "Acked", "Delivered", "AwaitingTimeout"))
_ERRORS = {
    "CompletedError": ("ERROR_ACKNOWLEDGED", "The receiving chain refused the transfer"),
    "TimedOutRefunded": ("TIMED_OUT_REFUNDED", "The transfer timed out and was refunded"),
}


class Leg(msgspec.Struct):
    """One hop of a transfer and the phase it is in."""

    from_chain: str
    to_chain: str
    phase: str = "Committed"


class TransferLeg(msgspec.Struct):
    state: str
    from_chain: str
    to_chain: str


class AssetRelease(msgspec.Struct):
    chain: str
    released: bool


class TransferError(msgspec.Struct):
    code: str
    message: str


class TransferStatusResponse(msgspec.Struct):
    """State of a transfer and of its legs; where the asset is once it has ended."""

    state: str
    transfers: list[TransferLeg]
    next_blocking_transfer: int | None
    transfer_asset_release: AssetRelease | None
    error: TransferError | None


def state_of(phases: list[str]) -> str:
    """The state of legs taken together."""
    if any(phase in _ERRORS for phase in phases):
        return "STATE_COMPLETED_ERROR"
    if "Indeterminate" in phases:
        return "STATE_ABANDONED"
    if any(phase in IN_FLIGHT for phase in phases):
        return "STATE_PENDING"
    return "STATE_COMPLETED_SUCCESS"


def status_of(legs: list[Leg]) -> TransferStatusResponse:
    """What clients are told about a transfer."""
    state = state_of([leg.phase for leg in legs])
    release = error = None
    if state == "STATE_COMPLETED_SUCCESS":
        release = AssetRelease(legs[-1].to_chain, True)
    elif state == "STATE_COMPLETED_ERROR":
        release = AssetRelease(legs[0].from_chain, True)
        error = TransferError(*next(_ERRORS[leg.phase] for leg in legs if leg.phase in _ERRORS))
    blocking = next((index for index, leg in enumerate(legs) if leg.phase in IN_FLIGHT), None)
    transfers = [TransferLeg(state_of([leg.phase]), leg.from_chain, leg.to_chain) for leg in legs]
    return TransferStatusResponse(state, transfers, blocking, release, error)


class TransferParams(msgspec.Struct, frozen=True):
    id: str


def declare(api: Registry, app: App) -> None:
    """The read route of transfers."""

    @api.get(
        "/api/transfer/status/{id}",
        operation_id="get_transfer_status",
        summary="State of a transfer",
        tags=("transfer",),
        errors=(404,),
    )
    async def status(request: Request[TransferParams, None]) -> TransferStatusResponse:
        found: Any = None
        try:
            found = await app.store.transfer(UUID(request.params.id))
        except ValueError:
            found = None
        if found is None:
            raise NotFound(f"transfer {request.params.id} not found")
        return status_of(msgspec.convert(found, list[Leg]))
