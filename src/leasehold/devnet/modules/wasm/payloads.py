"""What messages carry for contracts: texts they can read, and bytecode as it is run."""

from __future__ import annotations

import gzip
import io
import zlib

import msgspec

from leasehold.core.nesting import nests_too_deep
from leasehold.devnet.modules.wasm.errors import CREATE_FAILED

MAX_BYTECODE = 5 * 1024 * 1024
# How a program begins.
MAGIC = b"\x00asm"


def is_zipped(data: bytes) -> bool:
    """Whether bytecode came in an archive."""
    return data.startswith(b"\x1f\x8b")


def unpacked(data: bytes) -> bytes:
    """Bytecode, unzipped when it came zipped; bounded, so that a small archive can't fill the memory."""
    if not is_zipped(data):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
            unpacked = archive.read(MAX_BYTECODE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CREATE_FAILED(f"uncompress wasm archive: {error}") from None
    if len(unpacked) > MAX_BYTECODE:
        raise CREATE_FAILED(f"uncompress wasm archive: max {MAX_BYTECODE} bytes: exceeds limit")
    return unpacked


def is_json(data: bytes) -> bool:
    """Whether contracts could read a text at all: well-formed, and not nested without end."""
    if nests_too_deep(data):
        return False
    try:
        msgspec.json.decode(data)
    except msgspec.DecodeError:
        return False
    return True
