"""What agrees between a replayed chain and its recording, and what differs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.golden.replay_world import HELD_OUT, Replayed, ReplayWorld

from leasehold.devnet.app import abci

OUT_OF_GAS = 11


@dataclass(slots=True)
class Score:
    """Agreed of how many, with what differs in the others."""

    agreed: int = 0
    total: int = 0
    differences: list[str] = field(default_factory=list)

    def count(self, label: str, differences: list[str]) -> None:
        self.total += 1
        if differences:
            self.differences += [f"{label}: {difference}" for difference in differences]
        else:
            self.agreed += 1


@dataclass(slots=True)
class Judgement:
    """Scores of everything that is compared."""

    transactions: Score = field(default_factory=Score)
    blocks: Score = field(default_factory=Score)
    updates: Score = field(default_factory=Score)
    states: Score = field(default_factory=Score)
    unknown: int = 0
    foreign: int = 0


def judge(world: ReplayWorld, until: int | None = None) -> Judgement:
    """Feed every block and compare what was recorded of it."""
    judgement = Judgement()
    for block in world.run(until):
        _judge_transactions(world, block, judgement)
        recorded = world.recording.block_results.get(block.height)
        if recorded is not None:
            expected = events_of(recorded["finalize_block_events"])
            label = f"block {block.height}"
            judgement.blocks.count(label, compare_events(shown(block.result.events), expected))
        expected_updates = _updates_of(block.recorded["validator_updates"])
        found = [(update.public_key, update.power) for update in block.result.validator_updates]
        differences = [] if found == expected_updates else [f"{found} != {expected_updates}"]
        judgement.updates.count(f"updates {block.height}", differences)
        state = world.recording.states.get(block.height)
        if state is not None:
            judgement.states.count(f"state {block.height}", list(_state_differences(world, state)))
    return judgement


def _judge_transactions(world: ReplayWorld, block: Replayed, judgement: Judgement) -> None:
    for index, (digest, result) in enumerate(zip(block.hashes, block.result.tx_results, strict=True)):
        recorded = world.recording.transactions.get(digest)
        if recorded is None and block.recorded["results"] != HELD_OUT:
            recorded = block.recorded["results"][index]
        raw = base64.b64decode(block.recorded["txs"][index])
        if world.calls_contract(raw, recorded):
            judgement.foreign += 1
        elif recorded is None:
            judgement.unknown += 1
        else:
            names = ",".join(m.DESCRIPTOR.name for m in world.messages(raw))
            label = f"tx {block.height}/{index} {names}"
            judgement.transactions.count(label, list(_result_differences(result, recorded)))


def _result_differences(result: abci.TxResult, recorded: dict[str, Any]) -> Iterator[str]:
    if recorded["code"] == result.code == OUT_OF_GAS:
        return
    for name in ("code", "codespace", "log"):
        if recorded[name] != getattr(result, name):
            yield f"{name} {getattr(result, name)!r} != {recorded[name]!r}"
    data = base64.b64decode(recorded["data"]) if recorded.get("data") else b""
    if (result.data or b"") != data:
        yield f"data {(result.data or b'').hex()} != {data.hex()}"
    if "events" in recorded:
        yield from compare_events(shown(result.events), events_of(recorded["events"]))


Events = list[tuple[str, list[tuple[str, str]]]]


def shown(events: list[abci.Event]) -> Events:
    return [(event.type, list(event.attributes)) for event in events]


def events_of(documents: list[dict[str, Any]]) -> Events:
    return [(e["type"], [(a["key"], a["value"]) for a in e["attributes"]]) for e in documents]


def compare_events(found: Events, expected: Events) -> list[str]:
    """The first place where two lists of events part."""
    for index, (mine, theirs) in enumerate(zip(found, expected, strict=False)):
        if mine != theirs:
            return [f"event {index}: {mine} != {theirs}"]
    if len(found) != len(expected):
        longer = found if len(found) > len(expected) else expected
        rest = longer[min(len(found), len(expected)) :]
        return [f"{len(found)} events instead of {len(expected)}; beyond: {rest}"]
    return []


def _updates_of(documents: list[dict[str, Any]] | None) -> list[tuple[bytes, int]]:
    return [
        (base64.b64decode(entry["pub_key"]["Sum"]["value"]["ed25519"]), int(entry.get("power", "0")))
        for entry in documents or []
    ]


def _state_differences(world: ReplayWorld, state: dict[str, Any]) -> Iterator[str]:
    reader = StateReader(world, int(state["height"]))
    for name, expected in state.items():
        if name in ("height", "block_time"):
            continue
        found = getattr(reader, name)(expected)
        if found != expected:
            yield f"{name}: {found} != {expected}"


class StateReader:
    """Reads what a recorded state holds, member by member, at its height."""

    def __init__(self, world: ReplayWorld, height: int) -> None:
        self._world = world
        self._height = height

    def _ask(self, path: str, response: str = "", **fields: Any) -> Any:
        return self._world.read(path, self._height, **fields)

    def mint_state(self, expected: Any) -> Any:
        return self._ask("/nolus.mint.v1beta1.Query/MintState")

    def annual_inflation(self, expected: Any) -> Any:
        return self._ask("/nolus.mint.v1beta1.Query/AnnualInflation")

    def supply(self, expected: Any) -> Any:
        return self._ask("/cosmos.bank.v1beta1.Query/TotalSupply")["supply"]

    def community_pool(self, expected: Any) -> Any:
        return self._ask("/cosmos.distribution.v1beta1.Query/CommunityPool")["pool"]

    def pool(self, expected: Any) -> Any:
        return self._ask("/cosmos.staking.v1beta1.Query/Pool")["pool"]

    def _holdings(self, path: str, expected: dict[str, Any]) -> dict[str, dict[str, str]]:
        addresses = self._world.recording.addresses
        answers = {name: self._ask(path, address=addresses[name])["balances"] for name in expected}
        return {name: {coin["denom"]: coin["amount"] for coin in coins} for name, coins in answers.items()}

    def balances(self, expected: dict[str, Any]) -> Any:
        return self._holdings("/cosmos.bank.v1beta1.Query/AllBalances", expected)

    def spendable(self, expected: dict[str, Any]) -> Any:
        return self._holdings("/cosmos.bank.v1beta1.Query/SpendableBalances", expected)

    def validators(self, expected: list[dict[str, Any]]) -> Any:
        listed = self._ask("/cosmos.staking.v1beta1.Query/Validators")["validators"]
        members = ("operator_address", "status", "tokens", "delegator_shares", "jailed")
        return [{member: validator[member] for member in members} for validator in listed]

    def outstanding(self, expected: dict[str, Any]) -> Any:
        path = "/cosmos.distribution.v1beta1.Query/ValidatorOutstandingRewards"
        return {name: self._of_validator(path, name, "rewards", "rewards") for name in expected}

    def commission(self, expected: dict[str, Any]) -> Any:
        path = "/cosmos.distribution.v1beta1.Query/ValidatorCommission"
        return {name: self._of_validator(path, name, "commission", "commission") for name in expected}

    def _of_validator(self, path: str, name: str, *members: str) -> Any:
        answer = self._ask(path, validator_address=self._world.recording.operators[name])
        for member in members:
            answer = answer[member] if answer is not None else None
        return answer

    def rewards(self, expected: dict[str, Any]) -> Any:
        path = "/cosmos.distribution.v1beta1.Query/DelegationTotalRewards"
        addresses = self._world.recording.addresses
        return {name: self._ask(path, delegator_address=addresses[name]) for name in expected}

    def delegations(self, expected: dict[str, Any]) -> Any:
        path = "/cosmos.staking.v1beta1.Query/DelegatorDelegations"
        addresses = self._world.recording.addresses
        return {name: self._ask(path, delegator_addr=addresses[name])["delegation_responses"] for name in expected}
