"""The gRPC server: calls, heights, errors, TLS, reflection and health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.certificates import self_signed
from tests.unit.devnet.open_chain import BLOCKS, shared_chain

from leasehold.core.errors import ConfigurationError
from leasehold.devnet.grpc.server import MAX_MESSAGE, GrpcServer

BALANCE = "/cosmos.bank.v1beta1.Query/Balance"
PARAMS = "/cosmos.bank.v1beta1.Query/Params"
HEIGHT = "x-cosmos-block-height"
# Defined where no query reaches.
ENUM = "ibc.core.channel.v1.ResponseResultType"
REFLECTION = ("grpc.reflection.v1alpha", "grpc.reflection.v1")


def server(**options: str) -> GrpcServer:
    chain = shared_chain().devnet
    return GrpcServer(chain.registry, chain.app.queries, host="127.0.0.1", port=0, **options)


@asynccontextmanager
async def connected() -> AsyncIterator[grpc.aio.Channel]:
    """A plaintext channel to a server of its own."""
    running = server()
    await running.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            yield channel
    finally:
        await running.stop(0)


async def refusal(channel: grpc.aio.Channel, path: str, data: bytes = b"", **options: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await channel.unary_unary(path)(data, timeout=60, **options)
    return caught.value


async def test_an_answer_has_the_height_in_its_first_metadata() -> None:
    """Latest without metadata, the asked height with it; two values cancel each other."""
    async with connected() as channel:
        for metadata, height in ((), BLOCKS), (((HEIGHT, "2"),), 2), (((HEIGHT, "1"), (HEIGHT, "2")), BLOCKS):
            call = channel.unary_unary(PARAMS)(b"", metadata=metadata, timeout=60)
            await call
            assert list(await call.initial_metadata()) == [(HEIGHT, str(height))]


@pytest.mark.parametrize("text", ["abc", "3.5", "", "99", "-1", "1_0"])
async def test_bad_heights_are_unknown_errors_without_metadata(text: str) -> None:
    """No height was chosen, so none is told."""
    async with connected() as channel:
        error = await refusal(channel, PARAMS, metadata=((HEIGHT, text),))
        assert error.code() is grpc.StatusCode.UNKNOWN
        assert (error.details() or "").startswith("codespace sdk code ")
        assert not error.initial_metadata()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/cosmos.bank.v1beta1.Query/Nope", "unknown method Nope for service cosmos.bank.v1beta1.Query"),
        ("/foo.Bar/Baz", "unknown service foo.Bar"),
        ("/cosmos.bank.v1beta1.Query/Params/x", "unknown service cosmos.bank.v1beta1.Query/Params"),
        (
            "/grpc.reflection.v1alpha.ServerReflection/Nope",
            "unknown method Nope for service grpc.reflection.v1alpha.ServerReflection",
        ),
        ("/cosmos.bank.v1beta1.Msg/Send", "unknown service cosmos.bank.v1beta1.Msg"),
        ("/cosmos.bank.v1beta1.Query", 'malformed method name: "/cosmos.bank.v1beta1.Query"'),
    ],
)
async def test_what_nobody_serves_is_unimplemented(path: str, text: str) -> None:
    """The text names the service or the method that is missing."""
    async with connected() as channel:
        error = await refusal(channel, path)
        assert (error.code(), error.details()) == (grpc.StatusCode.UNIMPLEMENTED, text)


async def test_bytes_that_do_not_decode_are_internal_errors() -> None:
    """The request is read before a height is chosen: no metadata."""
    async with connected() as channel:
        error = await refusal(channel, BALANCE, b"\xff\xff\xff")
        assert error.code() is grpc.StatusCode.INTERNAL
        assert error.details() == "grpc: error unmarshalling request: unexpected EOF"
        assert not error.initial_metadata()
        wrong = await refusal(channel, BALANCE, b"\x08\x01")
        assert wrong.details() == "grpc: error unmarshalling request: proto: wrong wireType = 0 for field Address"


async def test_requests_have_a_largest_size() -> None:
    """A byte more than ten mebibytes is too much, and the answer says how much it was."""
    size = MAX_MESSAGE + 1
    async with connected() as channel:
        error = await refusal(channel, BALANCE, bytes(size))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error.details() == f"grpc: received message larger than max ({size} vs. {MAX_MESSAGE})"


async def test_a_refusal_of_a_handler_keeps_the_metadata() -> None:
    """Code and text of the handler, with the height it was asked at."""
    request = shared_chain().method(BALANCE).request_type(address="bad", denom="ulsh")
    async with connected() as channel:
        error = await refusal(channel, BALANCE, request.SerializeToString())
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert list(error.initial_metadata()) == [(HEIGHT, str(BLOCKS))]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
async def test_random_bytes_crash_no_method(data: bytes) -> None:
    """Every method answers random bytes with a message or a status of its own, never with an exception's."""
    paths = sorted(shared_chain().devnet.app.queries.handlers)
    async with connected() as channel:
        for path in paths[:: len(paths) // 12]:
            try:
                await channel.unary_unary(path)(data, timeout=60)
            except grpc.aio.AioRpcError as error:
                text = error.details() or ""
                if not text or text.startswith("Unexpected"):
                    raise


async def test_tls_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    """A client that trusts the certificate is answered, one that talks plaintext is not."""
    public, private = self_signed(tmp_path)
    running = server(certificate=str(public), key=str(private))
    await running.start()
    try:
        trust = grpc.ssl_channel_credentials(public.read_bytes())
        async with grpc.aio.secure_channel(f"127.0.0.1:{running.port}", trust) as channel:
            assert await channel.unary_unary(PARAMS)(b"", timeout=60)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            error = await refusal(channel, PARAMS)
            assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    finally:
        await running.stop(0)


async def test_a_missing_certificate_is_a_configuration_error(tmp_path: Path) -> None:
    """The error names the settings to look at."""
    running = server(certificate=str(tmp_path / "none.crt"), key=str(tmp_path / "none.key"))
    with pytest.raises(ConfigurationError, match="can't read the gRPC certificate"):
        await running.start()
    await running.stop(0)


async def reflected(channel: grpc.aio.Channel, version: str, **request: Any) -> Any:
    """The first answer of a reflection stream of a version."""
    call = channel.stream_stream(
        f"/{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )(timeout=60)
    await call.write(reflection_pb2.ServerReflectionRequest(**request))
    await call.done_writing()
    answer = await call.read()
    call.cancel()
    return answer


@pytest.mark.parametrize("version", REFLECTION)
async def test_reflection_lists_services_and_gives_their_files(version: str) -> None:
    """Both versions list the same, and a service's file comes first, with all it needs."""
    async with connected() as channel:
        listed = (await reflected(channel, version, list_services="*")).list_services_response.service
        names = {service.name for service in listed}
        assert {"cosmos.bank.v1beta1.Query", "cosmos.tx.v1beta1.Service"} <= names
        assert not any(name.endswith(".Msg") for name in names)
        answer = await reflected(channel, version, file_containing_symbol="cosmos.bank.v1beta1.Query")
        files = [
            descriptor_pb2.FileDescriptorProto.FromString(data)
            for data in answer.file_descriptor_response.file_descriptor_proto
        ]
        assert files[0].name == "cosmos/bank/v1beta1/query.proto"
        assert {needed for file in files for needed in file.dependency} <= {file.name for file in files}


@pytest.mark.parametrize(
    ("request_fields", "text"),
    [
        ({"file_containing_symbol": "foo.Bar"}, "unknown symbol: foo.Bar"),
        ({"file_by_filename": "nope.proto"}, "unknown file: nope.proto"),
        ({"file_containing_symbol": "cosmos.bank.v1beta1.Msg"}, "unknown symbol: cosmos.bank.v1beta1.Msg"),
        (
            {"file_containing_symbol": "ibc.core.channel.v1.ResponseResultType"},
            "unknown symbol: ibc.core.channel.v1.ResponseResultType",
        ),
        ({"all_extension_numbers_of_type": "foo.Bar"}, 'unknown type: "foo.Bar"'),
        (
            {"file_containing_extension": {"containing_type": "foo.Bar", "extension_number": 1}},
            'unknown type: "foo.Bar"',
        ),
        (
            {"file_containing_extension": {"containing_type": "google.protobuf.FieldOptions", "extension_number": 9}},
            "failed to find registered extension for extension number 9",
        ),
    ],
)
async def test_reflection_tells_what_it_does_not_know(request_fields: dict[str, Any], text: str) -> None:
    """An unknown name is an answer of its own, after which the stream goes on."""
    async with connected() as channel:
        answer = await reflected(channel, REFLECTION[0], **request_fields)
        assert (answer.error_response.error_code, answer.error_response.error_message) == (5, text)


async def test_files_are_sent_once_per_stream() -> None:
    """What a stream has been given is not given again, except for the file that is asked for."""
    async with connected() as channel:
        call = channel.stream_stream(
            f"/{REFLECTION[0]}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )(timeout=20)
        counts = []
        for _ in range(2):
            await call.write(reflection_pb2.ServerReflectionRequest(file_containing_symbol="cosmos.bank.v1beta1.Query"))
            answer = await call.read()
            counts.append(len(answer.file_descriptor_response.file_descriptor_proto))
        assert counts[0] > 5
        assert counts[1] == 1
        await call.write(reflection_pb2.ServerReflectionRequest())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert (caught.value.code(), caught.value.details()) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "invalid MessageRequest: <nil>",
        )


async def test_health_is_serving() -> None:
    """The server as a whole is healthy; a service nobody registered is not found."""
    async with connected() as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        answer = await check(health_pb2.HealthCheckRequest(), timeout=60)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await check(health_pb2.HealthCheckRequest(service="nope"), timeout=60)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("symbol", "known"),
    [
        ("cosmos.bank.v1beta1.Query.Balance", True),
        ("cosmos.bank.v1beta1.QueryBalanceRequest.denom", True),
        ("cosmos.staking.v1beta1.BondStatus.BOND_STATUS_BONDED", True),
        ("tendermint.types.Evidence.sum", True),
        ("cosmos.bank.v1beta1.MsgSend", True),
        ("grpc.reflection.v1alpha.ServerReflection", True),
        ("cosmos.bank.v1beta1.Query.Nothing", False),
        ("cosmos.bank.v1beta1.Msg.Send", False),
        ("grpc.health.v1.Health", True),
        ("grpc.reflection.v1.ServerReflection", True),
    ],
)
async def test_reflection_resolves_members_of_what_is_served(symbol: str, known: bool) -> None:
    """Methods, fields, oneofs and enum values resolve where a served method reaches their file, as on real nodes."""
    async with connected() as channel:
        found = await reflected(channel, REFLECTION[0], file_containing_symbol=symbol)
        assert found.WhichOneof("message_response") == ("file_descriptor_response" if known else "error_response")
        if not known:
            assert found.error_response.error_message == f"unknown symbol: {symbol}"
