"""Push: sealed as RFC 8291 says, signed as RFC 8292 says, delivered once, to the owner, after commit."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from leasehold.core.addresses import encode
from leasehold.core.clock import ManualClock, to_datetime
from leasehold.core.errors import ConfigurationError, InvalidInput
from leasehold.core.settings import Database
from leasehold.data_api.index import Index
from leasehold.data_api.push.courier import Courier, sql
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.push.sealing import BrowserKeys, from_base64, seal, unpadded
from leasehold.data_api.push.vapid import Vapid, fresh
from leasehold.storage import migrations, pool

OWNER = encode("chain", b"\1" * 20)
LEASE = encode("chain", b"\2" * 32)
NOW_NS = 1_800_000_000 * 10**9


# --- sealing and signing ---------------------------------------------------------------------------------------


def test_the_example_of_the_standard() -> None:
    """The worked example of RFC 8291, appendix A, comes out byte for byte."""
    private = from_base64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", field="key")
    browser = BrowserKeys.of(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    body = seal(
        b"When I grow up, I want to be a watermelon",
        browser,
        private=ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP256R1()),
        salt=from_base64("DGv6ra1nlYgDCS1FRnbzlw", field="salt"),
    )
    assert unpadded(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_keys_must_have_their_form() -> None:
    """Wrong lengths, wrong alphabets and points off the curve are refused."""
    good = "B" + "A" * 86
    for p256dh, auth in (("", "a" * 22), (good, ""), (good, "a" * 30), ("A" * 87, "a" * 22), ("!" * 87, "a" * 22)):
        with pytest.raises(InvalidInput):
            BrowserKeys.of(p256dh, auth)
    with pytest.raises(InvalidInput):
        seal(b"x", BrowserKeys.of(good, "a" * 22), private=ec.generate_private_key(ec.SECP256R1()), salt=b"0" * 16)


def _token(header: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes, str]:
    scheme, _, rest = header.partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    head, claims, signature = parts["t"].split(".")
    return (
        json.loads(from_base64(head, field="t")),
        json.loads(from_base64(claims, field="t")),
        f"{head}.{claims}".encode(),
        from_base64(signature, field="t"),
        parts["k"],
    )


def test_a_token_says_who_sends_to_whom() -> None:
    """ES256 over audience, subject and an end within twelve hours, with the key beside it."""
    vapid = fresh("mailto:someone@example.org")
    head, claims, signed, signature, key = _token(vapid.authorization("https://push.example:8443/x?y", 1_000_000))
    assert head == {"typ": "JWT", "alg": "ES256"}
    assert claims == {
        "aud": "https://push.example:8443",
        "exp": 1_000_000 + 43_200,
        "sub": "mailto:someone@example.org",
    }
    assert key == vapid.public
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), from_base64(key, field="k"))
    numbers = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    public.verify(encode_dss_signature(*numbers), signed, ec.ECDSA(SHA256()))


def test_keys_are_read_in_both_forms() -> None:
    """base64url and PEM give the same key; anything else is a wrong setting."""
    vapid = fresh("mailto:x")
    pem = vapid.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    assert Vapid.read(vapid.text, "mailto:x").public == vapid.public == Vapid.read(pem, "mailto:x").public
    for wrong in ("", "-----BEGIN nothing", "A" * 43, "not base64!"):
        with pytest.raises(ConfigurationError):
            Vapid.read(wrong, "mailto:x")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example/x", "https://127.0.0.1/x", "https://[::1]/x", "https://10.0.0.8/", "https://localhost/x",
        "https://printer/x", "https://db.internal/x", "ftp://push.example/", "https://a:b@push.example/", "https://",
        "https://push.example/ x", "https://push.ex\u00e4mple/", "https://push.example:99999/", "https://169.254.169.254/",
        "https://push.example/" + "x" * 2100,
    ],
)  # fmt: skip
def test_endpoints_inside_are_refused(endpoint: str) -> None:
    """Only HTTPS to a public host: nobody makes this service call its own network."""
    with pytest.raises(InvalidInput):
        Guard().check(endpoint)


def test_endpoints_outside_are_fine() -> None:
    """What browsers give passes."""
    Guard().check("https://updates.push.services.mozilla.com/wpush/v2/gAAAA")
    Guard().check("https://fcm.googleapis.com/fcm/send/abc:DEF")


# --- delivery --------------------------------------------------------------------------------------------------


@dataclass
class Browser:
    """A browser with its keys, and a push service that answers as told and keeps what it gets."""

    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    secret: bytes = b"0123456789abcdef"
    statuses: list[int] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    @property
    def origin(self) -> str:
        return self.url.rpartition("/")[0]

    @property
    def p256dh(self) -> str:
        return unpadded(self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        status = self.statuses.pop(0) if self.statuses else 201
        if status == 0:
            await asyncio.sleep(1)
        self.headers.append(dict(request.headers))
        if status < 300:
            self.received.append(json.loads(self.opened(body)))
        return web.Response(status=status or 201, headers={"Retry-After": "7"} if status == 429 else {})

    def opened(self, body: bytes) -> bytes:
        """Undo the sealing the way a browser does."""
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        own = self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        shared = self.private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        agreed = HKDF(SHA256(), 32, self.secret, b"WebPush: info\x00" + own + sender).derive(shared)
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\x00").derive(agreed)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\x00").derive(agreed)
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        assert plain.endswith(b"\x02")
        return plain[:-1]


@dataclass
class Post:
    """Everything a delivery needs."""

    courier: Courier
    index: Index
    browser: Browser
    clock: ManualClock
    session: aiohttp.ClientSession

    async def subscribe(self, address: str = OWNER, auth: bytes = b"", endpoint: str = "") -> None:
        secret = unpadded(auth or self.browser.secret)
        arguments = (address, endpoint or self.browser.url, secret, self.browser.p256dh, None)
        await self.index.writing(lambda session: session.execute(sql.subscribe, *arguments))

    async def message(self, kind: str = "FundNow", height: int = 5, age: timedelta = timedelta(0)) -> None:
        payload = {"type": kind, "data": {"position": LEASE, "ltv": 890, "level": 3}}
        at = to_datetime(self.clock.now_ns()) - age
        values = (LEASE, kind, height, OWNER, payload, at)
        statement = (
            "INSERT INTO indexer.outbox (lease, kind, height, owner, payload, time) VALUES ($1, $2, $3, $4, $5, $6)"
        )
        await self.index.writing(lambda session: session.execute(statement, *values))

    async def states(self) -> list[str]:
        return [row["state"] for row in await self.index.rows("SELECT state FROM data_api.deliveries ORDER BY message")]


@pytest.fixture
async def post(database: str) -> AsyncIterator[Post]:
    for schema in ("indexer", "data_api"):
        await migrations.apply(database, schema=schema, migrations=migrations.of_package(f"leasehold.{schema}"))
    browser, clock = Browser(), ManualClock(NOW_NS)
    app = web.Application()
    app.router.add_post("/push", browser.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    browser.url = f"http://127.0.0.1:{runner.addresses[0][1]}/push"
    try:
        async with (
            pool.opened(Database(url=database, pool_size=4), service="test", patience=5) as opened,
            aiohttp.ClientSession() as session,
        ):
            index = Index(opened)
            courier = Courier(index, session, fresh("mailto:x@example.org"), clock, Guard(inside=True), seconds=30)
            yield Post(courier, index, browser, clock, session)
    finally:
        await runner.cleanup()


async def test_the_owner_gets_it_once(post: Post) -> None:
    """A subscribed owner's browser gets the message, sealed for it, and never again."""
    await post.subscribe()
    await post.message()
    assert await post.courier.round() == 1
    assert await post.courier.round() == 0
    assert post.browser.received == [{"type": "FundNow", "data": {"position": LEASE, "ltv": 890, "level": 3}}]
    headers = post.browser.headers[0]
    assert headers["Content-Encoding"] == "aes128gcm"
    assert headers["TTL"] == "86400"
    head, claims, signed, signature, key = _token(headers["Authorization"])
    assert (head["alg"], claims["aud"], claims["sub"]) == ("ES256", post.browser.origin, "mailto:x@example.org")
    assert 0 < claims["exp"] - NOW_NS // 10**9 <= 12 * 3600
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), from_base64(key, field="k"))
    numbers = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    public.verify(encode_dss_signature(*numbers), signed, ec.ECDSA(SHA256()))
    assert await post.states() == ["sent"]


