"""Who may call an upstream: whoever knows its token, or anyone where none is set."""

from __future__ import annotations

import hmac

from starlette.requests import Request as RawRequest

from leasehold.core.errors import Unauthorized
from leasehold.serving.routes import Guard


def bearer(token: str) -> Guard:
    """A guard that wants `Authorization: Bearer <token>`; an empty token lets everyone in."""
    return _exactly(f"Bearer {token}" if token else "")


def raw_key(key: str) -> Guard:
    """A guard that wants the bare key in `Authorization`; an empty key lets everyone in."""
    return _exactly(key)


def _exactly(wanted: str) -> Guard:
    async def guard(request: RawRequest) -> None:
        given = request.headers.get("authorization", "")
        if wanted and not hmac.compare_digest(given.encode(), wanted.encode()):
            raise Unauthorized("missing or wrong token")

    return guard
