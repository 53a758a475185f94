"""One query table for three surfaces: gRPC, LCD and abci_query all call here and differ only in how errors look."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from leasehold.chain.amino_binary import delimited
from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import Registry
from leasehold.devnet.app.abci import QueryResult
from leasehold.devnet.app.addressing import WrongPrefix
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_HEIGHT,
    INVALID_REQUEST,
    KEY_NOT_FOUND,
    LOGIC,
    NOT_FOUND,
    OUT_OF_GAS,
    UNAUTHORIZED,
    UNKNOWN_REQUEST,
    ChainError,
    Kind,
    PlainError,
    SimulationError,
    Status,
    StatusError,
)
from leasehold.devnet.app.source_positions import source_position
from leasehold.devnet.app.store_views import read_key, read_subspace, store_views
from leasehold.devnet.state.gas import OutOfGas
from leasehold.devnet.state.versions import MissingHeight

if TYPE_CHECKING:
    from leasehold.devnet.app.application import ChainApplication
    from leasehold.devnet.app.execution import Simulation

_MISSING = (
    "version mismatch on immutable IAVL tree; version does not exist. "
    "Version has either been pruned, or is for a future block height"
)
_KIND_OF_STATUS = {
    Status.NOT_FOUND: KEY_NOT_FOUND,
    Status.INVALID_ARGUMENT: INVALID_REQUEST,
    Status.FAILED_PRECONDITION: INVALID_REQUEST,
    Status.UNAUTHENTICATED: UNAUTHORIZED,
}
# These answer for the node rather than for a height: a height given with them is echoed, not used.
HEIGHTLESS = frozenset({"cosmos.tx.v1beta1.Service", "cosmos.base.tendermint.v1beta1.Service"})

_BROADCAST = "/cosmos.tx.v1beta1.Service/BroadcastTx"
_UNPROVABLE = "cannot query with proof when height <= 1; please provide a valid height"
_STORE_DECODE = Kind("store", 2, "tx parse error")
_STORE_UNKNOWN = Kind("store", 4, "unknown request")
_STORE_REQUEST = Kind("store", 7, "invalid request")
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
# Entries of a raw subspace that are given at once.
MAX_PAIRS = 10_000

Handler = Callable[[Context, Any], Any]


class HeightError(Exception):
    """The asked height can't be served; the surfaces show it before any handler ran."""

    def __init__(self, error: ChainError) -> None:
        super().__init__(error.log)
        self.error = error


def asked_height(text: str) -> int:
    """The height in a header or in metadata, read as the original reads it."""
    if not _INTEGER.fullmatch(text):
        problem = "invalid syntax"
    elif -(2**63) <= (height := int(text)) < 2**63:
        return height
    else:
        problem = "value out of range"
    where = 'Baseapp.RegisterGRPCServer: invalid height header "x-cosmos-block-height"'
    raise HeightError(INVALID_REQUEST(f'{where}: strconv.ParseInt: parsing "{text}": {problem}'))


