"""The recorded chain through the node: an application that repeats recorded results gives the recorded blocks.

What a block's hash covers besides the application's results is the node's own work: validator sets and their rotation,
rounds, proposers, times and votes. With the recorded votes fed in, hashes must come out equal; between the recorded
ranges the votes are not known, there the sets and proposers are compared.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from leasehold.chain.comet import rendering
from leasehold.chain.comet.blocks import COMMIT
from leasehold.core.clock import ManualClock
from leasehold.devnet.app.abci import (
    AppInfo,
    Event,
    FinalizeBlock,
    FinalizeResult,
    InitChain,
    InitChainResult,
    QueryResult,
    TxResult,
    ValidatorUpdate,
)
from leasehold.devnet.consensus.blockstore import BlockStore
from leasehold.devnet.consensus.genesis import Genesis, read_params
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.dispatch import Dispatcher, HttpAnswer
from leasehold.devnet.rpc.methods import Methods
from leasehold.devnet.rpc.table import method_table

pytestmark = pytest.mark.golden

Entry = dict[str, Any]


@cache
def recordings(golden: Path) -> tuple[list[Entry], dict[int, Entry]]:
    """The replay's blocks in order, and the blocks recorded whole, found by content."""
    replayed: dict[int, Entry] = {}
    whole: dict[int, Entry] = {}
    for path in sorted(golden.glob("chain/**/*.json")):
        document = json.loads(path.read_text())
        for entry in document.get("blocks", []) if isinstance(document, dict) else []:
            if "last_commit_flags" in entry:
                replayed[int(entry["height"])] = entry
            elif isinstance(entry.get("block"), dict) and "block_results" in entry:
                whole[int(entry["height"])] = entry
    return [replayed[height] for height in sorted(replayed)], whole


def read_update(value: Entry) -> ValidatorUpdate:
    key = value["pub_key"]["Sum"]["value"]["ed25519"]
    return ValidatorUpdate(b64decode(key), int(value.get("power", "0")))


def read_events(values: list[Entry] | None) -> list[Event]:
    return [
        Event(value["type"], [(a["key"], a["value"]) for a in value.get("attributes") or []]) for value in values or []
    ]


def read_result(value: Entry) -> TxResult:
    data = value.get("data")
    return TxResult(
        int(value["code"]),
        None if data is None else b64decode(data),
        value.get("log", ""),
        value.get("info", ""),
        int(value["gas_wanted"]),
        int(value["gas_used"]),
        read_events(value.get("events")),
        value.get("codespace", ""),
    )


