"""The RPC over HTTP: envelopes, statuses, headers, and every method's answer."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from leasehold.chain.comet import merkle, rendering, votes
from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.validators import ValidatorSet
from leasehold.core.errors import Unavailable
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer

HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "health"}
UNKNOWN = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}


def sent(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "health", **members}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (sent(id=7), {"jsonrpc": "2.0", "id": 7, "result": {}}),
        (sent(id="x<"), {"jsonrpc": "2.0", "id": "x<", "result": {}}),
        (sent(id=1.9), {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ({"id": 1, "method": "health"}, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ({"ID": 1, "Method": "health", "PARAMS": []}, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ([{"Id": 1, "METHOD": "health"}, HEALTH], [{"jsonrpc": "2.0", "id": 1, "result": {}}] * 2),
        ([HEALTH, {**HEALTH, "id": 2}], [{"jsonrpc": "2.0", "id": n, "result": {}} for n in (1, 2)]),
        ([HEALTH, {"method": "health"}], {"jsonrpc": "2.0", "id": 1, "result": {}}),
        (sent(id=1, method="nosuch"), UNKNOWN),
        (sent(id=1, method="subscribe"), UNKNOWN),
    ],
)
async def test_envelopes(client: Any, body: Any, expected: Any) -> None:
    """Ids keep their type, batches their order, errors are HTTP 200."""
    reply = await client.post(body)
    assert (reply.status, reply.json) == (200, expected)


@pytest.mark.parametrize("body", [b"[]", b"{}", b"null", b'{"method":"health"}', b'[{"method":"health"},null]'])
async def test_notifications_get_no_answer(client: Any, body: bytes) -> None:
    """What has no id is answered with an empty 200."""
    reply = await client.post(body)
    assert (reply.status, reply.body, "content-type" in reply.headers) == (200, b"", False)


async def test_fields_of_a_form_are_parameters(client: Any) -> None:
    """A form sent to a method's path is read like the query of its address, after it."""
    form = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    reply = await client.request("POST", "/header", b"height=3", form)
    assert reply.json["result"]["header"]["height"] == "3"
    reply = await client.request("POST", "/header?height=4", b"height=3", form)
    assert reply.json["result"]["header"]["height"] == "4"
    reply = await client.request("POST", "/header", b"height=3", {"Content-Type": "text/plain"})
    assert reply.json["result"]["header"]["height"] == "10"


async def test_parameters_that_cannot_be_unescaped_are_missing(client: Any) -> None:
    """A per cent sign without its digits takes its own parameter away and no other."""
    assert (await client.get("/header?height=%zz")).json["result"]["header"]["height"] == "10"
    assert (await client.get("/header?x=%&height=3")).json["result"]["header"]["height"] == "3"


async def test_a_chunk_beyond_every_number_is_a_panic(client: Any) -> None:
    """The original counts chunks with a sign: what overflows it ends in a recovered panic, by POST and by URI."""
    text = "runtime error: index out of range [-1]"
    expected = {"jsonrpc": "2.0", "id": -1, "error": {"code": -32603, "message": "Internal error", "data": text}}
    body = {"jsonrpc": "2.0", "id": 5, "method": "genesis_chunked", "params": {"chunk": "18446744073709551615"}}
    for reply in (await client.post(body), await client.get("/genesis_chunked?chunk=18446744073709551615")):
        assert (reply.status, reply.json) == (500, expected)


STRUCT = 'struct { JSONRPC string "json:\\"jsonrpc\\""'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"jsonrpc":"2.0",', "unexpected end of JSON input"),
        (b"5", f"json: cannot unmarshal number into Go value of type {STRUCT}"),
        (b'"x"', f"json: cannot unmarshal string into Go value of type {STRUCT}"),
        (b"[1]", f"json: cannot unmarshal array into Go value of type {STRUCT}"),
        (b'[{"id":true,"method":"health"}]', f"json: cannot unmarshal array into Go value of type {STRUCT}"),
        (b'{"id":true}', "json-rpc ID (true) is of unknown type (bool)"),
        (b'{"id":[1]}', "json-rpc ID ([1]) is of unknown type ([]interface {})"),
        (b'{"id":1,"method":5}', "json: cannot unmarshal number into Go struct field .method of type string"),
        (b'{"id":1e999}', "json: cannot unmarshal number 1e999 into Go struct field .id of type float64"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"[" * 20_000, "exceeded max depth"),
    ],
)
async def test_unparsable_bodies_are_500_without_an_id(client: Any, body: bytes, text: str) -> None:
    """What is no request is answered with a parse error and HTTP 500."""
    reply = await client.post(body)
    error = reply.json["error"]
    assert (reply.status, "id" in reply.json, error["code"]) == (500, False, -32700)
    assert error["data"].startswith(f"error unmarshaling request: {text}")


