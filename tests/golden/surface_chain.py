"""The recorded chain rebuilt behind a node and its servers, so that it can be asked as the original was."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

from tests.golden.foreign_contracts import stand_in
from tests.golden.replay_world import Recording, unzipped
from tests.golden.surface_cases import Case, shown_height

from leasehold.chain.comet.validators import address_of
from leasehold.chain.registry import registry
from leasehold.chain.transactions import UndecodableTransaction, decode_transaction
from leasehold.core import fixed_point
from leasehold.core.clock import NANOSECONDS, ManualClock, parse_rfc3339
from leasehold.core.errors import LeaseholdError
from leasehold.core.settings import Identity
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.consensus.blockstore import BlockStore
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.keys import ValidatorKeys
from leasehold.devnet.consensus.mempool import Mempool
from leasehold.devnet.consensus.node import Node, NodeIdentity
from leasehold.devnet.grpc.server import GrpcServer
from leasehold.devnet.lcd.listener import listening
from leasehold.devnet.lcd.server import LcdApplication
from leasehold.devnet.rpc.server import RpcServer
from leasehold.devnet.services import node_handlers
from leasehold.devnet.state.versions import VersionedState

MINIMUM_GAS_PRICE = "0.0025"
# The original's configuration: requests a batch may have, blocks whose state its pruned node keeps.
MAX_BATCH = 10
KEEP_RECENT = 10
# Blocks that no node may drop, because evidence of that age is still taken.
EVIDENCE_AGE = 100
# Blocks further apart than any round takes: the original was stopped in between.
RESTART_NS = 7 * NANOSECONDS
BLOCK_NS = NANOSECONDS * 5 // 2
_STORE_CODE = "cosmwasm.wasm.v1.MsgStoreCode"


class BorrowedKeys(ValidatorKeys):
    """A public key without its secret: the node shows it as its own, and its votes carry no real signature."""

    def __init__(self, public: bytes) -> None:
        super().__init__()
        self._public[address_of(public)] = public

    def __contains__(self, address: object) -> bool:
        return address in self._public

    def __len__(self) -> int:
        return len(self._public)

    def __iter__(self) -> Any:
        return iter(self._public)

    def sign(self, address: bytes, data: bytes) -> bytes:
        return sha256(data).digest() * 2


@dataclass(frozen=True, slots=True)
class Facts:
    """What a recorded node said about itself."""

    identity: NodeIdentity
    public_key: bytes

    @classmethod
    def gather(cls, cases: Iterable[Case]) -> Facts | None:
        """From the first answer that tells it all."""
        for case in cases:
            body = case.response.get("body")
            result = body.get("result") if isinstance(body, dict) else None
            if isinstance(result, dict) and "node_info" in result and "validator_info" in result:
                info = result["node_info"]
                identity = NodeIdentity(
                    id=info["id"],
                    moniker=info["moniker"],
                    listen_address=info["listen_addr"],
                    rpc_address=info["other"]["rpc_address"],
                    version=info["version"],
                    channels=info["channels"],
                )
                return cls(identity, base64.b64decode(result["validator_info"]["pub_key"]["value"]))
        return None

    @classmethod
    def guess(cls, recording: Recording) -> Facts:
        """From the genesis, where no answer tells: the validator that signed, and the name it gave itself."""
        message = recording.genesis["app_state"]["genutil"]["gen_txs"][0]["body"]["messages"][0]
        identity = NodeIdentity(
            moniker=message["description"]["moniker"],
            listen_address="tcp://127.0.0.1:36656",
            rpc_address="tcp://127.0.0.1:36657",
        )
        return cls(identity, base64.b64decode(message["pubkey"]["key"]))


class RebuiltChain:
    """The recorded chain from its genesis, sealed block by block."""

    def __init__(self, recording: Recording, genesis: bytes, facts: Facts, *, window: int = 0) -> None:
        self.blocks = recording.blocks
        self._hashes: dict[bytes, bytes] = {}
        identity = Identity(
            prefix="nolus", base_denom="unls", display="NLS", namespace="nolus",
            chain_id=recording.genesis["chain_id"],
        )  # fmt: skip
        self.registry = registry("nolus")
        state = VersionedState(recent=len(self.blocks) + 100, window=window)
        self.app = ChainApplication(identity, self.registry, state)
        self._install_stand_ins()
        self.app.modules.tax.minimum_gas_price = fixed_point.parse(MINIMUM_GAS_PRICE)
        self.clock = ManualClock(parse_rfc3339(self.blocks[0]["time"]))
        self.node = Node(
            self.app,
            BlockStore(":memory:"),
            Genesis.parse(genesis),
            clock=self.clock,
            keys=BorrowedKeys(facts.public_key),
            identity=facts.identity,
        )
        self.node.start()
        self.app.queries.extend(node_handlers(self.app, self.node, minimum_gas_price=MINIMUM_GAS_PRICE))

    def _install_stand_ins(self) -> None:
        for block in self.blocks:
            for raw in block["txs"]:
                try:
                    messages = decode_transaction(self.registry, base64.b64decode(raw)).messages
                except UndecodableTransaction:
                    continue
                for message in messages:
                    if message.DESCRIPTOR.full_name == _STORE_CODE:
                        code = unzipped(message.wasm_byte_code)
                        self.app.modules.wasm.install(stand_in(code), sha256(code).digest())

    @property
    def height(self) -> int:
        return self.node.height

    def advance(self, height: int) -> None:
        """Seal recorded blocks until the chain stands at a height."""
        while self.height < height:
            self.seal_next()

    def seal_next(self) -> None:
        """Seal the next recorded block; after a long pause the original had been started anew, its mempool empty."""
        if self.height >= len(self.blocks):
            self.seal_empty(1, self.node.time_ns + BLOCK_NS)
            return
        block = self.blocks[self.height]
        time_ns = parse_rfc3339(block["time"])
        if self.height > 1 and time_ns - self.node.time_ns > RESTART_NS:
            self.node.mempool = Mempool(lambda tx, recheck: self.app.check_tx(tx, recheck=recheck))
        self.clock.set(time_ns)
        self.node.seal(time_ns, [base64.b64decode(raw) for raw in block["txs"]], signers=_signers(block))
        stored = self.node.store.block(self.height)
        assert stored is not None
        self._hashes[bytes.fromhex(block["hash"])] = stored.id.hash

    def translated(self, request: Any) -> Any:
        """A recorded request with the hashes of recorded blocks replaced by those of ours."""
        text = json.dumps(request)
        for theirs, ours in self._hashes.items():
            for old, new in (
                (theirs.hex(), ours.hex()),
                (theirs.hex().upper(), ours.hex().upper()),
                (base64.b64encode(theirs).decode(), base64.b64encode(ours).decode()),
            ):
                text = text.replace(old, new)
        return json.loads(text)

    def send_what_came_before(self, raw: bytes, *, itself: bool) -> None:
        """Offer the mempool what the original's had: whatever was delivered before a transaction, or it too."""
        coming = [base64.b64decode(tx) for block in self.blocks[self.height : self.height + 6] for tx in block["txs"]]
        before = coming[: coming.index(raw)] if raw in coming else []
        for tx in [*before, raw] if itself else before:
            with suppress(LeaseholdError):
                self.node.submit(tx)

    def seal_empty(self, count: int, until_ns: int) -> None:
        """Seal blocks that the recording does not have, evenly until a time, signed as the last recorded one."""
        start, signers = self.node.time_ns, _signers(self.blocks[min(self.height, len(self.blocks)) - 1])
        for number in range(1, count + 1):
            self.node.seal(start + (until_ns - start) * number // count, [], signers=signers)

    def close(self) -> None:
        self.node.store.close()


def _signers(block: dict[str, Any]) -> dict[bytes, int]:
    return {bytes.fromhex(address): flag for flag, address in block["last_commit_flags"] if address}


def pruned(recording: Recording, genesis: bytes, cases: list[Case], facts: Facts) -> RebuiltChain:
    """The chain as the pruned node had it: forked off while the original stood still, with blocks of its own."""
    tip, base, time_ns = _pruned_range(cases)
    chain = RebuiltChain(recording, genesis, facts, window=KEEP_RECENT + 1)
    while chain.height < tip and parse_rfc3339(chain.blocks[chain.height]["time"]) <= time_ns:
        chain.seal_next()
    if chain.height < tip:
        chain.seal_empty(tip - chain.height, time_ns)
    with chain.node.store.transaction():
        chain.node.store.prune(base)
    chain.node.pruning_window = KEEP_RECENT
    return chain


def _pruned_range(cases: list[Case]) -> tuple[int, int, int]:
    """Tip, lowest block and time of the tip, as the cases show them or as the original was configured."""
    tip = base = time_ns = asked_ns = 0
    for case in cases:
        text = str(case.response)
        for found in re.findall(r"latest height: (\d+)|'latest_block_height': '(\d+)'", text):
            tip = max(tip, *(int(number) for number in found if number))
        if found := re.search(r"lowest height is (\d+)", text):
            base = int(found[1])
        if found := re.search(r"'latest_block_time': '([^']+)'|'earliest_store_height'.*'timestamp': '([^']+)'", text):
            time_ns = parse_rfc3339(found[1] or found[2])
        tip = max(tip, shown_height(case) or 0)
        if date := (case.response.get("headers") or {}).get("Date"):
            asked_ns = int(parsedate_to_datetime(date).timestamp()) * NANOSECONDS
    if not tip:
        raise AssertionError("the pruned node's cases show no height")
    return tip, base or tip - EVIDENCE_AGE, time_ns or asked_ns - BLOCK_NS


@dataclass(frozen=True, slots=True)
class Served:
    """A chain with the ports of its surfaces."""

    chain: RebuiltChain
    rpc: int
    lcd: int
    grpc: int


@asynccontextmanager
async def served(chain: RebuiltChain) -> AsyncIterator[Served]:
    """All four surfaces of a chain on free ports, for as long as the context lasts."""
    async with AsyncExitStack() as stack:
        rpc = await stack.enter_async_context(RpcServer(chain.node, port=0, max_batch=MAX_BATCH))
        application = LcdApplication(chain.registry, chain.app.queries, chain.clock)
        lcd = await stack.enter_async_context(listening(application, "127.0.0.1", 0))
        server = GrpcServer(chain.registry, chain.app.queries, host="127.0.0.1", port=0)
        await server.start()
        stack.push_async_callback(server.stop, 0.1)
        yield Served(chain, rpc.port, lcd, server.port)
