"""One bounded HTTP connection to one upstream: time-outs, a cap on calls in flight, retries where they are safe."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from leasehold.app_api.upstreams.breaker import Breaker
from leasehold.app_api.upstreams.failures import ChainFailure, ServiceFailure, status_text

T = TypeVar("T")
LARGEST_ANSWER = 32 * 1024 * 1024
_BUSY = frozenset((429, 503))
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What an upstream sent, whatever its status."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Manners:
    """How an upstream is treated: seconds for a whole answer, calls at once, tries of a call that may be repeated."""

    seconds: float = 15.0
    connect_seconds: float = 3.0
    at_once: int = 64
    tries: int = 3


@dataclass(slots=True)
class Transport:
    """Calls to one upstream; `base` empty means it is not configured."""

    name: str
    base: str
    session: aiohttp.ClientSession
    manners: Manners = Manners()
    failure: type[ServiceFailure] = ServiceFailure
    headers: Mapping[str, str] = field(default_factory=dict)
    unconfigured: Callable[[], Exception] | None = None
    breaker: Breaker | None = None
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.base.rstrip("/")
        self._slots = asyncio.Semaphore(self.manners.at_once)

    @property
    def configured(self) -> bool:
        return bool(self.base)

    async def ask(
        self,
        method: str,
        target: str,
        *,
        context: str = "",
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        again: bool | None = None,
        guarded: bool = True,
    ) -> Answer:
        """Answer to a call of `target` (path and query, already escaped), whatever its status.

        `again` says whether a busy upstream may be asked once more; by default only for GET. What is not `guarded` is
        asked even of an upstream that has not answered for a while.
        """
        if not self.configured:
            raise self.unconfigured() if self.unconfigured else self.fail("not configured", context)
        tries = self.manners.tries if (method == "GET" if again is None else again) else 1
        once = self._guarded if guarded else self._once
        for attempt in range(tries):
            answer = await once(method, target, context, body, headers, seconds)
            if answer.status not in _BUSY or attempt == tries - 1:
                return answer
            await self.pause(self._wait(answer, attempt))
        raise AssertionError("a call is tried at least once")

    async def get(self, target: str, *, context: str = "", headers: Mapping[str, str] | None = None) -> bytes:
        """Body of a 2xx answer; the upstream's failure for any other."""
        answer = await self.ask("GET", target, context=context, headers=headers)
        if not answer.good:
            raise self.refused(answer, context)
        return answer.body

    async def read(
        self, target: str, kind: type[T], *, context: str = "", headers: Mapping[str, str] | None = None
    ) -> T:
        """The JSON of a 2xx answer as a type."""
        return self.decode(await self.get(target, context=context, headers=headers), kind, context)

    def decode(self, body: bytes, kind: type[T], context: str = "") -> T:
        """JSON as a type; the upstream's failure where it is something else."""
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self.unreadable(context, error) from error

    def unreadable(self, context: str, error: Exception | None = None) -> ServiceFailure:
        """What is raised when an answer is not what it should be."""
        detail = f"Failed to parse {context or 'response'}: error decoding response body"
        return self.failure(detail, upstream=self.name, reply_status=200, reply_body=str(error or "").encode())

    def unreached(self, context: str, reason: str = "") -> ServiceFailure:
        """What is raised when there was no answer; never the address, which the cause holds."""
        detail = "error sending request" + (f": {reason}" if reason else "")
        named = bool(context) and not issubclass(self.failure, ChainFailure)
        return self.fail(detail if named else f"Request failed: {detail}", context)

    def refused(self, answer: Answer, context: str = "") -> ServiceFailure:
        """What is raised about an answer that is not a 2xx."""
        return self.failure(
            status_text(answer.status),
            upstream=self.name,
            context=context,
            reply_status=answer.status,
            reply_body=answer.body,
        )

    def fail(self, detail: str, context: str = "") -> ServiceFailure:
        return self.failure(detail, upstream=self.name, context=context)

    async def _guarded(self, method: str, target: str, context: str, *rest: Any) -> Answer:
        """One call, unless the upstream has not answered for a while."""
        if self.breaker is None:
            return await self._once(method, target, context, *rest)
        if not self.breaker.allows():
            raise self.unreached(context, "left alone for a moment")
        try:
            answer = await self._once(method, target, context, *rest)
        except ServiceFailure:
            self.breaker.failed()
            raise
        except asyncio.CancelledError:
            self.breaker.abandoned()
            raise
        self.breaker.answered()
        return answer

    async def _once(
        self,
        method: str,
        target: str,
        context: str,
        body: Any,
        headers: Mapping[str, str] | None,
        seconds: float | None,
    ) -> Answer:
        timeout = aiohttp.ClientTimeout(
            total=seconds or self.manners.seconds, sock_connect=self.manners.connect_seconds
        )
        sent = {**self.headers, **(headers or {})}
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            sent["Content-Type"] = "application/json"
        try:
            async with (
                self._slots,
                self.session.request(
                    method,
                    URL(self.base + target, encoded=True),
                    data=data,
                    headers=sent,
                    timeout=timeout,
                    allow_redirects=False,
                ) as response,
            ):
                content = await response.content.read(LARGEST_ANSWER + 1)
                while not response.content.at_eof() and len(content) <= LARGEST_ANSWER:
                    content += await response.content.read(LARGEST_ANSWER + 1 - len(content))
                found = Answer(response.status, content, dict(response.headers))
        except TimeoutError as error:
            raise self.unreached(context, "timed out") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.unreached(context) from error
        if len(found.body) > LARGEST_ANSWER:
            raise self.fail("answer too large", context)
        return found

    def _wait(self, answer: Answer, attempt: int) -> float:
        asked = answer.headers.get("Retry-After", "")
        base = float(asked) if asked.isdecimal() else _FIRST_PAUSE * 2**attempt
        return min(base, _LONGEST_PAUSE) * (1 + self.chance.random() / 4)
