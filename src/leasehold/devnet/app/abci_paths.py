"""`abci_query`: the query table by gRPC path, and the paths of its own that the original has beside it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from leasehold.chain.amino_binary import delimited
from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.core import logging
from leasehold.devnet.app.abci import LengthyQuery, QueryResult
from leasehold.devnet.app.errors import (
    INVALID_REQUEST,
    KEY_NOT_FOUND,
    PANIC,
    UNAUTHORIZED,
    UNKNOWN_REQUEST,
    ChainError,
    Kind,
    PlainError,
    SimulationError,
    Status,
    StatusError,
)
from leasehold.devnet.app.heights import HeightError
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.app.simulations import failed_simulation, simulated_result
from leasehold.devnet.app.store_views import read_key, read_subspace, store_views
from leasehold.devnet.state.versions import MissingHeight

if TYPE_CHECKING:
    from leasehold.devnet.app.application import ChainApplication
    from leasehold.devnet.app.queries import Queries

_log = logging.get("queries")
_KIND_OF_STATUS = {
    Status.NOT_FOUND: KEY_NOT_FOUND,
    Status.INVALID_ARGUMENT: INVALID_REQUEST,
    Status.FAILED_PRECONDITION: INVALID_REQUEST,
    Status.UNAUTHENTICATED: UNAUTHORIZED,
}
_BROADCAST = "/cosmos.tx.v1beta1.Service/BroadcastTx"
_UNPROVABLE = "cannot query with proof when height <= 1; please provide a valid height"
_NO_PROOF = "proof is unexpectedly empty; ensure height has not been pruned"
_STORE_DECODE = Kind("store", 2, "tx parse error")
_STORE_UNKNOWN = Kind("store", 4, "unknown request")
_STORE_REQUEST = Kind("store", 7, "invalid request")
# Entries of a raw subspace that are given at once.
MAX_PAIRS = 10_000


class AbciPaths:
    """Answers by path; failures are codes, never exceptions."""

    def __init__(self, app: ChainApplication, registry: Registry, queries: Queries) -> None:
        self._app = app
        self._registry = registry
        self._queries = queries
        self._codec = JsonCodec(registry)
        self._views = store_views(app.modules.auth.stored_form)
        # Accounts lie in a store of another name than their module's.
        self._stores = {module.name for module in app.modules.all()} - {"auth"} | {"acc"}

    def answer(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        """The answer to an `abci_query`; failures are codes, never exceptions."""
        if path == _BROADCAST:
            return _refused(INVALID_REQUEST("can't route a broadcast tx message"))
        try:
            return self._answer(path, data, height, prove)
        except Exception as error:  # noqa: BLE001 - a caller gets an answer whatever a handler trips over
            _log.exception("a query failed unexpectedly", path=path)
            return _refused(PANIC(f"{type(error).__name__}: {error}"))

    def _answer(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        if path in self._queries.handlers:
            return self._call(path, data, height, prove)
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

    def lengthy(self, path: str, data: bytes, height: int, prove: bool) -> LengthyQuery:
        """The answer to a query that takes long, to be awaited; None for all others."""
        method = self._registry.method_by_path.get(path)
        if method is None or path not in self._queries.handlers or not self._queries.is_lengthy(path):
            return None
        if prove and height == 1:
            return None
        try:
            request, chosen = method.decoded(data), self._queries.resolve(height)
        except (MalformedMessage, HeightError):
            return None
        return self._lengthy(path, request, chosen)

    async def _lengthy(self, path: str, request: Any, height: int) -> QueryResult:
        try:
            response = await self._queries.awaited(path, request, height)
        except Exception as error:  # noqa: BLE001 - told in the words of this surface
            return self._failed(path, error, height)
        return QueryResult(value=response.SerializeToString(deterministic=True), height=height)

    def _call(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        method = self._registry.method_by_path[path]
        if prove and height == 1:
            return _refused(INVALID_REQUEST(_UNPROVABLE))
        try:
            chosen = self._queries.resolve(height)
        except HeightError as failure:
            return _refused(failure.error)
        try:
            request = method.decoded(data)
        except MalformedMessage as fault:
            return _refused(INVALID_REQUEST(fault.message), chosen)
        try:
            response = self._queries.handled(path, request, chosen)
        except Exception as error:  # noqa: BLE001 - told in the words of this surface
            return self._failed(path, error, chosen)
        return QueryResult(value=response.SerializeToString(deterministic=True), height=chosen)

    def _failed(self, path: str, error: Exception, height: int) -> QueryResult:
        if isinstance(error, StatusError):
            kind = _KIND_OF_STATUS.get(error.status, UNKNOWN_REQUEST)
            return _refused(kind(f"rpc error: code = {error.status.title} desc = {error.message}"), height)
        if isinstance(error, ChainError):
            return _refused(UNKNOWN_REQUEST(error.log), height)
        if isinstance(error, PlainError):
            return _refused(INVALID_REQUEST(str(error)), height)
        if isinstance(error, Panic):
            return _refused(PANIC(str(error)))
        if isinstance(error, SimulationError):
            return _refused(UNKNOWN_REQUEST(f"rpc error: code = Unknown desc = {failed_simulation(error)}"), height)
        raise error

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
            # Who asks for a proof is told that there is none, whatever else is wrong.
            unproven = prove and subpath == "/key"
            return _refused(_STORE_REQUEST(_NO_PROOF) if unproven else _STORE_DECODE("query cannot be zero length"))
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
            value = read_key(views, self._app.state.view(self._queries.resolve(height)), data)
        except (HeightError, MissingHeight):
            if prove:
                return _refused(_STORE_REQUEST(_NO_PROOF))
            return QueryResult(log="version does not exist", height=chosen, key=data)
        return QueryResult(key=data, value=value, height=chosen)


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


def _refused(error: ChainError, height: int = 0) -> QueryResult:
    return QueryResult(code=error.kind.code, codespace=error.kind.codespace, log=error.log, height=height)
