"""Refusals of the wasm module."""

from __future__ import annotations

from leasehold.devnet.app.errors import Kind

CREATE_FAILED = Kind("wasm", 2, "create wasm contract failed")
QUERY_FAILED = Kind("wasm", 9, "query wasm contract failed")
EMPTY = Kind("wasm", 12, "empty")
LIMIT = Kind("wasm", 13, "exceeds limit")
INVALID = Kind("wasm", 14, "invalid")
DUPLICATE = Kind("wasm", 15, "duplicate")
NO_SUCH_CONTRACT = Kind("wasm", 22, "no such contract")
NO_SUCH_CODE = Kind("wasm", 28, "no such code")
