"""The LCD over the query table: routes, heights, headers, and what it does with bad input."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.devnet.open_chain import BLOCKS, shared_chain

from leasehold.core.clock import ManualClock
from leasehold.devnet.lcd.server import MAX_BODY, LcdApplication

NOW = 1_790_000_123
BANK = "/cosmos/bank/v1beta1"
HEIGHT = "x-cosmos-block-height"
METADATA = "grpc-metadata-x-cosmos-block-height"


@dataclass(slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    path: str, method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None, app: Any = None
) -> Answer:
    """One request straight to the application."""
    chain = shared_chain().devnet
    app = app or LcdApplication(chain.registry, chain.app.queries, ManualClock(NOW * 1_000_000_000))
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "raw_path": raw.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    sent: list[dict[str, Any]] = []
    chunks = [body[at : at + 65_536] for at in range(0, len(body), 65_536)] or [b""]

    async def receive() -> dict[str, Any]:
        chunk = chunks.pop(0) if chunks else b""
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    await app(scope, receive, send)
    shown = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], shown, b"".join(event.get("body", b"") for event in sent[1:]))


async def test_an_answer_carries_its_height_and_the_time() -> None:
    """Success shows the height twice, the type of the gRPC codec and the server's second."""
    answer = await ask(f"{BANK}/params")
    assert answer.status == 200
    assert answer.headers[HEIGHT] == answer.headers[METADATA] == str(BLOCKS)
    assert answer.headers["x-server-time"] == str(NOW)
    assert answer.headers["grpc-metadata-content-type"] == "application/grpc+cosmos-sdk-grpc-codec"
    assert answer.json["params"]["default_send_enabled"] is True


@pytest.mark.parametrize("name", [HEIGHT, METADATA])
async def test_reads_are_pinned_to_a_height(name: str) -> None:
    """Either header chooses the height, and the answer shows it."""
    answer = await ask("/cosmos/base/node/v1beta1/status", headers={name: "2"})
    assert answer.headers[HEIGHT] == "2"
    assert answer.json["height"] == "2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("99", "codespace sdk code 26: invalid height: cannot query with height in the future"),
        ("-1", "codespace sdk code 18: invalid request: cannot query with height < 0"),
        ("abc", 'invalid height header "x-cosmos-block-height": strconv.ParseInt: parsing "abc": invalid syntax'),
        ("3.5", 'strconv.ParseInt: parsing "3.5": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        (" 2", 'strconv.ParseInt: parsing " 2": invalid syntax'),
        ("1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("9" * 30, f'strconv.ParseInt: parsing "{"9" * 30}": value out of range'),
    ],
)
async def test_bad_heights_are_told_before_anything_is_asked(text: str, message: str) -> None:
    """A height nobody has is code 2 with a trailer and no height headers."""
    answer = await ask(f"{BANK}/params", headers={HEIGHT: text})
    assert answer.status == 500
    assert answer.json["code"] == 2
    assert message in answer.json["message"]
    assert answer.headers["trailer"] == "Grpc-Trailer-Content-Type"
    assert HEIGHT not in answer.headers
    assert METADATA not in answer.headers


async def test_errors_of_a_handler_show_only_the_metadata_height() -> None:
    """An error after the height was chosen shows it once; one while reading arguments not at all."""
    refused = await ask(f"{BANK}/balances/bad/by_denom?denom=ulsh")
    assert refused.status == 400
    assert METADATA in refused.headers
    assert HEIGHT not in refused.headers
    unread = await ask(f"{BANK}/supply?pagination.limit=-1")
    assert (unread.status, unread.json["code"]) == (400, 3)
    assert METADATA not in unread.headers
    unknown = await ask("/nowhere")
    assert (unknown.status, unknown.json) == (501, {"code": 12, "message": "Not Implemented", "details": []})
    assert METADATA not in unknown.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{BANK}/balances/", 400),
        (f"{BANK}/balances/x/", 501),
        (f"{BANK}/balances/x%2Fy", 501),
        (f"{BANK}/denoms_metadata/ibc/ABC", 404),
        (f"{BANK}/denoms_metadata/ibc%2FABC", 404),
        (f"{BANK}/denom_owners", 400),
        (f"{BANK}/denoms_metadata/:x", 501),
        (f"{BANK}/denoms_metadata/x:y", 404),
        ("/swagger", 301),
        ("/swagger/", 200),
        ("/swagger/index.html", 301),
        ("/swagger/x", 404),
        ("/swaggers", 404),
        ("/cosmos/base/reflection/v1beta1/interfaces", 501),
    ],
)
async def test_paths_are_matched_as_the_original_does(path: str, status: int) -> None:
    """Empty segments, escaped slashes, doubled slashes and what is not served here."""
    assert (await ask(path)).status == status


