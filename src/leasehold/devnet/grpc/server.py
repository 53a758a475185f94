"""gRPC over the query table: every method of the registry, heights by metadata, plaintext or TLS."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from leasehold.chain.registry import MalformedMessage, Method, Registry
from leasehold.core.errors import ConfigurationError
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.app.heights import HeightError, asked_height
from leasehold.devnet.app.queries import Queries
from leasehold.devnet.grpc.reflection import REFLECT, REFLECTION, reflection_handlers

HEIGHT = "x-cosmos-block-height"
MAX_MESSAGE = 10 * 1024 * 1024
# What is somewhat larger is still read, so that it can be refused in the original's words.
_MAX_READ = 2 * MAX_MESSAGE
# The original serves this one beside its query router, so that no height is told.
_HEIGHTLESS = frozenset({"cosmos.base.reflection.v2alpha1.ReflectionService"})
_CODES = {code.value[0]: code for code in grpc.StatusCode}


# The stubs make these generic, the classes at run time are not.
if TYPE_CHECKING:
    _Handler = grpc.GenericRpcHandler[bytes, bytes]
    ByteContext = grpc.aio.ServicerContext[bytes, bytes]
else:
    _Handler = grpc.GenericRpcHandler
    ByteContext = grpc.aio.ServicerContext

Behavior = Callable[[bytes, ByteContext], Awaitable[bytes]]


class _QueryHandler(_Handler):
    """Routes a call by its path; messages stay bytes until their type is known."""

    def __init__(self, registry: Registry, queries: Queries) -> None:
        self._queries = queries
        # A fault a devnet can be told to have: every answer takes at least this long.
        self.delay_seconds = 0.0
        self._methods = {
            path: grpc.unary_unary_rpc_method_handler(self._behavior(method))
            for path, method in registry.method_by_path.items()
            if path in queries.handlers
        }
        self._services = {path.split("/")[1] for path in self._methods} | {REFLECTION}

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        found = self._methods.get(details.method)
        if found is None:
            service, slash, name = details.method.removeprefix("/").rpartition("/")
            if slash and service in self._services and not (service == REFLECTION and name == REFLECT):
                found = _refusing(f"unknown method {name} for service {service}")
        return found

    def _behavior(self, method: Method) -> Behavior:
        async def answer(data: bytes, context: ByteContext) -> bytes:
            if self.delay_seconds:
                await asyncio.sleep(self.delay_seconds)
            if len(data) > MAX_MESSAGE:
                text = f"grpc: received message larger than max ({len(data)} vs. {MAX_MESSAGE})"
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
            try:
                request = method.decoded(data)
            except MalformedMessage as fault:
                await context.abort(grpc.StatusCode.INTERNAL, f"grpc: error unmarshalling request: {fault.message}")
                raise
            try:
                height = self._queries.resolve(_asked_height(context))
            except HeightError as failure:
                await context.abort(grpc.StatusCode.UNKNOWN, failure.error.status_text)
                raise
            if method.service not in _HEIGHTLESS:
                await context.send_initial_metadata(((HEIGHT, str(height)),))
            try:
                if self._queries.is_lengthy(method.path):
                    response = await self._queries.answer(method.path, request, height)
                else:
                    response = self._queries.call(method.path, request, height)
            except StatusError as error:
                await context.abort(_CODES[int(error.status)], error.message)
                raise
            return bytes(response.SerializeToString(deterministic=True))

        return answer


class _NobodyHandler(_Handler):
    """Refuses what no service takes, in the words of the original."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        service, slash, _ = details.method.removeprefix("/").rpartition("/")
        if not slash:
            return _refusing(f"malformed method name: {json.dumps(details.method)}")
        return _refusing(f"unknown service {service}")


def _refusing(text: str) -> grpc.RpcMethodHandler[bytes, bytes]:
    async def refuse(_: bytes, context: ByteContext) -> bytes:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, text)
        raise StatusError(Status.UNIMPLEMENTED, text)

    return grpc.unary_unary_rpc_method_handler(refuse)


def _asked_height(context: ByteContext) -> int:
    """The height in the call's metadata; two values cancel each other, as on a real node."""
    values = [str(value) for key, value in context.invocation_metadata() or () if key == HEIGHT]
    return asked_height(values[0]) if len(values) == 1 else 0


class GrpcServer:
    """Serves until stopped; `port` is the bound one after start."""

    def __init__(
        self,
        registry: Registry,
        queries: Queries,
        *,
        host: str,
        port: int,
        certificate: str = "",
        key: str = "",
    ) -> None:
        self._server = grpc.aio.server(
            options=[("grpc.max_receive_message_length", _MAX_READ), ("grpc.so_reuseport", 0)]
        )
        self._queries = _QueryHandler(registry, queries)
        handlers: list[Any] = [self._queries, *reflection_handlers(registry, queries)]
        self._server.add_generic_rpc_handlers(handlers)
        state = HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(state, self._server)
        self._server.add_generic_rpc_handlers([_NobodyHandler()])
        self._health = state
        self._address = f"{host}:{port}"
        self._certificate, self._key = certificate, key
        self.port = port

    def delay_answers(self, seconds: float) -> None:
        """Let every answer of the query table take at least this long."""
        self._queries.delay_seconds = seconds

    async def start(self) -> None:
        if self._certificate:
            self.port = self._server.add_secure_port(self._address, self._credentials())
        else:
            self.port = self._server.add_insecure_port(self._address)
        await self._server.start()
        await self._health.set("", health_pb2.HealthCheckResponse.SERVING)

    def _credentials(self) -> grpc.ServerCredentials:
        try:
            pair = Path(self._key).read_bytes(), Path(self._certificate).read_bytes()
        except OSError as error:
            hint = "give PEM files in devnet.grpc_certificate and devnet.grpc_key"
            raise ConfigurationError(f"can't read the gRPC certificate: {error}", hint=hint) from error
        return grpc.ssl_server_credentials([pair])

    async def stop(self, grace: float = 2.0) -> None:
        await self._health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.stop(grace)
