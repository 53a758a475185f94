"""Server reflection, v1alpha as real nodes have it and v1 as newer clients want it, over the private registry.

The two versions differ only in the package of their messages, whose fields are the same; so one answer serves both.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2

from leasehold.chain.registry import Registry
from leasehold.devnet.app.queries import Queries

REFLECTION, REFLECT = "grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo"
_VERSIONS = (REFLECTION, "grpc.reflection.v1.ServerReflection")
# Served and described too, but not listed: the original lists what it has, no more.
_UNLISTED = ("grpc.reflection.v1.ServerReflection", "grpc.health.v1.Health")


class Unreadable(Exception):
    """A request that asks for nothing: the stream ends with it."""


class Reflection:
    """Answers reflection requests from the registry's files."""

    def __init__(self, registry: Registry, queries: Queries) -> None:
        self._files: dict[str, descriptor_pb2.FileDescriptorProto] = {file.name: file for file in registry.files}
        self._pool = registry.pool
        served = {path.split("/")[1] for path in queries.handlers}
        unlisted = registry.name("transfer.Query")
        self._services = sorted({*served, REFLECTION} - {unlisted})
        self._symbols = self._reached({*served, REFLECTION, *_UNLISTED})

    def answer(self, request: Any, sent: set[str]) -> Any:
        """The response to one request; the stream goes on after an error. Files in `sent` are not given again."""
        response = reflection_pb2.ServerReflectionResponse(valid_host=request.host, original_request=request)
        kind = request.WhichOneof("message_request")
        if kind is None:
            raise Unreadable("invalid MessageRequest: <nil>")
        try:
            if kind == "list_services":
                for name in self._services:
                    response.list_services_response.service.add(name=name)
            elif kind == "all_extension_numbers_of_type":
                name = request.all_extension_numbers_of_type
                numbers = response.all_extension_numbers_response
                numbers.extension_number.extend(e.number for e in self._pool.FindAllExtensions(self._message(name)))
                numbers.base_type_name = name
            else:
                found = response.file_descriptor_response.file_descriptor_proto
                for name in self._with_dependencies([self._file(request, kind)], sent):
                    found.append(self._files[name].SerializeToString())
        except _Missing as missing:
            response.ClearField(str(response.WhichOneof("message_response") or "error_response"))
            response.error_response.error_code = grpc.StatusCode.NOT_FOUND.value[0]
            response.error_response.error_message = str(missing)
        return response

    def _file(self, request: Any, kind: str) -> str:
        """Name of the file that is asked for in one of three ways."""
        if kind == "file_by_filename":
            if request.file_by_filename not in self._files:
                raise _Missing(f"unknown file: {request.file_by_filename}")
            return str(request.file_by_filename)
        if kind == "file_containing_symbol":
            symbol = request.file_containing_symbol
            if (found := self._symbols.get(symbol)) is not None:
                return found
            try:
                return str(self._message(symbol).file.name)
            except _Missing:
                raise _Missing(f"unknown symbol: {symbol}") from None
        wanted = request.file_containing_extension
        message = self._message(wanted.containing_type)
        try:
            extension: Any = self._pool.FindExtensionByNumber(message, wanted.extension_number)
            return str(extension.file.name)
        except KeyError:
            text = f"failed to find registered extension for extension number {wanted.extension_number}"
            raise _Missing(text) from None

    def _message(self, name: str) -> Any:
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            raise _Missing(f"unknown type: {json.dumps(name)}") from None

    def _reached(self, services: set[str]) -> dict[str, str]:
        """File names by full name of all that the files of the served methods, and those they need, define."""
        roots = {self._pool.FindServiceByName(name).file.name for name in services}
        symbols: dict[str, str] = {}
        for name in self._with_dependencies(sorted(roots), set()):
            file = self._files[name]
            for service in file.service:
                scope = f"{file.package}.{service.name}"
                symbols |= {scope: name} | {f"{scope}.{method.name}": name for method in service.method}
            waiting: list[tuple[str, Any]] = [(file.package, file)]
            while waiting:
                scope, holder = waiting.pop()
                is_file = isinstance(holder, descriptor_pb2.FileDescriptorProto)
                nested = holder.message_type if is_file else holder.nested_type
                parts = holder.extension if is_file else (*holder.extension, *holder.field, *holder.oneof_decl)
                waiting += [(f"{scope}.{message.name}", message) for message in nested]
                symbols |= {f"{scope}.{part.name}": name for part in (*nested, *parts, *holder.enum_type)}
                for enum in holder.enum_type:
                    symbols |= {f"{scope}.{enum.name}.{value.name}": name for value in enum.value}
        return symbols

    def _with_dependencies(self, names: list[str], sent: set[str]) -> list[str]:
        """Files and all they depend on, breadth first, each once and not again; the first one in any case."""
        found: list[str] = []
        waiting = list(names)
        seen: set[str] = set()
        while waiting:
            current = waiting.pop(0)
            if current in seen or current not in self._files:
                continue
            seen.add(current)
            if current not in sent or not found:
                found.append(current)
                sent.add(current)
            waiting.extend(self._files[current].dependency)
        return found


class _Missing(Exception):
    """What is not here, in the words of the original."""


def reflection_handlers(registry: Registry, queries: Queries) -> list[grpc.GenericRpcHandler[Any, Any]]:
    """Handlers of both versions of the reflection service."""
    reflection = Reflection(registry, queries)

    async def stream(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        sent: set[str] = set()
        async for request in requests:
            try:
                yield reflection.answer(request, sent)
            except Unreadable as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    method = grpc.stream_stream_rpc_method_handler(
        stream,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=_serialize,
    )
    return [grpc.method_handlers_generic_handler(name, {REFLECT: method}) for name in _VERSIONS]


_serialize: Callable[[Any], bytes] = reflection_pb2.ServerReflectionResponse.SerializeToString
