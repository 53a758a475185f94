"""Who may pass: the key in the Authorization header, a limit on wrong ones, and a note of each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from math import ceil
from typing import Unpack

from starlette.requests import Request as RawRequest

from leasehold.app_api.admin.keys import Keyring
from leasehold.app_api.admin.keystore import Keys
from leasehold.core import logging
from leasehold.core.errors import LeaseholdError, RateLimited, Unauthorized
from leasehold.serving.routes import Declaration, H, Registry

BASE = "/api/admin"
MOST_FAILURES = 10
WINDOW_SECONDS = 60.0
MOST_CLIENTS = 4096
LONGEST_KEY = 1024
# The hash is made to be costly, so it must not take all processors from everybody else.
_AT_ONCE = 1
_log = logging.get("admin")


class AdminDisabled(LeaseholdError):
    """There is no admin key, so there are no admin routes."""

    status = 403
    code = "FORBIDDEN"


class Failures:
    """Wrong keys by client, in a table that can't outgrow its bound."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._now = monotonic
        self._times: dict[str, deque[float]] = {}

    def wait(self, client: str) -> float:
        """Seconds until a client may try again, 0.0 when it may now."""
        times = self._times.get(client)
        if times is None:
            return 0.0
        now = self._now()
        while times and times[0] <= now - WINDOW_SECONDS:
            times.popleft()
        if not times:
            del self._times[client]
        return times[0] + WINDOW_SECONDS - now if len(times) >= MOST_FAILURES else 0.0

    def note(self, client: str) -> None:
        if client not in self._times and len(self._times) >= MOST_CLIENTS:
            self._times.pop(next(iter(self._times)))
        self._times.setdefault(client, deque(maxlen=MOST_FAILURES)).append(self._now())

    def forgive(self, client: str) -> None:
        """Take the last note of a client back."""
        times = self._times.get(client)
        if times:
            times.pop()


class Gate:
    """Checks the key of a request before its body is read; the key's name goes with the request."""

    def __init__(
        self,
        keys: Keys,
        monotonic: Callable[[], float],
        refused: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        self._keys = keys
        self._failures = Failures(monotonic)
        self._refused = refused
        self._busy = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, raw: RawRequest) -> None:
        keyring = await self._keys.current()
        if not keyring:
            raise AdminDisabled("Admin API is disabled", hint="make a key with `leasehold admin key create NAME`")
        header = raw.headers.get("authorization")
        if header is None:
            raise Unauthorized("Missing Authorization header")
        scheme, _, key = header.partition(" ")
        if scheme != "Bearer" or not key or len(key) > LONGEST_KEY:
            raise Unauthorized("Invalid Authorization header format. Expected: Bearer <token>")
        raw.state.admin = keyring.remembered(key) or await self._proven(raw, key, keyring)

    async def _proven(self, raw: RawRequest, key: str, keyring: Keyring) -> str:
        client = raw.client.host if raw.client else ""
        wait = self._failures.wait(client)
        if wait:
            raise RateLimited("Too many wrong keys", retry_after=ceil(wait))
        # Counted before it is looked at, so that many at once are not all looked at.
        self._failures.note(client)
        async with self._busy:
            name = await asyncio.to_thread(keyring.name_of, key)
        if name is None:
            _log.warning("wrong admin key", client=client, path=raw.url.path)
            if self._refused is not None:
                await self._refused(client, raw.url.path)
            raise Unauthorized("Invalid API key")
        self._failures.forgive(client)
        return name


class AdminRoutes:
    """Declares routes behind the gate: hidden from the document, in a rate class of their own."""

    def __init__(self, api: Registry, gate: Gate) -> None:
        self._api = api
        self._gate = gate

    def __call__(self, method: str, path: str, title: str, **more: Unpack[Declaration]) -> Callable[[H], H]:
        more.setdefault("errors", (400, 401, 403, 404, 409, 503))
        more.update({"summary": title, "tags": ("admin",), "hidden": True, "rate": "admin", "guard": self._gate})
        return self._api.route(method, BASE + path, **more)


def actor(raw: RawRequest) -> str:
    """Name of the key that a request came with."""
    name: str = raw.state.admin
    return name
