"""The recorded chain rebuilt: its genesis under the public identity, its blocks fed again, its answers at hand."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.golden.foreign_contracts import stand_in

from leasehold.chain.comet.validators import ValidatorSet
from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import registry
from leasehold.chain.transactions import UndecodableTransaction, decode_transaction
from leasehold.core.clock import parse_rfc3339
from leasehold.core.settings import Identity
from leasehold.devnet.app import abci
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.errors import StatusError
from leasehold.devnet.state.versions import VersionedState

HELD_OUT = "held out"
_HASH = re.compile(r"[0-9A-Fa-f]{64}")
# What results of transactions may be called.
_NAMES = ("results", "txs_results", "tx_results", "result", "tx_result")
_WASM = "cosmwasm.wasm.v1."
# Messages that call into a contract; storing code or changing an admin does not.
_CALLS = {"MsgInstantiateContract", "MsgInstantiateContract2", "MsgExecuteContract", "MsgMigrateContract"}
# Refusals that come from the chain before a contract is called, by codespace and code.
_BEFORE_THE_CALL = {("sdk", 4), ("sdk", 5), ("wasm", 22), ("wasm", 28)}
_COMMIT = 2


@dataclass(slots=True)
class Recording:
    """Everything found in a folder of recordings that a replay needs."""

    genesis: dict[str, Any]
    blocks: list[dict[str, Any]]
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    block_results: dict[int, dict[str, Any]] = field(default_factory=dict)
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    operators: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Replayed:
    """A block fed again, beside what was recorded of it."""

    height: int
    recorded: dict[str, Any]
    result: abci.FinalizeResult
    hashes: list[str]


def load(golden: Path) -> Recording:
    """Find genesis, blocks, results and states by content, whatever the files are called."""
    documents = [json.loads(path.read_text()) for path in sorted((golden / "chain").rglob("*.json"))]
    genesis = next(d for d in documents if isinstance(d, dict) and "app_state" in d)
    blocks = next(d["blocks"] for d in documents if _is_replay(d))
    recording = Recording(genesis, blocks)
    supplied: dict[int, list[dict[str, Any]]] = {}
    for document in documents:
        _gather(document, recording)
        for state in document.get("states", []) if isinstance(document, dict) else []:
            recording.states[int(state["height"])] = state
        if not _is_replay(document) and not (isinstance(document, dict) and "cases" in document):
            _supply(document, recording, supplied)
    for block in blocks:
        found = supplied.get(int(block["height"]), [])
        if block["results"] == HELD_OUT and len(found) == len(block["txs"]):
            block["results"] = found
    accounts = next(
        d
        for d in documents
        if isinstance(d, dict)
        and "module_accounts" in d
        and "accounts" in d
        and isinstance(d["accounts"], dict)
        and "states" not in d
    )
    recording.addresses = {name: entry["address"] for name, entry in accounts["accounts"].items()}
    recording.addresses |= accounts["module_accounts"]
    recording.operators = {name: entry["valoper"] for name, entry in accounts["accounts"].items() if "valoper" in entry}
    return recording


def _is_replay(document: Any) -> bool:
    blocks = document.get("blocks") if isinstance(document, dict) else None
    return isinstance(blocks, list) and bool(blocks) and "last_commit_flags" in blocks[0]


def _supply(node: Any, recording: Recording, supplied: dict[int, list[dict[str, Any]]]) -> None:
    """Results of blocks whose own are held out, by height or by hash, whatever they are wrapped in."""
    if isinstance(node, list):
        for value in node:
            _supply(value, recording, supplied)
        return
    if not isinstance(node, dict):
        return
    digest = next((node[name] for name in ("hash", "tx_hash", "txhash") if name in node), None)
    if isinstance(digest, str) and _HASH.fullmatch(digest) and (found := _one_result(node)) is not None:
        recording.transactions.setdefault(digest.upper(), found)
        return
    if "height" in node and (listed := _results(node)) is not None:
        known = supplied.setdefault(int(node["height"]), [])
        # Those that come one by one have their place in the block with them.
        if not known or "index" in node:
            known.extend(listed)
        return
    for key, value in node.items():
        if key.isdigit() and (listed := _results(value)) is not None:
            supplied[int(key)] = listed
        elif _HASH.fullmatch(key) and isinstance(value, dict) and (found := _one_result(value)) is not None:
            recording.transactions.setdefault(key.upper(), found)
        else:
            _supply(value, recording, supplied)


def _results(value: Any) -> list[dict[str, Any]] | None:
    """The results of one block, bare or under a name; one alone counts as a list."""
    if isinstance(value, dict):
        value = next((value[name] for name in _NAMES if name in value), value)
    if isinstance(value, dict):
        value = [value]
    return value if isinstance(value, list) and value and all(map(_is_result, value)) else None


def _one_result(value: dict[str, Any]) -> dict[str, Any] | None:
    return value if _is_result(value) else next((value[name] for name in _NAMES if _is_result(value.get(name))), None)


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and {"code", "codespace", "log"} <= value.keys()


def _gather(node: Any, recording: Recording) -> None:
    """Delivered transactions by hash and block results by height, at any depth."""
    if isinstance(node, dict):
        result = node.get("tx_result")
        if isinstance(result, dict) and isinstance(result.get("events"), list):
            digest = node.get("hash") or node.get("request_hash")
            if isinstance(digest, str):
                recording.transactions.setdefault(digest.upper(), result)
        request, response = node.get("request"), node.get("response")
        if isinstance(request, dict) and isinstance(response, dict) and "tx_hash" in request:
            delivered = response.get("tx_result")
            if isinstance(delivered, dict):
                recording.transactions[request["tx_hash"].upper()] = delivered
        if "txs_results" in node and "finalize_block_events" in node and "height" in node:
            recording.block_results[int(node["height"])] = node
        for value in node.values():
            _gather(value, recording)
    elif isinstance(node, list):
        for value in node:
            _gather(value, recording)


class ReplayWorld:
    """An application on the recorded genesis, fed block by block."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        genesis = recording.genesis
        identity = Identity(
            prefix="nolus", base_denom="unls", display="NLS", namespace="nolus", chain_id=genesis["chain_id"]
        )
        self.registry = registry("nolus")
        self._codec = JsonCodec(self.registry)
        self.app = ChainApplication(identity, self.registry, VersionedState(recent=len(recording.blocks) + 1))
        self._install_stand_ins()
        started = self.app.init_chain(
            abci.InitChain(
                chain_id=genesis["chain_id"],
                time_ns=parse_rfc3339(genesis["genesis_time"]),
                initial_height=int(genesis["initial_height"]),
                app_state=json.dumps(genesis["app_state"]).encode(),
                params=_consensus_params(genesis["consensus"]["params"]),
            )
        )
        self.genesis_updates = started.validators
        first = ValidatorSet.create((update.public_key, update.power) for update in started.validators)
        self._sets = {1: first, 2: first.copy()}

    def _install_stand_ins(self) -> None:
        for block in self.recording.blocks:
            for raw in block["txs"]:
                for message in self.messages(base64.b64decode(raw)):
                    if message.DESCRIPTOR.full_name == _WASM + "MsgStoreCode":
                        code = unzipped(message.wasm_byte_code)
                        self.app.modules.wasm.install(stand_in(code), sha256(code).digest())

    def messages(self, raw: bytes) -> list[Any]:
        """Messages of a transaction; none when it can't be decoded."""
        try:
            return list(decode_transaction(self.registry, raw).messages)
        except UndecodableTransaction:
            return []

    def calls_contract(self, raw: bytes, result: dict[str, Any] | None) -> bool:
        """Whether a transaction ran one of the foreign contracts."""
        names = {message.DESCRIPTOR.full_name for message in self.messages(raw)}
        if not any(name.removeprefix(_WASM) in _CALLS for name in names if name.startswith(_WASM)):
            return False
        return result is None or (result["codespace"], result["code"]) not in _BEFORE_THE_CALL

    def run(self, until: int | None = None) -> Iterator[Replayed]:
        """Feed the recorded blocks in order."""
        for block in self.recording.blocks:
            height = int(block["height"])
            if until is not None and height > until:
                return
            result = self.app.finalize_block(self._request(height, block))
            self.app.commit()
            self._rotate(height, result)
            yield Replayed(height, block, result, [digest.upper() for digest in block["tx_hashes"]])

    def _request(self, height: int, block: dict[str, Any]) -> abci.FinalizeBlock:
        votes = ()
        if block["last_commit_flags"]:
            members = self._sets[height - 1].validators
            flags = [flag for flag, _ in block["last_commit_flags"]]
            assert len(flags) == len(members), f"height {height}: {len(flags)} flags for {len(members)} validators"
            votes = tuple(
                abci.VoteInfo(member.address, member.power, flag) for member, flag in zip(members, flags, strict=True)
            )
        return abci.FinalizeBlock(
            height=height,
            time_ns=parse_rfc3339(block["time"]),
            txs=tuple(base64.b64decode(raw) for raw in block["txs"]),
            proposer=self._sets[height].validators[0].address,
            commit=votes,
            next_validators_hash=self._sets[height + 1].hash(),
        )

    def _rotate(self, height: int, result: abci.FinalizeResult) -> None:
        following = self._sets[height + 1].copy()
        following.update((update.public_key, update.power) for update in result.validator_updates)
        self._sets[height + 2] = following

    def read(self, path: str, height: int = 0, **fields: Any) -> Any:
        """LCD form of a gRPC method's answer at a height; None when it is refused."""
        method = self.registry.method_by_path[path]
        try:
            answer = self.app.queries.call(path, method.request_type(**fields), height)
        except StatusError:
            return None
        return json.loads(self._codec.encode(answer))


def unzipped(data: bytes) -> bytes:
    """Code as it is run: gzip is undone."""
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _consensus_params(document: dict[str, Any]) -> abci.ConsensusParams:
    return abci.ConsensusParams(
        block_max_bytes=int(document["block"]["max_bytes"]),
        block_max_gas=int(document["block"]["max_gas"]),
        evidence_max_age_blocks=int(document["evidence"]["max_age_num_blocks"]),
        evidence_max_age_ns=int(document["evidence"]["max_age_duration"]),
        evidence_max_bytes=int(document["evidence"]["max_bytes"]),
        pub_key_types=tuple(document["validator"]["pub_key_types"]),
    )