async def test_missing_params_stumble_as_the_original_does(client: Any) -> None:
    """A method with arguments called without the member params is an internal error with id -1 and HTTP 500."""
    reply = await client.post({"jsonrpc": "2.0", "id": 5, "method": "block"})
    assert (reply.status, reply.json["id"]) == (500, -1)
    assert reply.json["error"]["data"] == "reflect: Call with too few input arguments"


async def test_batches_have_a_limit(client: Any) -> None:
    """Twenty fit, as a JS client sends by default; more get one error without an id."""
    assert len((await client.post([HEALTH] * 20)).json) == 20
    reply = await client.post([HEALTH] * 21)
    assert reply.json == {
        "jsonrpc": "2.0",
        "error": {
            "code": -32600,
            "message": "Invalid Request",
            "data": "batch request exceeds maximum (20) allowed number of requests",
        },
    }


async def test_batches_with_searches_keep_their_order(client: Any) -> None:
    """A request that has to wait holds its place."""
    search = {"jsonrpc": "2.0", "id": 2, "method": "tx_search", "params": {"query": "tx.height=1"}}
    reply = await client.post([HEALTH, search, {**HEALTH, "id": 3}, {**search, "id": 4}])
    assert [answer["id"] for answer in reply.json] == [1, 2, 3, 4]
    assert reply.json[1]["result"]["total_count"] == "2"


async def test_large_bodies_are_refused(client: Any) -> None:
    """Above a million bytes the body is not read further, and the answer still arrives."""
    reply = await client.post(b'"' + b"a" * 3_000_000 + b'"')
    assert reply.status == 400
    assert reply.json["error"]["data"] == "error reading request body: http: request body too large"
    assert reply.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/", 200, "text/html"),
        ("DELETE", "/", 200, "text/html"),
        ("OPTIONS", "/", 200, "text/html"),
        ("POST", "/status", 200, "application/json"),
        ("PUT", "/status", 200, "application/json"),
        ("POST", "/foo", 404, "text/plain; charset=utf-8"),
        ("GET", "/status/", 404, "text/plain; charset=utf-8"),
        ("GET", "/websocket", 400, "text/plain; charset=utf-8"),
        ("GET", "/subscribe?query=1", 404, "application/json"),
        ("GET", "/stat%75s", 200, "application/json"),
    ],
)
async def test_paths_and_verbs(client: Any, method: str, path: str, status: int, kind: str) -> None:
    """Paths decide, verbs hardly matter; pages have the types of the original."""
    reply = await client.request(method, path)
    assert (reply.status, reply.headers["content-type"]) == (status, kind)


async def test_untidy_paths_are_redirected(client: Any) -> None:
    """Doubled slashes and dots lead to the tidy path."""
    reply = await client.get("//a/../status?x=1")
    assert (reply.status, reply.headers["location"]) == (301, "/status?x=1")


async def test_the_listing_links_every_method(client: Any) -> None:
    """The page names the host it was asked under, and each method with its arguments."""
    page = (await client.get("/")).body.decode()
    assert '<a href="//node/tx_search?query=_&prove=_&page=_&per_page=_&order_by=_">' in page
    assert page.count("<a href") == 31


async def test_headers(client: Any) -> None:
    """Server time and Vary are always there; only what can't change may be kept."""
    reply = await client.get("/block?height=1")
    assert reply.headers["cache-control"] == "public, max-age=86400"
    assert reply.headers["vary"] == "Origin"
    assert reply.headers["x-server-time"].isdigit()
    for path in ("/block", "/status", "/block?height=99"):
        assert "cache-control" not in (await client.get(path)).headers
    assert "access-control-allow-origin" not in reply.headers
    simple = await client.request("GET", "/health", headers={"Origin": "http://example.org"})
    assert simple.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("wanted", "names", "allowed"),
    [("POST", "content-type", True), ("GET", None, True), ("PUT", None, False), ("POST", "x-foo", False)],
)
async def test_preflights(client: Any, wanted: str, names: str | None, allowed: bool) -> None:
    """A preflight is 204 and echoes what is allowed, or says nothing."""
    headers = {"Origin": "http://example.org", "Access-Control-Request-Method": wanted}
    if names:
        headers["Access-Control-Request-Headers"] = names
    reply = await client.request("OPTIONS", "/", headers=headers)
    assert reply.status == 204
    assert reply.headers["vary"] == "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    assert reply.headers.get("access-control-allow-methods") == (wanted if allowed else None)
    assert reply.headers.get("access-control-allow-origin") == ("*" if allowed else None)
    assert reply.headers.get("access-control-allow-headers") == (names if allowed else None)


