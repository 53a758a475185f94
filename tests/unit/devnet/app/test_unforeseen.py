"""What nobody foresaw: an exception in a handler fails one transaction or one query, told as a real node's panic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.unit.devnet.open_chain import OpenChain, open_chain

from leasehold.devnet.app.abci import TxResult
from leasehold.devnet.grpc.server import GrpcServer
from leasehold.devnet.lcd.server import LcdApplication
from leasehold.devnet.rpc.server import RpcServer

SEND = "cosmos.bank.v1beta1.MsgSend"
PARAMS = "/cosmos.bank.v1beta1.Query/Params"


class Slip(Exception):
    """Not one of the errors a handler may raise."""


def tripping(chain: OpenChain, *, after: Callable[..., Any] | None = None) -> None:
    """Let sends trip, after the real handler did its work if one is given."""

    def handler(ctx: Any, message: Any) -> Any:
        if after is not None:
            after(ctx, message)
        raise Slip("out of step")

    chain.devnet.app._execution._handlers[SEND] = handler


def delivered(chain: OpenChain) -> TxResult:
    """The result of a send in a block of its own."""
    node = chain.devnet.node
    node.seal(node.time_ns + 1_000_000_000, [chain.send(7)])
    found = node.store.results(node.height)
    assert found is not None
    return found.tx_results[0]


def test_a_transaction_that_trips_its_handler_fails_alone() -> None:
    """Code 111222 in a block that is sealed; fees and sequence are taken, what the handler wrote is not."""
    chain = open_chain(1)
    app = chain.devnet.app
    real = app._execution._handlers[SEND]
    tripping(chain, after=real)
    before = app.modules.bank.balance(app.context(), chain.sender.address_bytes, chain.denom)
    number, sequence = chain.sequence()
    result = delivered(chain)
    assert (result.code, result.codespace) == (111222, "undefined")
    assert result.log.startswith("recovered: Slip: out of step\nstack:\n")
    assert result.log.endswith(": panic")
    assert [event.type for event in result.events][-2:] == ["tx", "tx"]
    assert chain.sequence() == (number, sequence + 1)
    after = app.modules.bank.balance(app.context(), chain.sender.address_bytes, chain.denom)
    assert before - after == 5_000
    app._execution._handlers[SEND] = real
    assert delivered(chain).code == 0


def test_a_simulation_that_trips_is_told_on_every_surface() -> None:
    """The panic's code through `/app/simulate`, its text everywhere."""
    chain = open_chain(1)
    tripping(chain)
    answer = chain.devnet.app.query("/app/simulate", chain.send(7), 0, False)
    assert (answer.code, answer.codespace) == (111222, "undefined")
    assert "recovered: Slip: out of step" in answer.log


def test_a_check_that_trips_keeps_the_transaction_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mempool refuses with the panic's code and stays as it was."""
    chain = open_chain(1)

    def trip(*_: Any) -> None:
        raise Slip("in the ante chain")

    monkeypatch.setattr(chain.devnet.app._execution._ante, "run", trip)
    raw = chain.send(7)
    checked = chain.devnet.node.submit(raw)
    assert (checked.code, checked.codespace) == (111222, "undefined")
    monkeypatch.undo()
    assert chain.devnet.node.submit(raw).code == 0


async def test_a_query_that_trips_is_an_error_on_every_surface() -> None:
    """INTERNAL over gRPC, 500 with code 13 on the LCD, code 111222 through `abci_query`; the next query is answered."""
    chain = open_chain(1)
    app = chain.devnet.app
    real = app.queries.handlers[PARAMS]

    def handler(ctx: Any, request: Any) -> Any:
        raise Slip("in a query")

    app.queries.handlers[PARAMS] = handler
    answer = app.query(PARAMS, b"", 0, False)
    assert (answer.code, answer.codespace, answer.log) == (111222, "undefined", "Slip: in a query: panic")

    lcd = LcdApplication(chain.devnet.registry, app.queries, chain.devnet.node.clock)
    status, body = await _get(lcd, "/cosmos/bank/v1beta1/params")
    assert (status, body) == (500, {"code": 13, "message": "Slip: in a query", "details": []})

    server = GrpcServer(chain.devnet.registry, app.queries, host="127.0.0.1", port=0)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_unary(PARAMS)(b"", timeout=60)
            assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.INTERNAL, "Slip: in a query")
            app.queries.handlers[PARAMS] = real
            assert await channel.unary_unary(PARAMS)(b"", timeout=60)
    finally:
        await server.stop(0)


async def test_answers_of_grpc_can_be_slowed() -> None:
    """The fault that makes answers slow shows on gRPC too, and ends."""
    chain = open_chain(1)
    server = GrpcServer(chain.devnet.registry, chain.devnet.app.queries, host="127.0.0.1", port=0)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            call = channel.unary_unary(PARAMS)
            await call(b"", timeout=60)
            server.delay_answers(30)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"", timeout=0.2)
            assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            server.delay_answers(0)
            await call(b"", timeout=60)
    finally:
        await server.stop(0)


async def _get(application: LcdApplication, path: str) -> tuple[int, Any]:
    sent: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "raw_path": path.encode(), "query_string": b"", "headers": []}
    await application(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_long_lists_and_searches_through_abci_query_are_awaited() -> None:
    """They come in parts or from a thread, and say what they say at once otherwise."""
    chain = open_chain(1)
    node = chain.devnet.node
    registry = chain.devnet.registry
    path = "/cosmos.auth.v1beta1.Query/Accounts"
    long = registry.method_by_path[path].request_type(pagination={"limit": 101})
    both = registry.method_by_path[path].request_type(pagination={"key": b"a", "offset": 1})
    for request in (registry.method_by_path[path].request_type(), long, both):
        for prove in (False, True):
            pending = node.lengthy_query(path, request.SerializeToString(), 0, prove)
            assert pending is not None
            assert await pending == node.query(path, request.SerializeToString(), 0, prove)
    for version in ("v1", "v1beta1"):
        count = f"/cosmos.gov.{version}.Query/TallyResult"
        request = registry.method_by_path[count].request_type(proposal_id=1)
        pending = node.lengthy_query(count, request.SerializeToString(), 0, False)
        assert pending is not None
        assert await pending == node.query(count, request.SerializeToString(), 0, False)
    balance = "/cosmos.bank.v1beta1.Query/Params"
    assert node.lengthy_query(balance, b"", 0, False) is None
    search = "/cosmos.tx.v1beta1.Service/GetTxsEvent"
    request = registry.method_by_path[search].request_type(query="nonsense")
    pending = node.lengthy_query(search, request.SerializeToString(), 0, False)
    assert pending is not None
    assert await pending == node.query(search, request.SerializeToString(), 0, False)
    async with RpcServer(node, port=0) as server:
        answered = await server.get("abci_query", f'path="{path}"&data=0x{long.SerializeToString().hex()}')
        assert json.loads(answered.body)["result"]["response"]["code"] == 0
