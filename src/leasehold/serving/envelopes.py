"""The two error dialects: what an error looks like on the wire of the application API and of the data API."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from leasehold.core.errors import InvalidInput, LeaseholdError, MethodNotAllowed, RateLimited

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as the dialects see it; `message` is safe to show to the caller."""

    status: int
    code: str
    message: str
    field: str | None = None
    details: Any = None
    retry_after: int | None = None
    allowed: tuple[str, ...] = ()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Headers this error carries whatever the dialect."""
        found: list[tuple[str, str]] = []
        if self.retry_after:
            found.append(("retry-after", str(self.retry_after)))
        if self.allowed:
            found.append(("allow", ", ".join(self.allowed)))
        return found


BAD_REQUEST = Problem(400, "VALIDATION_ERROR", "Malformed HTTP request")
REQUEST_TIMEOUT = Problem(408, "REQUEST_TIMEOUT", "The request took too long to arrive")
URI_TOO_LONG = Problem(414, "URI_TOO_LONG", "The request target is too long")
HEAD_TOO_LARGE = Problem(431, "HEADERS_TOO_LARGE", "The request head is too large")
INTERNAL = Problem(500, "INTERNAL_ERROR", "Internal server error")
OVERLOADED = Problem(503, "SERVICE_UNAVAILABLE", "Too many connections", retry_after=1)


def problem_of(error: BaseException) -> Problem:
    """What may be said about an error: everything about our own, nothing about an unexpected one."""
    if not isinstance(error, LeaseholdError):
        return INTERNAL
    return Problem(
        error.status,
        error.code,
        error.message,
        field=error.field if isinstance(error, InvalidInput) else None,
        details=getattr(error, "details", None),
        retry_after=error.retry_after or None if isinstance(error, RateLimited) else None,
        allowed=error.allowed if isinstance(error, MethodNotAllowed) else (),
    )


class Dialect(Protocol):
    """How one API spells its errors, and the headers it puts on every response."""

    @property
    def name(self) -> str: ...

    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def envelope(self) -> type[msgspec.Struct]:
        """Wire type of every error body."""
        ...

    @property
    def everywhere(self) -> tuple[int, ...]:
        """Error statuses any route may answer."""
        ...

    def body(self, problem: Problem) -> bytes:
        """JSON of an error."""
        ...


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """The inside of an application API error; absent members are omitted, never null."""

    code: str
    message: str
    field: str | msgspec.UnsetType = msgspec.UNSET
    details: Any | msgspec.UnsetType = msgspec.UNSET
    retry_after: int | msgspec.UnsetType = msgspec.UNSET


class ErrorResponse(msgspec.Struct):
    """Every error of the application API."""

    error: ErrorBody


class DataError(msgspec.Struct):
    """Every error of the data API: reason phrase, text for people, HTTP status."""

    error: str
    message: str
    status: int


@dataclass(frozen=True, slots=True)
class ApplicationDialect:
    """`{"error": {"code", "message", …}}`."""

    name: str = "application"
    headers: tuple[tuple[str, str], ...] = ()
    envelope: type[msgspec.Struct] = ErrorResponse
    everywhere: tuple[int, ...] = (400, 405, 413, 415, 429, 500, 502, 503)

    def body(self, problem: Problem) -> bytes:
        return msgspec.json.encode(
            ErrorResponse(
                ErrorBody(
                    _APPLICATION_CODES.get(problem.code, problem.code),
                    problem.message,
                    field=msgspec.UNSET if problem.field is None else problem.field,
                    details=msgspec.UNSET if problem.details is None else problem.details,
                    retry_after=msgspec.UNSET if problem.retry_after is None else problem.retry_after,
                )
            )
        )


# Clients of the public system compare these codes, so the tree's own names give way to them.
_APPLICATION_CODES = {"VALIDATION_ERROR": "VALIDATION_FAILED", "UPSTREAM_ERROR": "EXTERNAL_SERVICE_ERROR"}

DATA_LINK = (
    '</openapi.json>; rel="service-desc"; type="application/json", </llms.txt>; rel="describedby"; type="text/plain"'
)


@dataclass(frozen=True, slots=True)
class DataDialect:
    """`{"error", "message", "status"}`, with a `Link` to the description on every response."""

    name: str = "data"
    headers: tuple[tuple[str, str], ...] = (("link", DATA_LINK),)
    envelope: type[msgspec.Struct] = DataError
    everywhere: tuple[int, ...] = (400, 405, 413, 415, 429, 500, 503)

    def body(self, problem: Problem) -> bytes:
        # There is no member for the parameter that is meant, so the message names it.
        named = not problem.field or problem.field in problem.message
        message = problem.message if named else f"{problem.field}: {problem.message}"
        return msgspec.json.encode(DataError(reason(problem.status), message, problem.status))


def reason(status: int) -> str:
    """Reason phrase of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
