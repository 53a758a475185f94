"""Asking over gRPC with the recorded bytes, and comparing codes, texts, metadata and decoded answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, json_format
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection_pb2
from tests.golden.surface_cases import Case
from tests.golden.surface_http import without_version
from tests.golden.surface_judgement import differences, masked

from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import Registry

TIMEOUT = 60.0
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class GrpcSurface:
    """A channel to the node, and how its answers are judged."""

    def __init__(self, port: int, registry: Registry) -> None:
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._registry = registry
        self._codec = JsonCodec(registry)

    async def close(self) -> None:
        await self.channel.close()

    async def judge(self, case: Case) -> list[str]:
        if "ServerReflectionInfo" in case.request["method"] and "message_json" in case.request:
            return await self._reflection(case)
        return await self._unary(case)

    async def _unary(self, case: Case) -> list[str]:
        method = case.request["method"]
        metadata = tuple((key, value) for key, value in case.request.get("metadata") or [])
        call = self.channel.unary_unary(method)(
            base64.b64decode(case.request.get("message_base64") or ""), metadata=metadata, timeout=TIMEOUT
        )
        recorded = case.response
        try:
            data = await call
        except grpc.aio.AioRpcError as error:
            return _of_errors(recorded, error)
        if recorded["code"] != "OK":
            return [f"{recorded['code']} {recorded.get('message')!r} recorded, an answer here"]
        lines = _of_metadata(recorded, await call.initial_metadata())
        return lines + self._of_answers(method, base64.b64decode(recorded["response_base64"]), data)

    def _of_answers(self, path: str, recorded: bytes, ours: bytes) -> list[str]:
        if recorded == ours:
            return []
        method = self._registry.method_by_path.get(path)
        if method is None:
            return [f"no such method here: {path}"]
        try:
            theirs, mine = method.response_type.FromString(recorded), method.response_type.FromString(ours)
        except DecodeError:
            return ["the recorded answer can't be decoded with our definitions"]
        known = method.response_type.FromString(recorded)
        known.DiscardUnknownFields()
        if known.ByteSize() != theirs.ByteSize():
            return ["the recorded answer has fields that our definitions don't"]
        shown = (without_version(json.loads(self._codec.encode(one))) for one in (theirs, mine))
        return differences(*shown)

    async def _reflection(self, case: Case) -> list[str]:
        request = json_format.ParseDict(case.request["message_json"], reflection_pb2.ServerReflectionRequest())
        recorded = case.response
        try:
            answer = await self.reflect(case.request["method"], request)
        except grpc.aio.AioRpcError as error:
            return _of_errors(recorded, error)
        ours = json_format.MessageToDict(answer, preserving_proto_field_name=True)
        for member in ("valid_host", "original_request"):
            ours.pop(member, None)
        return self._of_reflections(recorded, ours, answer)

    async def reflect(self, method: str, request: Any) -> Any:
        """The first answer of a reflection stream."""
        call = self.channel.stream_stream(
            method,
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )(timeout=TIMEOUT)
        await call.write(request)
        await call.done_writing()
        answer = await call.read()
        call.cancel()
        if answer is grpc.aio.EOF:
            raise AssertionError("the reflection stream ended without an answer")
        return answer

    def _of_reflections(self, recorded: dict[str, Any], ours: dict[str, Any], answer: Any) -> list[str]:
        if "file_descriptor_response" in recorded:
            files = [
                descriptor_pb2.FileDescriptorProto.FromString(data)
                for data in answer.file_descriptor_response.file_descriptor_proto
            ]
            wanted, names = recorded.get("file_names") or [], [file.name for file in files]
            # What a file needs is the original's own business; the file that was asked for comes first.
            return [] if names and names[:1] == wanted[:1] else [f"files {wanted} recorded, {names} here"]
        if "list_services_response" in recorded:
            names, listed = (
                {entry["name"] for entry in answer["list_services_response"]["service"]} for answer in (recorded, ours)
            )
            return [] if names == listed else [f"{names - listed} recorded alone, {listed - names} here alone"]
        return differences(recorded, ours)


def _of_errors(recorded: dict[str, Any], error: grpc.aio.AioRpcError) -> list[str]:
    lines = []
    code, text = error.code().name, error.details() or ""
    if recorded.get("code") != code or masked(recorded.get("message") or "") != masked(text):
        lines.append(f"{recorded.get('code')} {recorded.get('message')!r} recorded, {code} {text!r} here")
    return lines + _of_metadata(recorded, error.initial_metadata())


def _of_metadata(recorded: dict[str, Any], ours: Any) -> list[str]:
    theirs = [[key, value] for key, value in recorded.get("initial_metadata") or []]
    mine = [[key, value] for key, value in ours or ()]
    return [] if theirs == mine else [f"metadata {theirs} recorded, {mine} here"]
