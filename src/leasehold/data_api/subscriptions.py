"""Push subscriptions: a browser asks to hear about an account, asks whether it will, and stops."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Annotated, Any, Literal

import msgspec

from leasehold.core.clock import to_datetime
from leasehold.core.errors import InvalidInput, NotReady, RateLimited, Unauthorized
from leasehold.data_api.conventions import Address
from leasehold.data_api.desk import Desk
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.push.sealing import BrowserKeys
from leasehold.data_api.push.vapid import Vapid
from leasehold.serving.bodies import decode_body
from leasehold.serving.envelopes import JSON
from leasehold.serving.parameters import Input
from leasehold.serving.routes import NoParams, PlainRequest, Reply, Request
from leasehold.storage.queries import load

TAGS = ("Meta",)
TEXT = "text/plain; charset=utf-8"
BODY_BYTES = 4096
MOST_BROWSERS = 50
Auth = Annotated[str, msgspec.Meta(max_length=64), Input(about="authentication secret of the browser, base64url")]
sql = load("leasehold.data_api", "push/push.sql")


class Keys(msgspec.Struct):
    """Keys of a browser's subscription, base64url."""

    p256dh: str
    auth: str


class BrowserSubscription(msgspec.Struct):
    """What a browser's `PushSubscription` says; `expirationTime` in milliseconds, also under its other name."""

    endpoint: str
    keys: Keys
    expirationTime: float | None = None  # noqa: N815 - as browsers spell it
    expiration_time: float | None = None

    @property
    def ends(self) -> float | None:
        """Milliseconds since 1970 after which the subscription is over, if it says so."""
        return self.expiration_time if self.expirationTime is None else self.expirationTime


class Wish(msgspec.Struct):
    """A browser that wants to hear about an account."""

    address: str
    data: BrowserSubscription


_wishes = msgspec.json.Decoder(Wish)


class Known(msgspec.Struct):
    """Whether a subscription is known."""

    result: bool


class State(msgspec.Struct):
    """A subscription as it stands."""

    subscribed: bool


class ServerKey(msgspec.Struct):
    """Public VAPID key for `applicationServerKey`."""

    key: str


class Sent(msgspec.Struct):
    """Whether a test message was queued."""

    data: bool


class WhichParams(msgspec.Struct, frozen=True):
    """One subscription."""

    address: Address
    auth: Auth


class OldWhichParams(msgspec.Struct, frozen=True):
    """One subscription as old clients ask for it."""

    address: Address
    auth: Auth
    active: Annotated[str, msgspec.Meta(max_length=16), Input(about="required and ignored")]


PushType = Literal[
    "Funding", "FundingRecommended", "FundNow", "PartiallyLiquidated", "FullyLiquidated", "Closed", "Unsupported"
]


class TestParams(msgspec.Struct, frozen=True):
    """A sample message to an account."""

    address: Address
    type: PushType


class Subscriptions:
    """What the routes do; `vapid` is there once the service is connected."""

    def __init__(self, desk: Desk, guard: Guard) -> None:
        self._desk = desk
        self._guard = guard
        self.vapid: Vapid | None = None

    async def subscribe(self, wish: Wish) -> None:
        """Activate, however often it is asked for; RateLimited where too many browsers follow the account already."""
        address = self._address(wish.address)
        browser = wish.data
        self._guard.check(browser.endpoint)
        BrowserKeys.of(browser.keys.p256dh, browser.keys.auth)
        arguments = (address, browser.endpoint, browser.keys.auth, browser.keys.p256dh, _expiry(browser))

        async def write(session: Any) -> None:
            # Nobody proves to own an account, so nobody may make us send to thousands.
            if await session.fetchval(sql.others, address, browser.keys.auth) >= MOST_BROWSERS:
                raise RateLimited("too many browsers follow this account", retry_after=3600)
            await session.execute(sql.subscribe, *arguments)

        await self._desk.index.writing(write)

    async def unsubscribe(self, address: str, auth: str) -> bool:
        """Deactivate; says whether there was something to deactivate."""
        checked = self._address(address)
        found = await self._desk.index.writing(lambda session: session.fetchval(sql.unsubscribe, checked, auth))
        return bool(found)

    async def state(self, address: str, auth: str) -> bool | None:
        """Whether a subscription is active; None when it is unknown."""
        checked = self._address(address)
        found: bool | None = await self._desk.index.value(sql.subscription, checked, auth)
        return found

    async def queue(self, address: str, kind: str) -> None:
        """Queue a sample message as the indexer would."""
        payload = {"type": kind, "data": sample(kind, address)}
        now = to_datetime(self._desk.clock.now_ns())

        async def insert(session: Any) -> None:
            await session.execute(_QUEUE, address, f"test {now.isoformat()}", address, payload, now)

        await self._desk.index.writing(insert)

    def _address(self, text: str) -> str:
        return self._desk.account(text)


