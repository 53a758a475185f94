"""The chain's LCD: module and contract queries as of one height, each answer asked for once."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from leasehold.app_api.upstreams.bulk import Bulk, Question, smart_key
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.transport import Transport
from leasehold.core.errors import NotFound

T = TypeVar("T")
# An amount as the chain writes it; anything else is an answer that can't be read, and told so.
Digits = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,78}$")]
HEIGHT_HEADER = "x-cosmos-block-height"
# Blocks whose answers are kept: the newest, and the one readers that started a moment ago still use.
KEPT_HEIGHTS = 2
MOST_ANSWERS = 100_000
_AHEAD = (b"height in the future", b"cannot query with height")
_AHEAD_PAUSES = (0.05, 0.1, 0.2, 0.4)


class Refusal(msgspec.Struct, frozen=True):
    """The body of an LCD error."""

    code: int = 0
    message: str = ""


# How a node tells that the contract itself refused, or aborted as a closed protocol's does.
_OWN_REFUSALS = ("query wasm contract failed", ": wasmvm error")


class ContractRefused(ChainFailure):
    """A contract answered a query with an error of its own: asking again gives the same."""


class NoSuchContract(NotFound):
    """No contract has this address."""


def refusal_of(failure: ChainFailure) -> Refusal:
    """What the LCD said about a failure, as far as it is an LCD error."""
    try:
        return msgspec.json.decode(failure.reply_body, type=Refusal)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Refusal()


class Lcd:
    """Calls of one LCD, without memory."""

    def __init__(
        self, transport: Transport, pause: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
    ) -> None:
        self.transport = transport
        self._pause = pause

    async def read(self, target: str, kind: type[T], *, height: int = 0, context: str = "") -> T:
        """An answer as of the end of `height` (0: newest)."""
        headers = {HEIGHT_HEADER: str(height)} if height else None
        for pause in (*_AHEAD_PAUSES, None):
            try:
                return await self.transport.read(target, kind, context=context, headers=headers)
            except ChainFailure as error:
                # An LCD may be a moment behind the RPC that told us of the height.
                if pause is None or not any(text in error.reply_body for text in _AHEAD):
                    raise
            await self._pause(pause)
        raise AssertionError("the last try returns or raises")

    async def smart(self, contract: str, query: Any, kind: type[T], *, height: int = 0) -> T:
        """A contract's answer as of the end of `height`; NoSuchContract and ContractRefused are told apart."""
        holder = _holder(kind)
        try:
            found: Any = await self.read(smart_target(contract, query), holder, height=height)
        except ChainFailure as error:
            message = refusal_of(error).message
            if "no such contract" in message:
                raise NoSuchContract(f"Contract {contract} not found") from error
            if any(text in message for text in _OWN_REFUSALS):
                raise ContractRefused(
                    error.message.partition(": ")[2],
                    upstream=error.upstream,
                    reply_status=error.reply_status,
                    reply_body=error.reply_body,
                ) from error
            raise
        data: T = found.data
        return data


def smart_target(contract: str, query: Any) -> str:
    """Path of a smart query."""
    text = quote(b64encode(msgspec.json.encode(query)).decode(), safe="")
    return f"/cosmwasm/wasm/v1/contract/{quote(contract, safe='')}/smart/{text}"


def read_key(target: str, kind: Any) -> Hashable:
    """How an answer is remembered within a block."""
    return ("read", target, kind)


_holders: dict[str, Any] = {}


def _holder(kind: Any) -> Any:
    """The type of `{"data": kind}`."""
    key = repr(kind)
    if key not in _holders:
        _holders[key] = msgspec.defstruct("Smart", [("data", kind)])
    return _holders[key]