async def test_every_browser_of_the_owner_and_nobody_else(post: Post) -> None:
    """Two devices of the owner get it, another account's and one whose time is over do not."""
    await post.subscribe()
    await post.subscribe(auth=b"another's secret")
    await post.subscribe(encode("chain", b"\3" * 20), auth=b"stranger'sdevice")
    over = (OWNER, post.browser.url, unpadded(b"an ended one's k"), post.browser.p256dh, to_datetime(10**18))
    await post.index.writing(lambda session: session.execute(sql.subscribe, *over))
    # The device with the other secret can't open what is not sealed for it, so only arrivals are counted.
    post.browser.statuses = [500, 500, 500, 500]
    await post.message(height=1)
    assert await post.courier.round() == 2
    assert len(post.browser.headers) == 2


async def test_old_news_is_not_sent(post: Post) -> None:
    """What a backfill writes about long ago reaches nobody, and does not wait either."""
    await post.subscribe()
    await post.message(age=timedelta(minutes=11))
    assert await post.courier.round() == 0
    assert await post.index.value("SELECT count(*) FROM indexer.outbox WHERE delivered_at IS NULL") == 0
    assert post.browser.received == []


async def test_refusals_are_tried_again_later(post: Post) -> None:
    """429 and 5xx wait longer each time; `Retry-After` is honoured; then it is delivered, once."""
    await post.subscribe()
    await post.message()
    post.browser.statuses = [503, 429]
    assert await post.courier.round() == 1
    assert await post.courier.round() == 0
    post.clock.advance(seconds=5)
    assert await post.courier.round() == 1
    post.clock.advance(seconds=29)
    assert await post.courier.round() == 0
    post.clock.advance(seconds=1)
    assert await post.courier.round() == 1
    assert len(post.browser.received) == 1
    assert await post.states() == ["sent"]