class Queries:
    """Answers by gRPC path at a height."""

    def __init__(self, app: ChainApplication, registry: Registry, handlers: dict[str, Handler]) -> None:
        self._app = app
        self._registry = registry
        self._codec = JsonCodec(registry)
        self._views = store_views(app.modules.auth.stored_form)
        # Accounts lie in a store of another name than their module's.
        self._stores = {module.name for module in app.modules.all()} - {"auth"} | {"acc"}
        self.handlers = handlers
        # By path: what must be done for a request in advance, if anything.
        self.lengthy: dict[str, Callable[[Any], Callable[[], None] | None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="queries")
        # The height at which a replica that stopped following would answer; None follows.
        self.frozen: int | None = None

    async def ahead(self, path: str, request: Any) -> None:
        """Do what takes long before the handler runs, in a thread: blocks are sealed meanwhile."""
        prepare = self.lengthy.get(path)
        work = prepare(request) if prepare is not None else None
        if work is not None:
            await asyncio.get_running_loop().run_in_executor(self._pool, work)

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
            return self._handle(path, request, height)
        except ChainError as error:
            raise StatusError(Status.UNKNOWN, error.status_text) from None
        except PlainError as error:
            raise StatusError(Status.UNKNOWN, str(error)) from None
        except SimulationError as error:
            raise StatusError(Status.UNKNOWN, _failed_simulation(error)) from None

    def _handle(self, path: str, request: Any, height: int) -> Any:
        handler = self.handlers.get(path)
        if handler is None:
            service, _, method = path.removeprefix("/").partition("/")
            if service in self._registry.service_names:
                raise StatusError(Status.UNIMPLEMENTED, f"unknown method {method} for service {service}")
            raise StatusError(Status.UNIMPLEMENTED, f"unknown service {service}")
        try:
            return handler(self._app.context(height), request)
        except WrongPrefix as error:
            raise LOGIC(error.mismatch) from None
        except OutOfGas as error:
            text = f"out of gas in location: {error.location}; gasWanted: {error.limit}, gasUsed: {error.used}"
            raise OUT_OF_GAS(text) from None

    def abci(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        """The answer to an `abci_query`; failures are codes, never exceptions."""
        if path == _BROADCAST:
            return _refused(INVALID_REQUEST("can't route a broadcast tx message"))
        if path in self.handlers:
            return self._abci_call(path, data, height, prove)
        parts = split_path(path)
        if not parts:
            return _refused(UNKNOWN_REQUEST("no query path provided"))
        if parts[0] == "app":
            return self._app_query(parts, data, height)
        if parts[0] == "p2p":
            return _peer_query(parts)
        if parts[0] == "store":
            return self._store_query(parts[1:], data, height, prove)
        return _refused(UNKNOWN_REQUEST("unknown query path"))

    def _abci_call(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        method = self._registry.method_by_path[path]
        if prove and height == 1:
            return _refused(INVALID_REQUEST(_UNPROVABLE))
        try:
            chosen = self.resolve(height)
        except HeightError as failure:
            return _refused(failure.error)
        try:
            request = method.request_type.FromString(data)
        except DecodeError:
            return _refused(INVALID_REQUEST("unexpected EOF"), chosen)
        try:
            response = self._handle(path, request, chosen)
        except StatusError as error:
            kind = _KIND_OF_STATUS.get(error.status, UNKNOWN_REQUEST)
            return _refused(kind(f"rpc error: code = {error.status.title} desc = {error.message}"), chosen)
        except ChainError as error:
            return _refused(UNKNOWN_REQUEST(error.log), chosen)
        except PlainError as error:
            return _refused(INVALID_REQUEST(str(error)), chosen)
        except SimulationError as error:
            text = _failed_simulation(error)
            return _refused(UNKNOWN_REQUEST(f"rpc error: code = Unknown desc = {text}"), chosen)
        return QueryResult(value=response.SerializeToString(deterministic=True), height=chosen)

    def _app_query(self, parts: list[str], data: bytes, height: int) -> QueryResult:
        if len(parts) < 2:
            text = "expected second parameter to be either 'simulate' or 'version', neither was present"
            return _refused(UNKNOWN_REQUEST(text))
        shown = height or self._app.state.height
        if parts[1] == "version":
            return QueryResult(value=self._app.info().version.encode(), codespace="sdk", height=shown)
        if parts[1] == "simulate":
            return self._app_simulate(data, shown)
        return _refused(UNKNOWN_REQUEST(f"unknown query: [{' '.join(parts)}]"))

    def _app_simulate(self, data: bytes, height: int) -> QueryResult:
        try:
            outcome = self._app.simulate(data)
        except SimulationError as failure:
            return _refused(failure.error.wrap("failed to simulate tx"))
        response = self._registry.new(
            "cosmos.base.abci.v1beta1.SimulationResponse",
            gas_info={"gas_used": outcome.gas_used, "gas_wanted": 2**64 - 1},
            result=simulated_result(self._registry, outcome),
        )
        return QueryResult(value=self._codec.encode(response), codespace="sdk", height=height)

    def _store_query(self, parts: list[str], data: bytes, height: int, prove: bool) -> QueryResult:
        """A raw read of one of the original's stores; its own errors have a codespace of their own."""
        chosen = height or self._app.state.height
        if prove and chosen <= 1:
            return _refused(INVALID_REQUEST(_UNPROVABLE))
        name, subpath = (parts[0] if parts else ""), "/".join(["", *parts[1:]])
        if name not in self._stores:
            return _refused(_STORE_UNKNOWN(f"no such store: {name}"))
        if not data:
            return _refused(_STORE_DECODE("query cannot be zero length"))
        views = self._views.get(name, ())
        if subpath == "/subspace":
            pairs = b"".join(
                delimited(1, delimited(1, key) + delimited(2, value))
                for key, value in islice(read_subspace(views, self._app.state.head, data), MAX_PAIRS)
            )
            return QueryResult(key=data, value=pairs or None, height=chosen)
        if subpath != "/key":
            return _refused(_STORE_UNKNOWN(f"unexpected query path: {subpath}"))
        try:
            value = read_key(views, self._app.state.view(self.resolve(height)), data)
        except (HeightError, MissingHeight):
            if prove:
                text = "proof is unexpectedly empty; ensure height has not been pruned"
                return _refused(_STORE_REQUEST(text))
            return QueryResult(log="version does not exist", height=chosen, key=data)
        return QueryResult(key=data, value=value, height=chosen)


def simulated_result(registry: Registry, outcome: Simulation) -> Any:
    """What a dry run gave, as the original shows it: no attribute is indexed."""
    return registry.new(
        "cosmos.base.abci.v1beta1.Result",
        data=outcome.data,
        events=[
            {"type": event.type, "attributes": [{"key": key, "value": value} for key, value in event.attributes]}
            for event in outcome.events
        ],
        msg_responses=[registry.pack(response) for response in outcome.responses],
    )


def split_path(path: str) -> list[str]:
    """The parts of an `abci_query` path, with or without its leading slash."""
    parts = path.split("/")
    return parts[1:] if parts[0] == "" else parts


def _peer_query(parts: list[str]) -> QueryResult:
    """No peer is filtered out."""
    if len(parts) < 4:
        return _refused(UNKNOWN_REQUEST("path should be p2p filter <addr|id> <parameter>"))
    if parts[1] != "filter":
        return _refused(UNKNOWN_REQUEST("expected second parameter to be 'filter'"))
    return QueryResult()


def _failed_simulation(failure: SimulationError) -> str:
    return f"{failure.error.log}{source_position(failure.error)} with gas used: '{failure.gas_used}'"


def _refused(error: ChainError, height: int = 0) -> QueryResult:
    return QueryResult(code=error.kind.code, codespace=error.kind.codespace, log=error.log, height=height)
