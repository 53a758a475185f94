"""One registry per API: a route is declared once; the router, the OpenAPI document, the docs and the tests read it.

    api = Registry("Data API", version="1.0.0", dialect=DataDialect())

    @api.get("/api/txs", summary="Transactions of an account", tags=("Wallet",), errors=(400,))
    async def txs(request: Request[TxsParams, None]) -> list[Tx]: ...

The types of parameters, body and response are taken from the handler's annotations.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, get_args, get_origin, get_type_hints
from urllib.parse import quote

import msgspec
from starlette.requests import Request as RawRequest

from leasehold.serving.envelopes import JSON, Dialect
from leasehold.serving.parameters import Parameter, canonical_query, declared

RateClass = Literal["read", "write", "admin", "none"]
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(\*?)\}")


class NoParams(msgspec.Struct, frozen=True):
    """A route without parameters."""


P = TypeVar("P", bound=msgspec.Struct)
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Request(Generic[P, B]):
    """A request whose parameters and body are already decoded and valid.

    `client` is the caller's IP address as far as it can be believed; `raw` is Starlette's view of the request;
    `known` is its If-None-Match.
    """

    params: P
    body: B
    client: str
    request_id: str
    raw: RawRequest
    known: bytes | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        return self.raw.headers


PlainRequest = Request[NoParams, None]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is more than a value: its own status, headers, media type or stream of chunks.

    `content` is a value to encode as JSON; `body` is finished bytes or an async iterator of them.
    """

    content: Any = None
    body: Any = None
    status: int | None = None
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cache:
    """How an answer may be kept: `snapshot` (finished bytes), `live` (computed per request) or `none`."""

    kind: Literal["snapshot", "live", "none"] = "none"
    max_age: int = 0
    personal: bool = False

    @classmethod
    def snapshot(cls, max_age: int = 0) -> Cache:
        return cls("snapshot", max_age)

    @classmethod
    def live(cls, max_age: int = 0, *, personal: bool = False) -> Cache:
        """`personal` answers are for one caller: shared caches must not keep them."""
        return cls("live", max_age, personal)

    @property
    def header(self) -> str:
        """Value of Cache-Control on a success."""
        if self.kind == "none" or (self.kind == "live" and self.max_age == 0):
            return "no-store"
        if self.max_age == 0:
            return "no-cache"
        if self.personal:
            return f"private, max-age={self.max_age}"
        return f"public, max-age={self.max_age}, stale-while-revalidate={self.max_age // 2}"


NO_STORE = Cache()

Handler = Callable[[Any], Awaitable[Any]]
Guard = Callable[[RawRequest], Awaitable[None]]
H = TypeVar("H", bound=Handler)


class Declaration(TypedDict, total=False):
    """Everything a route may say about itself besides method, path and handler.

    `errors` are the statuses it may answer beyond those every route may (a mapping adds a sentence to each);
    `responses` are further success bodies by status; `guard` runs before the body is read and refuses by raising.
    """

    summary: str
    description: str
    tags: tuple[str, ...]
    cache: Cache
    rate: RateClass
    status: int
    response: Any
    responses: Mapping[int, Any]
    produces: tuple[str, ...]
    errors: tuple[int, ...] | Mapping[int, str]
    examples: Mapping[str, Any]
    response_headers: Mapping[str, str]
    hidden: bool
    name: str
    operation_id: str
    body_bytes: int
    guard: Guard


@dataclass(frozen=True, slots=True)
class Route:
    """A declared route. Without a handler it answers only from the snapshot table, 503 while that has nothing."""

    method: str
    path: str
    handler: Handler | None
    params: type[msgspec.Struct]
    body: Any
    response: Any
    parameters: tuple[Parameter, ...]
    name: str
    operation_id: str
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    cache: Cache = NO_STORE
    rate: RateClass = "read"
    status: int = 200
    responses: Mapping[int, Any] = field(default_factory=dict)
    produces: tuple[str, ...] = (JSON,)
    errors: Mapping[int, str] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)
    response_headers: Mapping[str, str] = field(default_factory=dict)
    hidden: bool = False
    body_bytes: int | None = None
    guard: Guard | None = None

    @property
    def openapi_path(self) -> str:
        return self.path.replace("*}", "}")

    def target(self, params: Any = None) -> str:
        """Key of this route's snapshot for given parameters: the path and its canonical query."""
        params = self.params() if params is None else params
        values = {p.name: p.text(getattr(params, p.attribute)) for p in self.parameters if p.place == "path"}
        path = _PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe="/" if match[2] else ""), self.path)
        query = canonical_query(self.parameters, params)
        return f"{path}?{query}" if query else path