async def test_dead_endpoints_are_dropped(post: Post) -> None:
    """A browser that is gone is forgotten, and gets nothing more."""
    await post.subscribe()
    await post.message(height=1)
    post.browser.statuses = [410]
    await post.courier.round()
    assert await post.index.value("SELECT active FROM data_api.subscriptions") is False
    await post.message(height=2)
    assert await post.courier.round() == 0
    assert await post.states() == ["refused"]


async def test_what_may_have_arrived_is_not_repeated(post: Post) -> None:
    """A push service that took the message and said nothing is not asked again."""
    await post.subscribe()
    await post.message()
    post.browser.statuses = [0]
    impatient = Courier(post.index, post.session, fresh("mailto:x"), post.clock, Guard(inside=True), seconds=0.4)
    await impatient.round()
    post.clock.advance(seconds=86_000)
    assert await post.courier.round() == 0
    assert await post.states() == ["uncertain"]


async def test_a_service_that_is_not_there_is_tried_again(post: Post) -> None:
    """Where nothing listens nothing was sent."""
    await post.subscribe(endpoint="http://127.0.0.1:9/push")
    await post.message()
    await post.courier.round()
    assert await post.states() == ["waiting"]


async def test_couriers_share_the_work(post: Post) -> None:
    """Several processes at once send every message exactly once."""
    await post.subscribe()
    for height in range(30):
        await post.message(height=height)
    await asyncio.gather(*(post.courier.round() for _ in range(6)))
    await post.courier.round()
    assert len(post.browser.received) == 30


async def test_a_half_done_delivery_of_a_dead_process(post: Post) -> None:
    """Taken and never finished: after a while it is given up, not sent again."""
    await post.subscribe()
    await post.message()
    await post.courier.round()
    await post.index.writing(
        lambda session: session.execute(
            "UPDATE data_api.deliveries SET state = 'sending', changed_at = $1",
            to_datetime(NOW_NS) - timedelta(hours=1),
        )
    )
    assert await post.courier.round() == 0
    assert await post.states() == ["uncertain"]


def test_unpadded_base64() -> None:
    """base64url without padding, both ways."""
    assert from_base64(unpadded(b"\xff\xfe\x00"), field="x") == b"\xff\xfe\x00"
    assert urlsafe_b64decode(unpadded(b"ab") + "=") == b"ab"