class Shared(Generic[T]):
    """Work under way or done, by key: whoever asks for a key that is there waits for the same result.

    A failure is forgotten at once, a result only where `keep` is off. One asker that goes away does not stop the work
    the others wait for.
    """

    def __init__(self, *, keep: bool = True) -> None:
        self.done: dict[Any, T] = {}
        self._tasks: dict[Any, asyncio.Task[T]] = {}
        self._keep = keep

    def __len__(self) -> int:
        return len(self._tasks) + len(self.done)

    def __contains__(self, key: Any) -> bool:
        return key in self.done or key in self._tasks

    def known(self, keys: Iterable[Any]) -> list[T] | None:
        """Results that are there, None unless all of them are."""
        try:
            return [self.done[key] for key in keys]
        except KeyError:
            return None

    def put(self, key: Any, value: T) -> None:
        """Have a result without work."""
        self.done[key] = value

    async def get(self, key: Any, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if key in self.done:
            return self.done[key]
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(work(), name="shared-read")
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._settle(key, done))
        return await asyncio.shield(task)

    def _settle(self, key: Any, task: asyncio.Task[T]) -> None:
        failed = task.cancelled() or task.exception() is not None
        if self._tasks.get(key) is task:
            del self._tasks[key]
            if self._keep and not failed:
                self.done[key] = task.result()

    def clear(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self.done.clear()


class ChainReads:
    """The LCD with memory: the answer to (height, question) never changes, so it is asked for once."""

    def __init__(self, lcd: Lcd, bulk: Bulk | None = None) -> None:
        self.lcd = lcd
        self.bulk = bulk
        self._by_height: dict[int, Shared[Any]] = {}
        self.asked = 0

    def at(self, height: int) -> ChainView:
        """The chain as of the end of `height`."""
        shared = self._by_height.get(height)
        if shared is None:
            shared = self._by_height[height] = Shared()
            for old in sorted(self._by_height)[:-KEPT_HEIGHTS]:
                # Readers of an old height keep their own reference until they are done.
                del self._by_height[old]
        return ChainView(self, height, shared)

    async def prepare(self, wanted: Iterable[tuple[ChainView, Iterable[Question]]]) -> None:
        """Have the answers to many questions at hand in their views, as far as they can be had together."""
        if self.bulk is None:
            return
        fresh: dict[tuple[int, Hashable], tuple[ChainView, Question]] = {}
        for view, questions in wanted:
            for one in questions:
                if one.key not in view.shared:
                    fresh[view.height, one.key] = (view, one)
        self.asked += len(fresh)
        found = await self.bulk.ask([(view.height, one) for view, one in fresh.values()]) if fresh else ()
        for (view, one), answer in zip(fresh.values(), found, strict=True):
            if answer is not None and len(view.shared) < MOST_ANSWERS:
                view.shared.put(one.key, answer)

    def close(self) -> None:
        for shared in self._by_height.values():
            shared.clear()


class ChainView:
    """Everything read through one view is of the same block."""

    def __init__(self, reads: ChainReads, height: int, shared: Shared[Any]) -> None:
        self._reads = reads
        self.shared = shared
        self.height = height

    async def read(self, target: str, kind: Any, *, context: str = "") -> Any:
        """An LCD answer as a type."""
        lcd = self._reads.lcd

        async def work() -> Any:
            self._reads.asked += 1
            return await lcd.read(target, kind, height=self.height, context=context)

        return await self.once(read_key(target, kind), work)

    async def smart(self, contract: str, query: Any, kind: Any) -> Any:
        """A contract's answer as a type."""
        lcd = self._reads.lcd

        async def work() -> Any:
            self._reads.asked += 1
            return await lcd.smart(contract, query, kind, height=self.height)

        return await self.once(smart_key(contract, msgspec.json.encode(query), kind), work)

    async def smarts(self, contract: str, questions: Sequence[tuple[Any, Any]]) -> list[Any]:
        """A contract's answers to several queries, each with its type."""
        keys = [smart_key(contract, msgspec.json.encode(query), kind) for query, kind in questions]
        known = self.shared.known(keys)
        if known is not None:
            return known
        return list(await asyncio.gather(*(self.smart(contract, query, kind) for query, kind in questions)))

    async def pages(self, target: str, kind: Any, *, context: str = "") -> list[Any]:
        """Every page of a list; `kind` has a `pagination` member."""
        found = []
        key = ""
        while True:
            joint = "&" if "?" in target else "?"
            page = await self.read(
                target + (f"{joint}pagination.key={quote(key, safe='')}" if key else ""), kind, context=context
            )
            found.append(page)
            following = page.pagination.next_key if page.pagination else None
            if not following or following == key:
                return found
            key = following

    async def once(self, key: Any, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of `work`, done once for everybody who looks at this block and gives the same key."""
        # First, because most of what a crowded block asks for is at hand.
        if key in self.shared.done:
            return self.shared.done[key]
        if len(self.shared) >= MOST_ANSWERS:
            return await work()
        return await self.shared.get(key, work)
