"""The route that has a transfer followed; cheap checks come before anything that asks another chain."""

from __future__ import annotations

import re
from uuid import uuid4

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.tracking import tracker
from leasehold.app_api.tracking.phases import Leg, TimeoutHeight
from leasehold.app_api.tracking.tracker import SVM, Look, Transfer
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.svm import unconfigured
from leasehold.app_api.writes import checks
from leasehold.core.clock import to_datetime
from leasehold.core.errors import InvalidInput, RateLimited
from leasehold.serving.routes import NoParams, Registry, Request

MOST_LEGS = 8
MOST_ACTIVE = 512
_CHANNEL = re.compile(r"channel-(0|[1-9][0-9]{0,4})")


class RequestedHeight(msgspec.Struct):
    revision_number: checks.U63
    revision_height: checks.U63


class RequestedLeg(msgspec.Struct):
    from_chain: str
    to_chain: str
    timeout_height: RequestedHeight


class TransferTrackRequest(msgspec.Struct):
    """A transfer under way; `sequence` names its packet, by default the channel's newest without an outcome."""

    direction: str
    channel: str
    legs: list[RequestedLeg]
    sequence: checks.U63 | None = None


class TransferTrackResponse(msgspec.Struct):
    id: str


def checked(app: App, asked: TransferTrackRequest) -> list[Leg]:
    """The legs of a request that says everything it must."""
    home = app.settings.identity.prefix
    directions = (f"{home}_to_{SVM}", f"{SVM}_to_{home}")
    if asked.direction not in directions:
        raise InvalidInput(f"direction is {' or '.join(directions)}", field="direction")
    if any(chain not in (home, SVM) for leg in asked.legs for chain in (leg.from_chain, leg.to_chain)):
        raise InvalidInput(f"a leg is between {home} and {SVM}", field="legs")
    if not app.upstreams.svm.transport.configured:
        raise unconfigured()
    ordinal = _CHANNEL.fullmatch(asked.channel)
    if ordinal is None or int(ordinal[1]) >= 2**16:
        raise InvalidInput(f"unknown IBC channel: {asked.channel[:64]}", field="channel")
    if not asked.legs:
        raise InvalidInput("a tracked route must declare at least one leg", field="legs")
    if len(asked.legs) > MOST_LEGS:
        raise InvalidInput(f"route declares {len(asked.legs)} legs; the maximum is {MOST_LEGS}", field="legs")
    return [
        Leg(
            leg.from_chain,
            leg.to_chain,
            TimeoutHeight(leg.timeout_height.revision_number, leg.timeout_height.revision_height),
        )
        for leg in asked.legs
    ]


async def packet_of(look: Look, asked: TransferTrackRequest) -> int | None:
    """Which packet a transfer is; one from the SVM chain must be found there."""
    from_svm = asked.direction.startswith(f"{SVM}_to_")
    try:
        waiting = await look.committed(asked.channel, from_svm=from_svm)
    except ChainFailure as error:
        # Our own node may not know the channel yet: such a transfer is followed by its timeout alone.
        if from_svm or error.reply_status == 0:
            raise
        return asked.sequence
    if asked.sequence is not None and asked.sequence in waiting:
        return asked.sequence
    if asked.sequence is None and waiting:
        return max(waiting)
    if from_svm:
        raise InvalidInput("no on-chain commitment evidence for the route", field="channel")
    return asked.sequence


def declare(api: Registry, app: App) -> None:
    """The write route of transfers."""

    @api.post(
        "/api/transfer/track",
        summary="Have a transfer followed",
        tags=("transfer",),
        operation_id="track_transfer",
        errors=(400, 429, 502, 503),
    )
    async def track(request: Request[NoParams, TransferTrackRequest]) -> TransferTrackResponse:
        asked = request.body
        legs = checked(app, asked)
        if await tracker.active(app) >= MOST_ACTIVE:
            raise RateLimited("too many transfers are being followed", retry_after=0)
        look = Look(app)
        await look.height()
        sequence = await packet_of(look, asked)
        now = to_datetime(app.clock.now_ns())
        transfer = Transfer(uuid4(), asked.direction, asked.channel, sequence, legs, now)
        await tracker.follow(app, transfer)
        return TransferTrackResponse(str(transfer.id))
