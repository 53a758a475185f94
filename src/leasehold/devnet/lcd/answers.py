"""Answers of the LCD that are no messages: errors, refusals, redirections."""

from __future__ import annotations

import json
from posixpath import normpath
from urllib.parse import quote

from leasehold.devnet.app.errors import Status, StatusError

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]
JSON = (b"content-type", b"application/json")
CLOSE = (b"connection", b"close")
HTTP_STATUS = {
    Status.OK: 200, Status.CANCELLED: 408, Status.UNKNOWN: 500, Status.INVALID_ARGUMENT: 400,
    Status.DEADLINE_EXCEEDED: 504, Status.NOT_FOUND: 404, Status.ALREADY_EXISTS: 409,
    Status.PERMISSION_DENIED: 403, Status.RESOURCE_EXHAUSTED: 429, Status.FAILED_PRECONDITION: 400,
    Status.ABORTED: 409, Status.OUT_OF_RANGE: 400, Status.UNIMPLEMENTED: 501, Status.INTERNAL: 500,
    Status.UNAVAILABLE: 503, Status.DATA_LOSS: 500, Status.UNAUTHENTICATED: 401,
}  # fmt: skip
# Left as they are in the path of an address.
_PLAIN = "$&+,/:;=@-_.~!*'()"


def refusal(error: StatusError) -> Answer:
    """A gRPC status as HTTP tells it."""
    body = json.dumps(
        {"code": int(error.status), "message": error.message, "details": []}, ensure_ascii=False, separators=(",", ":")
    )
    return HTTP_STATUS[error.status], [JSON], body.encode("utf-8", "replace")


def too_large(headers: Headers) -> Answer:
    """The listener in front of the LCD is the RPC's: it refuses with a JSON-RPC object."""
    answer = {
        "jsonrpc": "2.0",
        "error": {
            "code": -32600,
            "message": "Invalid Request",
            "data": "error reading request body: http: request body too large",
        },
    }
    return 400, [*headers, JSON, CLOSE], json.dumps(answer, separators=(",", ":")).encode()


def tidied(path: str) -> str:
    """A decoded path without doubled slashes and dots; a slash at its end stays."""
    clean = normpath("/" + path.lstrip("/"))
    return clean + "/" if path.endswith("/") and clean != "/" else clean


def moved(path: str, query: str) -> Answer:
    """Where a path is found that was written untidily."""
    location = quote(tidied(path), safe=_PLAIN) + (f"?{query}" if query else "")
    return 301, [(b"location", location.encode("latin-1", "replace"))], b""


def unreadable() -> Answer:
    """A path that can't be decoded: whoever reads requests refuses it before anybody sees it."""
    return 400, [(b"content-type", b"text/plain; charset=utf-8"), CLOSE], b"400 Bad Request"


def no_such_page() -> Answer:
    """A file that is not among those served as they are."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff")]
    return 404, headers, b"404 page not found\n"
