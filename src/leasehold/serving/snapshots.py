"""Snapshots: answers kept as finished bytes, with compressed variants and a strong ETag per variant."""

from __future__ import annotations

import asyncio
import gzip
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
import zstandard

from leasehold.core.clock import rfc3339
from leasehold.serving.envelopes import JSON
from leasehold.serving.memoryfiles import MemoryFile

# Below this a compressed body saves less than its extra headers cost.
SMALLEST_COMPRESSED = 256
# From this size on an answer says that it varies with the coding, compressed or not.
SMALLEST_VARYING = 32
# Above this compressing would hold the event loop for more than about a millisecond.
LARGEST_INLINE = 16 * 1024
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 9
_SUFFIX = {"identity": "", "gzip": "-gz", "zstd": "-zst"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One encoding of a snapshot; `etag` includes its quotes."""

    encoding: str
    body: bytes
    etag: bytes
    file: MemoryFile | None = None


@dataclass(eq=False, slots=True)
class Snapshot:
    """A finished answer: its bytes in each encoding worth having, and where they come from.

    Two replicas that hold the same content have the same ETags, whatever the height they read it at.
    """

    variants: dict[str, Variant]
    height: int
    time_ns: int
    content_type: str = JSON
    cache_control: str = "no-cache"
    headers: tuple[tuple[str, str], ...] = ()
    # Response heads by spelling of Accept-Encoding, made by the server when first asked for.
    rendered: dict[bytes | None, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        body: bytes,
        *,
        height: int,
        time_ns: int,
        content_type: str = JSON,
        cache_control: str = "no-cache",
        headers: Mapping[str, str] | None = None,
    ) -> Snapshot:
        """Compress and hash `body`; takes about 50 ms per megabyte."""
        return cls(variants_of(body), height, time_ns, content_type, cache_control, tuple((headers or {}).items()))

    @property
    def body(self) -> bytes:
        """The uncompressed bytes."""
        return self.variants["identity"].body

    @property
    def response_headers(self) -> list[tuple[str, str]]:
        """Headers of every answer with this snapshot, 304 included, except ETag and encoding."""
        found = [("cache-control", self.cache_control)]
        if len(self.body) >= SMALLEST_VARYING:
            found.append(("vary", "accept-encoding"))
        if self.height:
            found.append(("x-block-height", str(self.height)))
        if self.time_ns:
            found.append(("x-block-time", rfc3339(self.time_ns)))
        return [*found, *self.headers]


def variants_of(body: bytes) -> dict[str, Variant]:
    """The encodings of a body that are worth sending; identity is always one."""
    digest = urlsafe_b64encode(sha256(body).digest()[:18])
    bodies = {"identity": body}
    if len(body) >= SMALLEST_COMPRESSED:
        bodies["gzip"] = gzip.compress(body, _GZIP_LEVEL, mtime=0)
        bodies["zstd"] = zstandard.ZstdCompressor(_ZSTD_LEVEL).compress(body)
    return {
        encoding: Variant(encoding, data, b'"' + digest + _SUFFIX[encoding].encode() + b'"', MemoryFile.of(data))
        for encoding, data in bodies.items()
        if encoding == "identity" or len(data) < len(body)
    }


class SnapshotTable:
    """Snapshots by request target (path, or path and canonical query); replacing one is a single assignment."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Snapshot] = {}
        self._encoder = msgspec.json.Encoder()

    async def publish(
        self,
        target: str,
        body: bytes | Any,
        *,
        height: int,
        time_ns: int,
        cache_control: str = "no-cache",
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Snapshot:
        """Make `body` (bytes, or a value to encode as JSON) the answer to `target`.

        Content equal to what is there keeps its bytes and takes the new height; a large body is compressed in a thread.
        """
        data = body if isinstance(body, bytes) else self._encoder.encode(body)
        current = self.entries.get(target.encode("ascii"))
        if current is not None and current.body == data:
            snapshot = Snapshot(
                current.variants, height, time_ns, content_type, cache_control, tuple((headers or {}).items())
            )
        else:
            variants = await asyncio.to_thread(variants_of, data) if len(data) > LARGEST_INLINE else variants_of(data)
            snapshot = Snapshot(variants, height, time_ns, content_type, cache_control, tuple((headers or {}).items()))
        self.put(target, snapshot)
        return snapshot

    def put(self, target: str, snapshot: Snapshot) -> None:
        """Make a finished snapshot the answer to `target`."""
        self.entries[target.encode("ascii")] = snapshot

    def get(self, target: str) -> Snapshot | None:
        return self.entries.get(target.encode("ascii", "replace"))

    def withdraw(self, target: str) -> None:
        """Stop answering `target`; harmless when it isn't there."""
        self.entries.pop(target.encode("ascii"), None)

    def replace_all(self, snapshots: Mapping[str, Snapshot]) -> None:
        """Swap the whole table at once: no request sees a mixture."""
        self.entries = {target.encode("ascii"): snapshot for target, snapshot in snapshots.items()}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return iter([target.decode("ascii") for target in self.entries])