async def test_pipelined_requests_are_answered_in_order(server: RpcServer) -> None:
    """Requests sent without waiting come back in order, searches in between too; HEAD has no body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    paths = [f"/block?height={n}" for n in (3, 1)] + ["/tx_search?query=%22tx.height=1%22"] + ["/header?height=2"]
    for path in paths:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    heads = []
    for _ in paths:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        heads.append(json.loads(await reader.readexactly(length))["result"])
    assert heads[0]["block"]["header"]["height"] == "3"
    assert heads[1]["block"]["header"]["height"] == "1"
    assert heads[2]["total_count"] == "2"
    assert heads[3]["header"]["height"] == "2"
    writer.write(b"HEAD /status HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"\r\n\r\n")
    writer.close()


# Methods


async def test_status_follows_the_head(client: Any, node: Node) -> None:
    """Status shows the last and the first block and this node's validator, whatever block stands at a height."""
    before = (await client.call("status"))["sync_info"]
    assert (before["latest_block_height"], before["earliest_block_height"]) == ("10", "1")
    assert before["earliest_app_hash"] == merkle.EMPTY.hex().upper()
    node.revert(9)
    node.seal(node.time_ns + 1)
    after = (await client.call("status"))["sync_info"]
    assert after["latest_block_height"] == "10"
    assert after["latest_block_hash"] != before["latest_block_hash"]
    info = (await client.call("status"))["validator_info"]
    assert info["voting_power"] in ("100", "99")


async def test_blocks_and_commits_verify_as_a_light_client_would(client: Any, node: Node) -> None:
    """Header, commit and validators from the RPC alone prove every block, the head too."""
    for height in range(1, node.height + 1):
        signed = await client.call("commit", {"height": str(height)})
        header = rendering.read_header(signed["signed_header"]["header"])
        commit = rendering.read_commit(signed["signed_header"]["commit"])
        listed = await client.call("validators", {"height": str(height)})
        validators = ValidatorSet([rendering.read_validator(value) for value in listed["validators"]], None)
        assert header.hash() == commit.block_id.hash
        assert header.validators_hash == validators.hash()
        assert votes.is_decided(header.chain_id, validators, commit)
        assert signed["canonical"] is (height != node.height)
        block = await client.call("block", {"height": str(height)})
        assert rendering.read_block(block["block"]).id() == rendering.read_block_id(block["block_id"])


@pytest.mark.parametrize("method", ["block", "header", "commit", "block_results", "validators", "consensus_params"])
async def test_heights_out_of_range(client: Any, method: str) -> None:
    """Each method by height refuses what is not there, with the bound that holds for it."""
    limit = 11 if method in ("validators", "consensus_params") else 10
    assert await client.call(method, {"height": "0"}) == "height must be greater than 0, but got 0"
    assert await client.call(method, {"height": "99"}) == (
        f"height 99 must be less than or equal to the current blockchain height {limit}"
    )
    default = await client.call(method)
    shown = default.get("block_height") or default.get("height") or json.dumps(default)
    assert str(limit) in shown


async def test_pruned_heights(make_node: Callable[..., Node]) -> None:
    """With a window, lower heights are told to be unavailable, while transactions and counts stay."""
    node = make_node(pruning_window=4)
    node.seal(txs=[b"a=1"])
    node.fast_forward(9, 1_000_000_000)
    async with RpcServer(node, port=0) as server:
        from_table = server.table["block"]
        assert from_table.call is not None
        answer = await server.get("block", "height=3")
        assert answer.status == 500
        assert json.loads(answer.body)["error"]["data"] == "height 3 is not available, lowest height is 7"
        answer = await server.get("blockchain", "minHeight=1&maxHeight=8")
        assert [meta["header"]["height"] for meta in json.loads(answer.body)["result"]["block_metas"]] == ["8", "7"]
        answer = await server.get("block_search", "query=%22block.height<9%22")
        assert json.loads(answer.body)["result"]["total_count"] == "8"
        assert len(json.loads(answer.body)["result"]["blocks"]) == 2
        answer = await server.get("tx", f"hash=0x{tx_hash(b'a=1').hex()}&prove=true")
        assert "proof" not in json.loads(answer.body)["result"]
        answer = await server.get("block_by_hash", "hash=0x00")
        assert json.loads(answer.body)["result"]["block"] is None


