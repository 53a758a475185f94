"""Transcripts of grpcurl: what the tool did is done again through reflection, and its output written as it writes.

Options of definitions are left aside: ours carry those that matter for encoding, the original's also what its code
generator wants.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from grpc_reflection.v1alpha import reflection_pb2
from tests.golden.surface_cases import Case
from tests.golden.surface_grpc import REFLECTION, TIMEOUT, GrpcSurface
from tests.golden.surface_judgement import differences

_OPTION = re.compile(r"^\s*option \(.*?(?:;|\{\n(?:.*\n)*?\s*\};)\n", re.MULTILINE)
_FIELD_OPTIONS = re.compile(r" \[\(.*\)[^\]]*\];")
_BODY = re.compile(r" \{\n\s*\}")
_CONTENTS = "Response contents:\n"
_SCALARS = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in (
        "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
        "sfixed32", "sfixed64", "sint32", "sint64",
    )
}  # fmt: skip
_BYTES_OF_HASHES = re.compile(r"(?<!^)(?=[A-Z])")


class SymbolNotFound(Exception):
    """Reflection knows no such symbol."""


@dataclass(slots=True)
class _Command:
    """A command line of the tool."""

    verbose: bool = False
    metadata: list[tuple[str, str]] = field(default_factory=list)
    data: str = "{}"
    words: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, arguments: list[str]) -> _Command:
        command, rest = cls(), iter(arguments)
        for word in rest:
            if word == "-v":
                command.verbose = True
            elif word == "-H":
                name, _, value = next(rest).partition(":")
                command.metadata.append((name.strip(), value.strip()))
            elif word == "-d":
                command.data = next(rest)
            elif not word.startswith("-") and word != "GRPC_HOST":
                command.words.append(word)
        return command


async def judge_grpcurl(case: Case, surface: GrpcSurface) -> list[str]:
    """Differences between the recorded output and what the tool would print of our node."""
    command = _Command.parse(case.request["args"])
    recorded = case.response
    try:
        output, error = await _output(command, surface), ""
    except SymbolNotFound as failure:
        output, error = "", str(failure)
    lines = [] if recorded["stderr"].strip() == error else [f"{recorded['stderr']!r} recorded, {error!r} here"]
    theirs, their_answer = _split(recorded["stdout"])
    mine, my_answer = _split(output)
    if theirs != mine:
        lines.append(f"{theirs!r} recorded, {mine!r} here")
    return lines + differences(_renamed(their_answer), _renamed(my_answer))


def _split(output: str) -> tuple[str, Any]:
    """The text around an answer, without options, and the answer."""
    start = output.find(_CONTENTS) + len(_CONTENTS) if _CONTENTS in output else 0
    answer: Any = None
    if output[start:].startswith("{"):
        answer, end = json.JSONDecoder().raw_decode(output, start)
        output = output[:start] + output[end:]
    plain = _FIELD_OPTIONS.sub(";", _OPTION.sub("", output))
    return _BODY.sub(" {}", plain).replace(" {}\n\n", "\n\n").strip(), answer


def _renamed(value: Any) -> Any:
    """Members under the names the judgement knows."""
    if isinstance(value, dict):
        return {_BYTES_OF_HASHES.sub("_", key).lower(): _renamed(member) for key, member in value.items()}
    return [_renamed(member) for member in value] if isinstance(value, list) else value


async def _output(command: _Command, surface: GrpcSurface) -> str:
    words = command.words
    if words == ["list"]:
        answer = await surface.reflect(REFLECTION, reflection_pb2.ServerReflectionRequest(list_services="*"))
        return "\n".join(sorted(service.name for service in answer.list_services_response.service))
    if words[0] == "list":
        service = (await _pool(surface, words[1])).FindServiceByName(words[1])
        return "\n".join(sorted(f"{words[1]}.{method.name}" for method in service.methods))
    if words[0] == "describe":
        return await _described(surface, words[1])
    return await _called(command, surface, words[0])


async def _pool(surface: GrpcSurface, symbol: str) -> descriptor_pool.DescriptorPool:
    """The files of a symbol, as reflection gives them."""
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    answer = await surface.reflect(REFLECTION, request)
    if answer.WhichOneof("message_response") == "error_response":
        raise SymbolNotFound(f'Failed to resolve symbol "{symbol}": Symbol not found: {symbol}')
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(data)
        for data in answer.file_descriptor_response.file_descriptor_proto
    ]
    pool, known = descriptor_pool.DescriptorPool(), {file.name: file for file in files}

    def add(name: str) -> None:
        file = known.pop(name, None)
        if file is not None:
            for needed in file.dependency:
                add(needed)
            pool.Add(file)  # type: ignore[no-untyped-call]

    for file in files:
        add(file.name)
    return pool


async def _described(surface: GrpcSurface, symbol: str) -> str:
    pool = await _pool(surface, symbol)
    for find, describe in (
        (pool.FindServiceByName, _service),
        (pool.FindMessageTypeByName, _message),
        (pool.FindEnumTypeByName, _enum),
        (pool.FindMethodByName, _method),
    ):
        try:
            found = find(symbol)
        except KeyError:
            continue
        return f"{symbol} is {describe(found)}\n"
    raise SymbolNotFound(f'Failed to resolve symbol "{symbol}": Symbol not found: {symbol}')


def _service(found: Any) -> str:
    methods = "".join(f"  {_signature(method)}\n" for method in found.methods)
    return f"a service:\nservice {found.name} {{\n{methods}}}"


def _message(found: Any) -> str:
    fields = "".join(f"  {_field(entry)}\n" for entry in found.fields)
    return f"a message:\nmessage {found.name} {{\n{fields}}}"


def _enum(found: Any) -> str:
    values = "".join(f"  {value.name} = {value.number};\n" for value in found.values)
    return f"an enum:\nenum {found.name} {{\n{values}}}"


def _method(found: Any) -> str:
    return f"a method:\n{_signature(found)}"


def _signature(method: Any) -> str:
    return f"rpc {method.name} ( .{method.input_type.full_name} ) returns ( .{method.output_type.full_name} ) {{}}"


def _field(entry: Any) -> str:
    kind = entry.message_type or entry.enum_type
    name = f".{kind.full_name}" if kind else _SCALARS[entry.type]
    return f"{'repeated ' if entry.is_repeated else ''}{name} {entry.name} = {entry.number};"


async def _called(command: _Command, surface: GrpcSurface, target: str) -> str:
    service_name, _, method_name = target.partition("/")
    service = (await _pool(surface, service_name)).FindServiceByName(service_name)
    method = next((entry for entry in service.methods if entry.name == method_name), None)
    if method is None:
        text = f'service "{service_name}" does not include a method named "{method_name}"'
        raise SymbolNotFound(f'Error invoking method "{target}": {text}')
    request = message_factory.GetMessageClass(method.input_type)()
    json_format.Parse(command.data, request)
    call = surface.channel.unary_unary(f"/{target}")(
        request.SerializeToString(), metadata=tuple(command.metadata), timeout=TIMEOUT
    )
    try:
        data = await call
    except grpc.aio.AioRpcError as error:
        raise SymbolNotFound(f"ERROR:\n  Code: {error.code().name}\n  Message: {error.details()}") from None
    response = message_factory.GetMessageClass(method.output_type).FromString(data)
    shown = json_format.MessageToJson(response, indent=2)
    if not command.verbose:
        return shown
    sent = "\n".join(f"{name}: {value}" for name, value in command.metadata) or "(empty)"
    headers = "\n".join(f"{name}: {value}" for name, value in await call.initial_metadata() or ())
    trailers = "\n".join(f"{name}: {value}" for name, value in await call.trailing_metadata() or ()) or "(empty)"
    asked = "1 request" if "-d" in str(command.data) or command.data != "{}" else "0 requests"
    return (
        f"\nResolved method descriptor:\n{_signature(method)}\n\nRequest metadata to send:\n{sent}\n\n"
        f"Response headers received:\ncontent-type: application/grpc\n{headers}\n\n{_CONTENTS}{shown}\n\n"
        f"Response trailers received:\n{trailers}\nSent {asked} and received 1 response\n"
    )
