"""Which endpoints may be subscribed: push services on the public internet, nothing inside."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from leasehold.core.errors import InvalidInput

MAX_LENGTH = 2048


class Guard:
    """Refuses endpoints that would make this service reach into its own network."""

    def __init__(self, *, inside: bool = False) -> None:
        """`inside` lets loopback and plain HTTP pass, for tests and development."""
        self.inside = inside

    def check(self, endpoint: str) -> None:
        """InvalidInput unless the endpoint is an HTTPS URL of a public host."""
        if len(endpoint) > MAX_LENGTH or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
            raise InvalidInput("endpoint is not a URL", field="endpoint")
        try:
            parts = urlsplit(endpoint)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise InvalidInput("endpoint is not a URL", field="endpoint") from None
        if parts.scheme not in (("https", "http") if self.inside else ("https",)) or not host:
            raise InvalidInput("endpoint must be an https URL", field="endpoint")
        if parts.username is not None or parts.password is not None:
            raise InvalidInput("endpoint must not carry credentials", field="endpoint")
        if not self.inside and (
            _inside(host) or "." not in host or host.endswith((".local", ".internal", "localhost"))
        ):
            raise InvalidInput("endpoint must be on the public internet", field="endpoint")

    def resolver(self) -> AbstractResolver:
        """Name resolution that gives no address inside, whatever the name says."""
        return ThreadedResolver() if self.inside else _PublicResolver()


class _PublicResolver(ThreadedResolver):
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        public = [answer for answer in found if not _inside(answer["host"])]
        if not public:
            raise OSError(None, f"{host} has no public address")
        return public


def _inside(host: Any) -> bool:
    try:
        return not ip_address(str(host)).is_global
    except ValueError:
        return False
