"""Rate limits: a token bucket per client and class, in a table that can't outgrow its bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import ceil
from typing import Final

from leasehold.core.errors import ConfigurationError, RateLimited
from leasehold.core.settings import Limits

MAX_CLIENTS: Final = 65_536
# A provider hands a customer at least this much; counting single addresses would count nothing.
IPV6_PREFIX: Final = 64
_MAX_HOPS = 32

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


class Bucket:
    """Token buckets of one rate class, as one number per client: the time at which its bucket is full again."""

    def __init__(self, per_second: float, burst: int, *, max_clients: int = MAX_CLIENTS) -> None:
        if per_second <= 0 or burst < 1:
            raise ConfigurationError("a rate limit needs a positive rate and a burst of at least 1")
        self._interval = 1.0 / per_second
        self._allowance = (burst - 1) * self._interval
        self._max_clients = max_clients
        self._full_at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, client: str, now: float) -> float:
        """Spend a token at monotonic time `now`; 0.0, or the seconds until one is there."""
        full_at = self._full_at.get(client)
        if full_at is None:
            if len(self._full_at) >= self._max_clients:
                self._evict(now)
            full_at = now
        ahead = full_at - now
        if ahead <= 0.0:
            self._full_at[client] = now + self._interval
            return 0.0
        # A hair of tolerance keeps float rounding from refusing the token that is due exactly now.
        if ahead > self._allowance + 1e-9:
            return ahead - self._allowance
        self._full_at[client] = full_at + self._interval
        return 0.0

    def _evict(self, now: float) -> None:
        """Forget clients whose bucket is full again; when none is, the half seen first."""
        self._full_at = {client: at for client, at in self._full_at.items() if at > now}
        if len(self._full_at) >= self._max_clients:
            for client in list(self._full_at)[: max(1, self._max_clients // 2)]:
                del self._full_at[client]


class Limiter:
    """Who a client is, and whether it may go on."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float], *, max_clients: int = MAX_CLIENTS) -> None:
        self.now = monotonic
        self._exempt = networks(limits.exempt, "limits.exempt")
        self._proxies = networks(limits.trusted_proxies, "limits.trusted_proxies")
        read = Bucket(limits.reads_per_second, limits.reads_burst, max_clients=max_clients)
        write = Bucket(limits.writes_per_second, limits.writes_burst, max_clients=max_clients)
        admin = Bucket(limits.writes_per_second, limits.writes_burst, max_clients=max_clients)
        self.buckets: dict[str, Bucket] = {"read": read, "write": write, "admin": admin}
        self.key = lru_cache(maxsize=4096)(self._key)

    def wait(self, client: str, rate: str) -> float:
        """Spend a token of a class for a client address; 0.0, or the seconds until it may try again."""
        bucket = self.buckets.get(rate)
        key = self.key(client)
        if bucket is None or key is None:
            return 0.0
        return bucket.take(key, self.now())

    def refusal(self, wait: float) -> RateLimited:
        """The error for a client that must wait some seconds."""
        return RateLimited("Too many requests", retry_after=ceil(wait))

    def is_proxy(self, peer: str) -> bool:
        """Whether forwarded headers from this peer are believed."""
        return bool(self._proxies) and _inside(_parsed(peer), self._proxies)

    def client(self, peer: str, forwarded_for: Sequence[bytes] = (), real_ip: bytes | None = None) -> str:
        """Address of the caller: the peer, or behind trusted proxies the nearest address that is not one of them."""
        if not self.is_proxy(peer):
            return peer
        hops = b",".join(forwarded_for).decode("latin-1").split(",")[-_MAX_HOPS:] if forwarded_for else []
        if not hops and real_ip is not None:
            hops = [real_ip.decode("latin-1")]
        caller = peer
        for hop in reversed(hops):
            address = _parsed(_without_port(hop.strip()))
            if address is None:
                break
            caller = str(address)
            if not _inside(address, self._proxies):
                break
        return caller

    def _key(self, client: str) -> str | None:
        """What a client is counted as: its IPv4 address or IPv6 prefix; None when it is exempt."""
        address = _parsed(client)
        if address is None:
            return client
        if _inside(address, self._exempt):
            return None
        if isinstance(address, IPv6Address):
            return str(IPv6Network((int(address) >> 64 << 64, IPV6_PREFIX)))
        return str(address)


def networks(texts: Iterable[str], setting: str) -> tuple[Network, ...]:
    """Networks of a setting; ConfigurationError names it."""
    try:
        return tuple(ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise ConfigurationError(f"{setting}: {error}", hint="write networks as 10.0.0.0/8 or 2001:db8::/32") from None


def _parsed(text: str) -> Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _without_port(text: str) -> str:
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _inside(address: Address | None, nets: tuple[Network, ...]) -> bool:
    return address is not None and any(address.version == net.version and address in net for net in nets)
