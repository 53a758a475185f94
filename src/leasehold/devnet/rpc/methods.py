"""The methods of the RPC, each a function of the node; a failure's message is what the caller reads in `data`."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from leasehold.chain.comet import rendering as comet
from leasehold.chain.comet.query import MAX_LENGTH, Query, QuerySyntaxError, parse
from leasehold.chain.comet.validators import address_of
from leasehold.devnet.app.abci import QueryResult
from leasehold.devnet.consensus.blockstore import StoredBlock
from leasehold.devnet.consensus.genesis import render_params
from leasehold.devnet.consensus.keys import derived_key
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.search import Searcher
from leasehold.devnet.rpc import consensus_state, rendering
from leasehold.devnet.rpc.broadcasting import COMMIT_TIMEOUT_SECONDS, Broadcasting, Failure, Panic, Result
from leasehold.devnet.rpc.gojson import escaped

PER_PAGE, MAX_PER_PAGE = 30, 100
MAX_BLOCK_METAS = 20
GENESIS_CHUNK = 16 * 1024 * 1024
RENDERED_BLOCKS, RENDERED_BYTES = 256, 65_536


class Methods(Broadcasting):
    """Answers; large searches run in a thread of their own so that sealing goes on."""

    def __init__(self, node: Node, *, commit_timeout: float = COMMIT_TIMEOUT_SECONDS) -> None:
        super().__init__(node, commit_timeout=commit_timeout)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rpc-search")
        self._searcher: Searcher | None = None
        self._status: tuple[bytes, int, bytes] | None = None
        self._chunks: list[bytes] | None = None
        self._rendered: dict[bytes, bytes] = {}
        self._frozen: int | None = None

    def close(self) -> None:
        super().close()
        self._pool.shutdown()
        if self._searcher is not None:
            self._searcher.close()

    # Heights

    @property
    def latest(self) -> int:
        """Height of the last block there is to see."""
        return self.node.height if self._frozen is None else min(self._frozen, self.node.height)

    def freeze(self, height: int | None) -> None:
        """Answer as a replica that got stuck at a height, or, with None, as one that is up to date again."""
        self._frozen = height

    def _height(self, latest: int, wanted: int | None) -> int:
        if wanted is None:
            return latest
        if wanted <= 0:
            raise Failure(f"height must be greater than 0, but got {wanted}")
        if wanted > latest:
            raise Failure(f"height {wanted} must be less than or equal to the current blockchain height {latest}")
        if wanted < self.node.base:
            raise Failure(f"height {wanted} is not available, lowest height is {self.node.base}")
        return wanted

    def _uncommitted(self) -> int:
        """The height being worked on; without any block, none."""
        return self.latest + 1 if self.latest else 0

    # Information

    def health(self) -> Result:
        return {}

    def status(self) -> Result:
        node = self.node
        # The head's hash, not its height: after a revert another block may stand at the same height.
        head = node.head.id.hash if self._frozen is None else str(self._frozen).encode()
        if self._status is None or self._status[:2] != (head, node.base):
            self._status = (head, node.base, rendering.encoded(self._render_status()))
        return msgspec.Raw(self._status[2])

    def _render_status(self) -> dict[str, Any]:
        node = self.node
        latest, earliest = node.store.block(self.latest), node.store.block(node.base)
        key = self._own_key()
        address = address_of(key)
        validators = node.store.validators(self._uncommitted())
        own = validators.find(address) if validators else None
        return {
            "node_info": self.node_info(),
            "sync_info": {
                **_sync_info("latest", latest),
                **_sync_info("earliest", earliest),
                "catching_up": not self.latest,
            },
            "validator_info": {
                "address": comet.hexadecimal(address),
                "pub_key": comet.public_key(key),
                "voting_power": str(own.power if own else 0),
            },
        }

    def node_info(self) -> dict[str, Any]:
        """What the node says about itself; the LCD shows the same."""
        identity = self.node.identity
        app_version = self.node.head.params.app_version
        return {
            "protocol_version": {"p2p": "8", "block": "11", "app": str(app_version)},
            "id": identity.id,
            "listen_addr": identity.listen_address,
            "network": self.node.chain_id,
            "version": identity.version,
            "channels": identity.channels,
            "moniker": identity.moniker,
            "other": {"tx_index": "on", "rpc_address": identity.rpc_address},
        }

    def _own_key(self) -> bytes:
        own = self.node.keys.public_keys()
        return own[0] if own else derived_key(0, "observer").public_key().public_bytes_raw()

    def net_info(self) -> Result:
        return {"listening": True, "listeners": ["Listener(@)"], "n_peers": "0", "peers": []}

    def genesis(self) -> Result:
        if len(self._genesis_chunks()) > 1:
            raise Failure("genesis response is large, please use the genesis_chunked API instead")
        return {"genesis": msgspec.Raw(self.node.genesis.document)}

    def genesis_chunked(self, chunk: int) -> Result:
        chunks = self._genesis_chunks()
        # The original takes the number for a signed one and does not expect it to be negative.
        chunk = chunk if chunk < 1 << 63 else chunk - (1 << 64)
        if chunk < 0:
            raise Panic(f"runtime error: index out of range [{chunk}]", is_error=True)
        if chunk >= len(chunks):
            raise Failure(f"there are {len(chunks) - 1} chunks, {chunk} is invalid")
        return {"chunk": str(chunk), "total": str(len(chunks)), "data": b64encode(chunks[chunk]).decode()}

    def _genesis_chunks(self) -> list[bytes]:
        if self._chunks is None:
            document = escaped(self.node.genesis.document)
            self._chunks = [document[at : at + GENESIS_CHUNK] for at in range(0, len(document), GENESIS_CHUNK)]
        return self._chunks

    def abci_info(self) -> Result:
        info = self.node.app.info()
        return rendering.app_info(info if self._frozen is None else replace(info, last_height=self.latest))

    def abci_query(self, path: str, data: bytes, height: int, prove: bool) -> Result:
        if self._frozen is not None:
            height = height or self.latest
        pending = self.node.lengthy_query(path, data, height, prove)
        if pending is not None:
            return self._lengthy_query(pending)
        return rendering.query_result(self.node.query(path, data, height, prove))

    async def _lengthy_query(self, pending: Awaitable[QueryResult]) -> Result:
        return rendering.query_result(await pending)

    def consensus_state(self) -> Result:
        return consensus_state.summary(self.node)

    def dump_consensus_state(self) -> Result:
        return consensus_state.dump(self.node)

    # Blocks

    def block(self, height: int | None) -> Result:
        return self._rendered_block(self.node.store.block(self._height(self.latest, height)))

    def _rendered_block(self, stored: StoredBlock | None) -> Result:
        """A block as JSON, kept for the next who asks; its hash names it for good."""
        if stored is None or stored.size > RENDERED_BYTES:
            return rendering.block(stored)
        known = self._rendered.get(stored.id.hash)
        if known is None:
            known = rendering.encoded(rendering.block(stored))
            if len(self._rendered) >= RENDERED_BLOCKS:
                del self._rendered[next(iter(self._rendered))]
            self._rendered[stored.id.hash] = known
        return msgspec.Raw(known)

    def block_by_hash(self, digest: bytes) -> Result:
        height = self.node.store.height_of(digest) if digest else None
        return self._rendered_block(self.node.store.block(height) if height is not None else None)

    def header(self, height: int | None) -> Result:
        return self._header(self._height(self.latest, height))

    def header_by_hash(self, digest: bytes) -> Result:
        return self._header(self.node.store.height_of(digest) if digest else None)

    def _header(self, height: int | None) -> Result:
        stored = self.node.store.block(height) if height else None
        return {"header": comet.header(stored.block.header) if stored else None}

    def blockchain(self, low: int, high: int) -> Result:
        if low < 0 or high < 0:
            raise Failure("heights must be non-negative")
        latest = self.latest
        high = min(high or latest, latest)
        low = max(low or 1, self.node.base, high - MAX_BLOCK_METAS + 1)
        if low > high:
            raise Failure(f"min height {low} can't be greater than max height {high}")
        found = (self.node.store.block(height) for height in range(high, low - 1, -1))
        return {"last_height": str(latest), "block_metas": [rendering.block_meta(stored) for stored in found if stored]}

    def commit(self, height: int | None) -> Result:
        latest = self.latest
        chosen = self._height(latest, height)
        stored = self.node.store.block(chosen)
        if stored is None:
            return None
        if chosen == latest == self.node.height:
            votes, canonical = self.node.seen_commit(), False
        else:
            following = self.node.store.block(chosen + 1)
            votes, canonical = (following.block.last_commit if following else None), chosen != latest
        shown = comet.commit(votes) if votes else None
        return {
            "signed_header": {"header": comet.header(stored.block.header), "commit": shown},
            "canonical": canonical,
        }

    def block_results(self, height: int | None) -> Result:
        chosen = self._height(self.latest, height)
        results = self.node.store.results(chosen)
        if results is None:
            raise Failure(f"could not find results for height #{chosen}")
        return rendering.block_results(chosen, results)

    def validators(self, height: int | None, page: int | None, per_page: int | None) -> Result:
        chosen = self._height(self._uncommitted(), height)
        found = self.node.store.validators(chosen) if chosen else None
        if found is None:
            raise Failure(f"could not find validator set for height #{chosen}")
        span = _page_span(len(found.validators), page, per_page)
        return rendering.validators(chosen, found.validators[span], len(found.validators))

    def consensus_params(self, height: int | None) -> Result:
        chosen = self._height(self._uncommitted(), height)
        params = self.node.store.params(chosen) if chosen else None
        if params is None:
            raise Failure(f"could not find consensus params for height #{chosen}: value retrieved from db is empty")
        return {"block_height": str(chosen), "consensus_params": render_params(params)}

    # Transactions

    def tx(self, digest: bytes, prove: bool) -> Result:
        if not digest:
            raise Failure("transaction hash cannot be empty")
        found = self.node.store.tx(digest)
        if found is None:
            raise Failure(f"tx ({comet.hexadecimal(digest)}) not found")
        return rendering.indexed_tx(found, self.node.store.block(found.height) if prove else None)

    async def tx_search(self, text: str, prove: bool, page: int | None, per_page: int | None, order: str) -> Result:
        if len(text.encode()) > MAX_LENGTH:
            raise Failure("maximum query length exceeded")
        found = await self._search(lambda searcher, query: searcher.txs(query), text)
        found = _ordered(found, order, default="asc")
        listed = []
        for place in found[_page_span(len(found), page, per_page)]:
            indexed = self.node.store.tx_at(place)
            if indexed is not None:
                listed.append(rendering.indexed_tx(indexed, self.node.store.block(indexed.height) if prove else None))
        return {"txs": listed, "total_count": str(len(found))}

    async def block_search(self, text: str, page: int | None, per_page: int | None, order: str) -> Result:
        found = await self._search(lambda searcher, query: searcher.blocks(query), text)
        found = _ordered(found, order, default="desc")
        stored = (self.node.store.block(height) for height in found[_page_span(len(found), page, per_page)])
        return {"blocks": [rendering.block(entry) for entry in stored if entry], "total_count": str(len(found))}

    async def _search(self, find: Callable[[Searcher, Query], list[int]], text: str) -> list[int]:
        try:
            query = parse(text)
        except QuerySyntaxError as error:
            raise Failure(str(error)) from None
        store = self.node.store
        if store.path == ":memory:":
            return find(Searcher(store.connection), query)
        store.flush()
        if self._searcher is None:
            self._searcher = Searcher.open(store.path)
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(find, self._searcher, query))

    def unconfirmed_txs(self, limit: int | None) -> Result:
        mempool = self.node.mempool
        return rendering.unconfirmed(mempool.first(_per_page(limit)), len(mempool), mempool.size_bytes)

    def num_unconfirmed_txs(self) -> Result:
        return rendering.unconfirmed(None, len(self.node.mempool), self.node.mempool.size_bytes)


def _sync_info(prefix: str, stored: StoredBlock | None) -> dict[str, str]:
    header = stored.block.header if stored else None
    return {
        f"{prefix}_block_hash": comet.hexadecimal(stored.id.hash) if stored else "",
        f"{prefix}_app_hash": comet.hexadecimal(header.app_hash) if header else "",
        f"{prefix}_block_height": str(header.height if header else 0),
        f"{prefix}_block_time": comet.time(header.time_ns if header else 0),
    }


def _ordered(found: list[int], order: str, *, default: str) -> list[int]:
    if order not in ("", "asc", "desc"):
        raise Failure("expected order_by to be either `asc` or `desc` or empty")
    return found[::-1] if (order or default) == "desc" else found


def _per_page(wanted: int | None) -> int:
    return PER_PAGE if wanted is None or wanted < 1 else min(wanted, MAX_PER_PAGE)


def _page_span(total: int, page: int | None, per_page: int | None) -> slice:
    size = _per_page(per_page)
    pages = max(1, -(-total // size))
    if page is not None and not 1 <= page <= pages:
        raise Failure(f"page should be within [1, {pages}] range, given {page}")
    start = ((page or 1) - 1) * size
    return slice(start, start + size)