async def test_a_chain_without_blocks(make_node: Callable[..., Node]) -> None:
    """Before the first block every method has an answer."""
    async with RpcServer(make_node(), port=0) as server:

        async def ask(name: str) -> Any:
            answer = json.loads((await server.get(name)).body)
            return answer["result"] if "result" in answer else answer["error"]["data"]

        assert (await ask("status"))["sync_info"]["catching_up"] is True
        assert (await ask("status"))["sync_info"]["latest_block_time"] == "1970-01-01T00:00:00Z"
        assert await ask("commit") is None
        assert await ask("header") == {"header": None}
        assert (await ask("block"))["block"] is None
        assert await ask("validators") == "could not find validator set for height #0"
        assert await ask("block_results") == "could not find results for height #0"
        assert await ask("consensus_params") == (
            "could not find consensus params for height #0: value retrieved from db is empty"
        )
        assert await ask("blockchain") == "min height 1 can't be greater than max height 0"
        assert "last_block_height" not in (await ask("abci_info"))["response"]
        assert (await ask("dump_consensus_state"))["round_state"]["last_commit"] is None


async def test_transactions_by_hash(client: Any) -> None:
    """A delivered transaction is found with its result, and proved; what is unknown or empty is told."""
    found = await client.call("tx", {"hash": b64encode(tx_hash(b"a=1")).decode(), "prove": True})
    assert (found["height"], found["index"], found["tx_result"]["code"]) == ("1", 0, 0)
    assert found["proof"]["proof"]["total"] == "2"
    failed = await client.call("tx", {"hash": b64encode(tx_hash(b"fail one")).decode()})
    assert (failed["tx_result"]["code"], failed["tx_result"]["data"]) == (7, None)
    assert "proof" not in failed
    assert await client.call("tx", {"hash": "AQE="}) == "tx (0101) not found"
    assert await client.call("tx") == "transaction hash cannot be empty"


async def test_searches_page_and_order(client: Any) -> None:
    """Transactions come ascending, blocks descending; pages out of range are told."""
    found = await client.call("tx_search", {"query": "tx.fee='1unls'", "per_page": "1", "page": "2"})
    assert (found["total_count"], found["txs"][0]["index"]) == ("2", 1)
    found = await client.call("tx_search", {"query": "tx.fee='1unls'", "order_by": "desc", "prove": True})
    assert [tx["index"] for tx in found["txs"]] == [1, 0]
    assert "proof" in found["txs"][0]
    found = await client.call("block_search", {"query": "rare.fifth EXISTS"})
    assert [block["block"]["header"]["height"] for block in found["blocks"]] == ["10", "5"]
    for page in ("0", "2"):
        wrong = await client.call("tx_search", {"query": "a.b='c'", "page": page})
        assert wrong == f"page should be within [1, 1] range, given {page}"
    assert await client.call("tx_search", {"query": "x"}) == "offset 1: EOF"
    assert await client.call("tx_search", {"query": "a.b='" + "x" * 512}) == "maximum query length exceeded"
    assert await client.call("block_search", {"query": "a.b='c'", "order_by": "up"}) == (
        "expected order_by to be either `asc` or `desc` or empty"
    )


async def test_broadcasts(client: Any, node: Node) -> None:
    """Sync tells the check, async does not wait for it, duplicates are refused, pending ones are listed."""
    tx = b64encode(b"new=1").decode()
    accepted = await client.call("broadcast_tx_sync", {"tx": tx})
    assert accepted == {"code": 0, "data": "", "log": "", "codespace": "", "hash": tx_hash(b"new=1").hex().upper()}
    assert await client.call("broadcast_tx_sync", {"tx": tx}) == "tx already exists in cache"
    assert await client.call("broadcast_tx_async", {"tx": tx}) == "tx already exists in cache"
    bad = b64encode(b"bad").decode()
    assert (await client.call("broadcast_tx_sync", {"tx": bad}))["code"] == 5
    assert (await client.call("broadcast_tx_async", {"tx": bad}))["code"] == 0
    assert (await client.call("check_tx", {"tx": bad}))["log"] == "refused bad"
    pending = await client.call("unconfirmed_txs", {"limit": "0"})
    assert pending == {"n_txs": "1", "total": "1", "total_bytes": "5", "txs": [tx]}
    assert (await client.call("num_unconfirmed_txs"))["txs"] is None
    node.seal()
    assert (await client.call("tx", {"hash": b64encode(tx_hash(b"new=1")).decode()}))["height"] == "11"