class Registry:
    """The routes of one API, in order of declaration."""

    def __init__(
        self, title: str, *, version: str, dialect: Dialect, description: str = "", conventions: tuple[str, ...] = ()
    ) -> None:
        """`conventions` are sentences about all routes, for readers of the description."""
        self.title = title
        self.conventions = conventions
        self.version = version
        self.dialect = dialect
        self.description = description
        self.routes: list[Route] = []
        self._known: set[tuple[str, str]] = set()
        self._operations: set[str] = set()

    def __iter__(self) -> Iterator[Route]:
        return iter(self.routes)

    def route(self, method: str, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        """Declare a route answered by the decorated function; GET routes answer HEAD too."""

        def declare(handler: H) -> H:
            self._add(method, path, handler, declaration)
            return handler

        return declare

    def get(self, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        return self.route("GET", path, **declaration)

    def post(self, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        return self.route("POST", path, **declaration)

    def put(self, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        return self.route("PUT", path, **declaration)

    def patch(self, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        return self.route("PATCH", path, **declaration)

    def delete(self, path: str, **declaration: Unpack[Declaration]) -> Callable[[H], H]:
        return self.route("DELETE", path, **declaration)

    def snapshot(
        self, path: str, *, params: type[msgspec.Struct] = NoParams, **declaration: Unpack[Declaration]
    ) -> Route:
        """Declare a GET route answered only from the snapshot table; `name` stands in its 503 while it is cold."""
        declaration.setdefault("cache", Cache.snapshot())
        return self._add("GET", path, None, declaration, params)

    def include(self, other: Registry) -> None:
        """Take over the routes of another registry."""
        for route in other:
            self._append(route)

    def find(self, method: str, path: str) -> Route:
        """The route declared with exactly this method and path template."""
        return next(route for route in self.routes if (route.method, route.path) == (method, path))

    def _add(
        self,
        method: str,
        path: str,
        handler: Handler | None,
        declaration: Declaration,
        params: type[msgspec.Struct] = NoParams,
    ) -> Route:
        if not path.startswith("/"):
            raise ValueError(f"a path starts with a slash: {path!r}")
        body: Any = None
        response: Any = None
        if handler is not None:
            params, body, response = _signature(handler)
        rest = dict(declaration)
        operation = str(rest.pop("operation_id", "") or _operation_id(method, path))
        errors: Any = rest.pop("errors", ())
        default_rate: RateClass = "read" if method == "GET" else "write"
        route = Route(
            method=method,
            path=path,
            handler=handler,
            params=params,
            body=body,
            response=rest.pop("response", response),
            parameters=declared(params, tuple(match[1] for match in _PLACEHOLDER.finditer(path))),
            name=str(rest.pop("name", "") or str(rest.get("summary", "")) or path),
            operation_id=operation,
            errors=dict(errors) if isinstance(errors, Mapping) else dict.fromkeys(errors, ""),
            rate=rest.pop("rate", default_rate),  # type: ignore[arg-type]
            **rest,  # type: ignore[arg-type]
        )
        self._append(route)
        return route

    def _append(self, route: Route) -> None:
        shape = _PLACEHOLDER.sub("{}", route.path)
        if (route.method, shape) in self._known:
            raise ValueError(f"{route.method} {route.path} is declared twice")
        if route.operation_id in self._operations:
            raise ValueError(f"operation id {route.operation_id} is used twice")
        self._known.add((route.method, shape))
        self._operations.add(route.operation_id)
        self.routes.append(route)


def _signature(handler: Handler) -> tuple[type[msgspec.Struct], Any, Any]:
    """Parameter, body and response type of a handler annotated `(Request[P, B]) -> R`."""
    hints = get_type_hints(handler, include_extras=True)
    response = hints.pop("return", None)
    request = next(iter(hints.values()), None)
    if get_origin(request) is not Request:
        raise TypeError(f"{handler!r} must take one Request[Params, Body]")
    params, body = get_args(request)
    return params, None if body is type(None) else body, None if response is type(None) else response


def _operation_id(method: str, path: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", path.lower()).strip("_") or "root"
    return f"{method.lower()}_{words}"
