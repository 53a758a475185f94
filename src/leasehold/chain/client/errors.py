"""What a node can do wrong, by type.

UpstreamFailure
├── NodeUnreachable      no answer, a late one, or one that is not JSON-RPC
├── NodeRefused          a JSON-RPC error: carries code and text
│   ├── BatchTooLarge    the node takes fewer requests per batch; says how many
│   ├── HeightNotReached the height does not exist yet; says the newest one
│   ├── ResultsNotReady  the block is there, its results are not (a race at the head)
│   └── PrunedHistory    the height is gone from the node; names the first one available
└── QueryFailed          the chain answered the query with an error of its own
Conflict
└── ChainMismatch        the node follows another chain than the one asked for
"""

from __future__ import annotations

import re

from leasehold.core.errors import Conflict, UpstreamFailure

_PRUNED = re.compile(r"height (\d+) is not available, lowest height is (\d+)")
_FUTURE = re.compile(r"height (\d+) must be less than or equal to the current blockchain height (\d+)")
_NO_RESULTS = re.compile(r"could not find results for height #?(\d+)")
_BATCH = re.compile(r"batch request exceeds maximum \((\d+)\)")


class NodeUnreachable(UpstreamFailure):
    """The node gave no usable answer in time."""


class NodeRefused(UpstreamFailure):
    """The node answered with a JSON-RPC error."""

    def __init__(self, text: str, *, rpc_code: int, upstream: str, hint: str | None = None) -> None:
        super().__init__(f"node {upstream} refused: {text}", upstream=upstream, hint=hint)
        self.rpc_code = rpc_code
        self.text = text


class BatchTooLarge(NodeRefused):
    """The node accepts at most `limit` requests in a batch."""

    def __init__(self, text: str, *, limit: int, rpc_code: int, upstream: str) -> None:
        super().__init__(text, rpc_code=rpc_code, upstream=upstream)
        self.limit = limit


class HeightNotReached(NodeRefused):
    """The chain, as this node sees it, ends at `latest`."""

    def __init__(self, text: str, *, height: int, latest: int, rpc_code: int, upstream: str) -> None:
        super().__init__(text, rpc_code=rpc_code, upstream=upstream)
        self.height = height
        self.latest = latest


class ResultsNotReady(NodeRefused):
    """The block of `height` is known but its results are not stored yet."""

    def __init__(self, text: str, *, height: int, rpc_code: int, upstream: str) -> None:
        super().__init__(text, rpc_code=rpc_code, upstream=upstream)
        self.height = height


class PrunedHistory(NodeRefused):
    """The node has dropped `height`; the first one it still has is `first_available`."""

    def __init__(self, text: str, *, height: int, first_available: int, rpc_code: int, upstream: str) -> None:
        super().__init__(
            text,
            rpc_code=rpc_code,
            upstream=upstream,
            hint=f"the first height available is {first_available}; set chain.archive_rpc_url to read older ones",
        )
        self.height = height
        self.first_available = first_available


class QueryFailed(UpstreamFailure):
    """The state machine refused a query."""

    def __init__(self, log: str, *, query_code: int, upstream: str) -> None:
        super().__init__(f"query failed: {log}", upstream=upstream)
        self.log = log
        self.query_code = query_code


class ChainMismatch(Conflict):
    """A node speaks for another chain, or for another history of it."""

    code = "CHAIN_MISMATCH"


def refusal(code: int, message: str, data: str, upstream: str) -> NodeRefused:
    """The typed error of a JSON-RPC error object."""
    text = data or message
    if found := _PRUNED.search(text):
        return PrunedHistory(
            text, height=int(found[1]), first_available=int(found[2]), rpc_code=code, upstream=upstream
        )
    if found := _FUTURE.search(text):
        return HeightNotReached(text, height=int(found[1]), latest=int(found[2]), rpc_code=code, upstream=upstream)
    if found := _NO_RESULTS.search(text):
        return ResultsNotReady(text, height=int(found[1]), rpc_code=code, upstream=upstream)
    if found := _BATCH.search(text):
        return BatchTooLarge(text, limit=int(found[1]), rpc_code=code, upstream=upstream)
    return NodeRefused(text, rpc_code=code, upstream=upstream)
