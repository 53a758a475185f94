"""JSON-RPC 2.0 over HTTP to one node: single calls, batches, time-outs, typed errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from leasehold.chain.client import wire
from leasehold.chain.client.errors import BatchTooLarge, NodeUnreachable, QueryFailed, refusal

# Nodes of the public kind take ten requests a batch; those that say so in an error are asked for less from then on.
DEFAULT_BATCH = 20

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Where a node stands."""

    chain_id: str
    latest_height: int
    earliest_height: int
    latest_time: str
    catching_up: bool


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds a node may take to accept a connection and to answer."""

    connect: float = 5.0
    answer: float = 30.0


class RpcNode:
    """One node; `url` is its base, `session` is shared and owned by the caller."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        *,
        timeouts: Timeouts | None = None,
        batch_limit: int = DEFAULT_BATCH,
    ) -> None:
        self.url = url.rstrip("/")
        self.batch_limit = batch_limit
        self._session = session
        limits = timeouts or Timeouts()
        self._timeout = aiohttp.ClientTimeout(total=limits.answer, sock_connect=limits.connect)

    @property
    def websocket_url(self) -> str:
        """Address of the node's WebSocket."""
        return "ws" + self.url.removeprefix("http") + "/websocket"

    async def call(self, method: str, params: dict[str, Any] | None = None) -> msgspec.Raw:
        """Result of one call as undecoded JSON."""
        body = await self._post({"jsonrpc": "2.0", "id": 0, "method": method, "params": params or {}})
        try:
            envelope = wire.ENVELOPE.decode(body)
        except msgspec.MsgspecError as error:
            raise NodeUnreachable(f"node {self.url} did not answer JSON-RPC: {error}", upstream=self.url) from error
        return self._result(envelope)

    async def batch(self, calls: Sequence[Call]) -> list[msgspec.Raw]:
        """Results of several calls in order; the first error of any of them is raised.

        Split to the size the node accepts; the parts are sent one after the other.
        """
        results: list[msgspec.Raw] = []
        position = 0
        while position < len(calls):
            part = calls[position : position + self.batch_limit]
            try:
                results += await self._batch(part)
            except BatchTooLarge as error:
                if error.limit >= len(part):
                    raise
                self.batch_limit = error.limit
                continue
            position += len(part)
        return results

    async def status(self) -> NodeStatus:
        """The node's chain, newest and oldest height."""
        answer = self._decoded(wire.STATUS, await self.call("status"))
        return NodeStatus(
            chain_id=answer.node_info.network,
            latest_height=int(answer.sync_info.latest_block_height),
            earliest_height=int(answer.sync_info.earliest_block_height),
            latest_time=answer.sync_info.latest_block_time,
            catching_up=answer.sync_info.catching_up,
        )

    async def abci_query(self, path: str, data: bytes, height: int = 0) -> bytes:
        """Answer bytes of a state query as of the end of `height` (0: newest)."""
        params = {"path": path, "data": data.hex(), "height": str(height), "prove": False}
        return self.query_value(await self.call("abci_query", params))

    def query_value(self, raw: msgspec.Raw) -> bytes:
        """Value inside a raw `abci_query` result; a refusal of the state machine is QueryFailed."""
        response = self._decoded(wire.QUERY, raw).response
        if response.code != 0:
            raise QueryFailed(response.log, query_code=response.code, upstream=self.url)
        return response.value or b""

    async def _batch(self, calls: Sequence[Call]) -> list[msgspec.Raw]:
        if len(calls) == 1:
            return [await self.call(*calls[0])]
        body = await self._post(
            [
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                for number, (method, params) in enumerate(calls)
            ]
        )
        try:
            # One answer to many requests comes as a bare object: an error about the batch as a whole.
            if not body.lstrip().startswith(b"["):
                self._result(wire.ENVELOPE.decode(body))
                raise NodeUnreachable(f"node {self.url} answered a batch with one object", upstream=self.url)
            envelopes = wire.ENVELOPES.decode(body)
        except msgspec.MsgspecError as error:
            raise NodeUnreachable(f"node {self.url} did not answer JSON-RPC: {error}", upstream=self.url) from error
        ordered: dict[Any, wire.Envelope] = {envelope.id: envelope for envelope in envelopes}
        if len(ordered) != len(calls) or set(ordered) != set(range(len(calls))):
            raise NodeUnreachable(f"node {self.url} left requests of a batch unanswered", upstream=self.url)
        return [self._result(ordered[number]) for number in range(len(calls))]

    async def _post(self, payload: Any) -> bytes:
        try:
            async with self._session.post(
                self.url + "/",
                data=msgspec.json.encode(payload),
                headers={"Content-Type": "application/json"},
                timeout=self._timeout,
            ) as response:
                body = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise NodeUnreachable(f"node {self.url} can't be reached: {reason}", upstream=self.url) from error
        # A node reports JSON-RPC errors with 200 or 500; anything that is not JSON is a proxy speaking.
        if not body:
            raise NodeUnreachable(f"node {self.url} answered {response.status} with nothing", upstream=self.url)
        return body

    def _result(self, envelope: wire.Envelope) -> msgspec.Raw:
        if envelope.error is not None:
            error = envelope.error
            raise refusal(error.code, error.message, error.data, self.url)
        return envelope.result

    def _decoded(self, decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw) -> Any:
        try:
            return decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise NodeUnreachable(f"node {self.url} answered something else: {error}", upstream=self.url) from error