async def test_the_page_of_routes_lists_them() -> None:
    """What is served is shown, and only that."""
    page = (await ask("/swagger/")).body.decode()
    assert "/cosmos/bank/v1beta1/balances/{address}" in page
    assert "base/reflection" not in page


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("//cosmos/bank/v1beta1/params", "/cosmos/bank/v1beta1/params"),
        ("/cosmos//bank/v1beta1/params?a=b%20c", "/cosmos/bank/v1beta1/params?a=b%20c"),
        (f"{BANK}/balances//by_denom", f"{BANK}/balances/by_denom"),
        (f"{BANK}/./params", f"{BANK}/params"),
        (f"{BANK}/x/../params/", f"{BANK}/params/"),
        (f"{BANK}/balances%2F%2Fx%20y", f"{BANK}/balances/x%20y"),
        ("/../..", "/"),
    ],
)
async def test_untidy_paths_are_moved(path: str, location: str) -> None:
    """Doubled slashes and dots lead to the path without them, whatever is there; the query goes along."""
    answer = await ask(path)
    assert (answer.status, answer.headers["location"], answer.body) == (301, location, b"")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{BANK}/supply?pagination.limit=%zz", 'invalid URL escape "%zz"'),
        (f"{BANK}/supply?a;b", "invalid semicolon separator in query"),
        (f"{BANK}/supply?pagination=1", "field type *query.PageRequest is not supported in query parameters"),
        ("/cosmos/tx/v1beta1/txs?query=x&order_by=FOO", "FOO is not a valid tx.OrderBy"),
        ("/cosmos/tx/v1beta1/txs?query=x&order_by=9", "9 is not a valid tx.OrderBy"),
    ],
)
async def test_bad_queries_are_told_in_the_gateways_words(path: str, message: str) -> None:
    """What can't be read of a query is an invalid argument."""
    answer = await ask(path)
    assert (answer.status, answer.json["message"]) == (400, message)


@pytest.mark.parametrize("path", [f"{BANK}/balances/%zz", f"{BANK}/balances/%2", "/%"])
async def test_paths_that_cannot_be_decoded_are_refused_at_the_door(path: str) -> None:
    """In plain words, without the time, and the connection ends."""
    answer = await ask(path)
    assert (answer.status, answer.body, answer.headers["connection"]) == (400, b"400 Bad Request", "close")
    assert "x-server-time" not in answer.headers


async def test_a_query_is_not_looked_at_where_the_path_says_all() -> None:
    """Nothing is left to be filled, so nothing can be wrong with it."""
    address = shared_chain().sender.address
    assert (await ask(f"/cosmos/auth/v1beta1/accounts/{address}?a=%zz")).status == 200


async def test_a_form_stands_for_a_long_query() -> None:
    """A form sent to a route of GET is its query; anything else sent there is not implemented."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = await ask(f"{BANK}/supply/by_denom", "POST", b"denom=nosuch", form)
    assert (answer.status, answer.json["amount"]["denom"]) == (200, "nosuch")
    override = await ask(f"{BANK}/params", "POST", b"", form | {"x-http-method-override": "get"})
    assert override.status == 200
    assert (await ask(f"{BANK}/params", "POST", b"", {"content-type": "application/json"})).status == 501


async def test_two_heights_cancel_each_other() -> None:
    """Both headers at once are no height at all."""
    answer = await ask("/cosmos/base/node/v1beta1/status", headers={HEIGHT: "2", METADATA: "3"})
    assert answer.json["height"] == str(BLOCKS)


async def test_a_bad_timeout_is_an_invalid_argument() -> None:
    """The header a gRPC client sends is read, and refused when it is no duration."""
    refused = await ask(f"{BANK}/params", headers={"grpc-timeout": "soon"})
    assert (refused.status, refused.json["message"]) == (400, "invalid grpc-timeout: soon")
    assert (await ask(f"{BANK}/params", headers={"grpc-timeout": "5S"})).status == 200


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "TRACE"])
async def test_other_verbs_are_not_implemented(method: str) -> None:
    """A route answers its own verb alone."""
    assert (await ask(f"{BANK}/params", method)).status == 501


async def test_preflights_allow_plain_headers_only() -> None:
    """A header of the original's list is echoed in canonical form, any other is forbidden."""
    wanted = {"origin": "http://a.example", "access-control-request-method": "GET"}
    allowed = await ask("/x", "OPTIONS", headers=wanted | {"access-control-request-headers": "content-type"})
    assert (allowed.status, allowed.headers["access-control-allow-headers"]) == (200, "Content-Type")
    refused = await ask("/x", "OPTIONS", headers=wanted | {"access-control-request-headers": HEIGHT})
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers
    plain = await ask("/x", "OPTIONS", headers=wanted | {"access-control-request-headers": "accept, Origin"})
    assert plain.status == 200
    assert "access-control-allow-headers" not in plain.headers
    assert (await ask("/x", "OPTIONS", headers=wanted | {"access-control-request-method": "PUT"})).status == 405
    assert (await ask("/x", "OPTIONS", headers={"origin": "http://a.example"})).status == 400
    alone = await ask("/x", "OPTIONS")
    assert (alone.status, alone.body) == (200, b"")
    simple = await ask(f"{BANK}/params", headers={"origin": "http://a.example"})
    assert simple.headers["access-control-allow-origin"] == "*"