async def test_broadcast_commit_waits_for_the_block(client: Any, node: Node) -> None:
    """It returns the delivered result, the check's when that fails, and gives up after a while."""
    waiting = asyncio.create_task(client.call("broadcast_tx_commit", {"tx": b64encode(b"w=1").decode()}))
    arrived = asyncio.Event()
    node.mempool.on_available = arrived.set
    await arrived.wait()
    node.mempool.on_available = None
    node.seal()
    delivered = await waiting
    assert (delivered["height"], delivered["tx_result"]["gas_used"]) == ("11", "5")
    refused = await client.call("broadcast_tx_commit", {"tx": b64encode(b"bad").decode()})
    assert (refused["height"], refused["check_tx"]["code"], refused["tx_result"]["events"]) == ("0", 5, [])
    again = await client.call("broadcast_tx_commit", {"tx": b64encode(b"w=1").decode()})
    assert again == "error on broadcastTxCommit: tx already exists in cache"
    late = await client.call("broadcast_tx_commit", {"tx": b64encode(b"late=1").decode()})
    assert late == "timed out waiting for tx to be included in a block"


async def test_other_answers(client: Any) -> None:
    """Queries, genesis, consensus state and evidence have their documented shapes."""
    found = await client.call("abci_query", {"path": "/get", "data": b"a".hex()})
    assert found["response"]["value"] == b64encode(b"1").decode()
    assert found["response"]["height"] == "10"
    reply = await client.get("/genesis")
    assert b'"app_state":{"a":"\\u003cb\\u003e"}' in reply.body
    chunk = await client.call("genesis_chunked", {"chunk": "0"})
    assert (chunk["chunk"], chunk["total"]) == ("0", "1")
    assert await client.call("genesis_chunked", {"chunk": "9"}) == "there are 0 chunks, 9 is invalid"
    state = (await client.call("consensus_state"))["round_state"]
    assert state["height/round/step"] == "11/0/1"
    dumped = (await client.call("dump_consensus_state"))["round_state"]
    assert dumped["last_commit"]["votes_bit_array"] == "BA{2:xx} 199/199 = 1.00"
    assert await client.call("broadcast_evidence") == "no evidence was provided"
    assert await client.call("blockchain", {"minHeight": "-1"}) == "heights must be non-negative"
    assert (await client.call("net_info"))["peers"] == []


async def test_a_failing_handler_is_an_internal_error(client: Any, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an application trips over, the caller gets an answer and the server lives."""

    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(node.app, "query", broken)
    assert await client.call("abci_query", {"path": "/get"}) == "abci_query failed unexpectedly: KeyError"
    assert await client.call("health") == {}


async def test_a_taken_port_is_told(server: RpcServer, node: Node) -> None:
    """Listening where somebody else does fails with what to do."""
    with pytest.raises(Unavailable, match="choose another port"):
        await RpcServer(node, port=server.port).start()


async def test_connections_are_bounded_and_idle_ones_go(node: Node) -> None:
    """Beyond the limit a connection is cut, and so is one that says nothing for too long."""
    async with RpcServer(node, port=0, max_connections=1, idle_seconds=0.1) as server:
        first, writer = await asyncio.open_connection("127.0.0.1", server.port)
        second, other = await asyncio.open_connection("127.0.0.1", server.port)
        async with asyncio.timeout(60):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await second.readexactly(1)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await first.readexactly(1)
        assert server.connections == 0
        writer.close()
        other.close()


async def test_methods_can_be_served_elsewhere(server: RpcServer) -> None:
    """The LCD listener may answer status and abci_info from the same table."""
    answer = await server.get("abci_info")
    assert json.loads(answer.body)["result"]["response"]["version"] == "1.2.3"
    assert set(server.table) >= {"status", "abci_info"}


async def test_hostile_bodies_do_not_hold_up_others(client: Any) -> None:
    """While a large malformed body is judged, other requests are answered."""
    slow = asyncio.create_task(client.post(b"[" + b"1," * 200_000 + b"x"))
    await asyncio.sleep(0.02)
    assert await client.call("health") == {}
    assert not slow.done()
    reply = await slow
    assert reply.json["error"]["data"].endswith("invalid character 'x' looking for beginning of value")


async def test_bytes_that_are_no_text_are_replaced(client: Any) -> None:
    """A name or value that is no UTF-8 is taken with replacement characters, as Go does."""
    reply = await client.post(b'{"id":"\xff","method":"block","params":{"hei\xffght":"x","height":"1"}}')
    assert reply.json["id"] == "\ufffd"
    assert reply.json["result"]["block"]["header"]["height"] == "1"
    reply = await client.post(b'{"id":1,"method":"health","params":{"a":"\\x"}}')
    assert reply.json["error"]["data"].endswith("invalid character 'x' in string escape code")
