"""The OpenAPI document, the pages beside it, and the contract tests hold answers against."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from leasehold.serving.contracts import Contract, ContractViolation
from leasehold.serving.envelopes import ApplicationDialect, DataDialect
from leasehold.serving.openapi import document
from leasehold.serving.pages import html_index, publish_description, text_index
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, NoParams, PlainRequest, Registry, Reply, Request
from leasehold.serving.snapshots import SnapshotTable


class Row(msgspec.Struct):
    name: str
    size: Annotated[int, msgspec.Meta(ge=0, le=9)]
    note: str | None = None
    kind: Literal["long", "short"] = "long"


class Rows(msgspec.Struct, frozen=True):
    address: Annotated[str, Input(aliases=("owner",), about="wallet", example="chain1abc")]
    limit: Annotated[int, msgspec.Meta(ge=0, le=100), Input(clamp=True)] = 10
    period: Literal["3m", "all"] = "3m"


class Rest(msgspec.Struct, frozen=True):
    path: str


async def rows(request: Request[Rows, None]) -> list[Row]:
    return []


async def add(request: Request[NoParams, Row]) -> Row:
    return request.body


async def proxy(request: Request[Rest, None]) -> Any:
    return {}


async def export(request: PlainRequest) -> Reply:
    return Reply(body=b"")


@pytest.fixture
def api() -> Registry:
    api = Registry("Rows <API>", version="1.2.3", dialect=ApplicationDialect(), description="All rows.")
    api.get("/rows", tags=("Rows",), errors={404: "no such wallet"}, cache=Cache.live(5), summary="Rows of a wallet")(
        rows
    )
    api.post("/rows", tags=("Rows",), status=201)(add)
    api.get("/proxy/{path*}")(proxy)
    api.get("/export", produces=("text/csv",), response_headers={"Content-Disposition": "file name"})(export)
    api.post("/admin/rows", hidden=True, rate="admin")(add)
    return api


def test_every_route_is_described_once(api: Registry) -> None:
    """Public routes, and only they, are in the document, with unique operation ids and the declared version."""
    made = document(api, servers=["http://a"])
    assert made["openapi"] == "3.1.0"
    assert made["info"]["version"] == "1.2.3"
    assert set(made["paths"]) == {"/rows", "/proxy/{path}", "/export"}
    ids = [operation["operationId"] for path in made["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids)) == 4
    assert "/admin/rows" in document(api, hidden=True)["paths"]
    msgspec.json.encode(made)


def test_every_reference_leads_somewhere(api: Registry) -> None:
    """No $ref of the document dangles."""
    made = document(api)

    def references(node: Any) -> list[str]:
        if isinstance(node, dict):
            own = [node["$ref"]] if "$ref" in node else []
            return own + [found for value in node.values() for found in references(value)]
        return [found for item in node for found in references(item)] if isinstance(node, list) else []

    found = set(references(made))
    assert found
    for reference in found:
        target = made
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]


def test_errors_allowed_everywhere_are_declared(api: Registry) -> None:
    """429, 405, 413, 415 stand on every route, 502 on those of the application API; a route adds its own."""
    answers = document(api)["paths"]["/rows"]["get"]["responses"]
    assert {"200", "304", "400", "404", "405", "413", "415", "429", "502"} <= set(answers)
    assert answers["404"]["description"] == "no such wallet"
    data = Registry("Data", version="1", dialect=DataDialect())
    data.get("/rows")(rows)
    assert "502" not in document(data)["paths"]["/rows"]["get"]["responses"]
    assert document(data)["components"]["responses"]["Error429"]["headers"]["Retry-After"]


def test_parameters_say_what_is_accepted(api: Registry) -> None:
    """Aliases and clamping are told, a clamped maximum is not a bound, defaults and bounds are there."""
    address, limit, period = document(api)["paths"]["/rows"]["get"]["parameters"]
    assert address == {
        "name": "address",
        "in": "query",
        "required": True,
        "schema": {"type": "string"},
        "description": "wallet. Also accepted as owner",
        "example": "chain1abc",
    }
    assert limit["schema"] == {"type": "integer", "minimum": 0, "default": 10}
    assert "At most 100" in limit["description"]
    assert period["schema"] == {"enum": ["3m", "all"], "default": "3m"}


@pytest.mark.parametrize(
    ("method", "target", "status", "content_type", "body"),
    [
        ("GET", "/rows?address=a", 200, "application/json", b"[]"),
        ("GET", "/rows", 200, "application/json; charset=utf-8", b'[{"name":"a","size":3,"note":null,"kind":"long"}]'),
        ("GET", "/rows", 404, "application/json", b'{"error":{"code":"NOT_FOUND","message":"x"}}'),
        ("GET", "/rows", 304, None, b""),
        ("POST", "/rows", 201, "application/json", b'{"name":"a","size":3}'),
        ("GET", "/proxy/a/b", 200, "application/json", b'{"any":[1,"thing"]}'),
        ("GET", "/export", 200, "text/csv", b"a,b\n"),
        ("GET", "/unknown", 404, "application/json", b"{}"),
    ],
)
def test_answers_as_described_pass(
    api: Registry, method: str, target: str, status: int, content_type: str, body: bytes
) -> None:
    """The contract accepts what the document describes."""
    Contract(api).validate(method, target, status, content_type, body)


@pytest.mark.parametrize(
    ("method", "target", "status", "content_type", "body", "message"),
    [
        ("GET", "/rows", 418, "application/json", b"[]", "undeclared status"),
        ("GET", "/rows", 200, "text/html", b"[]", "undeclared content type"),
        ("GET", "/rows", 200, "application/json", b"{}", "is not array"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a"}]', "lacks"),
        ("GET", "/rows", 200, "application/json", b'[{"name":1,"size":1}]', "is not string"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a","size":true}]', "is not integer"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a","size":10}]', "out of bounds"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a","size":1,"kind":"x"}]', "none of"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a","size":1,"note":5}]', "no alternative"),
        ("GET", "/rows", 200, "application/json", b'[{"name":"a","size":1,"extra":1}]', "undeclared member"),
        ("GET", "/rows", 400, "application/json", b'{"message":"x"}', "lacks"),
        ("GET", "/unknown", 200, "application/json", b"[]", "no such route"),
    ],
)
def test_answers_not_described_are_caught(
    api: Registry, method: str, target: str, status: int, content_type: str, body: bytes, message: str
) -> None:
    """The contract names what is wrong with an answer, undeclared members included."""
    with pytest.raises(ContractViolation, match=message):
        Contract(api).validate(method, target, status, content_type, body)


async def test_pages_are_published_from_the_registry(api: Registry) -> None:
    """The document and both pages list every public route, escape what they show and hide the rest."""
    table = SnapshotTable()
    await publish_description(api, table, document_at="/openapi.json", index_at="/", text_at="/llms.txt")
    assert msgspec.json.decode(table.entries[b"/openapi.json"].body) == document(api)
    page, text = table.entries[b"/"].body.decode(), table.entries[b"/llms.txt"].body.decode()
    assert page == html_index(api, document_at="/openapi.json")
    assert text == text_index(api, document_at="/openapi.json")
    assert "Rows &lt;API&gt;" in page
    assert "GET /rows?address&[limit]&[period]: Rows of a wallet" in text
    assert "admin" not in page + text
