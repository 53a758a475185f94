"""A validator that voted twice: evidence is judged, stands in the next block, and costs the validator its place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.devnet.open_chain import OpenChain, open_chain, shared_chain

from leasehold.chain.comet.blocks import BlockID, evidence_hash
from leasehold.chain.comet.evidence import DuplicateVote, Vote
from leasehold.chain.comet.rendering import evidence as rendered
from leasehold.chain.comet.rendering import read_evidence
from leasehold.chain.comet.votes import PRECOMMIT, sign_bytes
from leasehold.devnet.consensus.handshake import finalize_request
from leasehold.devnet.rpc.server import RpcServer
from leasehold.devnet.rpc.subscriptions import announcements

HEIGHT = 3
SECOND = 1_000_000_000


def evidence(chain: OpenChain) -> DuplicateVote:
    """Two votes of the strongest validator for blocks of height 3 that never were."""
    node = chain.devnet.node
    validators, stored = node.store.validators(HEIGHT), node.store.block(HEIGHT)
    assert validators is not None
    assert stored is not None
    guilty = validators.validators[0]
    votes = []
    for digest in (b"\x01" * 32, b"\x02" * 32):
        target = BlockID(digest, 1, digest)
        signed = sign_bytes(node.chain_id, HEIGHT, 0, target, stored.block.header.time_ns)
        signature = node.keys.sign(guilty.address, signed)
        votes.append(Vote(PRECOMMIT, HEIGHT, 0, target, stored.block.header.time_ns, guilty.address, 0, signature))
    return DuplicateVote(*votes, validators.total_power, guilty.power, stored.block.header.time_ns)


def broadcast(chain: OpenChain, given: Any) -> Any:
    """What the RPC answers to evidence."""

    async def run() -> Any:
        async with RpcServer(chain.devnet.node, port=0) as server:
            body = {"jsonrpc": "2.0", "id": 1, "method": "broadcast_evidence", "params": {"evidence": given}}
            answered = server.dispatcher.post(json.dumps(body).encode())
            answer = await answered if asyncio.iscoroutine(answered) else answered
            return json.loads(answer.body)

    return asyncio.run(run())


def test_a_double_vote_is_punished_from_the_next_block_on() -> None:
    """The block has the evidence under its hash and tells of it; the validator is slashed, jailed for good and out."""
    chain = open_chain()
    node, found = chain.devnet.node, evidence(chain)
    guilty = found.first.address
    assert broadcast(chain, rendered(found))["result"] == {"hash": found.hash().hex().upper()}
    assert len(node.evidence) == 1
    sealed = node.seal(node.time_ns + SECOND)
    header = sealed.block.header
    assert header.evidence_hash == evidence_hash(sealed.block.evidence)
    told = [dict(event.attributes) for event in sealed.results.events if event.type == "slash"]
    assert [event["reason"] for event in told if "reason" in event] == ["double_sign"]
    assert [update.power for update in sealed.results.validator_updates] == [0]
    (info,) = [entry for entry in chain.call("/cosmos.slashing.v1beta1.Query/SigningInfos").info if entry.tombstoned]
    assert info.jailed_until.seconds > 10**10
    (kept,) = chain.call("/cosmos.evidence.v1beta1.Query/AllEvidence").evidence
    assert kept.type_url == "/cosmos.evidence.v1beta1.Equivocation"
    named = [found for found in announcements(node, sealed) if found.kind == "NewEvidence"]
    assert len(named) == 1
    node.seal(node.time_ns + SECOND)
    node.seal(node.time_ns + SECOND)
    validators = node.store.validators(node.height)
    assert validators is not None
    assert validators.find(guilty) is None


def test_blocks_show_evidence_as_it_was_given() -> None:
    """RPC and LCD render it; what RPC shows can be read back; the application hears of it when a block is replayed."""
    chain = open_chain()
    node, found = chain.devnet.node, evidence(chain)
    broadcast(chain, rendered(found))
    node.seal(node.time_ns + SECOND)

    async def run() -> Any:
        async with RpcServer(node, port=0) as server:
            return json.loads((await server.get("block", f"height={node.height}")).body)

    (shown,) = asyncio.run(run())["result"]["block"]["evidence"]["evidence"]
    assert read_evidence(shown) == found
    block = chain.call("/cosmos.base.tendermint.v1beta1.Service/GetBlockByHeight", height=node.height).block
    assert block.evidence.evidence[0].duplicate_vote_evidence.validator_power == found.power
    stored = node.store.block(node.height)
    assert stored is not None
    (report,) = finalize_request(stored, None).misbehavior
    assert (report.address, report.height, report.power) == (found.first.address, HEIGHT, found.power)


def test_evidence_enters_one_block_only() -> None:
    """Given again, before or after its block, it is taken and nothing more happens."""
    chain = open_chain()
    node, found = chain.devnet.node, evidence(chain)
    for _ in range(2):
        assert "result" in broadcast(chain, rendered(found))
    node.seal(node.time_ns + SECOND)
    assert "result" in broadcast(chain, rendered(found))
    assert node.seal(node.time_ns + SECOND).block.evidence == ()
    with node.store.transaction():
        node.revert(node.height - 2)
        chain.devnet.app.revert(node.height)
    assert "result" in broadcast(chain, rendered(found))
    assert len(node.seal(node.time_ns + SECOND).block.evidence) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda e: replace(e, power=1), "validator power from evidence and our validator set does not match"),
        (lambda e: replace(e, total_power=1), "total voting power from the evidence and our validator set"),
        (lambda e: replace(e, time_ns=1), "evidence has a different time to the block it is associated with"),
        (lambda e: replace(e, second=replace(e.second, signature=bytes(64))), "verifying VoteB: invalid signature"),
        (lambda e: replace(e, second=replace(e.second, round=1)), "h/r/s does not match: 3/0/2 vs 3/1/2"),
        (lambda e: replace(e, first=replace(e.first, height=99), second=replace(e.second, height=99)), "don't have"),
        (
            lambda e: replace(
                e, first=replace(e.first, address=bytes(20)), second=replace(e.second, address=bytes(20))
            ),
            f"address {'00' * 20} was not a validator at height 3",
        ),
    ],
)
def test_evidence_that_does_not_hold(change: Callable[[DuplicateVote], DuplicateVote], problem: str) -> None:
    """Each flaw is told, and nothing is kept."""
    chain = shared_chain()
    error = broadcast(chain, rendered(change(evidence(chain))))["error"]
    assert error["data"].startswith(f"failed to add evidence: {problem}")
    assert len(chain.devnet.node.evidence) == 0


def test_evidence_that_makes_no_sense() -> None:
    """Votes in the wrong order, missing members, and an attack of a light client are refused."""
    chain = shared_chain()
    found = evidence(chain)
    turned = replace(found, first=found.second, second=found.first)
    refused = broadcast(chain, rendered(turned))["error"]["data"]
    assert refused == "evidence.ValidateBasic failed: duplicate votes in invalid order"
    empty = {"type": "tendermint/DuplicateVoteEvidence", "value": {}}
    assert "one or both of the votes are empty" in broadcast(chain, empty)["error"]["data"]
    attack = {"type": "tendermint/LightClientAttackEvidence", "value": {}}
    assert broadcast(chain, attack)["error"]["data"].startswith("evidence.ValidateBasic failed")
