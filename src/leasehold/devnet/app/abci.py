"""The ABCI 2.0 boundary between consensus and the state machine.

An in-process consensus drives it by default; whatever else speaks these calls may do so instead.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Event:
    """An ABCI event; every attribute of a delivered event is indexed."""

    type: str
    attributes: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class TxResult:
    """Outcome of a transaction, delivered or checked; `data` is None on failure."""

    code: int = 0
    data: bytes | None = None
    log: str = ""
    info: str = ""
    gas_wanted: int = 0
    gas_used: int = 0
    events: list[Event] = field(default_factory=list)
    codespace: str = ""


@dataclass(frozen=True, slots=True)
class ValidatorUpdate:
    """A new voting power of an ed25519 consensus key; zero removes it."""

    public_key: bytes
    power: int


@dataclass(frozen=True, slots=True)
class VoteInfo:
    """What a validator did in the last commit: `flag` is 1 absent, 2 commit, 3 nil."""

    address: bytes
    power: int
    flag: int


@dataclass(frozen=True, slots=True)
class Misbehavior:
    """Evidence against a validator: kind 1 is a duplicate vote, 2 a light-client attack."""

    kind: int
    address: bytes
    power: int
    height: int
    time_ns: int
    total_power: int


@dataclass(frozen=True, slots=True)
class ConsensusParams:
    """Limits of blocks and evidence."""

    block_max_bytes: int = 22_020_096
    block_max_gas: int = -1
    evidence_max_age_blocks: int = 100_000
    evidence_max_age_ns: int = 172_800_000_000_000
    evidence_max_bytes: int = 1_048_576
    pub_key_types: tuple[str, ...] = ("ed25519",)
    app_version: int = 0
    vote_extensions_enable_height: int = 0


@dataclass(frozen=True, slots=True)
class InitChain:
    chain_id: str
    time_ns: int
    initial_height: int
    app_state: bytes
    params: ConsensusParams
    validators: tuple[ValidatorUpdate, ...] = ()


@dataclass(frozen=True, slots=True)
class InitChainResult:
    validators: tuple[ValidatorUpdate, ...]
    app_hash: bytes
    params: ConsensusParams


@dataclass(frozen=True, slots=True)
class FinalizeBlock:
    """A decided block; `commit` tells who signed the previous one."""

    height: int
    time_ns: int
    txs: tuple[bytes, ...]
    proposer: bytes
    commit: tuple[VoteInfo, ...] = ()
    misbehavior: tuple[Misbehavior, ...] = ()
    hash: bytes = b""
    next_validators_hash: bytes = b""


@dataclass(slots=True)
class FinalizeResult:
    """Results of a block; `app_hash` is that of the state after it."""

    events: list[Event]
    tx_results: list[TxResult]
    validator_updates: list[ValidatorUpdate]
    params: ConsensusParams
    app_hash: bytes


@dataclass(slots=True)
class QueryResult:
    code: int = 0
    log: str = ""
    info: str = ""
    index: int = 0
    key: bytes | None = None
    value: bytes | None = None
    height: int = 0
    codespace: str = ""


@dataclass(frozen=True, slots=True)
class AppInfo:
    name: str
    version: str
    app_version: int
    last_height: int
    last_app_hash: bytes


# A query that takes long, to be awaited while blocks are sealed; None stands for all others.
LengthyQuery = Awaitable[QueryResult] | None


class Application(Protocol):
    """A replicated state machine. Calls come from one thread; `query` may run between any two of them."""

    def info(self) -> AppInfo: ...

    def init_chain(self, request: InitChain) -> InitChainResult: ...

    def check_tx(self, tx: bytes, *, recheck: bool = False) -> TxResult:
        """Judge a transaction for the mempool; keeps its effect on sequence and fees until the next commit."""
        ...

    def finalize_block(self, request: FinalizeBlock) -> FinalizeResult: ...

    def commit(self) -> None:
        """Make the finalized block's state the head."""
        ...

    def query(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult: ...
