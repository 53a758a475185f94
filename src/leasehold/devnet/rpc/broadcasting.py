"""Methods of the RPC that hand something to the chain: transactions to its mempool, evidence to its next block."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from leasehold.chain.comet import rendering as comet
from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.evidence import Vote
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.devnet.app.abci import TxResult
from leasehold.devnet.consensus.node import Node, SealedBlock
from leasehold.devnet.rpc import rendering

COMMIT_TIMEOUT_SECONDS = 10.0

Result = Any


class Failure(LeaseholdError):
    """A method can't answer; the message is the original's."""


class Panic(Exception):
    """What makes the original's handler panic, with the text it recovers with; `is_error` tells Go's own from words."""

    def __init__(self, text: str, *, is_error: bool = False) -> None:
        super().__init__(text)
        self.is_error = is_error


class Broadcasting:
    """What comes from outside, and what became of it."""

    def __init__(self, node: Node, *, commit_timeout: float = COMMIT_TIMEOUT_SECONDS) -> None:
        self.node = node
        self._commit_timeout = commit_timeout
        self._waiting: dict[bytes, list[asyncio.Future[SealedBlock]]] = {}
        node.add_listener(self._sealed)

    def close(self) -> None:
        self.node.remove_listener(self._sealed)

    def check_tx(self, tx: bytes) -> Result:
        return rendering.tx_result(self.node.app.check_tx(tx))

    def broadcast_tx_sync(self, tx: bytes) -> Result:
        return rendering.broadcast(tx, self.node.submit(tx))

    def broadcast_tx_async(self, tx: bytes) -> Result:
        self.node.submit(tx)
        return rendering.broadcast(tx, None)

    async def broadcast_tx_commit(self, tx: bytes) -> Result:
        digest = tx_hash(tx)
        future: asyncio.Future[SealedBlock] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(digest, [])
        waiting.append(future)
        try:
            try:
                checked = self.node.submit(tx)
            except LeaseholdError as error:
                raise Failure(f"error on broadcastTxCommit: {error.message}") from None
            delivered, height = None, 0
            if not checked.code:
                delivered, height = await self._delivered(future, tx)
            empty = TxResult()
            return {
                "check_tx": rendering.tx_result(checked),
                "tx_result": rendering.tx_result(delivered or empty),
                "hash": comet.hexadecimal(digest),
                "height": str(height),
            }
        finally:
            waiting.remove(future)
            if not waiting:
                self._waiting.pop(digest, None)

    async def _delivered(self, future: asyncio.Future[SealedBlock], tx: bytes) -> tuple[TxResult, int]:
        try:
            async with asyncio.timeout(self._commit_timeout):
                sealed = await future
        except TimeoutError:
            raise Failure("timed out waiting for tx to be included in a block") from None
        return sealed.results.tx_results[sealed.block.txs.index(tx)], sealed.height

    def _sealed(self, sealed: SealedBlock) -> None:
        if not self._waiting:
            return
        for tx in sealed.block.txs:
            for future in self._waiting.get(tx_hash(tx), ()):
                if not future.done():
                    future.set_result(sealed)

    def broadcast_evidence(self, evidence: bytes | None) -> Result:
        if evidence is None:
            raise Failure("no evidence was provided")
        try:
            found = comet.read_evidence(msgspec.json.decode(evidence))
        except InvalidInput as error:
            raise Failure(f"evidence.ValidateBasic failed: {error.message}") from None
        if _block_key(found.first) >= _block_key(found.second):
            raise Failure("evidence.ValidateBasic failed: duplicate votes in invalid order")
        try:
            self.node.evidence.add(found, self.node.head.params)
        except InvalidInput as error:
            raise Failure(f"failed to add evidence: {error.message}") from None
        return {"hash": comet.hexadecimal(found.hash())}


def _block_key(vote: Vote) -> tuple[bytes, bytes]:
    """What orders the two votes of evidence."""
    return vote.block_id.hash, vote.block_id.parts_hash