async def test_a_large_body_is_refused_by_the_listener() -> None:
    """Over a million bytes the answer is JSON-RPC's, and the connection closes."""
    answer = await ask("/cosmos/tx/v1beta1/txs", "POST", b" " * (MAX_BODY + 1))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32600)
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", 400),
        (b"", 400),
        (b'{"tx_bytes":"","mode":"BROADCAST_MODE_SYNC"}', 200),
        (b'{"tx_bytes":"AA==","mode":"BROADCAST_MODE_SYNC"}', 200),
        (b'{"tx_bytes":"AA=="}', 500),
        (b'{"tx_bytes":"@@"}', 400),
        (b'{"tx_bytes":', 400),
        (b'{"mode":"NOPE"}', 400),
        (b"[" * 10_000, 400),
        (b'{"tx":' * 5_000, 400),
    ],
)
async def test_broadcasts_have_no_height(body: bytes, status: int) -> None:
    """A broadcast is answered by the mempool: no height is shown; what can't be read is an argument error."""
    answer = await ask("/cosmos/tx/v1beta1/txs", "POST", body)
    assert answer.status == status
    assert METADATA not in answer.headers


@pytest.mark.parametrize("opening", ["[", '{"a":', "[1,"])
@pytest.mark.parametrize("depth", [100, 1_000, 50_000])
async def test_deep_questions_to_contracts_are_refused(opening: str, depth: int) -> None:
    """However deep the JSON of a smart query, it is an error of the argument or of the contract."""
    chain = shared_chain()
    listed = chain.call("/cosmwasm.wasm.v1.Query/ContractsByCode", code_id=1).contracts
    closing = ("]" if opening.startswith("[") else "}") * depth
    data = base64.urlsafe_b64encode((opening * depth + "1" + closing).encode()).decode()
    answer = await ask(f"/cosmwasm/wasm/v1/contract/{listed[0]}/smart/{data}")
    assert answer.status in (400, 500)
    assert answer.json["message"]


_TEXT = st.text(max_size=40)
_SEGMENT = st.one_of(
    st.sampled_from(["", "%2F", "%00", "%ff", "..", "unls", "9" * 40, "-1", "*", "{address}"]),
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789%_-.~:@!$&'()*+,;=", max_size=30),
)


@given(
    start=st.sampled_from(
        [
            BANK,
            f"{BANK}/balances",
            "/cosmos/staking/v1beta1",
            "/cosmos/gov/v1",
            "/cosmwasm/wasm/v1/contract",
            "/cosmos/tx/v1beta1/txs",
            "/cosmos/base/tendermint/v1beta1",
            "/ibc/core/channel/v1",
        ]
    ),
    segments=st.lists(_SEGMENT, max_size=4),
    query=st.lists(
        st.tuples(
            st.sampled_from(["pagination.limit", "pagination.key", "denom", "query", "height", "a.b", "status", ""]),
            _TEXT,
        ),
        max_size=3,
    ),
)
async def test_random_requests_get_proper_answers(
    start: str, segments: list[str], query: list[tuple[str, str]]
) -> None:
    """Whatever path can be read, the answer is JSON with a known status, and the chain stays as it is."""
    before = shared_chain().devnet.app.state.app_hash
    asked = "&".join(f"{name}={value}" for name, value in query).encode("utf-8").decode("latin-1")
    path = "/".join([start, *segments]).encode("ascii", "ignore").decode()
    answer = await ask(f"{path}?{asked}" if asked else path)
    assert answer.status in (200, 301, 400, 404, 500, 501)
    if answer.status >= 400 and answer.headers["content-type"] == "application/json":
        assert set(answer.json) == {"code", "message", "details"}
        assert answer.json["message"]
    elif answer.status >= 400:
        assert answer.body == b"400 Bad Request"
    assert shared_chain().devnet.app.state.app_hash == before


@given(
    st.one_of(st.binary(max_size=200), st.recursive(st.integers() | _TEXT, st.lists).map(json.dumps).map(str.encode))
)
async def test_random_bodies_get_proper_answers(body: bytes) -> None:
    """Bodies that are no JSON, or JSON of another shape, are argument errors or answered."""
    for path in ("/cosmos/tx/v1beta1/simulate", "/cosmos/tx/v1beta1/txs", "/cosmos/tx/v1beta1/decode"):
        answer = await ask(path, "POST", body)
        assert answer.status in (200, 400, 500)
        assert isinstance(answer.json, dict)
