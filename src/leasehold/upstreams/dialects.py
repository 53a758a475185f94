"""How each upstream spells its errors: one port, one dialect per path prefix."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from leasehold.serving.application import Application
from leasehold.serving.envelopes import Problem

# gRPC codes, which the swap provider's errors carry, by HTTP status.
_GRPC = {400: 3, 401: 16, 404: 5, 405: 12, 409: 6, 413: 3, 415: 3, 429: 8, 502: 14, 503: 14}
_INTERNAL = 13

_path: ContextVar[str] = ContextVar("path of the request being answered", default="")


class UpstreamError(msgspec.Struct, omit_defaults=True):
    """Union of the upstreams' error bodies; each dialect sends its own members only."""

    error: str | msgspec.UnsetType = msgspec.UNSET
    success: bool | msgspec.UnsetType = msgspec.UNSET
    data: msgspec.UnsetType | None = msgspec.UNSET
    code: int | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    details: list[Any] | msgspec.UnsetType = msgspec.UNSET


def wrapped(problem: Problem) -> dict[str, Any]:
    """`{success, data, error}`: referral and campaigns."""
    return {"success": False, "data": None, "error": _text(problem)}


def plain(problem: Problem) -> dict[str, Any]:
    """`{error}`: zero-interest."""
    return {"error": _text(problem)}


def status(problem: Problem) -> dict[str, Any]:
    """`{code, message, details}`: the swap provider."""
    return {"code": _GRPC.get(problem.status, _INTERNAL), "message": _text(problem), "details": []}


_FORMS: tuple[tuple[str, Callable[[Problem], dict[str, Any]]], ...] = (
    ("/referral/", wrapped),
    ("/payments/api/", wrapped),
    ("/payments/", plain),
    ("/swap/", status),
)


@dataclass(frozen=True, slots=True)
class UpstreamDialect:
    """The dialect of whichever upstream the request is for."""

    name: str = "upstream"
    headers: tuple[tuple[str, str], ...] = ()
    envelope: type[msgspec.Struct] = UpstreamError
    everywhere: tuple[int, ...] = (400, 401, 405, 413, 415, 500, 503)

    def body(self, problem: Problem) -> bytes:
        path = _path.get()
        form = next((form for prefix, form in _FORMS if path.startswith(prefix)), plain)
        return msgspec.json.encode(form(problem))


class UpstreamApplication(Application):
    """An application that remembers which upstream is asked, for its errors."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = _path.set(scope.get("path", ""))
        try:
            await super().__call__(scope, receive, send)
        finally:
            _path.reset(token)


def _text(problem: Problem) -> str:
    return f"{problem.field}: {problem.message}" if problem.field else problem.message
