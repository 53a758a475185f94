"""Cross-origin rules: who may call from a browser, and which headers a page may read."""

from __future__ import annotations

from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]

EXPOSED = (
    b"Cache-Age, Cache-Status, Content-Disposition, ETag, Link, Retry-After, Warning, X-Block-Height, X-Block-Time, "
    b"X-Export-Row-Limit, X-Request-Id, X-Row-Limit"
)
# A line of its own on every answer, whoever may call: what a cache must tell apart before it answers for us.
_VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")
_PREFLIGHT: Headers = [
    (b"access-control-allow-methods", b"*"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"86400"),
]


class Cors:
    """Origins that may call an API; `*` among them means any."""

    def __init__(self, origins: Iterable[str]) -> None:
        allowed = tuple(origins)
        self.any = "*" in allowed
        self._origins = {origin.encode("latin-1") for origin in allowed}

    def allows(self, origin: bytes) -> bool:
        """Whether pages of this origin may call."""
        return self.any or origin in self._origins

    def headers(self, origin: bytes | None) -> Headers:
        """Headers of any answer to a request with this Origin."""
        if self.any:
            return [_VARY, (b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", EXPOSED)]
        if origin is None or origin not in self._origins:
            return [_VARY]
        return [_VARY, (b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED)]

    def preflight(self) -> Headers:
        """Further headers of an answer to OPTIONS."""
        return list(_PREFLIGHT)
