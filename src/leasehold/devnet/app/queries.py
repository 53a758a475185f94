"""One query table for three surfaces: gRPC, LCD and abci_query all call here and differ only in how errors look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from leasehold.chain.registry import Method, Registry
from leasehold.core import logging
from leasehold.devnet.app.abci_paths import AbciPaths
from leasehold.devnet.app.addressing import WrongPrefix
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_HEIGHT,
    INVALID_REQUEST,
    LOGIC,
    NOT_FOUND,
    OUT_OF_GAS,
    ChainError,
    PlainError,
    SimulationError,
    Status,
    StatusError,
)
from leasehold.devnet.app.heights import HeightError
from leasehold.devnet.app.listings import gathered, is_listing, is_long
from leasehold.devnet.app.pagination import Unfinished, Walk
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.app.simulations import failed_simulation
from leasehold.devnet.state.gas import OutOfGas

if TYPE_CHECKING:
    from leasehold.devnet.app.application import ChainApplication

_MISSING = (
    "version mismatch on immutable IAVL tree; version does not exist. "
    "Version has either been pruned, or is for a future block height"
)
# These answer for the node rather than for a height: a height given with them is echoed, not used.
HEIGHTLESS = frozenset({"cosmos.tx.v1beta1.Service", "cosmos.base.tendermint.v1beta1.Service"})

Handler = Callable[[Context, Any], Any]
_log = logging.get("queries")


class Queries:
    """Answers by gRPC path at a height."""

    def __init__(
        self, app: ChainApplication, registry: Registry, handlers: dict[str, Handler], parted: Set[str] = frozenset()
    ) -> None:
        """`parted` are paths of answers other than lists that come in parts."""
        self._app = app
        self._registry = registry
        self.handlers = handlers
        # By path: what must be done for a request in advance, if anything.
        self.lengthy: dict[str, Callable[[Any], Callable[[], None] | None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="queries")
        self._parted = parted
        self._listings = {method.path for method in registry.methods if _is_unbounded(method)}
        # The height at which a replica that stopped following would answer; None follows.
        self.frozen: int | None = None
        self.paths = AbciPaths(app, registry, self)
        self.abci = self.paths.answer

    def is_lengthy(self, path: str) -> bool:
        """Whether an answer of a method may take so long that it must be awaited."""
        return path in self.lengthy or path in self._listings or path in self._parted

    async def answer(self, path: str, request: Any, height: int) -> Any:
        """What `call` answers, prepared in a thread or gathered in parts: blocks are sealed meanwhile."""
        try:
            return await self.awaited(path, request, height)
        except Exception as error:  # noqa: BLE001 - a caller gets an answer whatever a handler trips over
            raise _status(path, error) from None

    async def awaited(self, path: str, request: Any, height: int) -> Any:
        """What `handled` answers, in the same way."""
        prepare = self.lengthy.get(path)
        if prepare is not None and (work := prepare(request)) is not None:
            await self.in_thread(work)
        if path in self._listings and is_long(request):
            return await gathered(lambda part: self._walked(path, part, height), request)
        return await self._walked(path, request, height)

    async def _walked(self, path: str, request: Any, height: int) -> Any:
        walk = Walk()
        while True:
            try:
                return self.handled(path, request, height, walk)
            except Unfinished:
                await asyncio.sleep(0)

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Do what needs no state, such as writing a long answer as text, beside everything else."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def extend(self, handlers: dict[str, Handler]) -> None:
        """Add answers that need more than the state: blocks, the mempool, the node."""
        self.handlers.update(handlers)

    def resolve(self, height: int) -> int:
        """The height a query for `height` reads; 0 is the latest."""
        latest = self._app.state.height if self.frozen is None else min(self.frozen, self._app.state.height)
        if latest == 0:
            name = self._app.identity.namespace
            raise HeightError(INVALID_HEIGHT(f"{name} is not ready; please wait for first block"))
        if height > latest:
            text = "cannot query with height in the future; please provide a valid height"
            raise HeightError(INVALID_HEIGHT(text))
        if height < 0:
            raise HeightError(INVALID_REQUEST("cannot query with height < 0; please provide a valid height"))
        chosen = height or latest
        if chosen < max(1, self._app.state.first_height):
            text = f"failed to load state at height {chosen}; {_MISSING} (latest height: {latest})"
            raise HeightError(NOT_FOUND(text))
        return chosen

    def call(self, path: str, request: Any, height: int) -> Any:
        """The response message at a resolved height; every failure is a StatusError."""
        try:
            return self.handled(path, request, height)
        except Exception as error:  # noqa: BLE001 - a caller gets an answer whatever a handler trips over
            raise _status(path, error) from None

    def handled(self, path: str, request: Any, height: int, walk: Walk | None = None) -> Any:
        """What the handler of a path answers; it fails in its own words, and as `Unfinished` within a walk."""
        handler = self.handlers.get(path)
        if handler is None:
            service, _, method = path.removeprefix("/").partition("/")
            if service in self._registry.service_names:
                raise StatusError(Status.UNIMPLEMENTED, f"unknown method {method} for service {service}")
            raise StatusError(Status.UNIMPLEMENTED, f"unknown service {service}")
        try:
            ctx = self._app.context(height)
            ctx.walk = walk
            return handler(ctx, request)
        except WrongPrefix as error:
            raise LOGIC(error.mismatch) from None
        except OutOfGas as error:
            text = f"out of gas in location: {error.location}; gasWanted: {error.limit}, gasUsed: {error.used}"
            raise OUT_OF_GAS(text) from None


def _status(path: str, error: Exception) -> StatusError:
    """A failure as gRPC and the LCD tell it."""
    if isinstance(error, StatusError):
        return error
    if isinstance(error, ChainError):
        return StatusError(Status.UNKNOWN, error.status_text)
    if isinstance(error, PlainError):
        return StatusError(Status.UNKNOWN, str(error))
    if isinstance(error, Panic):
        return StatusError(Status.INTERNAL, str(error))
    if isinstance(error, SimulationError):
        return StatusError(Status.UNKNOWN, failed_simulation(error))
    _log.error("a query failed unexpectedly", path=path, exc_info=error)
    return StatusError(Status.INTERNAL, f"{type(error).__name__}: {error}")


def _is_unbounded(method: Method) -> bool:
    """Whether a listing gives pages of any size; lists of contracts have a limit of their own."""
    return is_listing(method) and method.service.endswith(".Query") and not method.service.startswith("cosmwasm.")
