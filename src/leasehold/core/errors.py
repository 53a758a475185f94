"""Every error Leasehold raises on purpose.

LeaseholdError
├── InvalidInput            400  the caller sent something wrong; names the field
│   ├── UnsupportedMedia    415
│   └── TooLarge            413
├── Unauthorized            401
├── NotFound                404
├── MethodNotAllowed        405
├── Conflict                409
├── RateLimited             429  carries retry_after
├── UpstreamFailure         502  another service failed; names it
├── NotReady                503  data not populated yet; a later try may succeed
├── ConfigurationError           a setting is wrong; says which and what to do (exit code 2)
├── AlreadyRunning               a second stack on the same home or ports (exit code 3)
└── Unavailable                  a local resource (database, port, file) can't be used (exit code 4)

An error knows its HTTP status, a stable machine code and, for operators, what to do next.
"""

from __future__ import annotations


class LeaseholdError(Exception):
    """Base of the tree; `message` is safe to show to whoever caused the error."""

    status: int = 500
    code: str = "INTERNAL_ERROR"
    exit_code: int = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(LeaseholdError):
    """A value from outside is not acceptable; `field` says which one."""

    status = 400
    code = "VALIDATION_ERROR"

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.field = field


class UnsupportedMedia(InvalidInput):
    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"


class TooLarge(InvalidInput):
    status = 413
    code = "PAYLOAD_TOO_LARGE"


class Unauthorized(LeaseholdError):
    status = 401
    code = "UNAUTHORIZED"


class NotFound(LeaseholdError):
    status = 404
    code = "NOT_FOUND"


class MethodNotAllowed(LeaseholdError):
    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, message: str, *, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allowed = allowed


class Conflict(LeaseholdError):
    status = 409
    code = "CONFLICT"


class RateLimited(LeaseholdError):
    """Too many requests; `retry_after` is whole seconds until one is allowed again."""

    status = 429
    code = "RATE_LIMITED"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UpstreamFailure(LeaseholdError):
    """Another service answered wrongly, late or not at all; `upstream` names it."""

    status = 502
    code = "UPSTREAM_ERROR"

    def __init__(self, message: str, *, upstream: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.upstream = upstream


class NotReady(LeaseholdError):
    status = 503
    code = "SERVICE_UNAVAILABLE"


class ConfigurationError(LeaseholdError):
    code = "CONFIGURATION_ERROR"
    exit_code = 2


class AlreadyRunning(LeaseholdError):
    code = "ALREADY_RUNNING"
    exit_code = 3


class Unavailable(LeaseholdError):
    code = "UNAVAILABLE"
    exit_code = 4
