"""Push notifications: a browser's subscription, passed on to the data API as it came."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec

from leasehold.app_api.app import App
from leasehold.core.errors import InvalidInput, NotFound, RateLimited
from leasehold.serving.envelopes import JSON
from leasehold.serving.parameters import Input
from leasehold.serving.routes import NoParams, PlainRequest, Registry, Reply, Request

TARGET = "/api/subscribe"
# What the data API says about the subscription itself; anything else is about the data API.
_REFUSALS = frozenset((400, 409, 413, 415, 422))
KEY = "subscriptions/key"
STATE = "subscriptions"


class ServerKey(msgspec.Struct):
    """Public key that messages are signed with; what a browser calls `applicationServerKey`."""

    key: str


class StateParams(msgspec.Struct, frozen=True):
    address: Annotated[str, Input(about="bech32 address of an account")]
    auth: Annotated[str, Input(about="the browser's `auth` key")]


class SubscriptionState(msgspec.Struct):
    """Whether the browser with that key hears about the account."""

    subscribed: bool


class SubscriptionRefused(InvalidInput):
    """The data API did not take a subscription; its status and its words are passed on."""


def declare(api: Registry, app: App) -> None:
    """The routes of push notifications."""

    @api.post(
        "/api/etl/subscribe",
        summary="Toggle push notifications",
        tags=("etl",),
        operation_id="proxy_subscribe",
        rate="none",
        response=str,
        produces=("text/plain", "application/json"),
        errors=(400, 404, 502),
    )
    async def subscribe(request: Request[NoParams, dict[str, Any]]) -> Reply:
        transport = app.upstreams.data.transport
        # A repeated subscription is its end, so it is never sent twice.
        answer = await transport.ask("POST", TARGET, context="subscribe", body=request.body)
        text = answer.body.decode("utf-8", "replace")
        if answer.status == 404:
            raise NotFound("the data API takes no subscriptions")
        if answer.status == 429:
            asked = answer.headers.get("Retry-After", "")
            raise RateLimited("Too many requests", retry_after=int(asked) if asked.isdecimal() else 1)
        if answer.status in _REFUSALS:
            raise SubscriptionRefused(_reason(text))
        if not answer.good:
            raise transport.refused(answer, "subscribe")
        if "<" in text:
            raise transport.unreadable("subscription")
        return Reply(
            body=answer.body, media_type=JSON if text.startswith(("{", "[", '"')) else "text/plain; charset=utf-8"
        )

    @api.get(
        f"/api/etl/{KEY}",
        summary="Public key of push messages",
        tags=("etl",),
        rate="none",
        errors=(502,),
    )
    async def key(request: PlainRequest) -> ServerKey:
        transport = app.upstreams.data.transport
        answer = await transport.ask("GET", f"/api/{KEY}", context="key")
        if not answer.good:
            raise transport.refused(answer, "key")
        found: ServerKey = transport.decode(answer.body, ServerKey, "key")
        return found

    @api.get(
        f"/api/etl/{STATE}",
        summary="Whether a browser hears about an account",
        tags=("etl",),
        rate="none",
        errors=(400, 502),
    )
    async def state(request: Request[StateParams, None]) -> SubscriptionState:
        transport = app.upstreams.data.transport
        which = urlencode({"address": request.params.address, "auth": request.params.auth})
        answer = await transport.ask("GET", f"/api/{STATE}?{which}", context="subscription")
        if answer.status in _REFUSALS:
            raise SubscriptionRefused(_reason(answer.body.decode("utf-8", "replace")))
        if not answer.good:
            raise transport.refused(answer, "subscription")
        found: SubscriptionState = transport.decode(answer.body, SubscriptionState, "subscription")
        return found


def _reason(text: str) -> str:
    """What the data API said is wrong."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text[:300]
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return str(found["message"])[:300]
    return "the subscription was refused"
