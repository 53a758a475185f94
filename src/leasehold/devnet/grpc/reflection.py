"""Server reflection, v1alpha as real nodes have it and v1 as newer clients want it, over the private registry.

The two versions differ only in the package of their messages, whose fields are the same; so one answer serves both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2

from leasehold.chain.registry import Registry
from leasehold.devnet.app.queries import Queries

_VERSIONS = ("grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection")


class Reflection:
    """Answers reflection requests from the registry's files."""

    def __init__(self, registry: Registry, queries: Queries) -> None:
        self._files: dict[str, descriptor_pb2.FileDescriptorProto] = {file.name: file for file in registry.files}
        self._pool = registry.pool
        served = {path.split("/")[1] for path in queries.handlers}
        # Health and the newer reflection are served too, but not listed: the original lists what is here, no more.
        unlisted = registry.name("transfer.Query")
        self._services = sorted({*served, _VERSIONS[0]} - {unlisted})
        self._hidden = {name for name in registry.service_names if name.endswith(".Msg")}
        self._members = self._members_of_served(served)

    def answer(self, request: Any) -> Any:
        """The response to one request; the connection goes on after an error."""
        response = reflection_pb2.ServerReflectionResponse(valid_host=request.host, original_request=request)
        kind = request.WhichOneof("message_request")
        try:
            if kind == "list_services":
                for name in self._services:
                    response.list_services_response.service.add(name=name)
            elif kind == "file_by_filename":
                self._add_files(response, self._pool.FindFileByName(request.file_by_filename).name)
            elif kind == "file_containing_symbol":
                self._add_files(response, self._file_of(request.file_containing_symbol))
            elif kind == "file_containing_extension":
                wanted = request.file_containing_extension
                found = self._extension(wanted.containing_type, wanted.extension_number)
                self._add_files(response, found.file.name)
            elif kind == "all_extension_numbers_of_type":
                name = request.all_extension_numbers_of_type
                message = self._pool.FindMessageTypeByName(name)
                numbers = response.all_extension_numbers_response
                numbers.base_type_name = name
                numbers.extension_number.extend(e.number for e in self._pool.FindAllExtensions(message))
        except KeyError:
            response.error_response.error_code = grpc.StatusCode.NOT_FOUND.value[0]
            subject = "file" if kind == "file_by_filename" else "symbol"
            response.error_response.error_message = f"unknown {subject}: {_subject(request, kind)}"
        return response

    def _file_of(self, symbol: str) -> str:
        """Name of the file with a definition, or with a member of one that the served methods reach."""
        if symbol in self._hidden:
            raise KeyError(symbol)
        if symbol in self._members:
            return self._members[symbol]
        return str(self._pool.FindFileContainingSymbol(symbol).name)

    def _members_of_served(self, services: set[str]) -> dict[str, str]:
        """File names by full name of each method, field, oneof and enum value that the served methods reach."""
        roots = {self._pool.FindServiceByName(name).file.name for name in services}
        members: dict[str, str] = {}
        for name in self._with_dependencies(sorted(roots)):
            file = self._files[name]
            for service in file.service:
                scope = f"{file.package}.{service.name}"
                if scope not in self._hidden:
                    members.update({f"{scope}.{method.name}": name for method in service.method})
            waiting: list[tuple[str, Any]] = [(file.package, file)]
            while waiting:
                scope, holder = waiting.pop()
                nested = holder.message_type if isinstance(holder, type(file)) else holder.nested_type
                waiting += [(f"{scope}.{message.name}", message) for message in nested]
                if holder is not file:
                    members.update({f"{scope}.{part.name}": name for part in (*holder.field, *holder.oneof_decl)})
                for enum in holder.enum_type:
                    members.update({f"{scope}.{enum.name}.{value.name}": name for value in enum.value})
        return members

    def _extension(self, name: str, number: int) -> Any:
        message = self._pool.FindMessageTypeByName(name)
        return self._pool.FindExtensionByNumber(message, number)

    def _add_files(self, response: Any, name: str) -> None:
        """The file and all it depends on, each once."""
        for found in self._with_dependencies([name]):
            response.file_descriptor_response.file_descriptor_proto.append(self._files[found].SerializeToString())

    def _with_dependencies(self, names: list[str]) -> list[str]:
        seen: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            current = waiting.pop()
            if current in seen or current not in self._files:
                continue
            seen[current] = None
            waiting.extend(self._files[current].dependency)
        return list(seen)


def _subject(request: Any, kind: str | None) -> str:
    return str(getattr(request, kind)) if kind else ""


def reflection_handlers(registry: Registry, queries: Queries) -> list[grpc.GenericRpcHandler[Any, Any]]:
    """Handlers of both versions of the reflection service."""
    reflection = Reflection(registry, queries)

    async def stream(requests: AsyncIterator[Any], _: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield reflection.answer(request)

    method = grpc.stream_stream_rpc_method_handler(
        stream,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=_serialize,
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method}) for name in _VERSIONS]


_serialize: Callable[[Any], bytes] = reflection_pb2.ServerReflectionResponse.SerializeToString
