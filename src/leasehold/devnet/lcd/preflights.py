"""CORS as the listener in front of the LCD has it: plain headers and plain verbs, from anywhere."""

from __future__ import annotations

from leasehold.devnet.lcd.answers import Headers

# What browsers may always send is not echoed; the rest may be asked for.
_SIMPLE_HEADERS = frozenset({"accept", "accept-language", "content-language", "origin"})
_OTHER_HEADERS = frozenset({"content-type", "x-requested-with", "x-server-time"})
_METHODS = frozenset({"GET", "HEAD", "POST"})


def preflight(request: dict[bytes, bytes]) -> tuple[int, Headers, bytes]:
    """The answer to OPTIONS: what is allowed, or a bare refusal; without an origin there is nothing to say."""
    if not request.get(b"origin"):
        return 200, [], b""
    method = request.get(b"access-control-request-method")
    if method is None:
        return 400, [], b""
    if method.decode("latin-1") not in _METHODS:
        return 405, [], b""
    wanted = request.get(b"access-control-request-headers", b"").decode("latin-1")
    names = [name.strip().lower() for name in wanted.split(",")]
    names = [name for name in names if name and name not in _SIMPLE_HEADERS]
    if not _OTHER_HEADERS.issuperset(names):
        return 403, [], b""
    headers: Headers = [(b"access-control-allow-origin", b"*")]
    if names:
        canonical = ",".join("-".join(part.capitalize() for part in name.split("-")) for name in names)
        headers.append((b"access-control-allow-headers", canonical.encode()))
    return 200, headers, b""
