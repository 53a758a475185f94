"""What others say about a transaction or transfer, as messages; pure functions.

A transaction between chains is in no block of ours: its place is made of how far it has got, which is the same for
every process that looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.app_api.live import messages
from leasehold.app_api.live.sequence import SPAN, place
from leasehold.app_api.live.topics import SKIP_TX
from leasehold.app_api.resources.transfer import TransferLeg, TransferStatusResponse

_DONE = frozenset(("TRANSFER_SUCCESS", "STATE_COMPLETED"))
_SUCCESS = "STATE_COMPLETED_SUCCESS"
_FAILURES = frozenset(("STATE_COMPLETED_ERROR", "STATE_PENDING_ERROR", "STATE_ABANDONED"))
# How far a hop or a leg is; one in another state has not begun.
_FAR = {
    "STATE_SUBMITTED": 1,
    "TRANSFER_PENDING": 1,
    "STATE_PENDING": 2,
    "TRANSFER_RECEIVED": 2,
    "TRANSFER_SUCCESS": 3,
    "TRANSFER_FAILURE": 3,
    "STATE_COMPLETED": 3,
    "STATE_COMPLETED_SUCCESS": 3,
    "STATE_COMPLETED_ERROR": 3,
    "STATE_ABANDONED": 3,
}


class Hop(msgspec.Struct):
    """A hop of the swap provider's route."""

    state: str = ""
    src_chain_id: str = ""
    dst_chain_id: str = ""


class _Failure(msgspec.Struct):
    message: str = ""


class Provider(msgspec.Struct):
    """The swap provider's word on a transaction."""

    state: str
    transfer_sequence: list[dict[str, msgspec.Raw]] | None = None
    error: _Failure | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A message without its height and time, its place, and whether it is the last."""

    message: messages.Push
    seq: int
    ended: bool


def progress_of(state: str) -> messages.Progress:
    return "success" if state == _SUCCESS else "failed" if state in _FAILURES else "pending"


def hops_of(found: Provider) -> list[Hop]:
    """The hops of a route; those of an unknown kind count, as ones that are not done."""
    hops = []
    for entry in found.transfer_sequence or ():
        raw = next(iter(entry.values()), None)
        try:
            hops.append(msgspec.json.decode(raw, type=Hop) if raw is not None else Hop())
        except msgspec.MsgspecError:
            hops.append(Hop())
    return hops


def place_of(progress: messages.Progress, state: str, parts: Iterable[str]) -> int:
    """The place of something whose parts are in these states; nothing comes after an end."""
    if progress != "pending":
        return place(0, SPAN - 1)
    return place(0, 1 + 10 * sum(_FAR.get(part, 0) for part in parts) + _FAR.get(state, 0))


def included(name: str, height: int, error: str | None) -> Reading:
    """A transaction of ours in a block; `error` says why it failed there."""
    status: messages.Progress = "success" if error is None else "failed"
    told = msgspec.UNSET if error is None else error
    message = messages.TxStatus(tx_hash=name, status=status, error=told, seq=0, height=height, time="")
    return Reading(message, place(height), True)


def of_record(name: str, found: TransferStatusResponse) -> Reading:
    """A transfer that we follow ourselves."""
    status = progress_of(found.state)
    message = messages.TransferUpdate(
        id=name,
        status=status,
        state=found.state,
        steps_completed=sum(leg.state == _SUCCESS for leg in found.transfers),
        total_steps=len(found.transfers),
        transfers=found.transfers,
        next_blocking_transfer=found.next_blocking_transfer,
        transfer_asset_release=found.transfer_asset_release,
        error=msgspec.UNSET if found.error is None else found.error,
        seq=0,
        height=0,
        time="",
    )
    seq = place_of(status, found.state, (leg.state for leg in found.transfers))
    return Reading(message, seq, status != "pending")


def of_provider(topic: str, name: str, found: Provider) -> Reading:
    """A transaction that the swap provider follows."""
    status, hops = progress_of(found.state), hops_of(found)
    total = len(hops) or 1
    # A transaction that succeeded has no steps left, whatever the provider still says about single hops.
    done = total if status == "success" else sum(hop.state in _DONE for hop in hops)
    failure: Any = msgspec.UNSET
    if status == "failed":
        failure = (found.error.message if found.error else "") or f"The transaction ended in {found.state}"
    shared: dict[str, Any] = {
        "tx_hash": name,
        "status": status,
        "steps_completed": done,
        "total_steps": total,
        "error": failure,
        "seq": 0,
        "height": 0,
        "time": "",
    }
    message: messages.Push
    if topic == SKIP_TX:
        message = messages.SkipTxUpdate(**shared)
    else:
        transfers = [TransferLeg(hop.state, hop.src_chain_id, hop.dst_chain_id) for hop in hops]
        message = messages.TransferUpdate(state=found.state, transfers=transfers, **shared)
    return Reading(message, place_of(status, found.state, (hop.state for hop in hops)), status != "pending")
