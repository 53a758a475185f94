"""Long answers: a stream from PostgreSQL, kept compressed only, so that memory does not follow their length."""

from __future__ import annotations

import asyncio
import zlib
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import zstandard

from leasehold.serving.negotiation import accepted_encodings, not_modified
from leasehold.serving.routes import Reply

# An answer up to this size is kept as it is, and answered without any framework.
LARGEST_PLAIN = 1_000_000
_CHUNK_BYTES = 256 * 1024
_ZSTD_LEVEL, _GZIP_LEVEL, _GZIP_WINDOW = 6, 5, 31
_SUFFIX = {"identity": "", "gzip": "-gz", "zstd": "-zst"}


@dataclass(frozen=True, slots=True)
class Packed:
    """A long answer in the two codings that clients take; `size` and `digest` are of the plain bytes."""

    zstd: bytes
    gzip: bytes
    size: int
    digest: str

    @property
    def weight(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.zstd) + len(self.gzip)

    def reply(self, wanted: Mapping[str, str], media_type: str, headers: Mapping[str, str]) -> Reply:
        """The answer in the coding a client wants, in chunks, or 304 where the client has it already."""
        encoding = accepted_encodings(wanted.get("accept-encoding", "").encode("latin-1") or None)[0]
        etag = f'"{self.digest}{_SUFFIX[encoding]}"'
        told = {**headers, "etag": etag, "vary": "accept-encoding"}
        given = wanted.get("if-none-match")
        if given is not None and not_modified(given.encode("latin-1"), etag.encode()):
            return Reply(status=304, headers=told)
        if encoding == "identity":
            told["content-length"] = str(self.size)
            return Reply(body=self._plain(), media_type=media_type, headers=told)
        body = self.zstd if encoding == "zstd" else self.gzip
        told |= {"content-encoding": encoding, "content-length": str(len(body))}
        return Reply(body=_slices(body), media_type=media_type, headers=told)

    async def _plain(self) -> AsyncIterator[bytes]:
        """The plain bytes; made again for the few who take nothing else, never as a whole."""
        for chunk in zstandard.ZstdDecompressor().read_to_iter(self.zstd, write_size=_CHUNK_BYTES):
            yield chunk
            await asyncio.sleep(0)


async def _slices(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _CHUNK_BYTES):
        yield body[start : start + _CHUNK_BYTES]


class Packer:
    """Takes an answer piece by piece; what stays short comes out as it went in, what gets long comes out packed."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._size = 0
        self._digest = sha256()
        self._packed: _Streams | None = None

    async def feed(self, data: bytes) -> None:
        """Take the next piece; compressing happens beside the event loop."""
        self._head += data
        if (self._packed is not None and len(self._head) >= _CHUNK_BYTES) or len(self._head) > LARGEST_PLAIN:
            await asyncio.to_thread(self._press)

    async def finish(self) -> bytes | Packed:
        """Everything that was fed."""
        if self._packed is None:
            return bytes(self._head)
        return await asyncio.to_thread(self._close, self._packed)

    def _press(self) -> None:
        if self._packed is None:
            self._packed = _Streams()
        data, self._head = bytes(self._head), bytearray()
        self._size += len(data)
        self._digest.update(data)
        self._packed.press(data)

    def _close(self, streams: _Streams) -> Packed:
        self._press()
        zstd, gzip = streams.close()
        return Packed(zstd, gzip, self._size, urlsafe_b64encode(self._digest.digest()[:18]).decode())


class _Streams:
    """The two compressions of the same bytes."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdCompressor(_ZSTD_LEVEL).compressobj()
        self._gzip = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        self._parts: tuple[list[bytes], list[bytes]] = ([], [])

    def press(self, data: bytes) -> None:
        self._parts[0].append(self._zstd.compress(data))
        self._parts[1].append(self._gzip.compress(data))

    def close(self) -> tuple[bytes, bytes]:
        self._parts[0].append(self._zstd.flush())
        self._parts[1].append(self._gzip.flush())
        return b"".join(self._parts[0]), b"".join(self._parts[1])
