"""The WebSocket as part of the service: who may connect, a session per connection, and what keeps streams moving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from starlette.websockets import WebSocket

from leasehold.app_api.app import App
from leasehold.app_api.live import messages
from leasehold.app_api.live.asyncapi import DOCUMENT, document
from leasehold.app_api.live.desk import Desk
from leasehold.app_api.live.journal import REPLAY_SECONDS, Journal
from leasehold.app_api.live.pump import EARN_SECONDS, Pump
from leasehold.app_api.live.session import Rules, Session
from leasehold.app_api.live.topics import MAX_ADDRESSES, NAMES, Topics
from leasehold.app_api.live.trackers import Trackers
from leasehold.app_api.live.views import Views
from leasehold.app_api.refresh import Refresher
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.metrics import Metrics
from leasehold.serving import sockets
from leasehold.serving.application import WebSocketEndpoint
from leasehold.serving.cors import Cors
from leasehold.serving.hub import Hub
from leasehold.serving.limits import Limiter
from leasehold.serving.outbox import Meters

PATHS = ("/ws", "/ws/")
RECONNECT_MS = 1000


class _Node:
    """Blocks of the chain's nodes, connected to when first asked."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._nodes: Nodes | None = None

    async def blocks(self, first: int, count: int) -> list[FetchedBlock]:
        if self._nodes is None:
            urls = self._app.settings.chain.rpc_urls or (self._app.settings.url("rpc"),)
            session = self._app.upstreams.session
            self._nodes = Nodes([RpcNode(url, session) for url in urls], self._app.clock)
        return await self._nodes.blocks(first, count)


class Live:
    """The streams of an application API."""

    def __init__(self, app: App, metrics: Metrics, *, rules: Rules | None = None) -> None:
        settings = app.settings
        self._app = app
        self._rules = rules or Rules()
        self._limiter = Limiter(settings.limits, app.clock.monotonic)
        self._cors = Cors(settings.app_api.cors_origins)
        self._topics = Topics(settings.identity.prefix, app.brand)
        self._meters = Meters(metrics)
        self.hub = Hub(
            metrics,
            max_connections=settings.app_api.websocket_connections,
            per_client=settings.app_api.websocket_per_client,
        )
        self.trackers = Trackers(app, self.hub)
        self.desk = Desk(Views(app), Journal(_Node(app), settings.identity.prefix), self.trackers)
        self.pump = Pump(app, self.hub, self.desk, metrics)
        self._farewell = messages.frame(messages.Shutdown(reconnect_ms=RECONNECT_MS))

    @property
    def endpoints(self) -> Mapping[str, WebSocketEndpoint]:
        """The endpoint under its paths."""
        return dict.fromkeys(PATHS, self.serve)

    def refresher(self) -> Refresher:
        """What publishes; it runs on blocks, and by a timer should nobody tell of blocks."""
        needs = ("prices", "filter_context", "currencies", "protocol_contracts")
        return Refresher("live", self.pump.work, needs, every=EARN_SECONDS, on_block=True, follows=False, urgent=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow transactions and what receipts are worth for as long as the context lasts."""
        await self._app.snapshots.publish(
            DOCUMENT, document(), height=0, time_ns=0, cache_control="public, max-age=300"
        )
        tasks = [
            asyncio.create_task(self.trackers.run(), name="live-trackers"),
            asyncio.create_task(self.pump.sweeping(), name="live-sweeps"),
            asyncio.create_task(self._app.upstreams.openings.settling(self.pump.idle), name="live-settling"),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def limits(self) -> messages.Limits:
        """What a connection is told it may do."""
        return messages.Limits(
            connections_per_client=self.hub.per_client,
            subscriptions=self._rules.subscriptions,
            addresses_per_subscription=MAX_ADDRESSES,
            message_bytes=sockets.MESSAGE_BYTES,
            messages_per_second=self._rules.messages_per_second,
            messages_burst=self._rules.messages_burst,
            ping_seconds=sockets.PING_SECONDS,
            idle_seconds=sockets.PING_SECONDS + sockets.PONG_SECONDS,
            replay_seconds=REPLAY_SECONDS,
        )

    async def serve(self, socket: WebSocket) -> None:
        """One connection, from its handshake to its end."""
        origin = socket.headers.get("origin")
        if origin is not None and not self._cors.allows(origin.encode("latin-1")):
            await socket.close()
            return
        with self.hub.connection(self._client(socket)):
            await socket.accept(headers=self._cors.headers(origin.encode("latin-1") if origin else None))
            wire = sockets.wire_of(socket.scope)
            session = Session(wire, self.hub, self.desk, self._topics, self._app.clock, self._meters, self._rules)
            wire.drained, wire.farewell = session.drained, self._farewell
            session.welcome(self.limits(), NAMES)
            try:
                while True:
                    message = await socket.receive()
                    if message["type"] == "websocket.disconnect":
                        break
                    # Binary frames mean nothing here, and the public service ignores them too.
                    text = message.get("text")
                    if text is not None:
                        session.receive(text)
            finally:
                session.close()

    def _client(self, socket: WebSocket) -> str | None:
        """What a caller is counted as, None for one that is exempt."""
        peer = socket.client.host if socket.client else ""
        forwarded = [value.encode("latin-1") for value in socket.headers.getlist("x-forwarded-for")]
        real = socket.headers.get("x-real-ip")
        return self._limiter.key(self._limiter.client(peer, forwarded, real.encode("latin-1") if real else None))