class Repeater:
    """An application that gives the recorded results, and made-up ones where none are recorded."""

    def __init__(self, replayed: list[Entry], whole: dict[int, Entry]) -> None:
        self.height = 0
        self.requests: list[FinalizeBlock] = []
        self._by_height = {int(entry["height"]): entry for entry in replayed}
        self._whole = whole
        self._params = read_params(whole[1]["consensus_params"])

    def info(self) -> AppInfo:
        return AppInfo("repeater", "1", 0, self.height, b"")

    def init_chain(self, request: InitChain) -> InitChainResult:
        first = [rendering.read_validator(value) for value in self._whole[1]["validators"]["validators"]]
        updates = tuple(ValidatorUpdate(value.public_key, value.power) for value in first)
        return InitChainResult(updates, bytes.fromhex(self._by_height[1]["app_hash"]), request.params)

    def check_tx(self, tx: bytes, *, recheck: bool = False) -> TxResult:
        return TxResult()

    def finalize_block(self, request: FinalizeBlock) -> FinalizeResult:
        self.requests.append(request)
        following = self._by_height.get(request.height + 1)
        updates = [read_update(value) for value in self._by_height[request.height]["validator_updates"] or []]
        app_hash = bytes.fromhex(following["app_hash"]) if following else b"\1" * 32
        recorded = self._whole.get(request.height)
        if recorded is None:
            return FinalizeResult([], [TxResult() for _ in request.txs], updates, self._params, app_hash)
        results = recorded["block_results"]
        return FinalizeResult(
            read_events(results["finalize_block_events"]),
            [read_result(value) for value in results["txs_results"] or []],
            updates,
            read_params(results["consensus_param_updates"]),
            app_hash,
        )

    def commit(self) -> None:
        self.height = self.requests[-1].height

    def query(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        return QueryResult()


@pytest.fixture(scope="module")
def rebuilt(golden: Path) -> Iterator[tuple[Node, list[Entry], dict[int, Entry]]]:
    """The whole recorded chain, sealed again."""
    replayed, whole = recordings(golden)
    if not replayed or 1 not in whole:
        pytest.skip("no recorded chain from its first block")
    store = BlockStore(":memory:")
    genesis = Genesis.load(golden / "chain" / "genesis.json")
    node = Node(Repeater(replayed, whole), store, genesis, clock=ManualClock(0))
    node.start()
    for entry in replayed:
        height = int(entry["height"])
        recorded = whole.get(height)
        commit = rendering.read_commit(recorded["block"]["block"]["last_commit"]) if recorded else None
        # Recorded votes are for recorded blocks: they fit only while the chain still is the recorded one.
        if commit is not None and height > 1 and commit.block_id != node.head.id:
            commit = None
        node.seal(
            rendering.read_time(entry["time"]),
            [b64decode(tx) for tx in entry["txs"]],
            signers={bytes.fromhex(address): flag for flag, address in entry["last_commit_flags"]},
            last_commit=commit if height > 1 else None,
        )
    yield node, replayed, whole
    store.close()


Rebuilt = tuple[Node, list[Entry], dict[int, Entry]]


def test_blocks_from_genesis_on_have_the_recorded_hashes(rebuilt: Rebuilt) -> None:
    """As long as all votes are recorded, every block comes out with its recorded id and bytes."""
    node, _, whole = rebuilt
    height = 1
    while height in whole:
        stored = node.store.block(height)
        assert stored is not None
        assert rendering.block_id(stored.id) == whole[height]["block"]["block_id"], height
        assert rendering.block(stored.block) == whole[height]["block"]["block"], height
        height += 1
    assert height > 2


def test_validator_sets_and_priorities_are_the_recorded_ones(rebuilt: Rebuilt) -> None:
    """Updates take effect where they did, and every priority is the recorded one, up to the last height."""
    node, _, whole = rebuilt
    for height, entry in whole.items():
        validators = node.store.validators(height)
        assert validators is not None
        assert [rendering.validator(value) for value in validators.validators] == entry["validators"]["validators"]


def test_proposers_rounds_and_hashes_of_sets(rebuilt: Rebuilt) -> None:
    """Who proposed, in which round, and what a header says about sets, data and parameters, is as recorded."""
    node, _, whole = rebuilt
    for height, entry in whole.items():
        stored, following = node.store.block(height), node.store.block(height + 1)
        assert stored is not None
        mine, theirs = rendering.header(stored.block.header), entry["block"]["block"]["header"]
        for name in (
            "version", "chain_id", "height", "time", "data_hash", "validators_hash", "next_validators_hash",
            "consensus_hash", "app_hash", "evidence_hash", "proposer_address",
        ):  # fmt: skip
            assert mine[name] == theirs[name], (height, name)
        if following is not None:
            assert following.block.last_commit.round == entry["commit"]["signed_header"]["commit"]["round"], height


def test_the_application_hears_who_signed(rebuilt: Rebuilt) -> None:
    """Each block tells the application how the validators of the block before voted, with their powers."""
    node, replayed, _ = rebuilt
    assert isinstance(node.app, Repeater)
    for entry, request in zip(replayed, node.app.requests, strict=True):
        flags = [flag for flag, _ in entry["last_commit_flags"]]
        assert [vote.flag for vote in request.commit] == flags, entry["height"]
        signed = sum(vote.power for vote in request.commit if vote.flag == COMMIT)
        assert signed * 3 > sum(vote.power for vote in request.commit) * 2 or not flags


def test_recorded_answers_of_the_rpc(rebuilt: Rebuilt) -> None:
    """Results, validators and parameters of every recorded block, and whole blocks and commits of the first ones."""
    node, _, whole = rebuilt
    methods = Methods(node)
    dispatcher = Dispatcher(method_table(methods))

    def ask(name: str, height: int) -> Any:
        answered = dispatcher.uri(name, f"height={height}")
        assert isinstance(answered, HttpAnswer)
        return json.loads(answered.body)["result"]

    for height, entry in whole.items():
        assert ask("block_results", height) == entry["block_results"], height
        assert ask("validators", height) == entry["validators"], height
        assert ask("consensus_params", height)["consensus_params"] == entry["consensus_params"], height
    height = 1
    while height + 1 in whole:
        assert ask("block", height) == whole[height]["block"], height
        assert ask("commit", height) == whole[height]["commit"], height
        assert ask("header", height)["header"] == whole[height]["block"]["block"]["header"], height
        height += 1
    methods.close()