_QUEUE = (
    "INSERT INTO indexer.outbox (lease, kind, height, owner, payload, time) VALUES ($1, $2, 0, $3, $4, $5) "
    "ON CONFLICT DO NOTHING"
)


def sample(kind: str, position: str) -> dict[str, Any]:
    """Data of a sample message."""
    levels = {"Funding": 1, "FundingRecommended": 2, "FundNow": 3}
    if kind in levels:
        return {"level": levels[kind], "ltv": 800 + 30 * levels[kind], "position": position}
    return {} if kind == "Unsupported" else {"position": position}


def _expiry(browser: BrowserSubscription) -> datetime | None:
    if browser.ends is None:
        return None
    if not 0 <= browser.ends < 253_402_300_800_000:
        raise InvalidInput("expirationTime is out of range", field="data.expirationTime")
    return to_datetime(int(browser.ends) * 1_000_000)


def declare(desk: Desk, guard: Guard) -> Subscriptions:
    """Declare the routes, with the aliases that existing clients call."""
    desk_of = Subscriptions(desk, guard)
    api = desk.api

    @api.get("/api/subscriptions", summary="Whether a browser hears about an account", tags=TAGS)
    async def state(request: Request[WhichParams, None]) -> State:
        return State(await desk_of.state(request.params.address, request.params.auth) is True)

    @api.post("/api/subscriptions", summary="Hear about an account; may be repeated", tags=TAGS, body_bytes=BODY_BYTES)
    async def subscribe(request: Request[NoParams, Wish]) -> State:
        await desk_of.subscribe(request.body)
        return State(True)

    @api.delete("/api/subscriptions", summary="Stop hearing about an account; may be repeated", tags=TAGS)
    async def unsubscribe(request: Request[WhichParams, None]) -> State:
        await desk_of.unsubscribe(request.params.address, request.params.auth)
        return State(False)

    @api.get("/api/subscriptions/key", summary="Public key that messages are signed with", tags=TAGS)
    async def key(request: PlainRequest) -> ServerKey:
        if desk_of.vapid is None:
            raise NotReady("the key is not there yet")
        return ServerKey(desk_of.vapid.public)

    _declare_aliases(desk, desk_of)
    _declare_test(desk, desk_of)
    return desk_of


def _declare_aliases(desk: Desk, desk_of: Subscriptions) -> None:
    api = desk.api

    async def toggle(request: Request[NoParams, bytes]) -> Reply:
        # Old clients are told 400 about a wrong content type, where the rest of the API says 415.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise InvalidInput("the request body must be application/json")
        wish: Wish = decode_body(request.body, _wishes)
        if await desk_of.state(wish.address, wish.data.keys.auth):
            await desk_of.unsubscribe(wish.address, wish.data.keys.auth)
            return Reply(body=b"unsubscribed", media_type=TEXT)
        await desk_of.subscribe(wish)
        return Reply(body=b"subscribed", media_type=TEXT)

    for path in ("/api/subscribe", "/subscribe"):
        api.post(
            path,
            summary="Alias of old clients: a second call ends the subscription",
            tags=TAGS,
            body_bytes=BODY_BYTES,
            produces=("text/plain",),
            response=str,
        )(toggle)

    @api.get("/api/subscribe", summary="Alias of old clients: whether a subscription is known", tags=TAGS)
    async def known(request: Request[OldWhichParams, None]) -> Known:
        return Known(await desk_of.state(request.params.address, request.params.auth) is not None)


def _declare_test(desk: Desk, desk_of: Subscriptions) -> None:
    keys = desk.settings.data_api.admin_keys

    async def guard(raw: Any) -> None:
        scheme, _, given = raw.headers.get("authorization", "").partition(" ")
        digest = sha256(given.strip().encode("utf-8", "surrogateescape")).hexdigest()
        if scheme.lower() != "bearer" or not any(compare_digest(digest, key.lower()) for key in keys):
            raise Unauthorized("an admin key is needed")

    @desk.api.get(
        "/api/test-push",
        summary="Send a sample message to an account (admin)",
        description="`Authorization: Bearer KEY`, a key whose SHA-256 is among the admin keys.",
        tags=TAGS,
        rate="admin",
        errors=(401,),
        guard=guard,
    )
    async def test_push(request: Request[TestParams, None]) -> Sent:
        await desk_of.queue(desk.account(request.params.address), request.params.type)
        return Sent(True)
